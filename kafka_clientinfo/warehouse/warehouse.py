"""The Delta tables of one warehouse, and the ways to write them.

A run opens the warehouse once, before it reads, and takes back what runs left that did not end. Each of its writes is one
commit; they count once it has appended its row to `runs`, which is its last.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from platform import node
from threading import Lock
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .. import __version__
from ..connections.texts import of_other_keys
from ..errors import WarehouseError
from ..spark.arrow_rows import relation_of
from ..spark.features import at_once
from ..tables.spec import RUN, RUNS, TableSpec
from . import ddl, replacement
from .claims import Claims
from .commit import write, written_rows
from .creation import close_folder, columns_in, make_schema, make_table
from .judged_table import JUDGED, JudgedTable
from .migration import migrate
from .progress import Stages
from .reading import Reader
from .repair import mend, refuse_damaged, take_back
from .staging import Staging
from .state import OLDEST, State
from .stores import set_aside


class Warehouse(Reader):
    """Delta tables, one per declared table, in a folder or in a schema of a catalog, which a run writes.

    If it is `private` and on this machine, only the owner may read tables with raw bytes of logs. `after_kill` says whether the
    run before was killed.

    Attributes:
        has_written: whether this run has written something that does not count yet.
        one_file: whether each write makes one file; for runs of few bytes, as each task costs 50–100 ms.
    """

    def __init__(
        self,
        spark: SparkSession,
        root: str | Path,
        specs: Mapping[str, TableSpec] | None = None,
        private: bool = True,
        after_kill: bool = False,
    ) -> None:
        super().__init__(spark, root, specs)
        self.one_file = False
        self._private, self._after_kill = private, after_kill
        self.staging = Staging(spark, self.address, private)
        self.claims = Claims(spark, self.address)
        self.has_written = False
        self.judged = JudgedTable(spark, self.address, self.claims, self.folder(JUDGED))
        self._claiming = Lock()
        self._rows: dict[str, int | None] = {}  # per table that this run has written; None if not known
        self._written: dict[str, int] = {}
        self._creating = {name: Lock() for name in self.specs}

    def open(self) -> State:
        """Read the state and choose the run's number, once per run; raise WarehouseError as `read_state` and `refuse_damaged`."""
        refuse_damaged(self)
        if self.address.is_schema:
            make_schema(self.spark, self.address)
        newest = None if self.claims.is_alone else self.claims.newest()
        self._state = self._read_state(OLDEST) or self._new_state
        self.claims.begin(self._state.run, newest)
        self.staging.run = self.claims.number
        if self._after_kill and self._is_stored(RUNS):
            self.claims.fence(self._all_tables())
        return self._state

    def mend(self) -> None:
        """Take back what runs left that did not end, and bring the tables to the declarations of this release.

        Raises WarehouseError if something that can't be derived again is missing, or can't be brought back.
        """
        if self.exists(RUNS):
            take_back(self)
        if self.state != self._new_state:
            migrate(self)
            mend(self)

    def named(self) -> AbstractContextManager[None]:
        """Name the commits of the block in Delta's history by the run's number."""
        return self.claims.named()

    def note(self, **changes: Any) -> None:
        """Change the state; `commit` stores it."""
        before, self._state = self.state, replace(self.state, **changes)
        self.has_written |= before != self._state

    def go_back_to(self, state: State) -> None:
        self._state = state

    def claim(self) -> None:
        """Keep other runs from committing, by a claim in `runs`; raise WarehouseError if another has claimed the warehouse since."""
        with self._claiming:
            self.has_written = True
            self._make(RUNS)  # the first of all tables: those beside it are this package's
            must_fence = self.claims.has_unended and not self.claims.is_claimed
            self.claims.claim([name for name in self._all_tables() if name != RUNS] if must_fence else [])

    def _all_tables(self) -> list[str]:
        """Make the tables that are missing, as a run that has not ended could still make them; return the names of all."""
        stored = dict(zip(self.specs, at_once(self._is_stored, self.specs), strict=True))
        self._existing.update(name for name, is_stored in stored.items() if is_stored)
        self.create_missing(self.specs)
        return [*self.specs, *([] if self.judged.read() is None else [JUDGED])]

    def _is_stored(self, name: str) -> bool:
        """Return whether there is a table, even one of an earlier release that can't be read yet."""
        return columns_in(self.spark, self.address, name) is not None

    def commit(self, report: Stages, settings: str, error: str | None = None) -> None:
        """Append this run's row to `runs`, by which all counts that it wrote; `error` is why it could not do more.

        Raises WarehouseError if another run has claimed the warehouse.
        """
        self.claim()
        number = self.claims.number
        row = (
            number, report.command, report.began, datetime.now(UTC), *report.amounts,
            self._written, report.seconds, __version__, settings, node(), error, self.state.as_json,
        )  # fmt: skip
        rows = relation_of(self.spark, [row], self.spec(RUNS).ddl).coalesce(1)
        write(rows, self.address, RUNS, "append", self.claims.end())
        self.claims.check_ended()
        self._state = replace(self.state, run=number)
        self.has_written = False

    def rows(self, count: Callable[[str], int] | None = None) -> dict[str, int]:
        """Return rows per table but `runs` after this run's writes; unknown numbers are counted, by `count` if given.

        That of a table to which runs append is unknown if this run has not written it, as one that could not build stores none.
        """
        derived = {name for name, spec in self.specs.items() if spec.derived}
        last_counts = {name: number for name, number in self.state.rows.items() if name in derived} | self._rows
        counts = {name: number for name, number in last_counts.items() if number is not None}
        names = [name for name in self.specs if name != RUNS]
        unknown = [name for name in names if name not in counts]
        counts |= dict(zip(unknown, at_once(count or self.count, unknown), strict=True))
        return {name: counts[name] for name in names}

    def create_missing(self, names: Iterable[str]) -> None:
        """Make tables that do not exist, empty and as declared."""
        at_once(self._make, names)

    def append(self, name: str, rows: DataFrame, expected: int | None = None) -> None:
        """Append rows in the declared columns and types; raise WarehouseError if fewer or more than expected were written."""
        existed = self.exists(name)
        written = self._write(name, rows, "append")
        if expected is not None and written is not None and written != expected:
            raise WarehouseError(
                f"{expected} rows were read for {self.address.location(name)} and {written} written: Spark read again what it had "
                "lost, and the log has changed since; run again, which takes these rows back first"
            )
        before = self._rows.get(name) if existed else 0
        self._rows[name] = None if written is None or before is None else before + written

    def overwrite(self, name: str, rows: DataFrame) -> None:
        """Replace all rows of the table, in one commit."""
        self._rows[name] = self._write(name, rows, "overwrite")

    def upsert(self, name: str, rows: DataFrame) -> None:
        """Insert rows, or replace rows with the same key, in one commit."""
        if self._is_empty(name):
            self.append(name, rows)
            return
        new = self._shaped(name, rows)
        if self.is_small(name):
            self.overwrite(name, of_other_keys(self.read(name), new, self.spec(name).key).unionByName(new))
        else:
            self._merge(name, new, replacement.UPSERT)

    def replace_connections(
        self,
        name: str,
        rows: DataFrame,
        replaced: DataFrame | None,
        earliest: Callable[[], datetime | None],
    ) -> None:
        """Replace the rows of connections by the recomputed ones, in one commit.

        A small table is written whole, which costs a fraction of a merge.

        Args:
            name: the table.
            rows: the new rows.
            replaced: the keys of the connections to replace; None replaces all rows.
            earliest: returns a time before which no replaced row opened, or None; it is called for large tables only.
        """
        spec = self.spec(name)
        if replaced is None or self._is_empty(name):
            self.overwrite(name, rows)
            return
        new = replacement.shaped(rows, spec)
        if self.is_small(name):
            self.overwrite(name, replacement.with_replaced(self.read(name), new, replaced))
            return
        bound = earliest()
        changes = replacement.changes(self.read(name), new, replaced, bound, spec)
        self._merge(name, changes, replacement.REPLACE, replacement.within(bound))

    def delete(self, name: str, condition: str) -> int:
        """Delete the rows that meet a condition in SQL; return their number."""
        return self._command(name, f"DELETE FROM {self.table(name)} WHERE {condition}")

    def delete_rows(self, name: str, keys: DataFrame, bound: str = "true") -> int:
        """Delete rows by the values of some columns, each combination at most once in `keys`; return their number.

        They all meet `bound`, a condition in SQL on `t` that lets Delta skip files.
        """
        with ddl.named_view(self.spark, keys) as view:
            merge = replacement.merge(self.table(name), view, (), keys.columns, replacement.DELETE, bound)
            return self._command(name, merge)

    def _is_empty(self, name: str) -> bool:
        """Return whether the table is known to have no rows."""
        return self._rows.get(name) == 0 or not self.exists(name)

    def is_small(self, name: str) -> bool:
        """Return whether a table is so small that it is written whole."""
        rows = self._rows.get(name, self.state.rows.get(name))
        values = None if rows is None else rows * len(self.spec(name).columns)
        return ddl.is_small(self.spark, self.table(name), values)

    def _make(self, name: str, rows: DataFrame | None = None) -> bool:
        """Make a table in one commit, with its first rows if there are any; return whether it did not exist."""
        spec = self.spec(name)
        with self._creating[name]:
            if name in self._existing:
                return False
            close_folder(self.address, spec, self._private)
            if self.exists(name):  # refuses a foreign table of that name
                return False
            folder = self.folder(name)  # on this machine; no other run makes it
            if folder is not None:
                set_aside(folder)
                close_folder(self.address, spec, self._private)
            if rows is None:
                make_table(self.spark, self.address, spec)
            else:
                with ddl.named_view(self.spark, replacement.commented(rows, spec)) as view:
                    make_table(self.spark, self.address, spec, view)
            if folder is not None:
                label = self.claims.label if self.claims.is_named else None
                self._rows[name] = 0 if rows is None else written_rows(self.spark, self.address, name, label)
            self._existing.add(name)
            return True

    def _write(self, name: str, rows: DataFrame, mode: str) -> int | None:
        self.claim()
        shaped = self._shaped(name, rows)
        shaped = shaped.coalesce(1) if self.one_file else shaped
        # The statement that makes a table with its first rows can't name its commit itself. If it is killed, files of rows
        # are left without a commit, which can be set aside on this machine only.
        with_rows = self.claims.is_named and self.folder(name) is not None
        if self._make(name, shaped if with_rows else None) and with_rows:
            return self._note_written(name, self._rows.get(name))
        if self._rows.get(name) == 0:
            mode = "append"  # nothing is there to replace, so Delta need not look
        write(shaped, self.address, name, mode, self.claims.options(name))
        return self._note_written(name, written_rows(self.spark, self.address, name, self.claims.label))

    def _shaped(self, name: str, rows: DataFrame) -> DataFrame:
        """Select the declared columns; rows without the number of their run get this one's."""
        spec = self.spec(name)
        is_new = spec.by_run and RUN not in rows.columns
        return replacement.shaped(rows.withColumn(RUN, F.lit(self.claims.number)) if is_new else rows, spec)

    def _note_written(self, name: str, rows: int | None) -> int | None:
        self._written[name] = self._written.get(name, 0) + (rows or 0)
        return rows

    def _merge(self, name: str, changes: DataFrame, clauses: str, bound: str = "true") -> None:
        spec = self.spec(name)
        with ddl.named_view(self.spark, changes) as view:
            merge = replacement.merge(self.table(name), view, spec.column_names, spec.key, clauses, bound)
            self._command(name, merge)

    def _command(self, name: str, statement: str) -> int:
        """Run a MERGE or DELETE; return the number of rows that it affected, none if there is no table."""
        self.claim()
        if not self.exists(name):
            return 0
        with self.claims.command(name):
            row = self.spark.sql(statement).first()
        self._rows[name] = None
        return self._note_written(name, 0 if row is None else int(row["num_affected_rows"])) or 0
