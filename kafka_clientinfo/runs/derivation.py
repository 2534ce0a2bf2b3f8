"""Derives the stored tables from new requests: runs the steps of a build and writes their relations.

A relation with the name of a declared table is written to that table, as its `write_mode` says: `merge` replaces the rows of the
connections that the run recomputes, or appends if none of them is stored; `part` appends sums of requests that no earlier run
has counted, and views add up the rows of all runs. A build of everything replaces all rows of both.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from graphlib import TopologicalSorter
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..config.settings import Settings
from ..coverage.periods import periods_of
from ..spark.arrow_rows import collect, relation_of
from ..spark.features import at_once
from ..spark.session_conf import REQUEST_BYTES, SMALL_BYTES, sized
from ..warehouse.judged_table import JUDGED
from ..warehouse.staging import cache
from ..warehouse.warehouse import Warehouse
from . import increments
from .steps import Step, given, read_by_others, steps


@dataclass
class Derivation:
    """Derives the stored tables from new requests, in one run.

    Everything is built up to the time of ingestion `until`, and up to `newest` afterwards; if `until` is None, everything is
    derived again. `files` are the rows of `ingested_files`, `in_memory` the requests to build if they are in memory.
    """

    lake: Warehouse
    settings: Settings
    until: datetime | None
    newest: datetime
    files: Collection[Mapping[str, Any]]
    in_memory: DataFrame | None

    def __post_init__(self) -> None:
        if self.in_memory is not None and self.until is None:  # these are all
            self.committed = self.in_memory
        else:
            self.committed = self.lake.read("requests").where(F.col("ingested_at") <= F.lit(self.newest))

    def run(self, stage: Callable[[str], AbstractContextManager[None]]) -> None:
        """Write every table that a step makes; `stage` is entered for each by name."""
        new = self._newer_than(self.until)
        with stage("increment"):
            if self.until is None:
                self.increment = increments.everything(self.lake, self.committed)
            else:
                self.increment = increments.new_since(self.lake, self.committed, new)
        judged = self.increment.judged_before
        rows = sum(file["requests"] for file in self.files) if judged is None else judged + self.increment.new_requests
        self.lake.one_file &= rows * REQUEST_BYTES <= SMALL_BYTES
        with sized(self.lake.spark, rows * REQUEST_BYTES):  # it may read more than what is new
            periods, relation = periods_of(self.files, self.settings), partial(relation_of, self.lake.spark)
            self.relations: dict[str, Any] = given(self.increment.requests, periods, self.settings, relation)
            self.relations |= {
                "new_requests": new,
                "judged_before": self.increment.before,
                "stored_broker_hosts": self.increment.broker_hosts,
            }
            _derive_all(self._derive, stage)

    def _derive(self, step: Step) -> None:
        """Make a step's relation, cache it if other steps read it, and write it if it is a table's."""
        if step.write_mode == "part":
            self._add_part(step)
            return
        rows = step.of(self.relations)
        if step.name in read_by_others():
            rows = cache(rows, self.lake.staging)
        self.relations[step.name] = rows
        only_adds = self.increment.judged_before == 0  # none of these connections is stored
        if step.name == JUDGED:
            judged = self.lake.judged
            write = judged.overwrite if self.until is None else judged.append if only_adds else judged.replace
            write(rows.where("is_newest").drop("is_newest"))
        elif step.write_mode is None:
            return
        elif only_adds:
            self.lake.append(step.name, rows)
        else:
            self.lake.replace_connections(step.name, rows, self.increment.replaced, self.increment.earliest)

    def _add_part(self, step: Step) -> None:
        """Append the sums of requests that no earlier run has counted; a build of everything counts all anew.

        If retention has deleted requests, earlier sums stay; they hold requests up to a time of ingestion.
        """
        if self.increment.replaced is None:
            self.lake.overwrite(step.name, step.of(self.relations))
            return
        relations = self.relations
        if self.until is None:
            ((counted_until,),) = collect(self.lake.read(step.name).agg(F.max("ingested_at")))
            relations = {**relations, "new_requests": self._newer_than(counted_until)}
        self.lake.append(step.name, step.of(relations))

    def _newer_than(self, since: datetime | None) -> DataFrame:
        if since == self.until and self.in_memory is not None:
            return self.in_memory
        return self.committed if since is None else self.committed.where(F.col("ingested_at") > F.lit(since))


def _derive_all(derive: Callable[[Step], None], stage: Callable[[str], AbstractContextManager[None]]) -> None:
    """Call `derive` for every step after those that it needs, several at once; `stage` is entered for each by name."""

    def timed(name: str) -> None:
        with stage(name):
            derive(steps()[name])

    left = TopologicalSorter({name: step.after for name, step in steps().items()})
    left.prepare()
    while ready := left.get_ready():
        at_once(timed, ready)
        left.done(*ready)
