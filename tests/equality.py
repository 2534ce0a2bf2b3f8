"""When two warehouses hold the same: every table, row for row, in all columns but those that tell how it was read."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from chispa import assert_df_equality
from deltalake import DeltaTable
from pyspark.sql import functions as F

from kafka_clientinfo.tables.spec import table_spec, table_specs
from kafka_clientinfo.warehouse.warehouse import Warehouse

OF_READING = ("path", "batch_id", "ingested_at")
"""Columns that say how and when logs were read, and not what they hold."""
NOT_COMPARED = (*OF_READING, "file_id", "byte_offset", "compressed", "size_on_disk", "resume_hash")
"""Columns that differ also if the same log is read in other files."""
COMPARED = [name for name in table_specs() if name not in ("ingested_files", "topic_mentions")]
"""topic_mentions sums up what was read, by the parts in which it was read; what is made of it must not differ."""
ACCOUNT = (
    "records",
    "requests",
    "rejected",
    "ignored",
    "first_logged_at",
    "last_logged_at",
    "step_back_ms",
    "bytes_ingested",
    "pending_bytes",
    "covers_broker_start",
    "broker_events",
)


def assert_same_tables(spark: Any, found: Path, expected: Path, names: Iterable[str] = COMPARED) -> None:
    """Raise where a table differs; ingested_files tells how the input was read and is not compared."""
    for name in names:
        left, right = (Warehouse(spark, str(root)).read(name).drop(*NOT_COMPARED) for root in (found, expected))
        assert_same_rows(left, right, name)


def assert_same_folders(found: Path, expected: Path) -> None:
    """Raise where a table differs; read without Spark, as the tables of another cluster or catalog are."""
    for name in COMPARED:
        left, right = (_stored_rows(root / name) for root in (found, expected))
        assert left == right, f"{name}: {len(left)} rows in {found}, {len(right)} in {expected}"
    accounts = [
        {row["file_id"]: row for row in DeltaTable(root / "ingested_files").to_pyarrow_table().to_pylist()}
        for root in (found, expected)
    ]
    assert _accounts(accounts[0]) == _accounts(accounts[1])


def _stored_rows(table: Path) -> list[str]:
    """The rows of a table without the columns that are not compared, each as text, sorted."""
    rows = DeltaTable(table).to_pyarrow_table().to_pylist(maps_as_pydicts="strict")
    return sorted(repr({name: _ordered(row[name]) for name in row if name not in NOT_COMPARED}) for row in rows)


def _ordered(value: Any) -> Any:
    """A value whose maps, which have no order, are in that of their keys."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value, key=str)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def assert_same_rows(found: Any, expected: Any, name: str) -> None:
    """Raise where two relations in a table's columns differ; rows are compared in the order of its key."""
    key = [column for column in table_spec(name).key if column not in NOT_COMPARED]
    order = key or expected.columns  # by all columns where the key is not compared
    assert_df_equality(
        _with_lists(found, name),
        _with_lists(expected, name),
        ignore_nullable=True,
        ignore_metadata=True,
        transforms=[lambda rows: rows.orderBy(*order)],
    )


def _with_lists(rows: Any, name: str) -> Any:
    """The rows with lists of entries for maps, which have no order."""
    maps = [column.name for column in table_spec(name).columns if column.type.startswith("map<")]
    return rows.withColumns({map_: F.array_sort(F.map_entries(map_)) for map_ in maps if map_ in rows.columns})


def assert_same_accounts(spark: Any, found: Path, expected: Path) -> None:
    """Raise where ingested_files knows other files, or tells something else of what they hold."""
    left, right = (
        {row["file_id"]: row.asDict() for row in Warehouse(spark, str(root)).read("ingested_files").collect()}
        for root in (found, expected)
    )
    assert _accounts(left) == _accounts(right)


def _accounts(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    accounts = {file_id: {column: row[column] for column in ACCOUNT} for file_id, row in rows.items()}
    for account in accounts.values():  # without the time of the run that read them
        account["broker_events"] = [(one["at"], one["kind"], one["value"]) for one in account["broker_events"]]
    return accounts
