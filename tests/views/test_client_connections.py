"""KIP-511's gauge over time: what was open, opened and closed in each bucket."""

from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.engine import F
from tests.asking import asked
from tests.engines import collected, computed, on
from tests.frames import assert_table, at, frame

MINUTE = 60
FILLED = 2000
"""Buckets that are filled in a row."""
Row = tuple[int, int, int, int, int, int]


def connection(software: str, opened: float, last: float, **given: Any) -> dict[str, Any]:
    return {
        "cluster": "c", "broker": "b", "connection_id": f"{software} {opened} {last}", "opened_at": at(opened),
        "opened_seq": 0, "last_request_at": at(last), "requests": 1, "start": "observed", "role": "client",
        "listener": "PLAINTEXT", "client_software_name": software, "client_software_version": "1",
    } | given  # fmt: skip


def bucket(software: str, counted: Row, **given: Any) -> dict[str, Any]:
    minute, is_open, open_max, open_at_end, opened, closed = counted
    return {
        "cluster": "c", "broker": "b", "listener": "PLAINTEXT", "client_software_name": software,
        "client_software_version": "1", "role": "client", "bucket": at(minute * MINUTE), "open": is_open,
        "open_max": open_max, "open_at_end": open_at_end, "opened": opened, "closed": closed, "start_unseen": 0,
        "is_cut": False,
    } | given  # fmt: skip


# Per software: connections in seconds; per bucket of a minute: minute, open, open_max, open_at_end, opened, closed.
CASES: dict[str, tuple[list[tuple[float, float]], list[Row]]] = {
    "one request": ([(5, 5)], [(0, 1, 1, 0, 1, 1)]),
    "over three buckets": ([(5, 130)], [(0, 1, 1, 1, 1, 0), (1, 1, 1, 1, 0, 0), (2, 1, 1, 0, 0, 1)]),
    "one after the other": ([(5, 10), (11, 20)], [(0, 2, 1, 0, 2, 2)]),
    "at the same time": ([(5, 15), (11, 20)], [(0, 2, 2, 0, 2, 2)]),
    "touching": ([(5, 11), (11, 20)], [(0, 2, 2, 0, 2, 2)]),
    "nothing is open in between": ([(5, 6), (125, 126)], [(0, 1, 1, 0, 1, 1), (2, 1, 1, 0, 1, 1)]),
    "one beside another":
        ([(5, 130), (70, 80), (125, 140)], [(0, 1, 1, 1, 1, 0), (1, 2, 2, 1, 1, 1), (2, 2, 2, 0, 1, 2)]),
    "before the epoch's bucket end": ([(59.999, 60)], [(0, 1, 1, 1, 1, 0), (1, 1, 1, 0, 0, 1)]),
}  # fmt: skip
SILENT = {"just filled": FILLED + 1, "longer by a bucket": FILLED + 2, "too long to fill": 5000}
"""The minute in which a connection that opened in the first is heard of again."""
UNSEEN = [connection("unseen", 5, 6, start="before_log"), connection("unseen", 5, 6, role="broker", listener=None)]


@pytest.fixture(scope="module")
def relation(rules_session: Any) -> Any:
    rows = [connection(name, *times) for name, (opened, _) in CASES.items() for times in opened]
    rows += [*UNSEEN, *(connection(name, 0, minute * MINUTE) for name, minute in SILENT.items())]
    given = frame(rules_session, "connections", rows)
    with on(rules_session):
        return computed(asked(rules_session, "client_connections", Settings(bucket_minutes=1), connections=given))


@pytest.mark.kip("KIP-511", 12, 14)
def test_it_counts_per_bucket_software_and_role(relation: Any, rules_session: Any) -> None:
    expected = [bucket(name, counted) for name, (_, buckets) in CASES.items() for counted in buckets]
    expected += [
        bucket("unseen", (0, 1, 1, 0, 1, 1), start_unseen=1),
        bucket("unseen", (0, 1, 1, 0, 1, 1), role="broker", listener=None),
    ]
    with on(rules_session):
        short = relation.where(~F.col("client_software_name").isin(*SILENT))
    assert_table(short, rules_session, "client_connections", expected)


@pytest.mark.parametrize("name", SILENT)
def test_a_silence_is_filled_up_to_a_limit_and_says_where_it_is_cut(relation: Any, name: str) -> None:
    with on(relation.sparkSession):
        rows = collected(relation.where(F.col("client_software_name") == name))
    rows, last = sorted(rows, key=lambda row: row["bucket"]), SILENT[name]
    minutes = [round((row["bucket"].timestamp() - at(0).timestamp()) / MINUTE) for row in rows]
    assert minutes == [*range(FILLED + 1), last]
    assert [place for place, row in enumerate(rows) if row["is_cut"]] == ([] if last == FILLED + 1 else [FILLED])
    assert {(row["open"], row["open_max"]) for row in rows} == {(1, 1)}
    assert [row["open_at_end"] for row in rows] == [1] * (FILLED + 1) + [0]
    assert [[place for place, row in enumerate(rows) if row[one]] for one in ("opened", "closed")] == [
        [0],
        [FILLED + 1],
    ]
