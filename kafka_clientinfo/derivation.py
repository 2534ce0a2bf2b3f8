"""Derives all tables from the requests that are new: finds what the concerns make, orders it by its inputs, writes it.

A step makes one relation of others, which it names. Steps are found, not listed: the judged requests, the connections
and the violations, and every module of a concern that has a function `transform`, whose parameters name the relations
that it needs. A relation of the name of a declared table is written to it, as its `write_mode` says:

    write_mode | is made of                                             | replaces
    -----------|--------------------------------------------------------|------------------------------------
    merge      | this run's relations: the connections that it recomputes | the rows of these connections
    aggregate  | requests that are not counted yet                      | nothing; they are counted in
    overwrite  | whole tables, which are written by then                | the whole table
"""

import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from graphlib import TopologicalSorter
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .concerns import concerns
from .connections import connections, judged_requests, violations
from .engine import Warehouse, increments, kept, release, with_kept_failures
from .settings import Settings
from .tables import table_specs

_AT_ONCE = 3
"""Tables written at once: a small commit is mostly latency."""
_SOURCES = frozenset({"requests", "new_requests", "ingested_files", "failed_requests", "settings"})
"""Relations that no step makes."""


@dataclass(frozen=True)
class Step:
    """Makes one relation; `needs` names the relations that `make` is called with."""

    name: str
    needs: tuple[str, ...]
    make: Callable[[Mapping[str, Any]], DataFrame]

    @property
    def write_mode(self) -> str | None:
        """How its table is written; None for what is kept for the run only."""
        spec = table_specs().get(self.name)
        return None if spec is None else spec.write_mode


@lru_cache(maxsize=1)
def steps() -> dict[str, Step]:
    """Finds all steps, by the relation that they make.

    Raises:
        ValueError: where one needs a relation that neither a step makes nor a run starts with.
    """
    found = {
        "judged_requests": _step(
            "judged_requests",
            ("requests", "ingested_files", "settings"),
            lambda requests, ingested_files, settings: judged_requests(requests, ingested_files, settings, concerns()),
        ),
        "connections": _step(
            "connections",
            ("judged_requests", "settings"),
            lambda judged_requests, settings: connections(judged_requests, settings, concerns()),
        ),
        "violations": _violations(),
    }
    for concern in concerns():
        found |= {name: _step(name, _parameters(make), make) for name, make in concern.transforms.items()}
    known = _SOURCES | set(found)
    for step in found.values():
        if unknown := sorted(set(step.needs) - known):
            raise ValueError(f"{step.name} needs the relation {unknown[0]!r}; known are {', '.join(sorted(known))}")
    return found


def _step(name: str, needs: tuple[str, ...], make: Callable[..., DataFrame]) -> Step:
    return Step(name, needs, lambda relations: make(**{need: relations[need] for need in needs}))


def _violations() -> Step:
    finders = [find for concern in concerns() for find in concern.findings]
    needs = {"judged_requests", "connections", "settings", *(need for find in finders for need in _parameters(find))}

    def make(relations: Mapping[str, Any]) -> DataFrame:
        found = [find(**{need: relations[need] for need in _parameters(find)}) for find in finders]
        requests, rows, settings = (relations[name] for name in ("judged_requests", "connections", "settings"))
        return violations(requests, rows, found, settings, concerns())

    return Step("violations", tuple(sorted(needs)), make)


def _parameters(function: Callable[..., DataFrame]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


@lru_cache(maxsize=1)
def _read_by_others() -> frozenset[str]:
    """Names the relations that other steps read: worth keeping for the run."""
    return frozenset(need for step in steps().values() for need in step.needs if need not in _SOURCES)


class Derivation:
    """Derives all tables from the requests that are new, in one run.

    Args:
        lake: the warehouse.
        settings: of the run.
        until: time of ingestion up to which everything is built; None derives everything anew.
        newest: time of ingestion up to which everything is built afterwards.
        given: whole tables that need not be read, as their rows are in memory.
    """

    def __init__(
        self, lake: Warehouse, settings: Settings, until: str | None, newest: str, given: Mapping[str, DataFrame]
    ) -> None:
        """Touch nothing yet."""
        self.lake = lake
        self.settings = settings
        self.until = until
        self.newest = newest
        self.retained_from = lake.state.retained_from
        self.is_whole = until is None and self.retained_from is None
        self.is_committed = F.col("ingested_at") <= F.lit(newest).cast("timestamp")
        self.given = given
        self.committed = self._source("requests").where(self.is_committed)
        self.relations: dict[str, Any] = {}
        self.kept: list[DataFrame] = []

    def run(self, stage: Callable[[str], AbstractContextManager[None]]) -> None:
        """Write every table that a step makes; `stage` is entered for each by name."""
        with stage("increment"):
            self.increment = self._increment()
        if self.increment.touched is not None:
            self.kept.append(self.increment.touched)
        self.relations |= {
            "requests": self.increment.requests,
            "ingested_files": self._source("ingested_files"),
            "failed_requests": self._source("failed_requests").where(self.is_committed),
            "settings": self.settings,
        }

        def derive(step: Step) -> None:
            with stage(step.name):
                self._derive(step)

        try:
            _in_order_of_inputs(derive)
        finally:
            release(*self.kept)

    def _source(self, name: str) -> DataFrame:
        return self.given[name] if name in self.given else self.lake.read(name)

    def _increment(self) -> increments.Increment:
        if self.is_whole:
            return increments.everything(self.committed)
        # As they are now: this run writes them, and what is computed again must not see that.
        stored = increments.Stored(
            self.committed, self.lake.read_snapshot("connections"), self._source("ingested_files"), self.retained_from
        )
        if self.until is None:
            return increments.everything_left(stored)
        return increments.since(stored, self.until, self.settings.max_idle_ms)

    def _derive(self, step: Step) -> None:
        if step.write_mode == "aggregate":
            self._aggregate(step)
        elif step.write_mode == "overwrite":
            rows = self._kept(step.name, step.make(_Whole(self)))
            self.lake.overwrite(step.name, rows, self.newest)
            self.relations[step.name] = rows
        else:
            self._of_connections(step)

    def _of_connections(self, step: Step) -> None:
        rows = self._kept(step.name, step.make(self.relations))
        self.relations[step.name] = rows
        if step.write_mode is not None:
            rows = with_kept_failures(self.lake, rows) if step.name == "violations" else rows
            touched, since = self.increment.touched, self.increment.since
            self.lake.replace_connections(step.name, rows, touched, since, self.newest)

    def _kept(self, name: str, rows: DataFrame) -> DataFrame:
        if name not in _read_by_others():
            return rows
        self.kept.append(kept(rows))
        return self.kept[-1]

    def whole(self, name: str) -> Any:
        """Takes a whole table; what this run has made of everything need not be read again."""
        step = steps().get(name)
        if name in ("settings", "failed_requests") or (
            step is not None and (self.is_whole or step.write_mode == "overwrite")
        ):
            return self.relations[name]
        return self._source(name)

    def _aggregate(self, step: Step) -> None:
        if self.is_whole:
            self.relations[step.name] = self._kept(step.name, step.make({"new_requests": self.committed}))
            self.lake.overwrite(step.name, self.relations[step.name], self.newest)
            return
        # Stored rows, and what is counted in there, of one version: an overtaken run may commit between two reads.
        stored = self.lake.read_snapshot(step.name)
        new = self.committed.where(F.col("ingested_at") > self._counted_until(stored))
        self.lake.aggregate(step.name, stored, step.make({"new_requests": new}), self.newest)
        self.relations[step.name] = self.lake.read(step.name)

    def _counted_until(self, stored: DataFrame) -> Column:
        """Ingestion time up to which requests are counted in; a run that broke after its commit has counted in more."""
        row = stored.agg(F.max("ingested_at").cast("string")).first()
        known = [moment for moment in (self.until, None if row is None else row[0]) if moment is not None]
        moments = [F.lit(moment).cast("timestamp") for moment in known]
        never = F.lit(datetime(1970, 1, 1, tzinfo=UTC))
        return F.greatest(*moments, never, never)


class _Whole(dict[str, Any]):
    """The relations as whole tables."""

    def __init__(self, derivation: Derivation) -> None:
        super().__init__()
        self._derivation = derivation

    def __missing__(self, name: str) -> Any:
        return self._derivation.whole(name)


def _in_order_of_inputs(derive: Callable[[Step], None]) -> None:
    """Call `derive` for every step after those that it needs, some at once: a small commit is mostly latency."""
    found = steps()
    sorter = TopologicalSorter({name: set(step.needs) - _SOURCES for name, step in found.items()})
    sorter.prepare()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        running: dict[Future[None], str] = {}
        while sorter.is_active():
            for name in sorted(sorter.get_ready()):
                running[pool.submit(derive, found[name])] = name
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                done.result()
                sorter.done(running.pop(done))
