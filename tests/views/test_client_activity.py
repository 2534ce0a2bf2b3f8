"""What clients do over time: which requests count in which row, the histogram, errors, and connections."""

from functools import reduce
from typing import Any

import pytest

from kafka_clientinfo.concerns.activity import client_activity_parts
from kafka_clientinfo.concerns.activity.client_activity_parts import BOUNDS, NAMES, TIMES
from kafka_clientinfo.config.settings import Settings
from tests.asking import asked
from tests.engines import on
from tests.frames import START, assert_table, at, frame, ledger, request

SETTINGS = Settings()


def rows_of(
    session: Any, requests: list[dict[str, Any]], connections: list[dict[str, Any]] | None = None, until: float = 0
) -> Any:
    """The view over the parts of each run, which are those of the requests that it ingests."""
    of_file = {"file_id": "f", "cluster": "c", "broker": "b", "ingested_at": START}
    files = ledger(session, of_file | {"first_logged_at": START, "last_logged_at": at(until)})
    runs = [[row for row in requests if row["ingested_at"] == run] for run in {row["ingested_at"] for row in requests}]
    with on(session):
        parts = [client_activity_parts.transform(frame(session, "requests", rows), SETTINGS) for rows in runs or [[]]]
        stored = reduce(lambda some, others: some.unionByName(others), parts)
    opened = frame(session, "connections", connections or [])
    return asked(
        session, "client_activity", SETTINGS, client_activity_parts=stored, connections=opened, ingested_files=files
    )


def sent(seconds: float, took: float = 1.0, api: str = "METADATA", **given: Any) -> dict[str, Any]:
    times = dict.fromkeys(TIMES, 0.0) | {"total_time_ms": took}
    return request("x", seconds, api, **{"errors": {}, **times, **given})


def row(**given: Any) -> dict[str, Any]:
    """A row about requests of one client; by default one request of a millisecond in the first minute."""
    counts = given.pop("latency", {"up_to_1": 1})
    total = given.pop("took", 1.0)
    times = {f"{name}_{kind}": 0.0 for name in TIMES for kind in ("sum", "max")}
    return {
        "cluster": "c", "broker": "b", "principal": "User:ANONYMOUS", "client_id": "app", "client_software_name": "unknown",
        "client_software_version": "unknown", "listener": "PLAINTEXT", "api_name": "METADATA", "bucket": START, "requests": 1,
        "requests_by_minute": {0: 1}, "errors": {}, "error_count": 0, "latency": dict.fromkeys(NAMES, 0) | counts, **times,
        "total_time_ms_sum": total, "total_time_ms_max": total, "throttled": 0, "throttled_ms": 0.0, "connections_opened": 0,
        "connections_ended": 0, "ingested_at": START,
    } | given  # fmt: skip


def of_connections(**given: Any) -> dict[str, Any]:
    nothing = {name: None for name in row() if name.startswith(TIMES)}
    return (
        row()
        | nothing
        | dict.fromkeys(
            (
                "api_name",
                "requests_by_minute",
                "errors",
                "error_count",
                "latency",
                "throttled",
                "throttled_ms",
                "ingested_at",
            )
        )
        | {"requests": 0}
        | given
    )


CASES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "one request": ([sent(0)], [row()]),
    "minutes, and times that add up": ([sent(0, 0.1), sent(59, 0.2), sent(61, 0.3)],
        [row(requests=3, requests_by_minute={0: 2, 1: 1}, latency={"up_to_0_1": 1, "up_to_0_32": 2}, took=0.6,
             total_time_ms_max=0.3)]),
    "the next hour is another bucket": ([sent(3599), sent(3600)],
        [row(requests_by_minute={59: 1}), row(bucket=at(3600))]),
    "forwarded copies and duplicates do not count": ([sent(0), sent(1, is_forwarded=True), sent(2, is_duplicate=True)], [row()]),
    "a null is a value": (
        [sent(0, client_id=None, principal=None, listener=None, client_software_name=None, client_software_version=None)],
        [row(client_id=None, principal=None, listener=None)]),
    "software is what the record states": ([sent(0), sent(1, client_software_name="kgo", client_software_version="1")],
        [row(), row(client_software_name="kgo", client_software_version="1")]),
    "of two runs": ([sent(0), sent(61, ingested_at=at(99))],
        [row(requests=2, requests_by_minute={0: 1, 1: 1}, latency={"up_to_1": 2}, took=2.0, total_time_ms_max=1.0, ingested_at=at(99))],
    ),
    "by API": ([sent(0), sent(0, api="FETCH")], [row(), row(api_name="FETCH")]),
    "errors": ([sent(0, errors={3: 2, 6: 1}), sent(1, errors={3: 1}), sent(2)],
        [row(requests=3, requests_by_minute={0: 3}, errors={3: 3, 6: 1}, error_count=4, latency={"up_to_1": 3}, took=3.0,
             total_time_ms_max=1.0)]),
    "no response is logged": ([sent(0, errors=None)], [row(errors=None, error_count=None)]),
    "responses of some are logged": ([sent(0, errors=None), sent(1, errors={3: 1})],
        [row(requests=2, requests_by_minute={0: 2}, errors={3: 1}, error_count=1, latency={"up_to_1": 2}, took=2.0,
             total_time_ms_max=1.0)]),
    "throttled": ([sent(0, throttle_time_ms=2.0), sent(1, throttle_time_ms=None), sent(2, throttle_time_ms=1.25)],
        [row(requests=3, requests_by_minute={0: 3}, latency={"up_to_1": 3}, took=3.0, total_time_ms_max=1.0, throttled=2,
             throttled_ms=3.25, throttle_time_ms_sum=3.25, throttle_time_ms_max=2.0)]),
    "delays of a clock, not of a quota (0.11 to 2.6)": (
        [sent(0, throttle_time_ms=0.03, log_generation="request_header_struct")],
        [row(throttled=None, throttled_ms=None, throttle_time_ms_sum=0.03, throttle_time_ms_max=0.03)]),
    "times that no record states": ([sent(0, remote_time_ms=None, throttle_time_ms=None)],
        [row(remote_time_ms_sum=None, remote_time_ms_max=None, throttle_time_ms_sum=None, throttle_time_ms_max=None,
             throttled=None, throttled_ms=None)]),
}  # fmt: skip


@pytest.mark.parametrize(("requests", "expected"), CASES.values(), ids=CASES)
def test_requests_count_where_they_belong(
    rules_session: Any, requests: list[dict[str, Any]], expected: list[dict[str, Any]]
) -> None:
    assert_table(rows_of(rules_session, requests), rules_session, "client_activity", expected)


def test_a_time_is_in_the_bucket_with_the_next_bound(rules_session: Any) -> None:
    took = [edge for bound in BOUNDS for edge in (bound, bound + 0.001)]
    found = rows_of(rules_session, [sent(number / 100, time) for number, time in enumerate(took)])
    counts = dict.fromkeys(NAMES, 2) | {NAMES[0]: 1, "above": 1}
    expected = row(requests=len(took), requests_by_minute={0: len(took)}, latency=counts, took=round(sum(took), 3),
                   total_time_ms_max=max(took))  # fmt: skip
    assert_table(found, rules_session, "client_activity", [expected])


def connection(
    id_: str, session_no: int, start: str, opened: float, last: float, client: str = "app"
) -> dict[str, Any]:
    return {
        "cluster": "c", "broker": "b", "principal": "User:ANONYMOUS", "client_id": client, "client_software_name": "unknown",
        "client_software_version": "unknown", "listener": "PLAINTEXT", "connection_id": id_, "session_no": session_no,
        "start": start, "opened_at": at(opened), "last_request_at": at(last),
    }  # fmt: skip


IDLE = SETTINGS.max_idle_ms / 1000
OPENED_AND_ENDED: dict[str, tuple[list[dict[str, Any]], float, list[dict[str, Any]]]] = {
    "its id is used again": (
        [connection("x", 1, "observed", 0, 10), connection("x", 2, "observed", 3600, 3610)], 3620,
        [of_connections(connections_opened=1, connections_ended=1),
         of_connections(bucket=at(3600), connections_opened=1)]),
    "the log goes on until it was idle too long": (
        [connection("x", 1, "observed", 0, 10)], 10 + IDLE,
        [of_connections(connections_opened=1, connections_ended=1)]),
    "nothing shows that it has ended":
        ([connection("x", 1, "observed", 0, 10)], 9 + IDLE, [of_connections(connections_opened=1)]),
    "it began before the log":
        ([connection("x", 1, "before_log", 0, 10)], 10 + IDLE, [of_connections(connections_ended=1)]),
    "SASL hides its start, and it lasts over an hour": (
        [connection("x", 1, "hidden_by_sasl", 0, 3600)], 3600 + IDLE,
        [of_connections(connections_opened=1), of_connections(bucket=at(3600), connections_ended=1)]),
    "not seen to begin or end": ([connection("x", 1, "before_log", 0, 10)], 10, []),
}  # fmt: skip


@pytest.mark.parametrize(("connections", "until", "expected"), OPENED_AND_ENDED.values(), ids=OPENED_AND_ENDED)
def test_connections_are_opened_and_ended(
    rules_session: Any, connections: list[dict[str, Any]], until: float, expected: list[dict[str, Any]]
) -> None:
    assert_table(rows_of(rules_session, [], connections, until), rules_session, "client_activity", expected)
