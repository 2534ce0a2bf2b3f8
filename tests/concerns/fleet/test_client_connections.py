"""KIP-511's gauge over time: what was open, opened and closed in each bucket."""

from typing import Any

import pytest

from kafka_clientinfo.settings import Settings
from kafka_clientinfo.transforms import client_connections
from tests.frames import at, frame

MINUTE = 60
Row = tuple[int, int, int, int, int, int]


def session(software: str, opened: float, last: float, **given: Any) -> dict[str, Any]:
    row = {
        "cluster": "c",
        "broker": "b",
        "connection_id": f"{software} {opened} {last}",
        "opened_at": at(opened),
        "opened_seq": 0,
        "last_request_at": at(last),
        "requests": 1,
        "start": "observed",
        "role": "client",
        "listener": "PLAINTEXT",
        "client_software_name": software,
        "client_software_version": "1",
    }
    return row | given


# Per case: sessions in seconds; per bucket of a minute: minute, open, open_max, open_at_end, opened, closed.
CASES: dict[str, tuple[list[dict[str, Any]], list[Row]]] = {
    "one request": ([session("?", 5, 5)], [(0, 1, 1, 0, 1, 1)]),
    "over three buckets": ([session("?", 5, 130)], [(0, 1, 1, 1, 1, 0), (1, 1, 1, 1, 0, 0), (2, 1, 1, 0, 0, 1)]),
    "one after the other": ([session("?", 5, 10), session("?", 11, 20)], [(0, 2, 1, 0, 2, 2)]),
    "at the same time": ([session("?", 5, 15), session("?", 11, 20)], [(0, 2, 2, 0, 2, 2)]),
    "touching": ([session("?", 5, 11), session("?", 11, 20)], [(0, 2, 2, 0, 2, 2)]),
    "nothing is open in between": (
        [session("?", 5, 6), session("?", 125, 126)],
        [(0, 1, 1, 0, 1, 1), (2, 1, 1, 0, 1, 1)],
    ),
    "before the epoch's bucket end": ([session("?", 59.999, 60)], [(0, 1, 1, 1, 1, 0), (1, 1, 1, 0, 0, 1)]),
    "a silence too long to fill": (
        [session("?", 0, 5000 * MINUTE)],
        [(minute, 1, 1, 1, 1 - bool(minute), 0) for minute in range(2001)] + [(5000, 1, 1, 0, 0, 1)],
    ),
}


@pytest.fixture(scope="module")
def found(spark: Any) -> dict[str, list[Any]]:
    rows = [row | {"client_software_name": name} for name, (sessions, _) in CASES.items() for row in sessions]
    rows += [session("unseen", 5, 6, start="before_log"), session("unseen", 5, 6, role="broker", listener=None)]
    relation = client_connections.transform(frame(spark, "connection_sessions", rows), Settings(bucket_minutes=1))
    result: dict[str, list[Any]] = {}
    for row in relation.orderBy("bucket", "role").collect():
        result.setdefault(row["client_software_name"], []).append(row)
    return result


@pytest.mark.parametrize("name", CASES)
def test_it_counts_per_bucket(found: dict[str, list[Any]], name: str) -> None:
    counted = [
        (
            round((row["bucket"].timestamp() - at(0).timestamp()) / MINUTE),
            *(row[column] for column in ("open", "open_max", "open_at_end", "opened", "closed")),
        )
        for row in found[name]
    ]
    assert counted == CASES[name][1]


def test_it_says_where_rows_are_missing(found: dict[str, list[Any]]) -> None:
    assert [place for place, row in enumerate(found["a silence too long to fill"]) if row["is_cut"]] == [2000]
    assert not any(row["is_cut"] for row in found["over three buckets"])


def test_roles_are_apart_and_an_unseen_start_is_counted(found: dict[str, list[Any]]) -> None:
    assert [(row["role"], row["listener"], row["start_unseen"]) for row in found["unseen"]] == [
        ("broker", None, 0),
        ("client", "PLAINTEXT", 1),
    ]
