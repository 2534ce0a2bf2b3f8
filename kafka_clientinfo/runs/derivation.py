"""Derives the stored tables from new requests: runs the steps of a build and writes their relations.

A relation with the name of a declared table is written to that table, as its `write_mode` says: `merge` replaces the rows of the
connections that the run recomputes, or appends if none of them is stored; `part` appends sums of requests that no earlier run
has counted, and views add up the rows of all runs. A build of everything replaces all rows of both.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from functools import partial
from graphlib import TopologicalSorter
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..config.settings import Settings
from ..coverage.changes import Change
from ..coverage.periods import periods_of
from ..spark.arrow_rows import collect, relation_of
from ..spark.session_conf import REQUEST_BYTES, SMALL_BYTES, sized
from ..warehouse.judged_table import JUDGED
from ..warehouse.staging import cache
from ..warehouse.warehouse import Warehouse
from . import increments
from .steps import Step, given, needed, read_by_others, steps

_AT_ONCE = 3
"""The number of tables written at once: a small commit is mostly waiting."""
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class Derivation:
    """Derives the stored tables from new requests, in one run.

    Everything is built up to the time of ingestion `until`, and up to `newest` afterwards; if `until` is None, everything is
    derived again. `files` are the rows of `ingested_files`, `in_memory` the requests to build if they are in memory.
    """

    def __init__(
        self,
        lake: Warehouse,
        settings: Settings,
        until: datetime | None,
        newest: datetime,
        files: Collection[Mapping[str, Any]],
        in_memory: DataFrame | None,
    ) -> None:
        self.lake = lake
        self.settings = settings
        self.until = until
        self.periods = periods_of(files, settings)
        self.judged: Any = None if until is None else lake.judged.read()
        self.is_whole = until is None and lake.state.retained_from is None
        self.in_memory = in_memory
        if in_memory is not None and until is None:  # these are all
            self.committed = in_memory
        else:
            self.committed = lake.read("requests").where(F.col("ingested_at") <= F.lit(newest))
        self.relations: dict[str, Any] = {}

    def run(self, stage: Callable[[str], AbstractContextManager[None]]) -> None:
        """Write every table that a step makes; `stage` is entered for each by name."""
        with stage("increment"):
            self.increment = self._increment()
        with self._sized():
            relation = partial(relation_of, self.lake.spark)
            self.relations |= given(self.increment.requests, self.periods, self.settings, relation) | {
                "new_requests": self._newer_than(self.until),
                "judged_before": self.increment.before,
                # Null if all connections are recomputed, which show all hosts themselves.
                "stored_broker_hosts": None if self.is_whole else increments.broker_hosts_of(self.stored_connections),
            }

            def derive(step: Step) -> None:
                with stage(step.name):
                    self._derive(step)

            _derive_all(derive)

    def _sized(self) -> AbstractContextManager[None]:
        """Set up the session for the increment, if it is more work than its new requests."""
        if self.until is None:
            return nullcontext()
        judged = self.increment.judged_before
        rows = self.lake.count("requests") if judged is None else judged + self.increment.new_requests
        self.lake.one_file &= rows * REQUEST_BYTES <= SMALL_BYTES
        return sized(self.lake.spark, rows * REQUEST_BYTES)

    def _increment(self) -> increments.Increment:
        """Choose what this run recomputes: everything, all that retention has left, or what new requests change."""
        if self.is_whole:
            return increments.everything(self.committed)
        # Read snapshots: this run writes these tables, and what it recomputes must not depend on that.
        self.stored_connections = self.lake.read_snapshot("connections")
        stored = increments.Stored(
            requests=self.committed,
            connections=self.stored_connections,
            changed=[Change(*change) for change in self.lake.state.changed],
            retained_from=self.lake.state.retained_from,
            staging=self.lake.staging,
            judged=self.judged,
            built_until=self.until,
            new_requests=self.in_memory,
        )
        return increments.everything_retained(stored) if self.until is None else increments.new_since(stored)

    def _derive(self, step: Step) -> None:
        """Make a step's relation, cache it if other steps read it, and write it if it is a table's."""
        if step.write_mode == "part":
            self._add_part(step)
            return
        rows = step.make(self.relations)
        if step.name in read_by_others(needed(steps())):
            rows = cache(rows, self.lake.staging)
        self.relations[step.name] = rows
        only_adds = self.increment.judged_before == 0  # none of these connections is stored
        if step.name == JUDGED:
            newest = rows.where("is_newest").drop("is_newest")
            if self.until is None:
                self.lake.judged.overwrite(newest)
            elif only_adds:
                self.lake.judged.append(newest)
            else:
                self.lake.judged.replace(newest)
        if step.write_mode is None:
            return
        if only_adds:
            self.lake.append(step.name, rows)
        else:
            replaced, earliest = self.increment.replaced, self.increment.earliest_recomputed_at
            self.lake.replace_connections(step.name, rows, replaced, earliest)

    def _add_part(self, step: Step) -> None:
        """Append the sums of requests that no earlier run has counted; a build of everything counts all anew.

        If retention has deleted requests, earlier sums stay; they hold requests up to a time of ingestion.
        """
        if self.is_whole:
            self.relations[step.name] = step.make(self.relations)
            self.lake.overwrite(step.name, self.relations[step.name])
            return
        since, relations = self.until, self.relations
        if since is None:
            ((counted_until,),) = collect(self.lake.read(step.name).agg(F.max("ingested_at")))
            since = counted_until or _NEVER
            relations = {**relations, "new_requests": self._newer_than(since)}
        self.relations[step.name] = step.make(relations).where(F.col("ingested_at") > F.lit(since))
        self.lake.append(step.name, self.relations[step.name])

    def _newer_than(self, since: datetime | None) -> DataFrame:
        if since == self.until and self.in_memory is not None:
            return self.in_memory
        return self.committed if since is None else self.committed.where(F.col("ingested_at") > F.lit(since))


def _derive_all(derive: Callable[[Step], None]) -> None:
    """Call `derive` for every step as soon as its inputs are made, several at once, first those that most others need."""
    needs = needed(steps())
    waiting = Counter(name for other in needs for name in needed([other]))
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        running: dict[Future[None], str] = {}
        while sorter.is_active():
            for name in sorted(sorter.get_ready(), key=lambda name: (-waiting[name], -len(needs[name]), name)):
                running[pool.submit(derive, steps()[name])] = name
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                done.result()
                sorter.done(running.pop(done))
