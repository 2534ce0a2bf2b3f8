"""What a build derives anew: the newest connections of the strings with new requests, and nothing that is over."""

from datetime import timedelta
from typing import Any

import pytest

from kafka_clientinfo import increment

from .frames import START, at, derive, frame, request

LATER = START + timedelta(days=1)
IDLE_MS = 600_000
Rows = list[dict[str, Any]]


def file_of(name: str, requests: int, first: float, ingested_at: Any = LATER) -> dict[str, Any]:
    known = {"cluster": "c", "broker": "b", "first_logged_at": at(first), "last_logged_at": at(first + 9000)}
    return {"file_id": name, "requests": requests, "ingested_at": ingested_at, **known}


def placed(rows: Rows) -> Rows:
    return [row | {"byte_offset": place} for place, row in enumerate(rows)]


def found(spark: Any, old: Rows, new: Rows, files: Rows) -> dict[str, tuple[int, list[float]]]:
    """Per connection string the connections that stay, and the seconds of the requests that are derived."""
    rows = placed([*old, *(row | {"ingested_at": LATER} for row in new)])
    sessions = derive(spark, old)["connection_sessions"]
    stored = increment.Stored(frame(spark, "requests", rows), sessions, frame(spark, "ingested_files", files), None)
    result = increment.since(stored, str(START), IDLE_MS)
    derived: dict[str, list[float]] = {}
    for row in result.requests.select("connection_id", "correlation_id").collect():
        derived.setdefault(row[0], []).append(row[1])
    kept = {row["connection_id"]: row["kept_sessions"] for row in result.touched.collect()}
    result.touched.unpersist()
    return {name: (kept[name], sorted(derived.get(name, []))) for name in kept}


@pytest.mark.parametrize("is_open_beside", [False, True])
def test_connections_that_are_over_stay(spark: Any, is_open_beside: bool) -> None:
    """Also where another string is derived from so early that the requests of what is over are read again."""
    open_ones = [request("open", seconds) for seconds in range(0, 3600, 500)] if is_open_beside else []
    old = [request("again", 0), request("again", 1), request("untouched", 2), *open_ones]
    new = [request("again", 3600), request("first", 3601), *([request("open", 3602)] if is_open_beside else [])]
    expected = {"again": (1, [3600]), "first": (0, [3601])}
    if is_open_beside:
        expected["open"] = (0, [*range(0, 3600, 500), 3602])
    assert found(spark, old, new, [file_of("f", len(old) + len(new), 0)]) == expected


@pytest.mark.parametrize("has_grown", [False, True])
def test_a_late_file_has_all_strings_of_its_broker_derived(spark: Any, has_grown: bool) -> None:
    """Also where the file that stands behind it has grown in the same run."""
    old = [request("x", 5000), request("y", 5001)]
    grown = [request("z", 5002)] if has_grown else []
    new = [request("x", 10, file_id="late"), *grown]
    files = [file_of("f", len(old) + len(grown), 5000, LATER if has_grown else START), file_of("late", 1, 10)]
    expected = {"x": (0, [10, 5000]), "y": (0, [5001]), **({"z": (0, [5002])} if has_grown else {})}
    assert found(spark, old, new, files) == expected


def test_connections_that_opened_at_one_instant_are_derived_together(spark: Any) -> None:
    """One of them is over, the other is not: rows stay up to an instant, so none of them can stay."""
    old = [
        request("x", 0, correlation_id=5, client_id="a"),
        *(request("x", seconds, correlation_id=5 + seconds, client_id="b") for seconds in (0, 500, 690)),
    ]
    new = [request("x", 700, correlation_id=705, client_id="b")]
    assert found(spark, old, new, [file_of("f", 5, 0)]) == {"x": (0, [5, 5, 505, 695, 705])}


def test_a_clock_that_is_set_back_hides_no_request(spark: Any) -> None:
    old = [request("x", 7000), *(request("x", seconds, correlation_id=7000 + seconds) for seconds in (1000, 1300))]
    new = [request("x", 1600, correlation_id=8600)]
    assert found(spark, old, new, [file_of("f", 4, 1000)]) == {"x": (0, [7000, 8000, 8300, 8600])}
