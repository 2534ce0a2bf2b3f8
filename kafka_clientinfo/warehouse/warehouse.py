"""The Delta tables of one warehouse, and the ways to write them.

A run opens the warehouse once, before it reads. If it holds no lock, it claims the warehouse before it writes. Every
write is one commit and returns the number of its rows, so that few tables have to be counted.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ..connections.texts import of_other_keys
from ..errors import WarehouseError
from ..spark.features import at_once
from ..tables.spec import TableSpec, table_specs
from ..tables.views import SPARK, ViewSettings, definition, is_view, not_a_table
from . import ddl, replacement
from .address import address_in, root_of
from .claims import CLAIM, Claims, last_metadata
from .commit import snapshot, write, written_rows
from .creation import close_folder, make_schema, make_table
from .judged_table import JUDGED, JudgedTable
from .migration import declared_by, migrate
from .repair import mend, refuse_damaged
from .staging import Staging
from .state import FORMAT, LEDGER, State, read_state
from .stores import remove_half_made, unless_not_made
from .table_layout import StoredColumn, check_readable, columns_of, nulls_for
from .table_log import is_made

_FIRST_BATCH = "kafka_clientinfo.first_batch"
"""Property of a table: the batch id of the write that made it, as a statement takes no writer's options."""


class Warehouse:
    """Delta tables, one per declared table, in a folder or in a schema of a catalog.

    Args:
        spark: a session with Delta.
        root: folder or URI with the tables as subfolders; or catalog.schema.
        locked: whether a real lock is held, as `exclusive` yields it; without one, writes are claimed.
        specs: the tables by name; all declared ones if None.
        private: whether only the owner may read tables with raw bytes of logs, if they are on this machine.

    Attributes:
        locked: as given.
        address: where the tables are stored.
        one_file: whether each write makes one file; for runs of few bytes, as each task costs 50–100 ms.
        staging: for `cache`.
        judged: the table `judged_requests`.
    """

    def __init__(
        self,
        spark: SparkSession,
        root: str | Path,
        locked: bool = False,
        specs: Mapping[str, TableSpec] | None = None,
        private: bool = True,
    ) -> None:
        self.spark = spark
        self.locked = locked
        self.address = address_in(spark, root_of(root))
        self.specs = table_specs() if specs is None else specs
        self.one_file = False
        self._private = private
        self.staging = Staging(spark, self.address, private)
        self._claims = Claims(spark, self.address, locked)
        self.judged = JudgedTable(spark, self.address, self._claims, self.folder(JUDGED))
        self._claiming = Lock()
        self._new_state = State(declared=declared_by(self.specs))
        self._state: State | None = None
        self._rows: dict[str, int | None] = {}  # per table that this run has written; None if not known
        self._existing: set[str] = set()
        self._creating = {name: Lock() for name in self.specs}

    @property
    def root(self) -> str:
        """The location of the tables, for messages."""
        return self.address.root

    def table(self, name: str) -> str:
        """Return the name of a table in SQL."""
        return self.address.table(name)

    def spec(self, name: str) -> TableSpec:
        """Return the declaration of a table.

        Raises:
            WarehouseError: no such table is declared.
        """
        if name not in self.specs:
            raise WarehouseError(not_a_table(name, self.specs))
        return self.specs[name]

    # State

    def open(self) -> State:
        """Check that the warehouse fits this release; call it once per run.

        Raises:
            WarehouseError: it has another format, or something that can't be derived again is missing or damaged.
        """
        refuse_damaged(self)
        if self.address.is_schema:
            make_schema(self.spark, self.address)
        if not self.locked:
            self._make(LEDGER)
        self._claims.note_version()
        if self.is_new:
            self._state = self._new_state
            return self._state
        self._state = read_state(self.spark, self.address, self.folder(LEDGER), oldest=FORMAT - 1)
        if self._state is not None:
            self._existing.add(LEDGER)
            migrate(self)
            mend(self)
        return self.state

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever ingested; this looks into the local folder only, and is False if unsure."""
        folder = self.folder(LEDGER)
        return folder is not None and not is_made(folder)

    @property
    def state(self) -> State:
        """The state as this run has read and changed it."""
        if self._state is None:
            self._state = read_state(self.spark, self.address, self.folder(LEDGER)) or self._new_state
        return self._state

    def update_state(self, **changes: Any) -> None:
        """Store changes of the state in one commit.

        Raises:
            WarehouseError: another run has claimed the warehouse.
        """
        self.claim()
        self._claims.check()
        before = self.state
        self._state = replace(before, **changes)
        if self._state != before and self.exists(LEDGER):  # else the write that makes it stores the state
            ddl.set_properties(self.spark, self.table(LEDGER), self._state.properties)

    def claim(self) -> None:
        """Keep other runs from committing from here on; does nothing if a lock is held.

        A run claims before it reads what it will delete or replace; a write claims if that was not done.

        Raises:
            WarehouseError: another run has written since this one opened the warehouse.
        """
        with self._claiming:
            if not self.locked and self._claims.number is None:
                # An overtaken run must not make one of these, with rows that the ledger does not know.
                names = [spec.name for spec in self.specs.values() if spec.write_mode in ("append", "part")]
                self.create_missing([LEDGER, *names])
                self._claims.claim(name for name in names if name != LEDGER)

    # Reading

    def exists(self, name: str) -> bool:
        """Return whether the table exists."""
        spec = self.spec(name)
        if name not in self._existing:
            folder = self.folder(name)
            if self._load(spec) is not None if folder is None else is_made(folder):
                self._existing.add(name)
        return name in self._existing

    def read(self, name: str) -> DataFrame:
        """Return the table or view as it is now; a table that does not exist has no rows."""
        if is_view(name):
            return self.spark.sql(f"SELECT * FROM {self.relation(name)}")
        spec, rows = self.spec(name), self._load(self.spec(name))
        if rows is None:
            return self.spark.sql(ddl.no_rows(spec))
        nulls = nulls_for(spec, rows.columns)
        return rows.selectExpr("*", *nulls) if nulls else rows

    def relation(self, name: str) -> str:
        """Return SQL for the rows of a table or view as they are now.

        Raises:
            WarehouseError: there is none of that name, or an existing table is not one of this release.
        """
        if is_view(name):
            return f"(\n{definition(name, SPARK, ViewSettings.stored(self.state.view_settings), self.relation)}\n)"
        spec, rows = self.spec(name), self._load(self.spec(name))
        if rows is None:
            return f"({ddl.no_rows(spec)})"
        nulls = nulls_for(spec, rows.columns)
        return f"(SELECT {', '.join(['*', *nulls])} FROM {self.table(name)})" if nulls else self.table(name)

    def read_snapshot(self, name: str) -> DataFrame:
        """Return the table as it is now; later writes do not change the result."""
        if not self.exists(name):
            return self.read(name)
        return snapshot(self.spark, self.table(name), self.folder(name))

    def count(self, name: str) -> int:
        """Return the number of rows in the table; Delta knows it without reading them."""
        return self.read(name).count()

    def rows(self, count: Callable[[str], int] | None = None) -> dict[str, int]:
        """Return rows per table after this run's writes; tables with an unknown number are counted, by `count` if given.

        The number of a table that runs append to is unknown if this run has not written it: an earlier run may have
        been killed before it could store the number.
        """
        derived = {name for name, spec in self.specs.items() if spec.derived}
        last_counts = {name: number for name, number in self.state.rows.items() if name in derived} | self._rows
        counts = {name: number for name, number in last_counts.items() if number is not None}
        unknown = [name for name in self.specs if name not in counts]
        counts |= dict(zip(unknown, at_once(count or self.count, unknown), strict=True))
        return {name: counts[name] for name in self.specs}

    def last_batch(self, name: str) -> str | None:
        """Return the batch id of the table's last write; None if it does not exist."""
        if not self.exists(name):
            return None
        table, folder = self.table(name), self.folder(name)
        newest = last_metadata(self.spark, table, lambda text: not text.startswith(CLAIM), folder)
        return newest or (ddl.properties(self.spark, table, folder) or {}).get(_FIRST_BATCH)

    def _load(self, spec: TableSpec) -> DataFrame | None:
        def load() -> tuple[DataFrame, Mapping[str, StoredColumn]]:
            rows = self.spark.read.table(self.table(spec.name))
            return rows, columns_of(rows)  # only this makes Spark Connect look for the table

        if (loaded := unless_not_made(self.address, spec.name, load)) is None:
            return None
        rows, columns = loaded
        check_readable(spec, columns, self.address.location(spec.name))
        return rows

    # Writing

    def create_missing(self, names: Iterable[str]) -> None:
        """Make tables that do not exist, empty and as declared."""
        at_once(self._make, names)

    def append(self, name: str, rows: DataFrame, batch_id: str, expected: int | None = None) -> None:
        """Append rows in the declared columns and types; `batch_id` is stored in the table's history.

        Raises:
            WarehouseError: fewer or more rows were written than expected.
        """
        existed = self.exists(name)
        written = self._write(name, rows, "append", batch_id)
        if expected is not None and written is not None and written != expected:
            raise WarehouseError(
                f"{expected} rows were read for {self.address.location(name)} and {written} written: Spark read again what it had "
                "lost, and the log has changed since; run again, which deletes these rows first"
            )
        before = self._rows.get(name) if existed else 0
        self._rows[name] = None if written is None or before is None else before + written

    def overwrite(self, name: str, rows: DataFrame, batch_id: str, where: str | None = None) -> None:
        """Replace the whole table, or the rows that meet a condition in SQL, in one commit."""
        written = self._write(name, rows, "overwrite", batch_id, where)
        self._rows[name] = written if where is None else None

    def upsert(self, name: str, rows: DataFrame, batch_id: str) -> None:
        """Insert rows, or replace rows with the same key, in one commit."""
        spec = self.spec(name)
        if self._is_empty(name):
            self.append(name, rows, batch_id)
        elif self.is_small(name):
            new = replacement.shaped(rows, spec)
            self.overwrite(name, of_other_keys(self.read(name), new, spec.key).unionByName(new), batch_id)
        else:
            self._merge(name, replacement.shaped(rows, spec), replacement.UPSERT)

    def replace_connections(
        self,
        name: str,
        rows: DataFrame,
        recomputed_ids: DataFrame | None,
        earliest: Callable[[], datetime | None],
        batch_id: str,
    ) -> None:
        """Replace the rows of connections by the recomputed ones, in one commit.

        A small table is written whole, which costs a fraction of a merge.

        Args:
            name: a table whose rows belong to connections.
            rows: the new rows.
            recomputed_ids: the connections to replace; see `replacement.with_replaced`. None replaces all rows.
            earliest: returns a time before which no replaced row opened, or None; it is called for large tables only.
            batch_id: stored in the table's history.
        """
        spec = self.spec(name)
        if recomputed_ids is None or self._is_empty(name):
            self.overwrite(name, rows, batch_id)  # not an append: an overtaken run may just have filled the table
            return
        new = replacement.shaped(rows, spec)
        if self.is_small(name):
            self.overwrite(name, replacement.with_replaced(self.read(name), new, recomputed_ids), batch_id)
            return
        bound = earliest()
        changes = replacement.changes(self.read(name), new, recomputed_ids, bound, spec)
        self._merge(name, changes, replacement.REPLACE, replacement.within(bound))

    def delete(self, name: str, condition: str) -> int:
        """Delete the rows that meet a condition in SQL; return their number."""
        return self._command(name, f"DELETE FROM {self.table(name)} WHERE {condition}")

    def delete_rows(self, name: str, keys: DataFrame, bound: str = "true") -> int:
        """Delete rows by the values of some columns, each combination at most once in `keys`; return their number.

        All these rows meet `bound`, a condition in SQL on `t` that lets Delta skip files by their statistics.
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

    def _make(self, name: str, rows: DataFrame | None = None, batch_id: str = "") -> bool:
        """Make a table in one commit, with its first rows if there are any; return whether it did not exist."""
        spec = self.spec(name)
        with self._creating[name]:
            if name in self._existing:
                return False
            close_folder(self.address, spec, self._private)
            if self.exists(name):  # refuses a foreign table of that name
                return False
            folder = self.folder(name)  # on this machine; no other run makes it
            if folder is not None and folder.exists():
                remove_half_made(self.address.location(name))
            properties = (self._state or self._new_state).properties if name == LEDGER else {}
            if rows is None:
                make_table(self.spark, self.address, spec, properties, self._private)
            else:
                properties |= {_FIRST_BATCH: batch_id}
                with ddl.named_view(self.spark, replacement.commented(rows, spec)) as view:
                    make_table(self.spark, self.address, spec, properties, self._private, view)
            if folder is not None:
                self._rows[name] = 0 if rows is None else written_rows(self.spark, self.table(name), folder, None)
            self._existing.add(name)
            return True

    def folder(self, name: str) -> Path | None:
        """Return the table's folder if it is on this machine and no other run writes there, else None."""
        return self.address.folder / name if self.locked and self.address.folder is not None else None

    def _write(self, name: str, rows: DataFrame, mode: str, batch_id: str, where: str | None = None) -> int | None:
        self.claim()
        shaped = replacement.shaped(rows, self.spec(name))
        shaped = shaped.coalesce(1) if self.one_file else shaped
        if self._make(name, shaped, batch_id):
            self._check_ledger(name)
            return self._rows.get(name)
        if self.locked and self._rows.get(name) == 0:
            mode, where = "append", None  # nothing is there to replace, so Delta need not look
        options = {"userMetadata": batch_id, **self._claims.options(name)}
        write(shaped, self.address, name, mode, options, where)
        self._check_ledger(name)
        return written_rows(self.spark, self.table(name), self.folder(name), batch_id)

    def _merge(self, name: str, changes: DataFrame, clauses: str, bound: str = "true") -> None:
        spec = self.spec(name)
        with ddl.named_view(self.spark, changes) as view:
            merge = replacement.merge(self.table(name), view, spec.column_names, spec.key, clauses, bound)
            self._command(name, merge)
        self._check_ledger(name)

    def _command(self, name: str, statement: str) -> int:
        """Run a MERGE or DELETE; return the number of rows that it affected, none if there is no table."""
        self.claim()
        if not self.exists(name):
            return 0
        with self._claims.command(name):
            row = self.spark.sql(statement).first()
        self._rows[name] = None
        return 0 if row is None else int(row["num_affected_rows"])

    def _check_ledger(self, name: str) -> None:
        """Check the claim after a write of the ledger: Delta silently skips the commit of a run that was overtaken.

        The run's other rows have no effect without the ledger.
        """
        if name == LEDGER:
            self._claims.check()
