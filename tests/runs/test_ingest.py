"""The step that reads: what it notes of files that are compressed after they were read, and of the times of its runs."""

import gzip
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.logs.broker_events import RESTARTED
from kafka_clientinfo.runs import ingest
from kafka_clientinfo.warehouse.state import State

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SETTINGS = Settings()

GAP = timedelta(minutes=5)


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


@pytest.mark.parametrize(
    ("known", "now", "expected"),
    [(None, True, False), (False, True, True), (False, False, False), (True, True, False), (True, False, True)],
)
def test_a_brokers_start_that_shows_only_now_is_noticed(known: bool | None, now: bool, expected: bool) -> None:
    """Also one that is contradicted only now."""
    file: Any = SimpleNamespace(ledger_row=None if known is None else {"covers_broker_start": known, "debug_runs": []})
    assert ingest.shows_more(file.ledger_row, {"covers_broker_start": now, "debug_runs": []}, GAP) == expected


@pytest.mark.parametrize(
    ("known", "now", "expected"), [([1], [], True), ([1], [1], False), ([1], [2], True), ([], [1], False)]
)
def test_a_restart_that_was_none_is_noticed(known: list[int], now: list[int], expected: bool) -> None:
    def row(seconds: list[int]) -> dict[str, Any]:
        events = [{"at": NOW + timedelta(seconds=second), "kind": RESTARTED} for second in seconds]
        return {"covers_broker_start": False, "debug_runs": [], "broker_events": events}

    file: Any = SimpleNamespace(ledger_row=row(known))
    assert ingest.shows_more(file.ledger_row, row(now), GAP) == expected


def silences(*seconds: float) -> dict[str, Any]:
    """A file with runs of an instant, and these silences between them."""
    times = [NOW + timedelta(seconds=sum(seconds[:number])) for number in range(len(seconds) + 1)]
    return {"covers_broker_start": False, "debug_runs": [{"began_at": time, "ended_at": time} for time in times]}


@pytest.mark.parametrize(
    ("known", "now", "expected"),
    [
        ([2] * 63, [2] * 64, True),
        ([2] * 64, [2] * 64, False),
        ([2] * 2, [2] * 63, False),
        ([400] * 60 + [2] * 4, [400] * 64, True),
        ([400] * 60 + [2] * 4, [400] * 63 + [300], False),
        ([400] * 60 + [2] * 4, [400] * 63 + [300.001], True),
        ([400] * 64, [500] * 64, False),
    ],
    ids=["full now", "full before", "not full", "only gaps now", "not only gaps", "just only gaps", "only gaps before"],
)
def test_silences_that_are_left_out_only_now_are_noticed(known: list[float], now: list[float], expected: bool) -> None:
    assert ingest.shows_more(silences(*known), silences(*now), GAP) == expected


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
