"""Stored requests show of their files what a run finds while it reads the logs."""

from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.arrow_schema import FILE_TYPE
from kafka_clientinfo.ingestion.discovery import find_logs
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.planned import Split
from kafka_clientinfo.ingestion.stored_requests import _INPUT, _counted, with_times_of
from kafka_clientinfo.ingestion.worker import SplitReader
from kafka_clientinfo.tables.arrow_types import TIMESTAMP
from tests.amounts import examples

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = ("kafka-0.10.0.1", "kafka-2.5.1-sasl", "kafka-3.9.1-node2", "kafka-3.9.1-node3", "kip-1313-made")
OF_BYTES = {"start_offset", "end_offset", "resume_hash", "records", "rejected", "ignored", "mentions", "pending_bytes"}
FIRST, SECOND = (datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2))


def as_stored(rows: pa.RecordBatch, path: str) -> pa.RecordBatch:
    of_file = {"path": pa.repeat(path, len(rows)), "ingested_at": pa.repeat(pa.scalar(FIRST, TIMESTAMP), len(rows))}
    return pa.RecordBatch.from_arrays(
        [of_file[name] if name in of_file else rows[name] for name in _INPUT.names], schema=_INPUT
    )


@lru_cache
def read() -> tuple[pa.Table, dict[str, dict[str, Any]]]:
    """The requests of some logs, ordered by file as Spark orders them, and the statistics of the reading."""
    plan = make_plan(find_logs([ROOT / "sample_logs" / name for name in NAMES]), {}, Settings(), 1)
    rows, statistics = [], {}
    for file in sorted(plan.files, key=lambda file: file.file_id):
        reader = SplitReader(Split(file, 0, None), "UTC", reads_topics=False)
        rows += [as_stored(part.rows, file.path) for part in reader.parts() if part.kind == "request"]
        statistics[file.file_id] = reader.statistics().rows.to_pylist()[0]
    return pa.Table.from_batches(rows), statistics


@settings(max_examples=examples(10))
@given(st.integers(20, 10_000))
def test_statistics_follow_from_stored_requests_in_batches_of_any_size(size: int) -> None:
    rows, expected = read()
    counted = [
        row for batch in _counted(rows.combine_chunks().to_batches(max_chunksize=size)) for row in batch.to_pylist()
    ]
    assert [row["file_id"] for row in counted] == list(expected)
    for row in counted:
        same = [field.name for field in FILE_TYPE if field.name not in OF_BYTES]
        assert {name: row[name] for name in same} == {name: expected[row["file_id"]][name] for name in same}
        assert row["records"] == row["requests"] == expected[row["file_id"]]["requests"]
        assert (row["ingested_at"], row["cluster"]) == (FIRST, "default")
        assert row["path"].endswith(f"{row['broker']}/{Path(row['path']).name}")


def test_what_a_file_showed_before_keeps_its_time() -> None:
    """Else each build would take it for news, and compute all connections of the broker again."""

    def run(offset: int, **evidence: datetime | None) -> dict[str, Any]:
        none = dict.fromkeys(("api_versions", "software_name", "omission", "continuity"))
        return {"began_offset": offset, **none, **evidence}

    def row(at: datetime, *runs: dict[str, Any]) -> dict[str, Any]:
        restart = {"at": FIRST, "kind": "restarted", "value": "3", "ingested_at": at}
        return {"requests": 1, "debug_runs": list(runs), "broker_events": [restart]}

    before = row(FIRST, run(0, api_versions=FIRST), run(9))
    after = row(SECOND, run(0, api_versions=SECOND, continuity=SECOND), run(9, omission=SECOND), run(20))
    kept = row(FIRST, run(0, api_versions=FIRST, continuity=SECOND), run(9, omission=SECOND), run(20))
    assert with_times_of(after, before) == kept
    assert with_times_of(after, None) == after
