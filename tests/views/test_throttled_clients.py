"""Throttled clients: for how much of their time, and by which quota as far as the record shows it."""

from typing import Any

import pytest

from kafka_clientinfo.config.rules import rules
from tests.concerns.activity.behaviour import Case, case, found, handshake, neighbour, requests, sent

RULE = "throttled"
OPENING = handshake("x", 60)


def produced(connection: str = "x", minutes: int = 4, ms: float = 5000.0, api: str = "PRODUCE", **given: Any) -> Any:
    """Four requests a minute, each throttled for so long."""
    return requests(connection, 4, minutes, 60.5, api, throttle_time_ms=ms, **given)


CASES: dict[str, Case] = {
    "a producer": case(neighbour(), [OPENING], produced(), rules=[RULE]),
    "a consumer": case(neighbour(), [OPENING], produced(api="FETCH"), rules=[RULE]),
    "an administrator": case(neighbour(), [OPENING], produced(api="CREATE_TOPICS"), rules=[RULE]),
    "all that it asks": case(neighbour(), [OPENING], produced(), produced(api="ALIVE", ms=2500.0), rules=[RULE]),
    "a client without an id": case(
        neighbour(), [handshake("x", 60, client_id=None, principal=None)], produced(client_id=None, principal=None),
        rules=[RULE]),
    "in two hours": case(
        neighbour(125), [OPENING], produced(), requests("x", 4, 4, 3660, "PRODUCE", throttle_time_ms=200_000.0), rules=[RULE]
    ),
    "two APIs, of which one is called once": case(
        neighbour(), [OPENING], produced(), requests("x", 4, 1, 300, "FETCH", throttle_time_ms=5000.0), rules=[RULE]),
    "for three minutes": case(neighbour(), [OPENING], produced(minutes=3), rules=[RULE]),
    "two connections": case(
        neighbour(), [OPENING], produced(), [handshake("y", 60), *requests("y", 1, 4, 60.5, "PRODUCE", throttle_time_ms=9000.0)],
        rules=[RULE]),
    # the same on the face of it, and innocent
    "little": case(neighbour(), [OPENING], produced(ms=3000.0)),
    "for two minutes": case(neighbour(), [OPENING], produced(minutes=2, ms=14_000.0)),
    "many processes with one client id": case(
        neighbour(), *([handshake(f"x{n}", 60), *produced(f"x{n}", ms=3000.0)] for n in range(10))),
    "many processes with one client id, and a later one": case(
        neighbour(20), *([handshake(f"x{n}", 60), *produced(f"x{n}", ms=3000.0)] for n in range(10)), [handshake("y", 1000)],
        requests("y", 1, 2, 1020)),
    "a long connection, for a short time": case(
        neighbour(50), [OPENING], produced(), [sent("x", 2900, "PRODUCE", 99)], requests("x", 1, 40, 300, "PRODUCE", throttle_time_ms=1.0)
    ),
    "no record states a time": case(neighbour(), [OPENING], produced(ms=None)),
    "a log at INFO": case(neighbour(log_level="INFO"), produced(log_level="INFO")),
    "a log that leaves out requests": case(neighbour(), [OPENING], produced(), omits=True),
    "a broker": case(
        neighbour(), [sent("x", 60, "UPDATE_METADATA", client_id="broker-1-x")], produced(client_id="broker-1-x")),
    "forwarded requests": case(neighbour(), [handshake("x", 60)], produced("f", is_forwarded=True)),
}  # fmt: skip
BYTES, ALL = "by producer_byte_rate or request_percentage", "by request_percentage"
MESSAGES = {RULE: ("a producer", f"16 requests were throttled for 80 s {BYTES}, while its connections lasted 225 s")}
QUOTAS = {
    "a producer": f"for 80 s {BYTES},",
    "a consumer": "for 80 s by consumer_byte_rate or request_percentage,",
    "an administrator": "for 80 s by controller_mutation_rate or request_percentage,",
    "all that it asks": f"for 80 s {BYTES}, 40 s {ALL},",
    "in two hours": f"32 requests were throttled for 3280 s {BYTES}, while its connections lasted 465 s",
}


@pytest.fixture(scope="module")
def judged(rules_session: Any) -> dict[str, dict[str, Any]]:
    return found(rules_session, CASES, [RULE])


@pytest.mark.parametrize("name", CASES)
def test_who_is_throttled_for_long_is_found_and_nobody_else(judged: dict[str, dict[str, Any]], name: str) -> None:
    assert set(judged[name]) == CASES[name].rules


def test_a_finding_says_for_how_long(judged: dict[str, dict[str, Any]]) -> None:
    name, message = MESSAGES[RULE]
    row = judged[name][RULE]
    assert row["message"] == f"{message}; {rules()[RULE].asks}"
    assert (row["occurrences"], row["severity"], row["blames"], row["connection_id"]) == (16, "info", "nobody", "x")


def test_a_finding_lasts_from_the_first_minute_to_the_last(judged: dict[str, dict[str, Any]]) -> None:
    for name, minutes in (("two APIs, of which one is called once", 5), ("in two hours", 64)):
        row = judged[name][RULE]
        assert (row["last_at"] - row["first_at"]).total_seconds() == minutes * 60


def test_a_finding_names_the_connection_with_the_most_requests(judged: dict[str, dict[str, Any]]) -> None:
    assert judged["two connections"][RULE]["connection_id"] == "x"


@pytest.mark.parametrize("name", QUOTAS)
def test_a_finding_names_the_quotas_that_may_have_done_it(judged: dict[str, dict[str, Any]], name: str) -> None:
    assert QUOTAS[name] in judged[name][RULE]["message"]
