"""What stands in a broker's server.log only: a violation of the connection id, as no connection is known."""

from typing import Any

import pytest

from kafka_clientinfo.connections.violations import WHO
from tests.asking import asked
from tests.engines import collected
from tests.frames import at, frame, ledger

ADVERTISED, NOT_OFFERED = "advertised_version_refused", "request_version_refused"
NO_OFFER, LISTENER = "version_refused_without_offer", "wrong_listener"
NOT_ENABLED = "InvalidRequestException: Received request api key METADATA with version 1 which is not enabled"
OFF, CONTROLLER = {"detail": NOT_ENABLED}, {"listener": "CONTROLLER"}
PORT_9092, PORT_9093, PORT_9094 = (f"10.78.0.2:{port}-10.78.1.10:{{}}-0" for port in (9092, 9093, 9094))
"""Of the last one no connection is known."""
# Per connection id: the rule that is broken, the broker, the second, the API and the version that was refused.
BROKEN: dict[str, tuple[str, str, float, int, int, dict[str, Any]]] = {
    "before": (ADVERTISED, "upgraded", 15, 0, 1, {}),
    "the lowest": (ADVERTISED, "upgraded", 15, 0, 0, {}),
    "the highest": (ADVERTISED, "upgraded", 15, 0, 9, {}),
    "one above": (NOT_OFFERED, "upgraded", 15, 0, 10, {}),
    "at the first answer": (ADVERTISED, "upgraded", 10, 0, 1, {}),
    "between": (ADVERTISED, "upgraded", 25, 0, 1, {}),
    "after": (NOT_OFFERED, "upgraded", 35, 0, 1, {}),
    "much later": (NOT_OFFERED, "upgraded", 95, 0, 1, {}),
    "much earlier": (NO_OFFER, "upgraded", 1, 0, 1, {}),
    "which": (NO_OFFER, "listeners", 2, 0, 1, {}),
    "OLD": (ADVERTISED, "listeners", 2, 0, 1, {"listener": "OLD"}),
    "NEW": (NOT_OFFERED, "listeners", 2, 0, 1, {"listener": "NEW"}),
    "no such API": (NOT_OFFERED, "4.x", 2, 4, 1, {}),
    "before a start": (ADVERTISED, "restarted", 15, 0, 1, {}),
    "at a start": (ADVERTISED, "restarted", 20, 0, 1, {}),
    "new after the start": (NOT_OFFERED, "restarted", 20, 6, 1, {}),
    "answered at a start": (ADVERTISED, "restarted", 20, 7, 1, {}),
    "answered before it": (NOT_OFFERED, "restarted", 25, 7, 1, {}),
    "after a start": (NO_OFFER, "restarted", 25, 0, 1, {}),
    "after its answer": (NOT_OFFERED, "restarted", 35, 0, 1, {}),
    "as ever": (ADVERTISED, "restarted", 25, 4, 1, {}),
    "given up": (NOT_OFFERED, "restarted", 35, 5, 1, {}),
    "never asked": (NO_OFFER, "restarted", 45, 4, 1, {}),
    "taken back": (NO_OFFER, "restarted", 55, 0, 1, {}),
    PORT_9093.format(1): (LISTENER, "ports", 5, 3, 1, OFF),
    PORT_9093.format(2): (LISTENER, "ports", 5, 3, 0, {"detail": "unsupported version 0"}),
    PORT_9093.format(3): (NO_OFFER, "ports", 5, 18, 99, {"detail": "unsupported version 99", "api_name": "API_VERSIONS"}),
    PORT_9092.format(1): (NOT_OFFERED, "ports", 5, 3, 99, OFF),
    PORT_9092.format(2): (LISTENER, "ports", 5, 52, 1, OFF | {"api_name": "VOTE"}),
    PORT_9092.format(3): (NO_OFFER, "ports", 5, 3, 1, OFF),
    PORT_9094.format(1): (LISTENER, "ports", 5, 3, 1, OFF),
    PORT_9094.format(2): (NO_OFFER, "ports", 5, 3, 99, OFF),
    PORT_9094.format(3): (NO_OFFER, "ports", 5, 52, 1, OFF | {"api_name": "VOTE"}),
    "named": (LISTENER, "ports", 5, 3, 1, OFF | CONTROLLER),
    "10.78.0.2:9193-10.78.1.10:1-0": (LISTENER, "custom", 5, 3, 1, OFF),
    "10.78.0.2:9092-10.78.1.10:8-0": (NOT_OFFERED, "custom", 5, 3, 9, {}),
}  # fmt: skip


def failure(reason: str, seconds: float, **given: Any) -> dict[str, Any]:
    row = {"cluster": "c", "broker": "b", "file_id": "s", "byte_offset": int(seconds), "logged_at": at(seconds)}
    return row | {"connection_id": "x", "remote_host": "10.0.0.9", "reason": reason, "detail": "d"} | given


FAILED = [
    failure("unsupported_version", 1, api_key=0, api_name="PRODUCE", api_version=0, detail="UnsupportedVersionException"),
    failure("unsupported_version", 2, api_key=0, api_name="PRODUCE", api_version=1),
    failure("unknown_api", 3),
    failure("unreadable_request", 4, remote_host=None, connection_id="y"),
    failure("failed_authentication", 5, detail="Invalid username"),
    failure("unsupported_version", 7, broker="4.x", api_key=0, api_version=1),
    failure("unsupported_version", 8, broker="no answer", api_key=0, api_version=1),
    failure("failed_authentication", 6, connection_id="long", detail="x" * 161),
    failure("other", 6),
    failure("unsupported_version", 9, api_key=3, api_name="METADATA", api_version=1, **CONTROLLER),
    *(failure("unsupported_version", second, connection_id=name, broker=broker, api_key=key, api_version=version,
              **{"api_name": "METADATA"} | given)
      for name, (_, broker, second, key, version, given) in BROKEN.items()),
]  # fmt: skip


def advertised(broker: str, low: int, high: int, first: float = 0, last: float = 1000, **given: Any) -> dict[str, Any]:
    row = {"cluster": "c", "broker": broker, "listener": "PLAINTEXT", "api_key": 0, "min_version": low}
    return row | {"max_version": high, "first_seen": at(first), "last_seen": at(last)} | given


RANGES = [
    advertised("b", 2, 9), advertised("4.x", 0, 13), advertised("no answer", 0, 9, **CONTROLLER),
    advertised("upgraded", 0, 9, 10, 20), advertised("upgraded", 3, 13, 30, 40),
    advertised("listeners", 0, 9, listener="OLD"), advertised("listeners", 3, 13, listener="NEW"),
    advertised("restarted", 0, 9, 10, 18), advertised("restarted", 3, 13, 30, 40),
    advertised("restarted", 0, 4, 10, 40, api_key=4), advertised("restarted", 0, 4, 10, 18, api_key=5),
    advertised("restarted", 0, 4, 30, 40, api_key=6), advertised("restarted", 0, 4, 20, 20, api_key=7),
    advertised("ports", 0, 12, api_key=3), advertised("custom", 0, 4, api_key=3),
    advertised("custom", 0, 1, api_key=63, listener="KRAFT"), advertised("custom", 0, 4, api_key=18, listener="KRAFT"),
]  # fmt: skip
STARTS = [
    {"at": at(second), "kind": kind, "value": None, "ingested_at": at(0)}
    for start in (20, 42)
    for second, kind in ((start, "launched"), (start + 1, "started"))
]
CLIENT = "-10.0.0.9:40000-0"
LISTENERS = [
    ("custom", f"10.0.0.1:9193{CLIENT}", "KRAFT"), ("custom", "10.0.0.1:9193-10.0.0.9:40001-1", None),
    ("custom", "10.0.0.1:9193-10.0.0.9:40002-2", "KRAFT"), ("custom", f"10.0.0.1:9092{CLIENT}", "PLAINTEXT"),
    ("custom", "no address", "PLAINTEXT"), ("ports", f"10.0.0.1:9092{CLIENT}", "PLAINTEXT"),
    ("ports", f"10.0.0.1:9093{CLIENT}", "CONTROLLER"), ("other", f"10.0.0.2:9093{CLIENT}", "SSL"),
    ("ports", f"10.0.0.1:9094{CLIENT}", "OLD"), ("ports", "10.0.0.1:9094-10.0.0.9:40000-1", "NEW"),
    ("ports", f"10.0.0.1:9095{CLIENT}", None),
]  # fmt: skip
"""Known connections; a port is a listener's if all connections on it name the same one."""
MESSAGES = {
    NOT_OFFERED: "PRODUCE v0 from 10.0.0.9 although v2 to v9 was offered: 'UnsupportedVersionException'",
    ADVERTISED: "a request v1 from 10.0.0.9 although v0 to v13 was offered: 'd'",
    NO_OFFER: "a request v1 from 10.0.0.9: 'd'",
    LISTENER: "METADATA v1 from 10.0.0.9 at the listener CONTROLLER: 'd'",
    "request_unreadable": "a request from 10.0.0.9: 'd'",
    "login_failed": "login from 10.0.0.9: 'Invalid username'",
}


@pytest.fixture(scope="module")
def found(rules_session: Any) -> dict[tuple[str, str], Any]:
    known = [
        {"cluster": "c", "broker": one, "connection_id": name, "listener": listener}
        for one, name, listener in LISTENERS
    ]
    started = {"cluster": "c", "broker": "restarted", "ingested_at": at(0), "broker_events": STARTS}
    started |= {"file_id": "f", "first_logged_at": at(0), "last_logged_at": at(60)}
    rows = {"failed_requests": FAILED, "broker_api_versions": RANGES, "connections": known}
    given = {name: frame(rules_session, name, of_table) for name, of_table in rows.items()}
    findings = asked(rules_session, "findings_failed_requests", ingested_files=ledger(rules_session, started), **given)
    return {(row["rule"], row["connection_id"]): row for row in collected(findings)}


def test_a_refusal_is_a_row_of_the_connection_id(found: dict[tuple[str, str], Any]) -> None:
    """Other failures break no rule."""
    rows = {rule: row for (rule, connection), row in found.items() if connection == "x"}
    assert {rule: row["message"] for rule, row in rows.items()} == MESSAGES
    assert all(row["group_id"] is None for row in rows.values())
    assert [[row[name] for name in WHO] for row in rows.values()] == [[None, None, None, None, "10.0.0.9"]] * len(rows)


@pytest.mark.kip("KIP-35", 5)
@pytest.mark.parametrize("connection", BROKEN)
def test_a_refused_version_is_the_brokers_doing_where_it_was_advertised(
    found: dict[tuple[str, str], Any], connection: str
) -> None:
    """An upgraded broker advertises something else later; the log may not say on which listener a request came."""
    assert [rule for rule, name in found if name == connection] == [BROKEN[connection][0]]


def test_the_first_of_several_is_the_example_and_messages_are_whole(found: dict[tuple[str, str], Any]) -> None:
    """What is not known of a failure has a place holder, and a long detail is cut."""
    row = found[NOT_OFFERED, "x"]
    assert (row["occurrences"], row["example"]["correlation_id"]) == (2, None)
    assert [row[one].timestamp() for one in ("first_at", "last_at")] == [at(1).timestamp(), at(2).timestamp()]
    assert row["example"]["grep"] == r"^\[2026-11-21 02:00:01,000\] (ERROR|INFO) "
    assert found["request_unreadable", "y"]["message"] == "a request from ?: 'd'"
    assert found["login_failed", "long"]["message"] == f"login from 10.0.0.9: '{'x' * 160}…'"
