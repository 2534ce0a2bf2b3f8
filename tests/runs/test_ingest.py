"""The step that reads: what it notes of files that are compressed after they were read, and of the times of its runs."""

import gzip
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.runs import ingest
from kafka_clientinfo.warehouse.state import State

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SETTINGS = Settings()


def compressed(path: Path) -> str:
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return str(packed)


@pytest.mark.parametrize(
    ("known", "seconds"),
    [([], 0), ([-5], 0), ([-5, 7, 3], 7), ([0], 0)],
    ids=["nothing", "earlier", "a clock that was set back", "the same instant"],
)
def test_a_later_run_has_a_later_time_of_ingestion(known: list[int], seconds: int) -> None:
    rows = [{"ingested_at": NOW + timedelta(seconds=second)} for second in known]
    is_above = timedelta(microseconds=1) * (max(known, default=-1) >= 0)
    assert ingest.after(NOW, rows) == NOW + timedelta(seconds=seconds) + is_above


@pytest.mark.parametrize(("size", "one_file"), [(0, True), (5, True), (6, False)])
@pytest.mark.parametrize("is_here", [True, False])
def test_a_session_is_set_up_for_what_is_planned(
    size: int, one_file: bool, is_here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Any] = []
    files: Any = ["x"]
    plan = SimpleNamespace(size=size, files=(), packed=(), unchanged=("a",), problems=("b",))
    lake: Any = SimpleNamespace(spark="spark", state=State(retained_from=NOW))
    known = {"f": {"file_id": "f", "batch_id": "b"}}
    monkeypatch.setattr(ingest, "SMALL_BYTES", 5)
    monkeypatch.setattr(ingest, "is_on_one_machine", lambda spark: is_here)
    monkeypatch.setattr(ingest, "start_worker", lambda spark: done.append("a worker"))
    monkeypatch.setattr(ingest, "sized", lambda spark, size: done.append(size) or nullcontext())
    monkeypatch.setattr(ingest, "files_read", lambda lake: known)
    monkeypatch.setattr(ingest, "cores", lambda spark: 3)
    monkeypatch.setattr(ingest, "make_plan", lambda *given: plan if given == (files, known, SETTINGS, 3, NOW) else None)
    report = ingest.RunReport()
    assert ingest.ingest_logs(files, lake, SETTINGS, report) == ingest.Ingested(known)
    assert done == (["a worker"] if is_here else []) + [0, size]
    assert (lake.one_file, report.unchanged, report.problems) == (one_file, ["a"], ["b"])


@pytest.mark.parametrize(
    ("until", "expected"),
    [(None, 7 + 5 + 3), (0, 7 + 5 + 3), (1, 4 + 3), (2, 4 + 3), (3, 0)],
    ids=[
        "nothing is built",
        "built before all",
        "built before this run",
        "built before it, and newer than all but it",
        "built",
    ],
)
def test_a_file_that_has_grown_counts_by_what_is_new_in_it(until: int | None, expected: int) -> None:
    def row(requests: int, minute: int) -> dict[str, Any]:
        return {"requests": requests, "ingested_at": NOW + timedelta(minutes=minute)}

    before = {"grown": row(3, 1), "known": row(5, 1)}
    ingested = ingest.Ingested({**before, "grown": row(7, 3), "new": row(3, 3)}, before=before)
    assert ingested.new_requests(None if until is None else NOW + timedelta(minutes=until)) == expected
