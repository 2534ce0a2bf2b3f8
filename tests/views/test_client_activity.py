"""What clients do over time: which requests count in which row, the histogram, errors, and connections."""

from functools import reduce
from typing import Any

import pytest

from kafka_clientinfo.concerns.activity import client_activity_parts
from kafka_clientinfo.concerns.activity.client_activity_parts import BOUNDS, NAMES, TIMES
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.engine import F
from tests.asking import asked
from tests.engines import computed, on
from tests.frames import START, as_stored, assert_table, at, frame, ledger, request

Row = dict[str, Any]
SETTINGS = Settings()
IDLE = SETTINGS.max_idle_ms / 1000
WHO = {
    "cluster": "c", "broker": "b", "principal": "User:ANONYMOUS", "client_id": "app", "client_software_name": "unknown",
    "client_software_version": "unknown", "listener": "PLAINTEXT",
}  # fmt: skip


def sent(seconds: float, took: float = 1.0, api: str = "METADATA", **given: Any) -> Row:
    times = dict.fromkeys(TIMES, 0.0) | {"total_time_ms": took}
    return request("x", seconds, api, **{"errors": {}, **times, **given})


def row(requests: int = 1, took: float | None = None, longest: float = 1.0, **given: Any) -> Row:
    """A row about requests of one client; by default of a millisecond each, in the first minute."""
    total = requests if took is None else took
    times = {f"{name}_{kind}": 0.0 for name in TIMES for kind in ("sum", "max")}
    latency = dict.fromkeys(NAMES, 0) | given.pop("latency", {"up_to_1": requests})
    return WHO | times | {
        "api_name": "METADATA", "bucket": START, "requests": requests, "requests_by_minute": {0: requests}, "errors": {},
        "error_count": 0, "latency": latency, "total_time_ms_sum": total, "total_time_ms_max": longest, "throttled": 0,
        "throttled_ms": 0.0, "connections_opened": 0, "connections_ended": 0, "ingested_at": START,
    } | given  # fmt: skip


def of_connections(opened: int, ended: int, bucket: float = 0) -> Row:
    return WHO | {"bucket": at(bucket), "requests": 0, "connections_opened": opened, "connections_ended": ended}


def connection(start: str, opened: float, last: float, number: int = 1) -> Row:
    times = {"opened_at": at(opened), "last_request_at": at(last)}
    return WHO | {"connection_id": "x", "session_no": number, "start": start} | times


TOOK = [edge for bound in BOUNDS for edge in (bound, bound + 0.001)]
COUNTS = dict.fromkeys(NAMES, 2) | {NAMES[0]: 1, "above": 1}
UNNAMED = dict.fromkeys(("client_software_name", "client_software_version", "client_id", "principal", "listener"))
KGO = {"client_software_name": "kgo", "client_software_version": "1"}
CASES: dict[str, tuple[list[Row], list[Row]]] = {
    "one request": ([sent(0)], [row()]),
    "minutes, and times that add up": ([sent(0, 0.1), sent(59, 0.2), sent(61, 0.3)],
        [row(3, 0.6, 0.3, requests_by_minute={0: 2, 1: 1}, latency={"up_to_0_1": 1, "up_to_0_32": 2})]),
    "another hour is a bucket": ([sent(3599), sent(3600)], [row(requests_by_minute={59: 1}), row(bucket=at(3600))]),
    "forwarded copies and duplicates do not count": ([sent(0), sent(1, is_forwarded=True), sent(2, is_duplicate=True)], [row()]),
    "a null is a value": ([sent(0, **UNNAMED)], [row(client_id=None, principal=None, listener=None)]),
    "software is what the record states": ([sent(0), sent(1, **KGO)], [row(), row(**KGO)]),
    "two runs": (
        [sent(0), sent(61, ingested_at=at(99))], [row(2, requests_by_minute={0: 1, 1: 1}, ingested_at=at(99))]),
    "by API": ([sent(0), sent(0, api="FETCH")], [row(), row(api_name="FETCH")]),
    "errors": (
        [sent(0, errors={3: 2, 6: 1}), sent(1, errors={3: 1}), sent(2)], [row(3, errors={3: 3, 6: 1}, error_count=4)]),
    "no response is logged": ([sent(0, errors=None)], [row(errors=None, error_count=None)]),
    "some responses are logged": (
        [sent(0, errors=None), sent(1, errors={3: 1})], [row(2, errors={3: 1}, error_count=1)]),
    "throttled": ([sent(0, throttle_time_ms=2.0), sent(1, throttle_time_ms=None), sent(2, throttle_time_ms=1.25)],
        [row(3, throttled=2, throttled_ms=3.25, throttle_time_ms_sum=3.25, throttle_time_ms_max=2.0)]),
    "delays of a clock (0.11 to 2.6)": ([sent(0, throttle_time_ms=0.03, log_generation="request_header_struct")],
        [row(throttled=None, throttled_ms=None, throttle_time_ms_sum=0.03, throttle_time_ms_max=0.03)]),
    "times that no record states": ([sent(0, remote_time_ms=None, throttle_time_ms=None)],
        [row(remote_time_ms_sum=None, remote_time_ms_max=None, throttle_time_ms_sum=None, throttle_time_ms_max=None,
             throttled=None, throttled_ms=None)]),
    "a time is in the bucket with the next bound": ([sent(number / 100, time) for number, time in enumerate(TOOK)],
        [row(len(TOOK), round(sum(TOOK), 3), max(TOOK), latency=COUNTS)]),
}  # fmt: skip
CONNECTIONS: dict[str, tuple[list[Row], float, list[Row]]] = {
    "its id is used again": (
        [connection("observed", 0, 10), connection("observed", 3600, 3610, 2)], 3620,
        [of_connections(1, 1), of_connections(1, 0, 3600)]),
    "the log goes on until it was idle too long": ([connection("observed", 0, 10)], 10 + IDLE, [of_connections(1, 1)]),
    "nothing shows that it has ended": ([connection("observed", 0, 10)], 9 + IDLE, [of_connections(1, 0)]),
    "it began before the log": ([connection("before_log", 0, 10)], 10 + IDLE, [of_connections(0, 1)]),
    "SASL hides its start, and it lasts over an hour": (
        [connection("hidden_by_sasl", 0, 3600)], 3600 + IDLE, [of_connections(1, 0), of_connections(0, 1, 3600)]),
    "not seen to begin or end": ([connection("before_log", 0, 10)], 10, []),
}  # fmt: skip


@pytest.fixture(scope="module")
def relation(rules_session: Any) -> Any:
    """The view of all cases, each a cluster, over the parts of each run, which are those of the requests that it ingests."""
    sent_ = [one | {"cluster": name} for name, (requests, _) in CASES.items() for one in requests]
    runs = [
        [one for one in sent_ if one["ingested_at"] == run] for run in sorted({one["ingested_at"] for one in sent_})
    ]
    opened = [one | {"cluster": name} for name, (of_case, *_) in CONNECTIONS.items() for one in of_case]
    files = [
        {"file_id": name, "cluster": name, "broker": "b", "ingested_at": START, "first_logged_at": START, "last_logged_at": at(until)}
        for name, until in {**dict.fromkeys(CASES, 0.0), **{name: case[1] for name, case in CONNECTIONS.items()}}.items()
    ]  # fmt: skip
    with on(rules_session):
        parts = [client_activity_parts.transform(frame(rules_session, "requests", rows), SETTINGS) for rows in runs]
        given = {"client_activity_parts": reduce(lambda some, others: some.unionByName(others), parts)}
        given |= {
            "connections": frame(rules_session, "connections", opened),
            "ingested_files": ledger(rules_session, *files),
        }
        return computed(as_stored(asked(rules_session, "client_activity", SETTINGS, **given), "client_activity"))


@pytest.mark.parametrize("name", CASES | CONNECTIONS)
def test_requests_and_connections_count_where_they_belong(relation: Any, rules_session: Any, name: str) -> None:
    with on(rules_session):
        found = relation.where(F.col("cluster") == name)
    *_, expected = (CASES | CONNECTIONS)[name]
    assert_table(found, rules_session, "client_activity", [one | {"cluster": name} for one in expected])
