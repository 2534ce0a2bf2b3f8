"""How tables follow from one another: transforms are found, ordered by their inputs, and written as declared.

Transforms are found, not listed: a module of `transforms` with a function `transform` is one, its parameters name
the relations that it needs, and a table declaration of the same name makes its result a table. Results without a
declaration (session_requests, session_facts) are kept for the run only.
"""

import inspect
import pkgutil
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import lru_cache
from graphlib import TopologicalSorter
from importlib import import_module
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from . import increment, transforms
from .lake import Warehouse, with_kept_failures
from .settings import Settings
from .tables import table_spec, table_specs

AT_ONCE = 3
"""Tables written at once: a small commit is mostly latency."""
_SOURCES = frozenset({"requests", "new_requests", "ingested_files", "failed_requests", "settings"})
Transform = Callable[..., DataFrame]


class Derivation:
    """Derives all tables from the requests that are new, in one run.

    Args:
        lake: the warehouse.
        settings: of the run.
        until: time of ingestion up to which everything is built; None derives everything anew.
        newest: time of ingestion up to which everything is built afterwards.
        retained_from: requests of connections that ended before this instant may have been deleted; None where all
            are kept.
    """

    def __init__(
        self, lake: Warehouse, settings: Settings, until: str | None, newest: str, retained_from: str | None
    ) -> None:
        """Touch nothing yet."""
        self.lake = lake
        self.settings = settings
        self.until = until
        self.newest = newest
        self.retained_from = retained_from
        self.is_committed = F.col("ingested_at") <= F.lit(newest).cast("timestamp")
        self.committed = lake.read("requests").where(self.is_committed)
        self.relations: dict[str, Any] = {}
        self.kept: list[DataFrame] = []

    def run(self, stage: Callable[[str], AbstractContextManager[None]]) -> None:
        """Write every table that a transform makes; `stage` is entered for each by name."""
        with stage("touched"):
            self.found = self._increment()
        self.kept.append(self.found.touched)
        self.relations |= {
            "requests": self.found.requests,
            "ingested_files": self.lake.read("ingested_files"),
            "failed_requests": self.lake.read("failed_requests").where(self.is_committed),
            "settings": self.settings,
        }

        def derive(name: str, transform: Transform) -> None:
            with stage(name):
                self._derive(name, transform)

        try:
            _in_order_of_inputs(derive)
        finally:
            for relation in self.kept:
                relation.unpersist()

    def _increment(self) -> increment.Increment:
        # As they are now: this run writes them, and what is computed again must not see that.
        sessions = self.lake.read_snapshot("connection_sessions")
        files = self.lake.read("ingested_files")
        stored = increment.Stored(self.committed, sessions, files, self.retained_from)
        if self.until is None:
            return increment.everything(stored)
        return increment.since(stored, self.until, self.settings.max_idle_ms)

    def _derive(self, name: str, transform: Transform) -> None:
        if _is_of_connections(name):
            self._of_connections(name, transform)
            return
        if table_spec(name).replaced == "folded":
            self._fold(name, transform)
        else:
            # Made of whole tables, not of what this run touched; those it needs are committed by now.
            whole = {need: self.settings if need == "settings" else self.lake.read(need) for need in needs(transform)}
            self.lake.overwrite(name, transform(**whole), self.newest)
        self.relations[name] = self.lake.read(name)

    def _of_connections(self, name: str, transform: Transform) -> None:
        result = transform(**{need: self.relations[need] for need in needs(transform)})
        if name in shared_relations():
            result = result.persist(increment.KEPT)
            self.kept.append(result)
        self.relations[name] = result
        if name in table_specs():
            rows = with_kept_failures(self.lake, result) if name == "violations" else result
            self.lake.replace_connections(name, rows, self.found.touched, self.found.since, self.newest)

    def _fold(self, name: str, transform: Transform) -> None:
        if self.until is None and self.retained_from is None:
            self.lake.overwrite(name, transform(new_requests=self.committed), self.newest)
            return
        # What stands, and what is counted in there, of one version: an overtaken run may commit between two reads.
        stored = self.lake.read_snapshot(name)
        new = self.committed.where(F.col("ingested_at") > self._folded_until(stored))
        self.lake.fold(name, stored, transform(new_requests=new), self.newest)

    def _folded_until(self, stored: DataFrame) -> Column:
        """Ingestion time up to which requests are counted in; a run that broke after the fold has counted in more."""
        row = stored.agg(F.max("ingested_at").cast("string")).first()
        known = [moment for moment in (self.until, None if row is None else row[0]) if moment is not None]
        moments = [F.lit(moment).cast("timestamp") for moment in known]
        never = F.lit(datetime(1970, 1, 1, tzinfo=UTC))
        return F.greatest(*moments, never, never)


def _is_of_connections(name: str) -> bool:
    """Whether it is derived by connection: a table that is, or what stands between."""
    spec = table_specs().get(name)
    return spec is None or spec.replaced == "connections"


def needs(transform: Transform) -> list[str]:
    """The relations that a transform asks for."""
    return list(inspect.signature(transform).parameters)


def _in_order_of_inputs(derive: Callable[[str, Transform], None]) -> None:
    """Call `derive` for every transform after those that it needs, some at once: a small commit is mostly latency."""
    found = transforms_by_name()
    sorter = TopologicalSorter({name: set(needs(function)) - _SOURCES for name, function in found.items()})
    sorter.prepare()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running: dict[Future[None], str] = {}
        while sorter.is_active():
            for name in sorted(sorter.get_ready()):
                running[pool.submit(derive, name, found[name])] = name
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                done.result()
                sorter.done(running.pop(done))


@lru_cache(maxsize=1)
def transforms_by_name() -> dict[str, Transform]:
    """The transforms that exist, by module name."""
    modules = pkgutil.iter_modules(transforms.__path__)
    loaded = {module.name: import_module(f"{transforms.__name__}.{module.name}") for module in modules}
    return {name: module.transform for name, module in loaded.items() if hasattr(module, "transform")}


@lru_cache(maxsize=1)
def shared_relations() -> frozenset[str]:
    """Relations that other transforms read, from here and not from their tables: worth keeping for the run."""
    of_connections = [function for name, function in transforms_by_name().items() if _is_of_connections(name)]
    parameters = [name for function in of_connections for name in needs(function)]
    return frozenset(name for name in parameters if name not in _SOURCES)
