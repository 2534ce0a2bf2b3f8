"""Reads the tables of a warehouse on this machine without Spark: delta-rs lists their files, DuckDB runs SQL on them.

A Spark session with Delta takes seconds to start and more to read its first table; these libraries take a fraction of
a second. The tables use no feature that only Delta's own reader knows, so both readers see the same rows. DuckDB reads
only the columns and row groups that a query needs; it may open no file outside the warehouse, and loads no extension.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import duckdb
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from ..errors import ConfigError
from ..tables.dialects import duckdb_macros
from ..tables.spec import RUNS, TableSpec, relation_specs, table_spec, table_specs
from ..tables.types import duckdb_type, quoted_name, quoted_text
from ..tables.views import DUCKDB, ViewSettings, definition, definitions, ended_runs_only, is_view, views
from ..warehouse.address import Address
from ..warehouse.state import LEDGER, OF_STATE, State, state_before_runs, state_of
from ..warehouse.table_layout import TableLayout, check_readable, stored_layout
from ..warehouse.table_log import clustering, damage, is_made, newest_rows
from .queries import DUCKDB_SETTINGS, Parameters, Rows, TableSize, UnreadableTableError, bind, in_utc

_HARMLESS_FEATURES = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
VIEWS_FILE = "views.sql"
_SCHEMA = "warehouse"
"""Schema of the tables; not one that DuckDB searches, as queries may use the tables' names for their own."""


class LocalTables:
    """The tables in a folder of this machine, each as it was when it was first read: a `StoredTables`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.root = str(self.folder)
        self._opened: dict[str, DeltaTable] = {}
        self._views: set[str] = set()

    def exists(self, name: str) -> bool:
        return self._is_view(name) or is_made(self.folder / name)

    def _is_view(self, name: str) -> bool:
        return is_view(name)

    def state(self) -> State | None:
        has_runs = is_made(self.folder / RUNS)
        if has_runs and (rows := newest_rows(self.folder / RUNS, OF_STATE) or self._all_runs()):
            return state_of(rows, Address(self.root))
        ledger = self._layout(LEDGER)
        return None if ledger is None else state_before_runs(ledger.properties, Address(self.root), has_runs)

    def _all_runs(self) -> list[dict[str, Any]]:
        import pyarrow.parquet as pq  # only a compacted table needs it

        table = self._table(RUNS)
        files = [str(self.folder / RUNS / path) for path in table.get_add_actions().column("path").to_pylist()]
        return [row for file in files for row in pq.ParquetFile(file).read(list(OF_STATE)).to_pylist()]

    def layout(self, name: str) -> TableLayout | None:
        layout = self._layout(name)
        return None if layout is None else replace(layout, clustering=clustering(self.folder / name))

    def _layout(self, name: str) -> TableLayout | None:
        """Return the layout of a table, without its clustering, which may take all of its log to know."""
        if not self.exists(name):
            return None
        table = self._table(name)
        return stored_layout(table.schema().to_json(), table.metadata().configuration)

    def size(self, name: str) -> TableSize:
        files: Any = self._table(name).get_add_actions()
        sizes: list[int] = files.column("size_bytes").to_pylist()
        counts: list[int | None] = files.column("num_records").to_pylist()
        rows = [number for number in counts if number is not None]
        if len(rows) < len(sizes):
            rows = [self.query(f"SELECT count(*) FROM {{{name}}}").rows[0][0]]
        return TableSize(sum(rows), len(sizes), sum(sizes))

    def query(self, statement: str, parameters: Parameters | None = None) -> Rows:
        text, given = bind(statement, parameters, self._named)
        parsed = self._duckdb.extract_statements(text)
        if len(parsed) != 1 or parsed[0].type != duckdb.StatementType.SELECT:
            raise ConfigError("only one query can be answered, and nothing written; begin it with SELECT, WITH or FROM")
        try:
            described, rows = self._answered(text, given)
        except duckdb.IOException as error:
            raise _unreadable(self.folder, error) from None
        has_times = any("TIMESTAMP" in str(column[1]) for column in described)
        return Rows(
            tuple(column[0] for column in described),
            [tuple(map(in_utc, row)) for row in rows] if has_times else rows,
        )

    def _answered(self, text: str, given: Parameters) -> tuple[list[Any], list[tuple[Any, ...]]]:
        """Return description and rows of an answer; DuckDB runs in another thread, as it seldom looks for Ctrl-C."""
        connection = self._duckdb

        def answered() -> tuple[list[Any], list[tuple[Any, ...]]]:
            result = connection.execute(text, given or None)
            return result.description or [], result.fetchall()

        with ThreadPoolExecutor(1) as other:
            answer = other.submit(answered)
            try:
                return answer.result()
            except KeyboardInterrupt:
                connection.interrupt()
                raise

    @cached_property
    def _duckdb(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        for setting in (
            *DUCKDB_SETTINGS,
            "temp_directory = ''",
            f"allowed_directories = [{quoted_text(self.root)}]",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            connection.execute(f"SET {setting}")
        connection.execute(f"CREATE SCHEMA {_SCHEMA}")
        for macro in duckdb_macros(self._view_settings.log_zone):
            connection.execute(macro)
        return connection

    @cached_property
    def _view_settings(self) -> ViewSettings:
        state = self.state()
        return ViewSettings.stored(None if state is None else state.view_settings)

    def write_views(self) -> None:
        """Write the file with which DuckDB has all tables and views as they are now: `duckdb -init views.sql` there.

        It names the files of each table, and needs no extension; every run writes it anew.
        """
        tables = {name: self._rows_of(table_spec(name), ".") for name in table_specs()}
        read = partial(ended_runs_only, relation=quoted_name)
        declared = {name: definition(name, DUCKDB, self._view_settings, read) for name in definitions()}
        names = {name: quoted_name(name) for name in relation_specs()}
        questions = {view.name: view.sql.format_map(names) for view in views().values()}
        every = {**tables, **declared, **questions}
        statements = [
            *(f"SET {setting}" for setting in DUCKDB_SETTINGS[:3]),
            *duckdb_macros(self._view_settings.log_zone),
            *(f"CREATE OR REPLACE VIEW {quoted_name(name)} AS {sql}" for name, sql in every.items()),
        ]
        head = (
            "-- Tables and views of this warehouse as of the last run: in this folder, run `duckdb -init views.sql`.\n"
        )
        written = self.folder / f"{VIEWS_FILE}.new"
        written.write_text(head + "".join(f"{statement};\n" for statement in statements), "utf-8")
        written.replace(self.folder / VIEWS_FILE)

    def _named(self, name: str) -> str:
        if name not in self._views:
            is_view, folder = self._is_view(name), str(self.folder)
            rows = self._written_out(name) if is_view else self._rows_of(table_spec(name), folder)
            try:
                self._duckdb.execute(f"CREATE VIEW {_SCHEMA}.{name} AS {rows}")
            except duckdb.Error as error:
                raise _unreadable(self.folder / name, error) from None
            self._views.add(name)
        return f"{_SCHEMA}.{name}"

    def _written_out(self, name: str) -> str:
        """Return the query of a view with the views that it reads as its common table expressions.

        DuckDB plans views of views anew wherever one is named, and once more when each is created; these it plans once.
        """
        inner: dict[str, str] = {}

        def relation(other: str) -> str:
            if not self._is_view(other):
                return self._named(other)
            if other not in inner:
                inner[other] = query(other)
            return quoted_name(f"view {other}")

        def query(of: str) -> str:
            return definition(of, DUCKDB, self._view_settings, partial(ended_runs_only, relation=relation))

        rows = query(name)
        read = ", ".join(f"{quoted_name(f'view {other}')} AS (\n{text}\n)" for other, text in inner.items())
        return f"WITH {read} FROM (\n{rows}\n) AS {name}" if inner else rows

    def _rows_of(self, spec: TableSpec, base: str) -> str:
        nothing = ", ".join(f'CAST(NULL AS {duckdb_type(c.type)}) AS "{c.name}"' for c in spec.columns)
        layout, folder = self._layout(spec.name), self.folder / spec.name
        if layout is None:
            return f"SELECT {nothing} WHERE false"
        table = self._table(spec.name)
        check_readable(spec, layout.columns, str(folder))
        _refuse_features(table, folder)
        added: Any = table.get_add_actions()
        paths, times = (added.column(name).to_pylist() for name in ("path", "modification_time"))
        if not paths:
            return f"SELECT {nothing} WHERE false"
        by_time = [path for _, path in sorted(zip(times, paths, strict=True))]
        newest = self._columns_in(folder / by_time[-1])
        oldest = newest if len(paths) == 1 else self._columns_in(folder / by_time[0])
        stored = {name: f'"{name}"' for name in layout.columns if name in newest}
        how = "" if newest <= oldest else ", union_by_name = true"
        columns = ", ".join(
            f'CAST({stored.get(c.name, "NULL")} AS {duckdb_type(c.type)}) AS "{c.name}"'
            if "timestamp" in c.type or c.name not in stored
            else stored[c.name]
            for c in spec.columns
        )  # a file's writer decides whether a time has a zone
        files = ", ".join(quoted_text(f"{base}/{spec.name}/{path}") for path in paths)
        return f"SELECT {columns} FROM read_parquet([{files}]{how})"

    def _columns_in(self, file: Path) -> set[str]:
        try:
            rows = self._duckdb.execute(f"SELECT name FROM parquet_schema({quoted_text(str(file))})").fetchall()
        except duckdb.Error as error:
            raise _unreadable(file.parent, error) from None
        return {name for (name,) in rows}

    def _table(self, name: str) -> DeltaTable:
        if name not in self._opened:
            try:
                self._opened[name] = DeltaTable(str(self.folder / name))
            except DeltaError as error:
                raise _unreadable(self.folder / name, error) from None
        return self._opened[name]


def _unreadable(folder: Path, error: Exception) -> UnreadableTableError:
    if (wrong := damage(folder)) is not None:
        return UnreadableTableError(wrong)
    return UnreadableTableError(f"{folder} cannot be read: {str(error).splitlines()[0]}; restore it")


def _refuse_features(table: DeltaTable, folder: Path) -> None:
    protocol, metadata = table.protocol(), table.metadata()
    features = sorted(set(protocol.reader_features or ()) - _HARMLESS_FEATURES)
    if protocol.min_reader_version == 2 or metadata.partition_columns:
        features.append("columnMapping" if protocol.min_reader_version == 2 else "partitions")
    if features:
        raise UnreadableTableError(
            f"{folder} has {', '.join(features)}, which only Spark reads: somebody altered the table; restore it "
            "(RESTORE TABLE), or build a new warehouse from the logs"
        )
