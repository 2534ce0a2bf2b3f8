"""Accounts as Spark hands them back: their times are instants, whatever zone the driver runs in."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import Row
from pyspark.sql.types import TimestampType

from kafka_clientinfo.ingestion.by_spark import with_instants

AT = datetime(2026, 10, 25, tzinfo=UTC)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("minutes", range(0, 150, 30))
def test_times_of_a_repeated_hour_come_back(berlin: None, minutes: int) -> None:
    kind, instant = TimestampType(), AT + timedelta(minutes=minutes)
    collected = kind.fromInternal(kind.toInternal(instant))
    row = with_instants(Row(first_logged_at=collected, records=3, error=None))
    assert row == {"first_logged_at": instant, "records": 3, "error": None}
    assert kind.toInternal(row["first_logged_at"]) == instant.timestamp() * 1_000_000
