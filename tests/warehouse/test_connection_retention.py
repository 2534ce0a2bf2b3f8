"""Connections leave after their requests, with what was counted of them, and a later run goes on beside that."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import ConfigError
from kafka_clientinfo.questions.checks import quick_checks
from kafka_clientinfo.questions.duckdb_tables import LocalTables
from kafka_clientinfo.questions.filters import Filters, Scope
from kafka_clientinfo.questions.trust import limits_of_logs
from kafka_clientinfo.runs.run import run
from kafka_clientinfo.warehouse.retention import retain, retain_connections
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.builders import NOON, json_record

from .tiny import committed

NOW = NOON + timedelta(days=100)


def records(client: str, day: int, first: int = 0) -> bytes:
    """Produce requests of a client on one connection."""
    request = {"topicData": [{"name": f"topic-{client}", "partitionData": [{"index": 0, "records": None}]}]}
    return b"".join(
        json_record(
            client_id=client,
            connection=f"10.0.0.1:9092-10.0.0.{day + 2}:4000-{day}",
            api="PRODUCE",
            version=9,
            correlation_id=number,
            at=day * 86_400 + number,
            request=request,
        )
        for number in range(first, first + 3)
    )


def clients(lake: Path, *tables: str) -> dict[str, set[str]]:
    local = LocalTables(lake)
    return {name: {row[0] for row in local.query(f"SELECT DISTINCT client_id FROM {{{name}}}")} for name in tables}


@pytest.mark.long
def test_connections_leave_with_what_was_counted_of_them(spark: Any, tmp_path: Path) -> None:
    log, lake = tmp_path / "b" / "kafka-request.log", tmp_path / "lake"
    log.parent.mkdir()
    log.write_bytes(records("old", 0) + records("kept", 30) + records("new", 90))
    run(spark, log, lake)
    names = ("connections", "api_usage", "client_activity", "topic_usage", "requests")
    assert clients(lake, *names) == {name: {"old", "kept", "new"} for name in names}

    tables = Warehouse(spark, lake)
    tables.open()
    assert retain_connections(tables, 5, NOW) == {}, "no request is deleted yet"
    retain(tables, 50, NOW)
    retain_connections(tables, 80, NOW)
    committed(tables)
    left = {"kept", "new"}
    assert clients(lake, *names) == {**dict.fromkeys(names, left), "requests": {"new"}}
    assert tables.state.connections_from == datetime(2026, 12, 11, tzinfo=UTC)
    assert tables.state.rows["connections"] == 2
    assert [check for check in quick_checks(LocalTables(lake), str(lake)) if not check.ok] == []
    said = "Connections that ended before 2026-12-11 UTC are deleted (keep_connections_days)."
    assert said in limits_of_logs(Scope(LocalTables(lake), Filters()))
    assert said in limits_of_logs(Scope(LocalTables(lake), Filters(since=datetime(2026, 12, 10, tzinfo=UTC))))
    assert said not in limits_of_logs(Scope(LocalTables(lake), Filters(since=datetime(2026, 12, 11, tzinfo=UTC))))

    with log.open("ab") as file:
        file.write(records("new", 90, first=3))
    run(spark, log, lake)
    assert clients(lake, *names[:-1]) == dict.fromkeys(names[:-1], left)
    assert retain_connections(Warehouse(spark, lake), 500, NOW)["connections"] == 0, "the instant never goes back"
    retain_connections(Warehouse(spark, lake), 60, NOW)
    assert clients(lake, *names[:-1]) == {name: {"new"} for name in names[:-1]}


@pytest.mark.parametrize("days", [0, 31])
def test_connections_go_after_their_requests(days: int) -> None:
    with pytest.raises(
        ConfigError, match=f"keep_connections_days is 30 and retention_days {days}; give retention_days"
    ):
        Settings(keep_connections_days=30, retention_days=days)
