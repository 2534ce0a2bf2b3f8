"""Storms of short connections, floods of requests and throttled clients: which are found, and what only looks like one."""

from collections.abc import Iterable
from typing import Any

import pytest

from kafka_clientinfo.config.rules import rules
from tests.concerns.activity.behaviour import (
    Case,
    Row,
    case,
    connections,
    found,
    handshake,
    neighbour,
    requests,
    sent,
    times,
)

RECONNECTS, HANDSHAKES, SINGLES = "reconnect_storm", "handshake_only_connections", "connection_per_request"
FLOOD, THROTTLED = "request_flood", "throttled"
INFO = {"log_level": "INFO"}
NAMELESS = {"client_id": None, "principal": None}
LOOP = times(5, 3)
"""Five connections in each of three minutes; the limit is four."""


def beside(*rows: Iterable[Row], rule: str = "", rules: Iterable[str] = (), minutes: float = 10, **given: Any) -> Case:
    """A case in which an ordinary client keeps its connection."""
    return case(neighbour(minutes), *rows, rules=[rule] if rule else rules, **given)


def kept(starts: list[float], requests: int = 6, **given: Any) -> list[Row]:
    """Connections that stay in use for half a minute: a request every five seconds."""
    rows = []
    for number, start in enumerate(starts):
        rows.append(handshake(f"kept{number}", start, **given))
        rows += [sent(f"kept{number}", start + 5 * count, "FETCH", count, **given) for count in range(1, requests + 1)]
    return rows


ALL_LOOK_UPS = ["METADATA", "FIND_COORDINATOR", "INIT_PRODUCER_ID", "TELEMETRY", "PUSH", "PRODUCE"]
STORMS: dict[str, Case] = {
    "a client reconnects in a loop": beside(connections(LOOP), rule=RECONNECTS),
    "it ends after the handshake": beside(connections(LOOP, []), rule=HANDSHAKES),
    "its version is refused, and the next one taken": beside(connections(LOOP, ["AV"], error_code=35), rule=HANDSHAKES),
    "one request on each": beside(connections(LOOP, ["METADATA", "PRODUCE"]), rule=SINGLES),
    "one request on each, and all that clients look up": beside(connections(LOOP, ALL_LOOK_UPS), rule=SINGLES),
    "it only looks up metadata": beside(connections(LOOP, ["METADATA"]), rule=RECONNECTS),
    "it ends after SASL's handshake": beside(connections(LOOP, ["SASL", "SASL_AUTHENTICATE"]), rule=HANDSHAKES),
    "some of each": beside(connections(LOOP, [], "a"), connections(LOOP, ["PRODUCE"], "b"), rule=RECONNECTS),
    "two clients do so": beside(connections(LOOP, name="a", client_id="a"), connections(LOOP, name="b", client_id="b"),
        rules=[RECONNECTS, f"{RECONNECTS} 1"]),
    "a client without an id": beside(connections(LOOP, **NAMELESS), rule=RECONNECTS),
    "with SASL, when it was long open": beside(
        connections(times(5, 3, 660), ["FETCH", "FETCH"], security_protocol="SASL_SSL"), minutes=20, rule=RECONNECTS),
    "nine of ten end after it": beside(
        connections(times(9, 3), []), connections([70, 130, 190], name="y"), rule=HANDSHAKES),
    "each lasts as long as a short one may": beside(kept(LOOP, 2), rule=RECONNECTS),
    "one of many stays in use": beside(connections(times(9, 3)), kept([70, 130, 190]), rule=RECONNECTS),
    "the log begins with them": beside(connections(times(4, 3, begin=0)), rule=RECONNECTS),
    "the log goes on for a minute": case(neighbour(4.75, 15), connections(times(4, 3), []), rules=[HANDSHAKES]),
    # the same on the face of it, and innocent
    "all clients reconnect after a restart": beside(connections(times(40, 1))),
    "a rolling restart": beside(connections(times(20, 4, every=2))),
    "two minutes, with requests in a third": beside(connections(times(5, 2)), connections([179.8] * 5, name="y")),
    "few on each of two listeners": beside(connections(times(3, 3)), connections(times(3, 3), name="y", listener="SSL")),
    "many processes start with one proxy": beside(connections(LOOP), kept(LOOP)),
    "a health check": beside(connections(times(3, 8), [])),
    "many hosts": beside(*(connections(LOOP[n::5], name=f"h{n}-", remote_host=f"10.0.1.{n}") for n in range(5))),
    "the log ends": beside(connections(LOOP), minutes=4),
    "connections that were open before the log": beside([sent(f"x{n}", at, "FETCH", 70) for n, at in enumerate(LOOP)]),
    "with SASL, soon": beside(connections(LOOP, ["FETCH", "FETCH"], security_protocol="SASL_SSL"), minutes=20),
    "a log at INFO": case(neighbour(**INFO), connections(LOOP, **INFO)),
    "a log that leaves out requests": beside(connections(LOOP), omits=True),
    "a log that holds handshakes only": case(
        [handshake(f"n{n}", 30.0 * n, client_id="other") for n in range(20)], connections(LOOP, ["AV"])),
    "a log that holds handshakes, and what brokers send": case(
        [sent("n", 30.0 * n, "UPDATE_METADATA", n, client_id="broker-1-x") for n in range(20)], connections(LOOP, [])),
    "brokers": beside(connections(LOOP, ["UPDATE_METADATA"], client_id="broker-1-x")),
}  # fmt: skip
OPENING = [handshake("x", 1)]
LATER = 660.0


def usual(connection: str = "x", **given: Any) -> list[Row]:
    """A request a minute for ten minutes; a flood is five times as many, and ten at least."""
    return [handshake(connection, 1, **given), *requests(connection, 1, 10, **given)]


def later(number: int = 12, minutes: int = 3, connection: str = "x", api: str = "METADATA", **given: Any) -> list[Row]:
    return requests(connection, number, minutes, LATER, api, **given)


def busy(*rows: Iterable[Row], minutes: float = 20, **given: Any) -> Case:
    return beside(*rows, minutes=minutes, **given)


HOSTS = [{"connection": f"h{n}", "remote_host": f"10.0.1.{n}"} for n in range(3)]
LEFT_OUT = {"client_id": None, "header_version": 3}
A_BROKER = {"client_id": "broker-1-x"}
FLOODS: dict[str, Case] = {
    "a client floods after a quiet time": busy(usual(), later(), rule=FLOOD),
    "it commits after every record": busy(OPENING, requests("x", 1, 10, api="COMMIT"), later(api="COMMIT"), rule=FLOOD),
    "a client without an id": busy(usual(**NAMELESS, listener=None), later(**NAMELESS, listener=None), rule=FLOOD),
    "it leaves its client id out after the first request (KIP-1313)": busy(
        OPENING, requests("x", 1, 10, **LEFT_OUT), later(**LEFT_OUT), rule=FLOOD),
    "it always sends more than any client needs": busy(OPENING, requests("x", 45, 5), rule=FLOOD),
    "two APIs": busy(
        usual(), requests("x", 1, 10, api="COMMIT"), later(), requests("x", 15, 3, LATER + 60, "COMMIT"), rule=FLOOD),
    "two connections flood": busy(usual(), usual("y"), later(), later(connection="y"), rule=FLOOD),
    "over the end of an hour": busy(usual(), requests("x", 12, 4, 3480), minutes=70, rule=FLOOD),
    "with another version from its third minute on": busy(
        usual(), later(minutes=2), requests("x", 12, 2, LATER + 120, api_version=1), rule=FLOOD),
    "another connection goes on": busy(
        usual(), [handshake("z", 650)], later(minutes=2), requests("z", 20, 2, LATER + 120), rule=FLOOD),
    # the same on the face of it, and innocent
    "all ask again after a restart": busy(usual(), later(30, 2)),
    "bursts, minutes apart": busy(usual(), *(requests("x", 12, 1, LATER + 120 * number) for number in range(4))),
    "somewhat more than usual": busy(OPENING, requests("x", 3, 10), later()),
    "far more than usual, but few": busy(usual(), later(9)),
    "a job that sends as many whenever it runs": busy(OPENING, later(minutes=4)),
    "many hosts": busy(*(usual(**one) for one in HOSTS), *(later(6, **one) for one in HOSTS)),
    "it fetches more": busy(OPENING, requests("x", 1, 10, api="FETCH"), later(api="FETCH")),
    "the log's level was set to DEBUG": case(
        neighbour(20, **INFO)[:20], requests("x", 1, 10, **INFO), neighbour(20)[21:], [handshake("y", 650)], later()),
    "the log ends within the third minute": beside(usual(), later()),
    "a log at INFO": case(neighbour(20, **INFO), [row | INFO for row in usual()], later(**INFO)),
    "a log that leaves out requests": busy(usual(), later(), omits=True),
    "another client on a proxy": busy([handshake("x", 1, client_id="proxy")], requests("x", 1, 10), later()),
    "a broker": busy([sent("x", 2, "UPDATE_METADATA", **A_BROKER)], requests("x", 1, 10, **A_BROKER), later(**A_BROKER)),
    "a follower beside it": busy(usual(), [sent("y", 2, "FETCH", 2, replica_id=2)], requests("y", 1, 20), later(24)),
    "forwarded requests": busy(usual(), later(connection="f", is_forwarded=True)),
}  # fmt: skip
OPENED = [handshake("x", 60)]


def slowed(
    connection: str = "x", minutes: int = 4, ms: float | None = 5000.0, api: str = "PRODUCE", **given: Any
) -> list[Row]:
    """Four requests a minute, each throttled for so long."""
    return requests(connection, 4, minutes, 60.5, api, throttle_time_ms=ms, **given)


PROCESSES = [row for n in range(10) for row in (handshake(f"x{n}", 60), *slowed(f"x{n}", ms=3000.0))]
SLOW: dict[str, Case] = {
    "a producer": beside(OPENED, slowed(), rule=THROTTLED),
    "a consumer": beside(OPENED, slowed(api="FETCH"), rule=THROTTLED),
    "an administrator": beside(OPENED, slowed(api="CREATE_TOPICS"), rule=THROTTLED),
    "all that it asks": beside(OPENED, slowed(), slowed(api="ALIVE", ms=2500.0), rule=THROTTLED),
    "a client without an id": beside([handshake("x", 60, **NAMELESS)], slowed(**NAMELESS), rule=THROTTLED),
    "in two hours": beside(
        OPENED, slowed(), requests("x", 4, 4, 3660, "PRODUCE", throttle_time_ms=200_000.0), minutes=125, rule=THROTTLED),
    "two APIs, of which one is called once": beside(
        OPENED, slowed(), requests("x", 4, 1, 300, "FETCH", throttle_time_ms=5000.0), rule=THROTTLED),
    "two connections": beside(
        OPENED, slowed(), [handshake("y", 60)], requests("y", 1, 4, 60.5, "PRODUCE", throttle_time_ms=9000.0),
        rule=THROTTLED),
    # the same on the face of it, and innocent
    "for three minutes": beside(OPENED, slowed(minutes=3), rule=THROTTLED),
    "little": beside(OPENED, slowed(ms=3000.0)),
    "for two minutes": beside(OPENED, slowed(minutes=2, ms=14_000.0)),
    "many processes with one client id": beside(PROCESSES),
    "many processes with one client id, and a later one": busy(PROCESSES, [handshake("y", 1000)], requests("y", 1, 2, 1020)),
    "a long connection, for a short time": beside(
        OPENED, slowed(), [sent("x", 2900, "PRODUCE", 99)], requests("x", 1, 40, 300, "PRODUCE", throttle_time_ms=1.0),
        minutes=50),
    "no record states a time": beside(OPENED, slowed(ms=None)),
    "a log at INFO": case(neighbour(**INFO), slowed(**INFO)),
    "a log that leaves out requests": beside(OPENED, slowed(), omits=True),
    "a broker": beside([sent("x", 60, "UPDATE_METADATA", **A_BROKER)], slowed(**A_BROKER)),
    "forwarded requests": beside(OPENED, slowed("f", is_forwarded=True)),
}  # fmt: skip
GROUPS = {
    "storm": (STORMS, (RECONNECTS, HANDSHAKES, SINGLES)), "flood": (FLOODS, (FLOOD,)), "slow": (SLOW, (THROTTLED,)),
}  # fmt: skip
CASES = {f"{kind}: {name}": one for kind, (cases, _) in GROUPS.items() for name, one in cases.items()}
Judged = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def judged(rules_session: Any) -> Judged:
    """What breaks the rules that a case is about."""
    by_case = found(rules_session, CASES, [rule for _, of_kind in GROUPS.values() for rule in of_kind])
    wanted = {name: GROUPS[name.partition(":")[0]][1] for name in CASES}
    return {
        name: {rule: row for rule, row in rows.items() if rule.split()[0] in wanted[name]}
        for name, rows in by_case.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_who_breaks_a_rule_is_found_and_nobody_else(judged: Judged, name: str) -> None:
    assert set(judged[name]) == CASES[name].rules


STORM = "15 connections of at most 10 s in 3 minutes, up to 5 a minute"
BYTES, ALL = "by producer_byte_rate or request_percentage", "by request_percentage"
MESSAGES = {
    ("storm: a client reconnects in a loop", RECONNECTS): (STORM, 15, "x0"),
    ("storm: it ends after the handshake", HANDSHAKES): (f"{STORM} that ended with the handshake", 15, "x0"),
    ("storm: one request on each", SINGLES): (f"{STORM} for one request each, such as PRODUCE", 15, "x0"),
    ("flood: a client floods after a quiet time", FLOOD): (
        "36 METADATA requests in 3 minutes, up to 12 a minute (connections: 1); the median of its minutes is 1", 36, "x"),
    ("slow: a producer", THROTTLED): (
        f"16 requests were throttled for 80 s {BYTES}, while its connections lasted 225 s", 16, "x"),
}  # fmt: skip


@pytest.mark.parametrize("which", MESSAGES, ids=" ".join)
def test_a_finding_says_what_it_counts_and_names_who_does_it(judged: Judged, which: tuple[str, str]) -> None:
    name, rule = which
    (message, occurrences, connection), row = MESSAGES[which], judged[name][rule]
    assert (row["message"], row["occurrences"]) == (f"{message}; {rules()[rule].asks}", occurrences)
    assert (row["client_id"], row["remote_host"], row["connection_id"]) == ("app", "10.0.0.9", connection)
    assert (row["severity"], row["blames"]) == (rules()[rule].severity, rules()[rule].blames)
    if rule == RECONNECTS:
        assert row["opened_at"] is None
        assert row["example"]["grep"] == r'^\[2026-11-21 02:01:00,000\] [A-Z]+ Completed request:.*"connection":"x0"'


def test_a_finding_counts_short_connections_and_names_that_with_the_most_requests(judged: Judged) -> None:
    """Floods of two APIs are one finding."""
    assert judged["storm: one of many stays in use"][RECONNECTS]["occurrences"] == 27
    assert judged["flood: another connection goes on"][FLOOD]["connection_id"] == "z"
    assert judged["slow: two connections"][THROTTLED]["connection_id"] == "x"
    row = judged["flood: two APIs"][FLOOD]
    assert row["occurrences"] == 36 + 45
    assert all(said in row["message"] for said in ("36 METADATA requests", "45 OFFSET_COMMIT requests"))


LASTS = {
    "flood: a client floods after a quiet time": 3, "flood: two APIs": 4, "slow: two APIs, of which one is called once": 5,
    "slow: in two hours": 64,
}  # fmt: skip


@pytest.mark.parametrize("name", LASTS)
def test_a_finding_lasts_from_the_first_minute_to_the_last(judged: Judged, name: str) -> None:
    (row,) = judged[name].values()
    assert (row["last_at"] - row["first_at"]).total_seconds() == LASTS[name] * 60


QUOTAS = {
    "a consumer": "for 80 s by consumer_byte_rate or request_percentage,",
    "an administrator": "for 80 s by controller_mutation_rate or request_percentage,",
    "all that it asks": f"for 80 s {BYTES}, 40 s {ALL},",
    "in two hours": f"32 requests were throttled for 3280 s {BYTES}, while its connections lasted 465 s",
}


@pytest.mark.parametrize("name", QUOTAS)
def test_a_finding_names_the_quotas_that_may_have_done_it(judged: Judged, name: str) -> None:
    assert QUOTAS[name] in judged[f"slow: {name}"][THROTTLED]["message"]
