"""The step that reads: what it notes of files that are compressed after they were read, and of the times of its runs."""

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.runs import ingest
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.builders import json_record

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def log_of(folder: Path, broker: str) -> Path:
    path = folder / broker / "kafka-request.log.1"
    path.parent.mkdir()
    path.write_bytes(b"".join(json_record(correlation_id=number, client_id=broker) for number in range(4)))
    return path


def compressed(path: Path) -> str:
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return str(packed)


def test_the_ledger_notes_where_a_compressed_file_is_now(spark: Any, tmp_path: Path) -> None:
    """So that later runs need not unpack it; also if the run has nothing else to do."""
    logs = tmp_path / "logs"
    logs.mkdir()
    first, second = log_of(logs, "b1"), log_of(logs, "b2")
    lake = Warehouse(spark, str(tmp_path / "lake"))

    def noted() -> dict[str, tuple[str, bool, int]]:
        pipeline.ingest(spark, [str(logs)], lake.root)
        rows = lake.read("ingested_files").collect()
        return {row["broker"]: (row["path"], row["compressed"], row["requests"]) for row in rows}

    assert noted() == {"b1": (str(first), False, 4), "b2": (str(second), False, 4)}
    first_packed = compressed(first)
    assert noted() == {"b1": (first_packed, True, 4), "b2": (str(second), False, 4)}
    second_packed, third = compressed(second), log_of(logs, "b3")
    assert noted() == {
        "b1": (first_packed, True, 4),
        "b2": (second_packed, True, 4),
        "b3": (str(third), False, 4),
    }


@pytest.mark.parametrize(
    ("known", "seconds"),
    [([], 0), ([-5], 0), ([-5, 7, 3], 7), ([0], 0)],
    ids=["nothing", "earlier", "a clock that was set back", "the same instant"],
)
def test_a_later_run_has_a_later_time_of_ingestion(known: list[int], seconds: int) -> None:
    rows = [{"ingested_at": NOW + timedelta(seconds=second)} for second in known]
    is_above = timedelta(microseconds=1) * (max(known, default=-1) >= 0)
    assert ingest._after(NOW, rows) == NOW + timedelta(seconds=seconds) + is_above


@pytest.mark.parametrize(
    ("known", "now", "expected"),
    [(None, True, False), (False, True, True), (False, False, False), (True, True, False), (True, False, True)],
)
def test_a_brokers_start_that_shows_only_now_is_noticed(known: bool | None, now: bool, expected: bool) -> None:
    """Also one that is contradicted only now."""
    file: Any = SimpleNamespace(known=None if known is None else {"covers_broker_start": known, "debug_runs": []})
    assert ingest._shows_more(file, {"covers_broker_start": now, "debug_runs": []}) == expected


@pytest.mark.parametrize(("known", "now", "expected"), [(64, 65, True), (65, 65, False), (3, 64, False)])
def test_silences_that_are_left_out_only_now_are_noticed(known: int, now: int, expected: bool) -> None:
    file: Any = SimpleNamespace(known={"covers_broker_start": False, "debug_runs": [{}] * known})
    assert ingest._shows_more(file, {"covers_broker_start": False, "debug_runs": [{}] * now}) == expected
