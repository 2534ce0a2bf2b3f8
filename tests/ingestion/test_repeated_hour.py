"""Logs in a zone that sets its clocks back: wherever reading begins, every request keeps its instant."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kafka_clientinfo.ingestion import worker
from kafka_clientinfo.ingestion.worker import read_splits
from tests.builders import json_record
from tests.ingestion.splitting import split_of

BERLIN = "Europe/Berlin"
FIRST = datetime(2026, 10, 25, 0, 0, tzinfo=UTC) - timedelta(minutes=30)
"""Clocks go from 03:00 to 02:00 at 01:00 UTC."""
INSTANTS = [FIRST + timedelta(minutes=minutes) for minutes in range(0, 180, 2)]


@pytest.fixture
def log(tmp_path: Path) -> tuple[Path, list[int]]:
    """A log over the seam, and where its records start."""
    local = [instant.astimezone(ZoneInfo(BERLIN)) for instant in INSTANTS]
    records = [json_record(at=f"{time:%Y-%m-%d %H:%M:%S},000", correlation_id=n) for n, time in enumerate(local)]
    path = tmp_path / "kafka-request.log"
    path.write_bytes(b"".join(records))
    return path, [sum(map(len, records[:n])) for n in range(len(records) + 1)]


@pytest.mark.parametrize("lookback", [1, 2000, 1 << 20])
def test_an_instant_does_not_depend_on_where_reading_begins(
    log: tuple[Path, list[int]], monkeypatch: pytest.MonkeyPatch, lookback: int
) -> None:
    monkeypatch.setattr(worker, "LOOKBACK", lookback)
    path, starts = log
    for number in range(0, len(INSTANTS), 7):
        split = split_of(path, starts[number])
        rows = [row for batch in read_splits([split], BERLIN) for row in batch.column("request").to_pylist() if row]
        assert [row["logged_at"] for row in rows] == INSTANTS[number:]
