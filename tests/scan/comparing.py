"""The tables of two engines as rows that can be compared."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.runs import steps
from kafka_clientinfo.runs.steps import ROWS
from kafka_clientinfo.scan import MemoryTables
from kafka_clientinfo.spark.arrow_rows import TIMESTAMP, relation_of
from kafka_clientinfo.tables.spec import RUN, RUNS, table_spec, view_specs
from kafka_clientinfo.tables.views import SPARK, ViewSettings, definition, definitions, stored_tables
from tests.equality import OF_READING
from tests.frames import as_stored

DERIVED = [name for name, step in steps.steps().items() if step.write_mode]
"""The stored tables that steps make."""
VIEWS = [name for name in view_specs() if RUNS not in stored_tables(name)]
"""The declared views over them; `scan` has no table of runs."""


def compared(table: pa.Table, name: str) -> list[tuple[tuple[str, Any], ...]]:
    """Rows in the order of their key: times without a zone, maps and structs by their names."""
    columns = [column.name for column in table_spec(name).columns if column.name not in OF_READING]
    rows = [
        tuple((column, plain(row[column])) for column in columns)
        for row in table.select(columns).to_pylist(maps_as_pydicts="strict")
    ]
    return sorted(rows, key=repr)


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return datetime.combine(value.date(), value.time())  # whatever unit a file has, and so whatever class
    if isinstance(value, Mapping):
        return tuple(sorted((key, plain(item)) for key, item in value.items()))
    return tuple(map(plain, value)) if isinstance(value, list) else value


def in_arrow(tables: MemoryTables, name: str) -> pa.Table:
    """Take a table, in the declared columns; in memory, no run has appended its rows."""
    columns = ", ".join(f'"{column.name}"' for column in table_spec(name).columns if column.name != RUN)
    return tables._database.sql(f"SELECT {columns} FROM {tables.named(name)}").to_arrow_table()


def save(tables: MemoryTables, name: str, path: Path) -> None:
    """Write all columns of a table to a Parquet file, with times in UTC."""
    rows = tables._database.sql(f"SELECT * FROM {tables.named(name)}").to_arrow_table()
    kinds = [pa.field(f.name, TIMESTAMP if pa.types.is_timestamp(f.type) else f.type) for f in rows.schema]
    pq.write_table(rows.cast(pa.schema(kinds)), path)


def assert_same(found: pa.Table, expected: pa.Table, name: str) -> None:
    """Raise where two tables differ, with the first difference."""
    left, right = compared(found, name), compared(expected, name)
    assert len(left) == len(right), name
    for one, other in zip(left, right, strict=True):
        assert one == other, name


def by_spark(spark: Any, relations: Mapping[str, Any], folder: Path) -> dict[str, pa.Table]:
    """What Spark derives of these relations, and what its views answer; each goes to a file first, so that nothing is
    derived twice.
    """
    made = {**relations}

    def keep(name: str, rows: Any) -> Any:
        rows.coalesce(1).write.parquet(str(folder / name))
        return spark.read.parquet(str(folder / name))

    steps.make_all(steps.steps(), made, keep)
    made |= {name: relation_of(spark, rows(), table_spec(name).ddl) for name, rows in ROWS.items()}
    settings: Settings = made.pop("settings")
    stored = {"requests", "failed_requests", "topic_mentions", "ingested_files", *DERIVED, *ROWS}
    for name in stored:
        as_stored(made[name], name).createOrReplaceTempView(name)
    for name in (one for one in definitions() if RUNS not in stored_tables(one)):
        rows = keep(name, spark.sql(definition(name, SPARK, ViewSettings.of(settings), lambda one: one)))
        rows.createOrReplaceTempView(name)
    return {name: pq.read_table(folder / name) for name in (*DERIVED, *VIEWS)}
