"""What stands in a broker's server.log only: a violation of the connection id, as no connection is known."""

from typing import Any

import pytest

from kafka_clientinfo.connections.violations import WHO
from tests.asking import asked
from tests.engines import collected
from tests.frames import at, frame, ledger


def failure(reason: str, seconds: float, **given: Any) -> dict[str, Any]:
    row = {"cluster": "c", "broker": "b", "file_id": "s", "byte_offset": int(seconds), "logged_at": at(seconds)}
    return row | {"connection_id": "x", "remote_host": "10.0.0.9", "reason": reason, "detail": "d"} | given


PORT_9092, PORT_9093, PORT_9094 = (f"10.78.0.2:{port}-10.78.1.10:{{}}-0" for port in (9092, 9093, 9094))
"""Of the last one no connection is known."""
NOT_ENABLED = "InvalidRequestException: Received request api key METADATA with version 1 which is not enabled"
FAILED = [
    failure("unsupported_version", 1, api_key=0, api_name="PRODUCE", api_version=0,
        detail="UnsupportedVersionException"),
    failure("unsupported_version", 2, api_key=0, api_name="PRODUCE", api_version=1),
    failure("unknown_api", 3),
    failure("unreadable_request", 4, remote_host=None, connection_id="y"),
    failure("failed_authentication", 5, detail="Invalid username"),
    failure("unsupported_version", 7, broker="4.x", api_key=0, api_version=1),
    failure("unsupported_version", 8, broker="no answer", api_key=0, api_version=1),
    failure("unsupported_version", 15, broker="upgraded", api_key=0, api_version=1, connection_id="before"),
    failure("unsupported_version", 15, broker="upgraded", api_key=0, api_version=0, connection_id="the lowest"),
    failure("unsupported_version", 15, broker="upgraded", api_key=0, api_version=9, connection_id="the highest"),
    failure("unsupported_version", 15, broker="upgraded", api_key=0, api_version=10, connection_id="one above"),
    failure("unsupported_version", 10, broker="upgraded", api_key=0, api_version=1,
        connection_id="at the first answer"),
    failure("unsupported_version", 25, broker="upgraded", api_key=0, api_version=1, connection_id="between"),
    failure("unsupported_version", 35, broker="upgraded", api_key=0, api_version=1, connection_id="after"),
    failure("unsupported_version", 95, broker="upgraded", api_key=0, api_version=1, connection_id="much later"),
    failure("unsupported_version", 1, broker="upgraded", api_key=0, api_version=1, connection_id="much earlier"),
    failure("unsupported_version", 2, broker="listeners", api_key=0, api_version=1, connection_id="which"),
    failure("unsupported_version", 2, broker="listeners", api_key=0, api_version=1, connection_id="OLD",
        listener="OLD"),
    failure("unsupported_version", 2, broker="listeners", api_key=0, api_version=1, connection_id="NEW",
        listener="NEW"),
    failure("unsupported_version", 2, broker="4.x", api_key=4, api_version=1, connection_id="no such API"),
    failure("unsupported_version", 15, broker="restarted", api_key=0, api_version=1, connection_id="before a start"),
    failure("unsupported_version", 20, broker="restarted", api_key=0, api_version=1, connection_id="at a start"),
    failure("unsupported_version", 20, broker="restarted", api_key=6, api_version=1,
        connection_id="new after the start"),
    failure("unsupported_version", 20, broker="restarted", api_key=7, api_version=1,
        connection_id="answered at a start"),
    failure("unsupported_version", 25, broker="restarted", api_key=7, api_version=1,
        connection_id="answered before it"),
    failure("unsupported_version", 25, broker="restarted", api_key=0, api_version=1, connection_id="after a start"),
    failure("unsupported_version", 35, broker="restarted", api_key=0, api_version=1, connection_id="after its answer"),
    failure("unsupported_version", 25, broker="restarted", api_key=4, api_version=1, connection_id="as ever"),
    failure("unsupported_version", 35, broker="restarted", api_key=5, api_version=1, connection_id="given up"),
    failure("unsupported_version", 45, broker="restarted", api_key=4, api_version=1, connection_id="never asked"),
    failure("unsupported_version", 55, broker="restarted", api_key=0, api_version=1, connection_id="taken back"),
    *(failure("unsupported_version", 5, broker="ports", api_name=api, connection_id=connection, **given)
        for connection, api, given in (
         (PORT_9093.format(1), "METADATA", {"api_key": 3, "api_version": 1, "detail": NOT_ENABLED}),
         (PORT_9093.format(2), "METADATA", {"api_key": 3, "api_version": 0, "detail": "unsupported version 0"}),
         (PORT_9093.format(3), "API_VERSIONS", {"api_key": 18, "api_version": 99, "detail": "unsupported version 99"}),
         (PORT_9092.format(1), "METADATA", {"api_key": 3, "api_version": 99, "detail": NOT_ENABLED}),
         (PORT_9092.format(2), "VOTE", {"api_key": 52, "api_version": 1, "detail": NOT_ENABLED}),
         (PORT_9092.format(3), "METADATA", {"api_key": 3, "api_version": 1, "detail": NOT_ENABLED}),
         (PORT_9094.format(1), "METADATA", {"api_key": 3, "api_version": 1, "detail": NOT_ENABLED}),
         (PORT_9094.format(2), "METADATA", {"api_key": 3, "api_version": 99, "detail": NOT_ENABLED}),
         (PORT_9094.format(3), "VOTE", {"api_key": 52, "api_version": 1, "detail": NOT_ENABLED}),
         ("named", "METADATA", {"api_key": 3, "api_version": 1, "detail": NOT_ENABLED, "listener": "CONTROLLER"}))),
    failure("unsupported_version", 5, broker="custom", api_key=3, api_version=1, detail=NOT_ENABLED,
        connection_id="10.78.0.2:9193-10.78.1.10:1-0"),
    failure("unsupported_version", 5, broker="custom", api_key=3, api_version=9, detail="d",
        connection_id="10.78.0.2:9092-10.78.1.10:8-0"),
    failure("failed_authentication", 6, connection_id="long", detail="x" * 161),
    failure("other", 6),
    failure("unsupported_version", 9, api_key=3, api_name="METADATA", api_version=1, listener="CONTROLLER"),
]  # fmt: skip


def advertised(broker: str, low: int, high: int, first: float = 0, last: float = 1000, **given: Any) -> dict[str, Any]:
    row = {"cluster": "c", "broker": broker, "listener": "PLAINTEXT", "api_key": 0, "min_version": low}
    return row | {"max_version": high, "first_seen": at(first), "last_seen": at(last)} | given


RANGES = [
    advertised("b", 2, 9),
    advertised("4.x", 0, 13),
    advertised("no answer", 0, 9, listener="CONTROLLER"),
    advertised("upgraded", 0, 9, 10, 20),
    advertised("upgraded", 3, 13, 30, 40),
    advertised("listeners", 0, 9, listener="OLD"),
    advertised("listeners", 3, 13, listener="NEW"),
    advertised("restarted", 0, 9, 10, 18),
    advertised("restarted", 3, 13, 30, 40),
    advertised("restarted", 0, 4, 10, 40, api_key=4),
    advertised("restarted", 0, 4, 10, 18, api_key=5),
    advertised("restarted", 0, 4, 30, 40, api_key=6),
    advertised("restarted", 0, 4, 20, 20, api_key=7),
    advertised("ports", 0, 12, api_key=3),
    advertised("custom", 0, 1, api_key=63, listener="KRAFT"),
    advertised("custom", 0, 4, api_key=18, listener="KRAFT"),
    advertised("custom", 0, 4, api_key=3),
]
STARTS = [
    {"at": at(second), "kind": kind, "value": None, "ingested_at": at(0)}
    for start in (20, 42)
    for second, kind in ((start, "launched"), (start + 1, "started"))
]
LISTENERS = [
    ("custom", "10.0.0.1:9193-10.0.0.9:40000-0", "KRAFT"),
    ("custom", "10.0.0.1:9193-10.0.0.9:40001-1", None),
    ("custom", "10.0.0.1:9193-10.0.0.9:40002-2", "KRAFT"),
    ("custom", "10.0.0.1:9092-10.0.0.9:40000-0", "PLAINTEXT"),
    ("custom", "no address", "PLAINTEXT"),
    ("ports", "10.0.0.1:9092-10.0.0.9:40000-0", "PLAINTEXT"),
    ("ports", "10.0.0.1:9093-10.0.0.9:40000-0", "CONTROLLER"),
    ("other", "10.0.0.2:9093-10.0.0.9:40000-0", "SSL"),
    ("ports", "10.0.0.1:9094-10.0.0.9:40000-0", "OLD"),
    ("ports", "10.0.0.1:9094-10.0.0.9:40000-1", "NEW"),
    ("ports", "10.0.0.1:9095-10.0.0.9:40000-0", None),
]
"""Known connections; a port is a listener's if all connections on it name the same one."""
MESSAGES = {
    "request_version_refused": "PRODUCE v0 from 10.0.0.9 although v2 to v9 was offered: 'UnsupportedVersionException'",
    "advertised_version_refused": "a request v1 from 10.0.0.9 although v0 to v13 was offered: 'd'",
    "version_refused_without_offer": "a request v1 from 10.0.0.9: 'd'",
    "wrong_listener": "METADATA v1 from 10.0.0.9 at the listener CONTROLLER: 'd'",
    "request_unreadable": "a request from 10.0.0.9: 'd'",
    "login_failed": "login from 10.0.0.9: 'Invalid username'",
}


@pytest.fixture(scope="module")
def found(rules_session: Any) -> dict[tuple[str, str], Any]:
    known = [
        {"cluster": "c", "broker": broker, "connection_id": connection_id, "listener": listener}
        for broker, connection_id, listener in LISTENERS
    ]
    started = {"cluster": "c", "broker": "restarted", "ingested_at": at(0), "broker_events": STARTS}
    started |= {"file_id": "f", "first_logged_at": at(0), "last_logged_at": at(60)}
    given = {
        "failed_requests": frame(rules_session, "failed_requests", FAILED),
        "broker_api_versions": frame(rules_session, "broker_api_versions", RANGES),
        "connections": frame(rules_session, "connections", known),
        "ingested_files": ledger(rules_session, started),
    }
    findings = asked(rules_session, "findings_failed_requests", **given)
    return {(row["rule"], row["connection_id"]): row for row in collected(findings)}


@pytest.mark.parametrize("rule", MESSAGES)
def test_a_refusal_is_a_row_of_the_connection_id(found: dict[tuple[str, str], Any], rule: str) -> None:
    row = found[rule, "x"]
    assert row["message"] == MESSAGES[rule]
    assert row["group_id"] is None
    assert [row[name] for name in WHO] == [None, None, None, None, "10.0.0.9"]


def test_other_failures_break_no_rule(found: dict[tuple[str, str], Any]) -> None:
    assert {rule for rule, connection in found if connection == "x"} == set(MESSAGES)
    assert found["request_unreadable", "y"]


BROKEN = {
    "before": "advertised_version_refused",
    "the lowest": "advertised_version_refused",
    "the highest": "advertised_version_refused",
    "one above": "request_version_refused",
    "at the first answer": "advertised_version_refused",
    "between": "advertised_version_refused",
    "after": "request_version_refused",
    "much later": "request_version_refused",
    "much earlier": "version_refused_without_offer",
    "which": "version_refused_without_offer",
    "OLD": "advertised_version_refused",
    "NEW": "request_version_refused",
    "no such API": "request_version_refused",
    "before a start": "advertised_version_refused",
    "at a start": "advertised_version_refused",
    "new after the start": "request_version_refused",
    "answered at a start": "advertised_version_refused",
    "answered before it": "request_version_refused",
    "after a start": "version_refused_without_offer",
    "after its answer": "request_version_refused",
    "as ever": "advertised_version_refused",
    "given up": "request_version_refused",
    "never asked": "version_refused_without_offer",
    "taken back": "version_refused_without_offer",
    PORT_9093.format(1): "wrong_listener",
    PORT_9093.format(2): "wrong_listener",
    PORT_9093.format(3): "version_refused_without_offer",
    PORT_9092.format(1): "request_version_refused",
    PORT_9092.format(2): "wrong_listener",
    PORT_9092.format(3): "version_refused_without_offer",
    PORT_9094.format(1): "wrong_listener",
    PORT_9094.format(2): "version_refused_without_offer",
    PORT_9094.format(3): "version_refused_without_offer",
    "named": "wrong_listener",
    "10.78.0.2:9193-10.78.1.10:1-0": "wrong_listener",
    "10.78.0.2:9092-10.78.1.10:8-0": "request_version_refused",
}


@pytest.mark.kip("KIP-35", 5)
@pytest.mark.parametrize("connection", BROKEN)
def test_a_refused_version_is_the_brokers_doing_where_it_was_advertised(
    found: dict[tuple[str, str], Any], connection: str
) -> None:
    """An upgraded broker advertises something else later; the log may not say on which listener a request came."""
    assert [rule for rule, name in found if name == connection] == [BROKEN[connection]]


def test_the_first_of_several_is_the_example(found: dict[tuple[str, str], Any]) -> None:
    row = found["request_version_refused", "x"]
    assert (row["occurrences"], row["first_at"].timestamp()) == (2, at(1).timestamp())
    assert (row["last_at"].timestamp(), row["example"]["correlation_id"]) == (at(2).timestamp(), None)
    assert row["example"]["grep"] == r"^\[2026-11-21 02:00:01,000\] (ERROR|INFO) "


def test_what_is_not_known_of_a_failure_has_a_place_holder(found: dict[tuple[str, str], Any]) -> None:
    assert found["request_unreadable", "y"]["message"] == "a request from ?: 'd'"


def test_a_long_detail_is_cut(found: dict[tuple[str, str], Any]) -> None:
    assert found["login_failed", "long"]["message"] == f"login from 10.0.0.9: '{'x' * 160}…'"
