"""Logs of one broker name that overlap in time; what one broker writes does not."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kafka_clientinfo.ingestion.planned import Problem, is_incomplete
from kafka_clientinfo.ingestion.split_statistics import overlaps

NOON = datetime(2026, 10, 24, 12, tzinfo=UTC)


def log(name: str, first: float | None, last: float | None, broker: str = "fl", **given: Any) -> dict[str, Any]:
    """A row of ingested_files: its first and last request in minutes from noon."""
    times = {"first_logged_at": first, "last_logged_at": last}
    return {
        "file_id": name, "path": f"/logs/{name}", "cluster": "c", "broker": broker, "step_back_ms": 0, "ambiguous_hour": False, **given,
        **{key: None if time is None else NOON + timedelta(minutes=time) for key, time in times.items()},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("files", "number"),
    [
        ([log("a", 0, 60), log("b", 30, 90)], 2),
        ([log("a", 0, 60), log("b", 58.9, 120)], 2),
        ([log("a", 0, 60), log("b", 10, 20)], 2),
        ([log("a", 0, 60), log("b", 0, 60), log("c", 1, 59), log("d", 60, 90)], 3),
        ([log("a", 0, 60), log("b", 5, 6), log("c", 40, 70)], 2),
        ([log("a", 0, 60, step_back_ms=1000), log("b", 30, 90)], 2),
    ],
)
def test_logs_that_overlap_are_counted(files: list[dict[str, Any]], number: int) -> None:
    brokers = "two" if number == 2 else "several"
    detail = (
        f"{number} files count as broker fl, and their times overlap; if they are of {brokers} brokers, give each its own "
        "folder, or set broker_pattern"
    )
    for rows in (files, files[::-1]):
        problems = overlaps(rows)
        assert problems == [Problem("/logs/a", "overlap", detail)]
        assert not is_incomplete(problems, [])


@pytest.mark.parametrize(
    "files",
    [
        pytest.param([], id="nothing"),
        pytest.param([log("a", 0, 60)], id="one log"),
        pytest.param([log("a", 0, 60), log("b", 60, 120), log("c", 130, 140)], id="rotated logs"),
        pytest.param([log("a", 0, 60), log("b", 59, 120)], id="a minute"),
        pytest.param([log("a", 0, 60), log("b", 30, 31)], id="a log of a minute"),
        pytest.param([log("a", 0, 60), log("b", 30, 90, "other")], id="two brokers"),
        pytest.param([log("a", 0, 60), log("b", 30, 90, cluster="d")], id="two clusters"),
        pytest.param([log("a", 0, 60), log("server", None, None)], id="a server.log"),
        pytest.param([log("a", 0, 60, step_back_ms=3_600_000), log("b", 30, 90)], id="a clock that was set back"),
    ],
)
def test_logs_of_one_broker_do_not_overlap(files: list[dict[str, Any]]) -> None:
    assert overlaps(files) == []


def test_a_log_that_may_have_begun_an_hour_later_accuses_nobody() -> None:
    files = [log("a", 0, 60), log("b", 1, 90)]
    assert len(overlaps(files)) == 1
    assert overlaps([files[0], {**files[1], "ambiguous_hour": True}]) == []


@pytest.mark.parametrize(("new", "number"), [(None, 2), (["a"], 1), (["d"], 1), (["a", "c"], 2), (["e"], 0), ([], 0)])
def test_only_brokers_with_new_files_are_looked_at(new: list[str] | None, number: int) -> None:
    others = [log("c", 0, 60, "other"), log("d", 0, 60, "other"), log("e", None, None, "fl")]
    assert len(overlaps([log("a", 0, 60), log("b", 30, 90), *others], new)) == number
