"""When two warehouses hold the same: every table and view, row for row, in all columns but those that tell how it was read."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from kafka_clientinfo.questions.duckdb_tables import LocalTables
from kafka_clientinfo.questions.queries import Tables
from kafka_clientinfo.questions.spark_tables import SparkTables
from kafka_clientinfo.tables.spec import relation_specs
from kafka_clientinfo.tables.types import quoted_name
from kafka_clientinfo.warehouse.warehouse import Warehouse

OF_READING = ("path", "batch_id", "ingested_at", "run")
"""Columns that say how and when logs were read, and not what they hold."""
NOT_COMPARED = (*OF_READING, "file_id", "byte_offset", "compressed", "size_on_disk", "resume_hash")
"""Columns that differ also if the same log is read in other files."""
_OF_PARTS = ("ingested_files", "topic_mentions", "runs", "what_changed")
COMPARED = [name for name in relation_specs() if name not in _OF_PARTS and not name.endswith("_parts")]
"""Tables and views; a table that sums up what a run read, and what the newest run brought, depend on the parts in which logs were read."""
ACCOUNT = (
    "records", "requests", "rejected", "ignored", "first_logged_at", "last_logged_at", "step_back_ms", "bytes_ingested",
    "pending_bytes", "covers_broker_start", "broker_events",
)  # fmt: skip


def assert_same_tables(spark: Any, found: Path | str, expected: Path | str, names: Iterable[str] = COMPARED) -> None:
    """Raise where a table or a view differs; ingested_files tells how the input was read and is not compared."""
    _assert_same(
        *(LocalTables(root) if isinstance(root, Path) else SparkTables(spark, root) for root in (found, expected)),
        names,
    )


def assert_same_folders(found: Path, expected: Path) -> None:
    """Raise where a table or a view differs; read without Spark, as the tables of another cluster or catalog are."""
    _assert_same(LocalTables(found), LocalTables(expected), COMPARED)
    accounts = [
        {row["file_id"]: row for row in DeltaTable(root / "ingested_files").to_pyarrow_table().to_pylist()}
        for root in (found, expected)
    ]
    assert _accounts(accounts[0]) == _accounts(accounts[1])


def _assert_same(found: Tables, expected: Tables, names: Iterable[str]) -> None:
    for name in names:
        left, right = (_rows(tables, name) for tables in (found, expected))
        assert left == right, f"{name}: {len(left)} rows in {found.root}, {len(right)} in {expected.root}"


def _rows(tables: Tables, name: str) -> list[str]:
    """The rows of a table or a view without the columns that are not compared, each as text, sorted."""
    spec = relation_specs()[name]
    columns = [quoted_name(column.name) for column in spec.columns if column.name not in NOT_COMPARED]
    columns = [column if isinstance(tables, LocalTables) else column.replace('"', "`") for column in columns]
    rows = tables.query(f"SELECT {', '.join(columns)} FROM {{{name}}}")
    return sorted(repr([_ordered(value) for value in row]) for row in rows)


def _ordered(value: Any) -> Any:
    """A value whose maps, which have no order, are in that of their keys."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value, key=str)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


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
