"""The tables of two engines as rows that can be compared."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from kafka_clientinfo.runs import steps
from kafka_clientinfo.scan import MemoryTables
from kafka_clientinfo.tables.spec import RUN, RUNS, table_spec, view_specs
from kafka_clientinfo.tables.views import stored_tables
from tests.equality import OF_READING

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


def assert_same(found: pa.Table, expected: pa.Table, name: str) -> None:
    """Raise where two tables differ, with the first difference."""
    left, right = compared(found, name), compared(expected, name)
    assert len(left) == len(right), name
    for one, other in zip(left, right, strict=True):
        assert one == other, name
