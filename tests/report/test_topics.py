"""The page's list of clients by topic."""

from pathlib import Path
from typing import Any

from kafka_clientinfo.report.table import read
from kafka_clientinfo.tables.spec import CLIENT
from tests.frames import START, at
from tests.report.pages import scope_of
from tests.report.tables_on_disk import write_warehouse

UUIDS = ("11111111-2222-3333-4444-555555555555", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee")


def used(client_id: str | None, **given: Any) -> dict[str, Any]:
    row = {
        "cluster": "c",
        "broker": "b",
        "topic": "t",
        "operation": "produce",
        "principal": "User:p",
        "client_id": client_id,
    }
    row |= {
        "client_software_name": "kgo",
        "client_software_version": "1",
        "requests": 2,
        "bytes": 10,
        "day": START.date(),
    }
    return row | {"first_at": START, "last_at": at(60)} | given


def test_client_ids_that_differ_by_numbers_or_uuids_are_one_client(tmp_path: Path) -> None:
    names = ("cron-7", "cron-17", "cron-x", *(f"job-{one}" for one in UUIDS), None, "")
    rows = [used(name) for name in names] + [used("cron-7", operation="fetch"), used("cron-17", principal="User:q")]
    seen = {"first_seen": START, "last_seen": at(60), "host_count": 3, "connections": 1, "requests": 1}
    inventory = {tuple(row[name] for name in CLIENT): {name: row[name] for name in CLIENT} | seen for row in rows}
    ledger = [{"file_id": "f", "cluster": "c", "broker": "b", "path": "p"}]
    tables = {"topic_usage": rows, "client_inventory": list(inventory.values()), "ingested_files": ledger}
    table = read(scope_of(write_warehouse(tmp_path / "w", tables)), "users_of_topics")
    shown = [(row[1], row[2], row[3], row[5], row[6]) for row in table.rows]
    assert sorted(shown, key=str) == [
        ("fetch", ["cron-7"], "User:p", 3, 2),
        ("produce", ["(empty)"], "User:p", 3, 2),
        ("produce", ["(none)"], "User:p", 3, 2),
        ("produce", ["cron-17", "cron-7"], "User:p", None, 4),
        ("produce", ["cron-17"], "User:q", 3, 2),
        ("produce", ["cron-x"], "User:p", 3, 2),
        ("produce", [f"job-{one}" for one in UUIDS], "User:p", None, 4),
    ]
