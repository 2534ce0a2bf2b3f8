"""The tables of a build in memory: requests as they are read, and the tables derived from them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ..config.settings import Settings
from ..connections.coverage import with_log_coverage
from ..ingestion.arrow_schema import FAILED_TYPE, MENTION_TYPE, REQUEST_TYPE, Part
from ..ingestion.repeated_hour import TIMES, moved_row, moves
from ..questions.queries import DUCKDB_SETTINGS, Parameters, Rows, TableSize, bind, in_utc
from ..runs.reference_tables import ROWS
from ..spark.arrow_rows import TIMESTAMP, arrow_table
from ..tables.dialects import duckdb_macros
from ..tables.spec import table_spec
from ..tables.types import duckdb_type, quoted_text
from .derive import derive

_TABLES = {
    "request": ("requests", REQUEST_TYPE),
    "failed": ("failed_requests", FAILED_TYPE),
    "mention": ("topic_mentions", MENTION_TYPE),
}
"""The table for each kind of rows, and the type of its rows."""

_NEVER = "TIMESTAMP '1970-01-01'"


class MemoryTables:
    """Tables in DuckDB's memory.

    Requests have only the bodies that the parser keeps. DuckDB writes what exceeds its memory to the folder `scratch`.
    """

    root = "what was read"

    def __init__(self, settings: Settings, scratch: str = "") -> None:
        self._settings = settings
        self._database = duckdb.connect()
        own = (f"temp_directory = {quoted_text(scratch)}", "preserve_insertion_order = false")
        for setting in (*DUCKDB_SETTINGS, *own):
            self._database.execute(f"SET {setting}")
        for macro in duckdb_macros(settings.log_zone):
            self._database.execute(macro)
        for name, kind in _TABLES.values():
            self._take(pa.schema(list(kind)).empty_table(), f"CREATE TABLE {name} AS", _without_zones(name, kind))
        for name, rows in ROWS.items():
            spec = table_spec(name)
            self._take(arrow_table(rows(), spec.ddl), f"CREATE TABLE {name} AS", "*")
        self.set_files([])

    def add(self, part: Part) -> None:
        """Append rows to their table; rejected records are dropped."""
        if part.kind in _TABLES:
            name, kind = _TABLES[part.kind]
            self._take(pa.Table.from_batches([part.rows]), f"INSERT INTO {name}", _without_zones(name, kind))

    def set_files(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Replace the table ingested_files, and correct times in a repeated hour, for which all files are needed."""
        columns = [column for column in table_spec("ingested_files").columns if "map" not in column.type]
        files = self._set_right(rows)
        self._files = list(with_log_coverage(files.values(), self._settings, files).values())
        values = [[row[column.name] for column in columns] for row in self._files]
        items = ", ".join(
            f'CAST("{column.name}" AS {duckdb_type(column.type)}) AS "{column.name}"' for column in columns
        )
        files = arrow_table(values, ", ".join(f"{column.name} {column.type}" for column in columns))
        self._take(files, "CREATE OR REPLACE TABLE ingested_files AS", items)

    def _set_right(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        """Correct times that were read as the wrong one of a repeated hour; return the rows of all files by file_id."""
        files = {row["file_id"]: row for row in rows}
        for move in moves(files.values(), (), self._settings.log_zone):
            for name in TIMES:
                changes = ", ".join(f"{column} = {value}" for column, value in move.values(name).items())
                self._database.execute(f"UPDATE {name} SET {changes} WHERE {move.condition(name)}")
            files[move.file_id] = moved_row(files[move.file_id], move)
        return files

    def _take(self, rows: pa.Table, statement: str, items: str) -> None:
        self._database.register("arrived", rows)
        self._database.execute(f"{statement} SELECT {items} FROM arrived")
        self._database.unregister("arrived")

    def derive(self, wanted: Iterable[str] | None = None) -> None:
        """Create the derived tables of the requests that were added; see `derive.derive`."""
        derive(self._database, self._files, self._settings, wanted)

    def exists(self, name: str) -> bool:
        """Return whether the table exists."""
        found = "SELECT 1 FROM information_schema.tables WHERE table_name = ?"
        return bool(self._database.execute(found, [name]).fetchall())

    def state(self) -> None:
        """Return None: tables in memory have no warehouse with a state."""

    def size(self, name: str) -> TableSize:
        """Return the number of rows of a table that exists; it has no files."""
        return TableSize(self.query(f"SELECT count(*) FROM {{{name}}}").rows[0][0], 0, 0)

    def query(self, statement: str, parameters: Parameters | None = None) -> Rows:
        """Run SQL with tables and parameters in braces, as `queries.Tables` does."""
        text, given = bind(statement, parameters, lambda name: name)
        answer = self._database.execute(text, given or None)
        names = tuple(column[0] for column in answer.description or [])
        return Rows(names, [tuple(map(in_utc, row)) for row in answer.fetchall()])

    def save(self, name: str, path: Path) -> None:
        """Write all columns of a table to a Parquet file, with times in UTC."""
        rows = self._database.sql(f"SELECT * FROM {name}").to_arrow_table()
        kinds = [pa.field(f.name, TIMESTAMP if pa.types.is_timestamp(f.type) else f.type) for f in rows.schema]
        pq.write_table(rows.cast(pa.schema(kinds)), path)


def _without_zones(name: str, kind: pa.StructType) -> str:
    """Return the SELECT list for rows of a table that were read: times without a zone, and a constant ingested_at."""
    read = {field.name for field in kind}
    times = (
        f'CAST("{column.name}" AS {duckdb_type(column.type)}) AS "{column.name}"'
        for column in table_spec(name).columns
        if "timestamp" in column.type and column.name in read
    )
    return f"* REPLACE ({', '.join(times)}), {_NEVER} AS ingested_at"
