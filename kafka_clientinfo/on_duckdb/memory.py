"""The tables of a build in memory: requests as they are read, and what is derived of them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ..ingestion.arrow_schema import FAILED_TYPE, REQUEST_TYPE
from ..ingestion.in_process import Part
from ..settings import Settings
from ..tables import table_spec
from .derive import derive
from .types import duckdb_type

_TABLES = {"request": ("requests", REQUEST_TYPE), "failed": ("failed_requests", FAILED_TYPE)}
"""The table that rows of a kind go to, and their type."""

_NEVER = "TIMESTAMP '1970-01-01'"


class MemoryTables:
    """Tables in DuckDB's memory.

    Requests are kept without their bodies as far as the parser lets these go; what does not fit into the memory that
    DuckDB takes goes to files in `scratch`.

    Args:
        settings: of the build.
        scratch: folder for what does not fit into memory.
    """

    root = "the logs that were read"

    def __init__(self, settings: Settings, scratch: str = "") -> None:
        """Begin with empty tables."""
        self._settings = settings
        self._database = duckdb.connect()
        for setting in ("TimeZone = 'UTC'", f"temp_directory = '{scratch}'", "preserve_insertion_order = false"):
            self._database.execute(f"SET {setting}")
        for name, kind in _TABLES.values():
            self._take(pa.schema(list(kind)).empty_table(), f"CREATE TABLE {name} AS", _without_zones(kind))
        self.set_files([])

    def add(self, part: Part) -> None:
        """Put rows behind those of their table; rejected records go nowhere."""
        if part.kind in _TABLES:
            name, kind = _TABLES[part.kind]
            self._take(pa.Table.from_batches([part.rows]), f"INSERT INTO {name}", _without_zones(kind))

    def set_files(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Replace the table ingested_files."""
        columns = [column for column in table_spec("ingested_files").columns if "map" not in column.type]
        rows = list(rows)
        arrays = [pa.array([row[column.name] for row in rows], _arrow_type(column.type)) for column in columns]
        items = ", ".join(
            f'CAST("{column.name}" AS {duckdb_type(column.type)}) AS "{column.name}"' for column in columns
        )
        files = pa.Table.from_arrays(arrays, [column.name for column in columns])
        self._take(files, "CREATE OR REPLACE TABLE ingested_files AS", items)

    def _take(self, rows: pa.Table, statement: str, items: str) -> None:
        self._database.register("arrived", rows)
        self._database.execute(f"{statement} SELECT {items} FROM arrived")
        self._database.unregister("arrived")

    def derive(self, wanted: Iterable[str] | None = None) -> None:
        """Make the derived tables of the requests that are there; see `derive.derive`."""
        derive(self._database, self._settings, wanted)

    def arrow(self, name: str) -> pa.Table:
        """Take a table, in the declared columns."""
        columns = ", ".join(f'"{column.name}"' for column in table_spec(name).columns)
        return self._database.sql(f"SELECT {columns} FROM {name}").to_arrow_table()

    def save(self, name: str, path: Path) -> None:
        """Write a table, in all its columns, to a Parquet file, with times in UTC."""
        rows = self._database.sql(f"SELECT * FROM {name}").to_arrow_table()
        zone = pa.timestamp("us", tz="UTC")
        kinds = [pa.field(f.name, zone if pa.types.is_timestamp(f.type) else f.type) for f in rows.schema]
        pq.write_table(rows.cast(pa.schema(kinds)), path)


def _without_zones(kind: pa.StructType) -> str:
    """The columns of rows that were read, whose times are in UTC, and a time of ingestion."""
    times = (
        f'CAST("{field.name}" AS TIMESTAMP) AS "{field.name}"' for field in kind if pa.types.is_timestamp(field.type)
    )
    return f"* REPLACE ({', '.join(times)}), {_NEVER} AS ingested_at"


def _arrow_type(kind: str) -> pa.DataType:
    types = {"timestamp": pa.timestamp("us", tz="UTC"), "bigint": pa.int64(), "boolean": pa.bool_(), "int": pa.int32()}
    return types.get(kind, pa.string())
