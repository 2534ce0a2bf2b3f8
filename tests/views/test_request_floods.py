"""Floods of requests: what is far above a client's own median, and what only looks like it."""

from typing import Any

import pytest

from kafka_clientinfo.config.rules import rules
from tests.concerns.activity.behaviour import Case, case, found, handshake, neighbour, requests, sent

FLOOD = "request_flood"
OPENING = handshake("x", 1)
USUAL = [OPENING, *requests("x", 1, 10)]
"""A request a minute for ten minutes; a flood is five times as many, and ten at least."""
LATER = 660.0


def usual(connection: str, **given: Any) -> list[dict[str, Any]]:
    return [handshake(connection, 1, **given), *requests(connection, 1, 10, **given)]


CASES: dict[str, Case] = {
    "a client floods after a quiet time": case(
        neighbour(20), USUAL, requests("x", 12, 3, LATER), rules=[FLOOD]),
    "it commits after every record": case(
        neighbour(20), [OPENING], requests("x", 1, 10, api="COMMIT"), requests("x", 12, 3, LATER, "COMMIT"), rules=[FLOOD]),
    "a client without an id": case(
        neighbour(20), usual("x", client_id=None, principal=None, listener=None),
        requests("x", 12, 3, LATER, client_id=None, principal=None, listener=None), rules=[FLOOD]),
    "it leaves its client id out after the first request (KIP-1313)": case(
        neighbour(20), [handshake("x", 1)], requests("x", 1, 10, client_id=None, header_version=3),
        requests("x", 12, 3, LATER, client_id=None, header_version=3), rules=[FLOOD]),
    "it always sends more than any client needs": case(neighbour(20), [OPENING], requests("x", 45, 5), rules=[FLOOD]),
    "two APIs": case(
        neighbour(20), USUAL, requests("x", 1, 10, api="COMMIT"), requests("x", 12, 3, LATER),
        requests("x", 15, 3, LATER + 60, "COMMIT"), rules=[FLOOD]),
    "two connections flood": case(
        neighbour(20), USUAL, usual("y"), requests("x", 12, 3, LATER), requests("y", 12, 3, LATER), rules=[FLOOD]),
    "over the end of an hour": case(neighbour(70), USUAL, requests("x", 12, 4, 3480), rules=[FLOOD]),
    "with another version from its third minute on": case(
        neighbour(20), USUAL, requests("x", 12, 2, LATER), requests("x", 12, 2, LATER + 120, api_version=1), rules=[FLOOD]),
    "another connection goes on": case(
        neighbour(20), USUAL, [handshake("z", 650)], requests("x", 12, 2, LATER), requests("z", 20, 2, LATER + 120), rules=[FLOOD]
    ),
    # the same on the face of it, and innocent
    "all ask again after a restart": case(neighbour(20), USUAL, requests("x", 30, 2, LATER)),
    "bursts, minutes apart": case(
        neighbour(20), USUAL, *(requests("x", 12, 1, LATER + 120 * number) for number in range(4))),
    "somewhat more than usual": case(neighbour(20), [OPENING], requests("x", 3, 10), requests("x", 12, 3, LATER)),
    "far more than usual, but few": case(neighbour(20), USUAL, requests("x", 9, 3, LATER)),
    "it always sends as many": case(neighbour(20), [OPENING], requests("x", 12, 10)),
    "a job that sends as many whenever it runs": case(neighbour(20), [OPENING], requests("x", 12, 4, LATER)),
    "many hosts with one client id": case(
        neighbour(20), *(usual(f"h{n}", remote_host=f"10.0.1.{n}") for n in range(3)),
        *(requests(f"h{n}", 6, 3, LATER, remote_host=f"10.0.1.{n}") for n in range(3))),
    "it fetches more": case(
        neighbour(20), [OPENING], requests("x", 1, 10, api="FETCH"), requests("x", 12, 3, LATER, "FETCH")),
    "the log's level was set to DEBUG": case(
        neighbour(20, log_level="INFO")[:20], requests("x", 1, 10, log_level="INFO"), neighbour(20)[21:],
        [handshake("y", 650)], requests("x", 12, 3, LATER)),
    "the log ends within the third minute": case(neighbour(10), USUAL, requests("x", 12, 3, LATER)),
    "a log at INFO": case(
        neighbour(20, log_level="INFO"), [row | {"log_level": "INFO"} for row in USUAL],
        requests("x", 12, 3, LATER, log_level="INFO")),
    "a log that leaves out requests": case(neighbour(20), USUAL, requests("x", 12, 3, LATER), omits=True),
    "another client on a proxy's connection": case(
        neighbour(20), [handshake("x", 1, client_id="proxy")], requests("x", 1, 10), requests("x", 12, 3, LATER)),
    "a broker": case(
        neighbour(20), [sent("x", 2, "UPDATE_METADATA", client_id="broker-1-x")],
        requests("x", 1, 10, client_id="broker-1-x"), requests("x", 12, 3, LATER, client_id="broker-1-x")),
    "a follower with its client id": case(
        neighbour(20), USUAL, [sent("y", 2, "FETCH", 2, replica_id=2)], requests("y", 1, 20), requests("x", 24, 3, LATER)),
    "forwarded requests": case(neighbour(20), USUAL, requests("f", 12, 3, LATER, is_forwarded=True)),
}  # fmt: skip
MESSAGES = {
    FLOOD: (
        "a client floods after a quiet time",
        "36 METADATA requests in 3 minutes, up to 12 a minute (connections: 1); the median of its minutes is 1",
    )
}


@pytest.fixture(scope="module")
def judged(rules_session: Any) -> dict[str, dict[str, Any]]:
    return found(rules_session, CASES, [FLOOD])


@pytest.mark.parametrize("name", CASES)
def test_a_flood_is_found_and_nothing_else(judged: dict[str, dict[str, Any]], name: str) -> None:
    assert set(judged[name]) == CASES[name].rules


def test_a_finding_says_what_it_counts(judged: dict[str, dict[str, Any]]) -> None:
    name, message = MESSAGES[FLOOD]
    row = judged[name][FLOOD]
    assert row["message"] == f"{message}; {rules()[FLOOD].asks}"
    assert (row["occurrences"], row["client_id"], row["remote_host"], row["connection_id"]) == (
        36,
        "app",
        "10.0.0.9",
        "x",
    )
    assert (row["last_at"] - row["first_at"]).total_seconds() == 180


def test_a_finding_names_the_connection_with_the_most_requests(judged: dict[str, dict[str, Any]]) -> None:
    assert judged["another connection goes on"][FLOOD]["connection_id"] == "z"


def test_floods_of_two_apis_are_one_finding(judged: dict[str, dict[str, Any]]) -> None:
    row = judged["two APIs"][FLOOD]
    assert row["occurrences"] == 36 + 45
    assert "36 METADATA requests" in row["message"]
    assert "45 OFFSET_COMMIT requests" in row["message"]
    assert (row["last_at"] - row["first_at"]).total_seconds() == 240
