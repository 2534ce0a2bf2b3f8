"""Derives all tables from new requests: runs the steps of a build and writes their relations.

A relation with the name of a declared table is written to that table, as its `write_mode` says:

    write_mode | is made of                                               | replaces
    -----------|----------------------------------------------------------|---------------------------------
    merge      | this run's relations: the connections that it recomputes | the rows of these connections
    aggregate  | requests that are not counted yet                        | nothing: they are added (see `_replace_newest`)
    overwrite  | whole tables, which are written before                   | the whole table

In `connections`, rows that change because others of their client did are replaced too (`connections.of_clients`).

A relation without a table is cached for the run; `Step.is_of_whole_tables` says whether it is made of whole tables. One
that is not listed where it would be if it had rows is None.
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
from ..connections.coverage import reports
from ..connections.of_clients import StoredConnections, changed, recomputed
from ..spark.arrow_rows import collect
from ..spark.caching import cached_in_memory, release
from ..spark.failures import failure_message
from ..spark.session_conf import REQUEST_BYTES, SMALL_BYTES, sized
from ..tables.spec import CONNECTION_KEY
from ..tables.types import sql_time
from ..warehouse.judged_table import JUDGED, Build
from ..warehouse.replacement import aggregated, replaced, shaped, staying
from ..warehouse.retention import with_lasting_findings
from ..warehouse.staging import cache
from ..warehouse.warehouse import Warehouse
from . import increments
from .refused_rows import RefusedRowsError, describe, is_refusal, left_out
from .steps import Step, lists, needed, read_by_others, steps

_KINDS = 8
"""Judged requests per connection, to size a session; logs of busy brokers have 4 to 5."""
_AT_ONCE = 3
"""The number of tables written at once: a small commit is mostly waiting."""
_CONNECTIONS = "connections"
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class Derivation:
    """Derives all tables from new requests, in one run.

    Args:
        lake: the warehouse.
        settings: settings of the run.
        made_with: the release and the settings, as the state names them.
        until: time of ingestion up to which everything is built; None derives everything again.
        newest: time of ingestion up to which everything is built afterwards.
        files: the rows of the table `ingested_files`.
        given: whole tables that need not be read, as their rows are in memory.
    """

    def __init__(
        self,
        lake: Warehouse,
        settings: Settings,
        made_with: str,
        until: datetime | None,
        newest: datetime,
        files: Collection[Mapping[str, Any]],
        given: Mapping[str, DataFrame],
    ) -> None:
        self.lake = lake
        self.settings = settings
        self.until = until
        self.files = files
        self.batch_id = sql_time(newest)
        self.build = Build(made_with, self.batch_id)
        self.judged: Any = None if until is None else lake.judged.read()
        self.is_whole = until is None and lake.state.retained_from is None
        self.is_committed = F.col("ingested_at") <= F.lit(newest)
        self.run_relations: dict[str, Any] = {}
        self.whole_tables: dict[str, Any] = dict(given)
        self.committed = self.whole("requests").where(self.is_committed)
        self.cached: list[DataFrame] = []

    def run(self, stage: Callable[[str], AbstractContextManager[None]]) -> None:
        """Write every table that a step makes; `stage` is entered for each by name.

        Raises:
            WarehouseError: a constraint refuses rows of a table; all tables that do not need it are written first.
        """
        with stage("increment"):
            self.increment = self._increment()
        with self._sized():
            self._derive_tables(stage)

    def _sized(self) -> AbstractContextManager[None]:
        """Set up the session for the increment, if it is more work than its new requests."""
        if self.until is None:
            return nullcontext()
        states = self.increment.states
        rows = self.lake.count("requests") if states is None else states * _KINDS
        size = rows * REQUEST_BYTES
        is_small = size <= SMALL_BYTES
        self.lake.one_file &= is_small
        return nullcontext() if is_small else sized(self.lake.spark, size)

    def _derive_tables(self, stage: Callable[[str], AbstractContextManager[None]]) -> None:
        self.cached += self.increment.cached
        self.whole_tables |= {
            "ingested_files": self.whole("ingested_files"),
            "failed_requests": self.whole("failed_requests").where(self.is_committed),
            "topic_mentions": self.whole("topic_mentions").where(self.is_committed),
            "settings": self.settings,
        }
        of_increment = {"requests": self.increment.requests, "judged_before": self.increment.before}
        of_increment |= {"stored_connections": self._stored_connections()}
        self.run_relations |= {**self.whole_tables, **of_increment}

        def derive(step: Step) -> None:
            with stage(step.name):
                try:
                    self._derive(step)
                except Exception as error:
                    if step.write_mode is None or not is_refusal(error):
                        raise
                    raise RefusedRowsError(step.name, self._refusal(step.name)) from error

        try:
            _derive_all(derive)
        finally:
            release(*self.cached)

    def _refusal(self, name: str) -> str:
        """Return a text about the rows that a table's constraint refuses."""
        try:
            relations = self.run_relations
            return describe(relations[name], self.lake.spec(name), self.whole, relations["judged_requests"])
        except Exception as error:  # the example only helps; the refusal must be reported in any case
            return f"a constraint refuses a row, and none was found to show: {failure_message(error, self.lake.root)}"

    def _increment(self) -> increments.Increment:
        """Choose what this run recomputes: everything, all that retention has left, or what new requests change."""
        if self.is_whole:
            return increments.everything(self.committed)
        # Read snapshots: this run writes these tables, and what it recomputes must not depend on that.
        self.connections = self.lake.read_snapshot(_CONNECTIONS)
        stored = increments.Stored(
            self.committed,
            self.connections,
            self.files,
            reports(self.whole("ingested_files"), self.settings),
            self.lake.state.retained_from,
            self.lake.staging,
        )
        if self.until is None:
            return increments.everything_retained(stored)
        return increments.new_since(stored, self.judged, self.until, self.settings.coverage_gap_ms)

    def _derive(self, step: Step) -> None:
        if step.listed_in is not None and step.name not in self.whole(step.listed_in):
            self.run_relations[step.name] = self.whole_tables[step.name] = None
        elif step.name in lists():
            rows = step.make({need: self.whole(need) for need in step.needs})
            self.whole_tables[step.name] = frozenset(name for (name,) in collect(rows))
        elif step.write_mode == "aggregate":
            self._count_new_requests(step)
        elif step.is_of_whole_tables:
            self._make_whole(step, step.make({need: self.whole(need) for need in step.needs}))
        else:
            self._of_connections(step)

    def _make_whole(self, step: Step, rows: DataFrame) -> None:
        self.run_relations[step.name] = self.whole_tables[step.name] = self._cached_if_read(step.name, rows)
        if step.write_mode is not None:
            self.lake.overwrite(step.name, self.whole_tables[step.name], self.batch_id)

    def _of_connections(self, step: Step) -> None:
        rows = self._cached_if_read(step.name, step.make(self.run_relations))
        recomputed_ids, earliest = self.increment.recomputed_ids, self.increment.earliest_recomputed_at
        self.run_relations[step.name] = rows
        if step.name == JUDGED:
            self._keep_judged(rows)
        if step.name == _CONNECTIONS and recomputed_ids is not None:
            # Stored rows that change with others of their client are replaced too, in this table alone.
            others, rows = changed(rows), recomputed(rows)
            self.run_relations[step.name] = rows
            rows = rows.unionByName(others, allowMissingColumns=True)
            recomputed_ids = recomputed_ids.unionByName(others.select(*CONNECTION_KEY), allowMissingColumns=True)
            earliest = self._first_day
        if step.write_mode is not None:
            if self.is_whole:
                self.whole_tables[step.name] = rows
            if step.lasting_rules:
                rows = with_lasting_findings(self.lake, rows, step.lasting_rules)
            keep = partial(self._cached_whole, step.name)
            self.lake.replace_connections(step.name, rows, recomputed_ids, earliest, self.batch_id, keep)

    def _stored_connections(self) -> StoredConnections | None:
        """Return the connections that this run may change although it does not recompute them, and those that it replaces."""
        ids = self.increment.recomputed_ids
        if ids is None:
            return None
        since = None if self.lake.is_small(_CONNECTIONS) else self._first_day()
        stored = self.connections if since is None else self.connections.where(F.col("opened_at") >= F.lit(since))
        return StoredConnections(staying(stored, ids), replaced(stored, ids))

    def _first_day(self) -> datetime | None:
        """Return the start of the day before which no connection opened that this run changes; None if not known."""
        earliest = self.increment.earliest_recomputed_at()
        return None if earliest is None else earliest.replace(hour=0, minute=0, second=0, microsecond=0)

    def _keep_judged(self, rows: DataFrame) -> None:
        """Write the judged requests that a later run needs, before any table that is made of them."""
        newest = rows.where("is_newest").drop("is_newest")
        if self.until is None:
            self.lake.judged.overwrite(newest, self.build)
        else:
            self.lake.judged.replace(newest, self.build)

    def _cached_if_read(self, name: str, rows: DataFrame) -> DataFrame:
        if name not in read_by_others():
            return rows
        self.cached.append(cache(rows, self.lake.staging))
        return self.cached[-1]

    def _cached_whole(self, name: str, rows: DataFrame) -> DataFrame:
        """Cache all rows of a table that later steps read, which takes less time than reading the table again."""
        cached = cached_in_memory(rows) if name in read_by_others() else None
        if cached is None:
            return rows
        self.cached.append(cached)
        self.whole_tables[name] = cached
        return cached

    def whole(self, name: str) -> Any:
        """Return a whole table, from memory if this run has it there."""
        return self.whole_tables[name] if name in self.whole_tables else self.lake.read(name)

    def _count_new_requests(self, step: Step) -> None:
        others = {need: self.whole(need) for need in step.needs if need != "new_requests"}
        if self.is_whole:
            self._make_whole(step, step.make({**others, "new_requests": self.committed}))
            return
        # Read stored rows and their newest ingestion from one version: an overtaken run may commit between two reads.
        stored = self.lake.read_snapshot(step.name)
        # A run that failed after its commit has counted more requests than are built.
        ((counted_until,),) = collect(stored.agg(F.max("ingested_at")))
        since = max(self.until or _NEVER, counted_until or _NEVER)
        new = self.committed.where(F.col("ingested_at") > F.lit(since))
        added = cache(step.make({**others, "new_requests": new}), self.lake.staging)
        self.cached.append(added)
        if (column := self.lake.spec(step.name).replaced_from) is not None:
            self._replace_newest(step, stored, added, column)
        elif self.until is not None and added.isEmpty():
            self.whole_tables[step.name] = self.run_relations[step.name] = self._cached_if_read(step.name, stored)
        else:
            self._make_whole(step, aggregated(stored, added, self.lake.spec(step.name)))

    def _replace_newest(self, step: Step, stored: DataFrame, added: DataFrame, column: str) -> None:
        """Write the rows from the first time on at which some have changed.

        Rows with `ingested_at` count requests, and are aggregated with the stored ones. The others are made of whole
        tables, and replace the stored ones.
        """
        spec = self.lake.spec(step.name)
        compared = [F.col(other.name) for other in spec.columns if "<" not in other.type]
        of_requests = F.col("ingested_at").isNotNull()
        made, kept = (rows.where(~of_requests).select(*compared) for rows in (shaped(added, spec), stored))
        changed = made.exceptAll(kept).unionByName(kept.exceptAll(made)).select(column)
        ((first,),) = collect(added.where(of_requests).select(column).unionByName(changed).agg(F.min(column)))
        if first is None:
            self.run_relations[step.name] = stored
            return
        is_late = F.col(column) >= F.lit(first)
        rows = aggregated(stored.where(of_requests & is_late), added.where(is_late), spec)
        self.run_relations[step.name] = rows
        self.lake.overwrite(step.name, rows, self.batch_id, f"{column} >= timestamp '{sql_time(first)}'")


def _derive_all(derive: Callable[[Step], None]) -> None:
    """Call `derive` for every step as soon as its inputs are made, several at once: a small commit is mostly waiting.

    Begin with the step that most others need; of several, with the one that needs most. If a constraint refuses rows of
    a step, leave out that step and those that need it.

    Raises:
        WarehouseError: steps were left out.
    """
    by_name = steps()
    needs = needed(by_name)
    waiting = Counter(name for other in by_name for name in needed([other]))
    sorter = TopologicalSorter(needs)
    sorter.prepare()
    refusals: list[RefusedRowsError] = []
    unmade = set(by_name)
    ready = list(sorter.get_ready())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        running: dict[Future[None], str] = {}
        while ready or running:
            ready.sort(key=lambda name: (-waiting[name], -len(needs[name]), name))
            while ready and len(running) < _AT_ONCE:
                name = ready.pop(0)
                running[pool.submit(derive, by_name[name])] = name
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(done)
                try:
                    done.result()
                except RefusedRowsError as error:
                    refusals.append(error)
                else:
                    unmade.remove(name)
                    sorter.done(name)
            ready += sorter.get_ready()
    if refusals:
        raise left_out(refusals, sorted(name for name in unmade if by_name[name].write_mode)) from refusals[0]
