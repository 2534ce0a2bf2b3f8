"""Storms of short connections: which are found, by which rule, and what only looks like one."""

from typing import Any

import pytest

from kafka_clientinfo.config.rules import rules
from tests.concerns.activity.behaviour import Case, case, connections, found, handshake, neighbour, sent, times

RECONNECTS, HANDSHAKES, SINGLES = "reconnect_storm", "handshake_only_connections", "connection_per_request"
LOOP = times(5, 3)
"""Five connections in each of three minutes; the limit is four."""


def kept(starts: list[float], requests: int = 6, **given: Any) -> list[dict[str, Any]]:
    """Connections that stay in use for half a minute: a request every five seconds."""
    rows = []
    for number, start in enumerate(starts):
        rows.append(handshake(f"kept{number}", start, **given))
        rows += [sent(f"kept{number}", start + 5 * count, "FETCH", count, **given) for count in range(1, requests + 1)]
    return rows


CASES: dict[str, Case] = {
    "a client reconnects in a loop": case(neighbour(), connections(LOOP), rules=[RECONNECTS]),
    "it only looks up metadata": case(neighbour(), connections(LOOP, ["METADATA"]), rules=[RECONNECTS]),
    "it ends after the handshake": case(neighbour(), connections(LOOP, []), rules=[HANDSHAKES]),
    "its version is refused, and the next one taken": case(
        neighbour(), connections(LOOP, ["AV"], error_code=35), rules=[HANDSHAKES]),
    "one request on each": case(neighbour(), connections(LOOP, ["METADATA", "PRODUCE"]), rules=[SINGLES]),
    "one request on each, and all that clients look up": case(
        neighbour(),
        connections(LOOP, ["METADATA", "FIND_COORDINATOR", "INIT_PRODUCER_ID", "TELEMETRY", "PUSH", "PRODUCE"]),
        rules=[SINGLES]),
    "some of each": case(
        neighbour(), connections(LOOP, [], "a"), connections(LOOP, ["PRODUCE"], "b"), rules=[RECONNECTS]),
    "two clients do so": case(
        neighbour(),
        connections(LOOP, name="a", client_id="a"),
        connections(LOOP, name="b", client_id="b"),
        rules=[RECONNECTS, f"{RECONNECTS} 1"]),
    "a client without an id": case(neighbour(), connections(LOOP, client_id=None, principal=None), rules=[RECONNECTS]),
    "one that states its software": case(neighbour(), connections(LOOP, software="kgo"), rules=[RECONNECTS]),
    "with SASL, when it was long open": case(
        neighbour(20), connections(times(5, 3, 660), ["FETCH", "FETCH"], security_protocol="SASL_SSL"), rules=[RECONNECTS]),
    "nine of ten end after the handshake": case(
        neighbour(), connections(times(9, 3), []), connections([70, 130, 190], name="y"), rules=[HANDSHAKES]),
    "with SASL in the log, it ends after the handshake": case(
        neighbour(), connections(LOOP, ["SASL", "SASL_AUTHENTICATE"]), rules=[HANDSHAKES]),
    "each lasts as long as a short one may": case(neighbour(), kept(LOOP, 2), rules=[RECONNECTS]),
    "one of many stays in use": case(neighbour(), connections(times(9, 3)), kept([70, 130, 190]), rules=[RECONNECTS]),
    "the log begins with them": case(neighbour(), connections(times(4, 3, begin=0)), rules=[RECONNECTS]),
    "the log goes on for a minute": case(neighbour(4.75, 15), connections(times(4, 3), []), rules=[HANDSHAKES]),
    # the same on the face of it, and innocent
    "all clients reconnect after a restart": case(neighbour(), connections(times(40, 1))),
    "a rolling restart": case(neighbour(), connections(times(20, 4, every=2))),
    "a client that failed for two minutes": case(neighbour(), connections(times(20, 2))),
    "two minutes, with requests in a third": case(
        neighbour(), connections(times(5, 2)), connections([179.8] * 5, name="y")),
    "few on each of two listeners": case(
        neighbour(), connections(times(3, 3)), connections(times(3, 3), name="y", listener="SSL")),
    "many processes start with one proxy": case(neighbour(), connections(LOOP), kept(LOOP)),
    "a health check": case(neighbour(), connections(times(3, 8), [])),
    "a script that cron starts": case(neighbour(), connections(times(2, 8), ["METADATA", "DESCRIBE"])),
    "a batch job, for a minute": case(neighbour(), connections(times(60, 1), ["PRODUCE"])),
    "many hosts with one client id": case(
        neighbour(), *(connections(LOOP[n::5], name=f"h{n}-", remote_host=f"10.0.1.{n}") for n in range(5))),
    "connections that stay in use": case(neighbour(), kept(LOOP)),
    "the log ends": case(neighbour(4), connections(LOOP)),
    "connections that were open before the log": case(
        neighbour(), [sent(f"x{n}", at, "FETCH", 70) for n, at in enumerate(LOOP)]),
    "with SASL, soon after the log began": case(
        neighbour(20), connections(LOOP, ["FETCH", "FETCH"], security_protocol="SASL_SSL")),
    "a log at INFO": case(neighbour(log_level="INFO"), connections(LOOP, log_level="INFO")),
    "a log that leaves out requests": case(neighbour(), connections(LOOP), omits=True),
    "a log that holds handshakes only": case(
        [handshake(f"n{n}", 30.0 * n, client_id="other") for n in range(20)], connections(LOOP, ["AV"])),
    "a log that holds handshakes, and what brokers send": case(
        [sent("n", 30.0 * n, "UPDATE_METADATA", n, client_id="broker-1-x") for n in range(20)], connections(LOOP, [])),
    "brokers": case(neighbour(), connections(LOOP, ["UPDATE_METADATA"], client_id="broker-1-x")),
    "forwarded requests": case(neighbour(), connections(LOOP, is_forwarded=True)),
}  # fmt: skip
MESSAGES = {
    RECONNECTS: ("a client reconnects in a loop", "15 connections of at most 10 s in 3 minutes, up to 5 a minute"),
    HANDSHAKES: (
        "it ends after the handshake",
        "15 connections of at most 10 s in 3 minutes, up to 5 a minute that ended with the handshake"),
    SINGLES: (
        "one request on each",
        "15 connections of at most 10 s in 3 minutes, up to 5 a minute for one request each, such as PRODUCE"),
}  # fmt: skip


@pytest.fixture(scope="module")
def judged(rules_session: Any) -> dict[str, dict[str, Any]]:
    return found(rules_session, CASES, (RECONNECTS, HANDSHAKES, SINGLES))


@pytest.mark.parametrize("name", CASES)
def test_a_storm_is_found_and_nothing_else(judged: dict[str, dict[str, Any]], name: str) -> None:
    assert set(judged[name]) == CASES[name].rules


@pytest.mark.parametrize("rule", MESSAGES)
def test_a_finding_says_what_it_counts(judged: dict[str, dict[str, Any]], rule: str) -> None:
    name, message = MESSAGES[rule]
    row = judged[name][rule]
    assert row["message"] == f"{message}; {rules()[rule].asks}"
    assert row["occurrences"] == 15
    assert (row["client_id"], row["remote_host"], row["connection_id"]) == ("app", "10.0.0.9", "x0")
    assert row["opened_at"] is None
    assert row["example"]["grep"] == r'^\[2026-11-21 02:01:00,000\] [A-Z]+ Completed request:.*"connection":"x0"'


def test_only_short_connections_are_counted(judged: dict[str, dict[str, Any]]) -> None:
    assert judged["one of many stays in use"][RECONNECTS]["occurrences"] == 27
