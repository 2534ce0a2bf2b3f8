"""Logs in a zone that sets its clocks back: a record's time depends on its own file only, wherever reading begins."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion import worker
from kafka_clientinfo.ingestion.worker import read_splits
from tests.amounts import examples
from tests.builders import json_record
from tests.ingestion.splitting import Runs, split_of

BERLIN = "Europe/Berlin"
FIRST = datetime(2026, 10, 25, 0, 0, tzinfo=UTC) - timedelta(minutes=30)
"""Clocks go from 03:00 to 02:00 at 01:00 UTC."""
INSTANTS = [FIRST + timedelta(minutes=minutes) for minutes in range(0, 180, 2)]
HOUR, SECOND, AFTER = 15, 45, 75
"""The first record of the hour, of its second pass, and after it."""


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


def read(path: Path, content: bytes, ends: list[int]) -> tuple[list[datetime], dict[str, Any]]:
    """The times of a file's requests and its row of ingested_files, after runs that found this much of it."""
    runs = Runs(path, Settings(split_bytes=3000, log_zone=BERLIN))
    for end in [*ends, len(content)]:
        runs.read(content[:end])
    (row,) = runs.files.values()
    return [one["logged_at"] for one in sorted(runs.rows["request"], key=lambda one: one["byte_offset"])], row


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(begin=st.integers(0, len(INSTANTS) - 1), shares=st.lists(st.floats(0.3, 1), max_size=3))
@example(begin=HOUR, shares=[0.5])
@example(begin=SECOND, shares=[0.5])  # at the full hour
@example(begin=SECOND + 5, shares=[])
def test_a_file_that_begins_in_the_hour_begins_with_its_first_pass(
    log: tuple[Path, list[int]], begin: int, shares: list[float]
) -> None:
    path, starts = log
    content = path.read_bytes()
    try:
        file = content[starts[begin] :]
        found, row = read(path, file, sorted(int(len(file) * share) for share in shares))
    finally:
        path.write_bytes(content)
    is_early = SECOND <= begin < AFTER
    hour = timedelta(hours=1)
    assert found == [
        instant - hour if is_early and instant < INSTANTS[AFTER] else instant for instant in INSTANTS[begin:]
    ]
    assert row["ambiguous_hour"] == (HOUR <= begin < AFTER)
    assert (row["first_logged_at"], row["last_logged_at"]) == (found[0], found[-1])


def test_a_zone_in_the_text_leaves_nothing_ambiguous(tmp_path: Path) -> None:
    record = json_record(at="2026-10-25 02:30:00,000+01:00")
    found, row = read(tmp_path / "kafka-request.log", record, [])
    assert (found, row["ambiguous_hour"]) == ([datetime(2026, 10, 25, 1, 30, tzinfo=UTC)], False)
