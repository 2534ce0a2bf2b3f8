"""Whom a group's contradictions blame: two protocol types at a time, and protocols that nobody offered (KIP-559)."""

import json
from typing import Any

import pytest

from kafka_clientinfo.config.rules import rules
from tests.asking import asked
from tests.concerns.group_protocols.messages import message
from tests.concerns.group_protocols.stored import stored
from tests.engines import collected
from tests.frames import at, frame

Row = dict[str, Any]
DAY = 86_400
SESSION = 10
INCONSISTENT, MEMBER_ID_REQUIRED, NOT_COORDINATOR, NO_RIGHTS = 23, 79, 16, 30


def joins(
    member: str, seconds: float, kind: str = "consumer", error: int = 0, generation: int = 1, *, told: str | None = None,
    name: str = "range", offers: tuple[str, ...] = ("range",), leads: tuple[str, ...] = (), version: int = 7,
    timeout_ms: int | None = SESSION * 1000, **given: Any,
) -> Row:  # fmt: skip
    """JoinGroup v7 on the member's own connection, answered with the names of all members if it leads them."""
    protocols = [{"name": one, "metadata": ""} for one in offers]
    sent = {"memberId": member, "protocolType": kind, "protocols": protocols, "sessionTimeoutMs": timeout_ms}
    answer = {"memberId": member, "generationId": generation if error == 0 else -1, "errorCode": error}
    if error == 0:
        answer |= {"protocolType": told or kind, "protocolName": name, "members": [{"memberId": one} for one in leads]}
    return on(member, message(seconds, "JOIN", version, sent, answer, error_code=error, **given))


def other(seconds: float, error: int = 0, generation: int = 1, member: str = "w", **given: Any) -> Row:
    """JoinGroup of a member of the other type."""
    return joins(member, seconds, "connect", error, generation, **given)


def refused(*seconds: float) -> list[Row]:
    return [other(one, INCONSISTENT) for one in seconds]


def syncs(
    member: str, seconds: float, kind: str = "consumer", error: int = 0, generation: int = 1, name: str = "range"
) -> Row:
    stated = {"protocolType": kind, "protocolName": name}
    sent = {"memberId": member, "generationId": generation, "assignments": []} | stated
    return on(member, message(seconds, "SYNC", 5, sent, stated | {"errorCode": error}, error_code=error))


def leaves(member: str, seconds: float, connection: str | None = None, error: int = 0) -> Row:
    sent = {"members": [{"memberId": member, "groupInstanceId": None}]}
    return on(connection or member, message(seconds, "LEAVE", 4, sent, {"errorCode": error}, error_code=error))


def beats(member: str, *seconds: float, error: int = 0) -> list[Row]:
    sent = {"memberId": member, "generationId": 1}
    return [on(member, message(one, "ALIVE", 4, sent, {"errorCode": error}, error_code=error)) for one in seconds]


def old(row: Row) -> Row:
    """The same request at a broker that logs no answers."""
    return row | {"error_code": None, "response": None, "log_generation": "api_key_struct", "header_version": 1}


def on(connection: str, row: Row) -> Row:
    return row | {"connection_id": connection}


def of(group: str, row: Row) -> Row:
    """The same request for another group than that of the case."""
    return row | {"request": json.dumps(json.loads(row["request"]) | {"groupId": group})}


def names(number: int) -> tuple[str, ...]:
    return tuple(f"name {one}" for one in range(number))


A = joins("a", 0)
ENDLESS = joins("a", 0, timeout_ms=None)
# Groups whose members state two types, and nobody is to blame.
ONE_AFTER_THE_OTHER: dict[str, list[Row]] = {
    "all members left": [A, *beats("a", 3, 6), leaves("a", 9), other(9, 0, 2)],
    "a member's session timed out": [A, other(60, 0, 2)],
    "a member left unseen": [A, syncs("a", 1), other(3, 0, 2)],
    "a new group of the same name": [A, other(DAY)],
    "one connection, one type after the other": [
        joins("x", 0), leaves("x", 10), other(20, 0, 2, "x"), leaves("x", 30), joins("x", 40, generation=3)],
    "refused long after": [A, *beats("a", 3), *refused(500)],
    "refused at the instant at which the other joins": [A, *beats("a", 5), *refused(0)],
    "refused when the session has timed out": [A, *refused(10)],
    "refused when a session of no stated length has timed out": [ENDLESS, *refused(10)],
    "heartbeats that are refused": [A, *beats("a", 100, 200, error=25), *refused(100)],
    "heartbeats that may be for another group": [of("another group", A), joins("a", 1), *beats("a", 800), *refused(500)],
    "coordinators of which one's clock is slow": [A, *beats("a", 30), leaves("a", 40), other(20, 0, 2, broker="b1")],
    "asked of no coordinator": [A, syncs("a", 8), other(4, NOT_COORDINATOR)],
    "told to come again, both": [joins("a", 0, error=MEMBER_ID_REQUIRED), other(1, MEMBER_ID_REQUIRED), other(2)],
    "removed by an administrator": [A, leaves("a", 5, "admin"), other(6, 0, 2), syncs("a", 7, error=25)],
    "who left is back under another id": [A, leaves("a", 5), other(6, 0, 2), leaves("w", 8), joins("a2", 9, generation=3)],
    "no generation is said": [old(joins("a", 0, version=0)), old(other(5, version=0))],
    "without ids": [old(joins("", 0, version=0)), old(other(90, member="", version=0)), old(joins("", 200, version=0))],
}  # fmt: skip
ALIVE, SEVERAL, MANY = "refused while alive", "several members of the other type", "more minutes than are listed"
# Groups with two types at a time: occurrences, rejected, taken.
AT_A_TIME: dict[str, tuple[list[Row], tuple[int, int, int]]] = {
    ALIVE: ([A, *beats("a", 400, 800), *refused(500)], (1, 1, 0)),
    "refused just before the session times out": ([A, *refused(9, 9.9995)], (2, 2, 0)),
    "refused just before a session of no stated length times out": ([ENDLESS, *refused(9.9995)], (1, 1, 0)),
    MANY: ([A, *beats("a", 7000), *refused(*(60 * n + s for n in range(1, 102) for s in (0, 59)))], (200, 200, 0)),
    "asked while the other is alive": ([A, other(5, NO_RIGHTS), syncs("a", 8)], (1, 0, 1)),
    "both taken in one generation": ([joins("a", 0, generation=5), other(0.1, 0, 5)], (1, 0, 1)),
    "taken between two signs of life": ([A, other(50, 0, 2), joins("a", 100, generation=3)], (1, 0, 1)),
    "another member is still there": ([A, joins("b", 0), leaves("a", 3), *beats("b", 20), *refused(15)], (1, 1, 0)),
    "a LeaveGroup that is refused ends nothing": ([A, leaves("a", 3, error=25), *beats("a", 20), *refused(15)], (1, 1, 0)),
    "a member that joins again at the instant at which it leaves": (
        [other(0, member="x"), leaves("x", 10), joins("x", 10, generation=2), *beats("x", 40), *refused(20)], (1, 1, 0)),
    "both taken in the generation 0": ([joins("a", 0, generation=0), other(0.1, 0, 0)], (1, 0, 1)),
    "SyncGroup of another type": ([A, syncs("w", 1, "connect", INCONSISTENT), syncs("a", 2)], (1, 1, 0)),
    SEVERAL: ([A, *beats("a", 400, 800), other(600, NO_RIGHTS, member="v"), *refused(500, 700)], (3, 2, 1)),
}  # fmt: skip
OF_TYPES = "of more types than the message names"
TYPED = [A, *beats("a", 100), *(joins(f"w{n}", n, f"t{n}", INCONSISTENT) for n in range(1, 7))]
OWN, ALL, HALF = ("m1",), ("m1", "m2"), ("m1", "unseen")
HUNDRED = tuple(f"m{number}" for number in range(1, 101))
STICKY = {"name": "sticky", "leads": ALL}
# Groups with an answer that one member did not offer, and perhaps somebody else did.
PERHAPS_OFFERED: dict[str, list[Row]] = {
    "as offered": [joins("m1", 0, leads=OWN), syncs("m1", 1)],
    "a member is not in the log": [joins("m1", 0, name="sticky", leads=HALF)],
    "of a member only SyncGroup is in the log": [joins("m1", 0, **STICKY), syncs("m2", 1)],
    "another member offered it": [joins("m1", 0, **STICKY), joins("m2", 0, name="sticky", offers=("range", "sticky"))],
    "another member has this type": [joins("m1", 0, told="connect", leads=ALL), other(0, MEMBER_ID_REQUIRED, member="m2")],
    "a follower": [joins("m2", 0, name="sticky")],
    "more members than are looked at": [
        joins("m0", 0, name="sticky", leads=(*HUNDRED, "m0")), *(joins(one, 0, name="sticky") for one in HUNDRED)],
    "as many names as are listed, and perhaps more": [joins("m1", 0, name="sticky", offers=names(20), leads=OWN)],
    "an error": [joins("m1", 0, name="sticky", leads=OWN, error=INCONSISTENT)],
}  # fmt: skip
TWO_TYPES = "of two types"
# … and nobody did: what was answered, with what, and the number of members.
NOBODY_OFFERED: dict[str, tuple[list[Row], str, str, int]] = {
    "a name, of many": (
        [joins("m1", 0, name="sticky", offers=names(19), leads=OWN)], "JOIN_GROUP v7", "name 'sticky'", 1),
    "a name, to two members": ([joins("m1", 0, **STICKY), joins("m2", 0, name="sticky")], "JOIN_GROUP v7", "name 'sticky'", 2),
    "a name, to a hundred": ([joins(one, 0, name="sticky", leads=HUNDRED if one == "m1" else ()) for one in HUNDRED],
        "JOIN_GROUP v7", "name 'sticky'", 100),
    TWO_TYPES: (
        [joins("m1", second, told=told, leads=OWN) for second, told in ((5, "connect"), (0, "share"), (9, "aaa"))],
        "JOIN_GROUP v7", "type 'share'", 1),
    "in SyncGroup": ([joins("m1", 0, leads=OWN), syncs("m1", 1, name="sticky")], "SYNC_GROUP v5", "name 'sticky'", 1),
}  # fmt: skip
INNOCENT = ONE_AFTER_THE_OTHER | PERHAPS_OFFERED
GUILTY = {name: case[0] for name, case in (AT_A_TIME | NOBODY_OFFERED).items()} | {OF_TYPES: TYPED}
MIXED, UNOFFERED = "mixed_protocol_types", "protocol_nobody_offered"
Found = dict[tuple[str, str], Row]


def of_case(name: str, row: Row) -> Row:
    """Each case is a group, and its connections are named by it."""
    request = json.dumps({"groupId": name} | json.loads(row["request"]))
    own = {"connection_id": f"{row['connection_id']} in {name}", "request": request, "file_id": f"f{row['broker']}"}
    return row | own


@pytest.fixture(scope="module")
def found(rules_session: Any) -> Found:
    """The findings by group and rule."""
    rows = [of_case(name, row) for name, requests in (INNOCENT | GUILTY).items() for row in requests]
    findings = collected(asked(rules_session, "violations", **stored(rules_session, rows)))
    made = [row.asDict(recursive=True) for row in findings]
    return {(row["group_id"], row["rule"]): row for row in made if row["rule"] in (MIXED, UNOFFERED)}


def test_no_innocent_group_is_found(found: Found) -> None:
    assert set(found) == {(name, UNOFFERED if name in NOBODY_OFFERED else MIXED) for name in GUILTY}


@pytest.mark.parametrize("name", AT_A_TIME)
def test_two_types_at_a_time_are_found(found: Found, name: str) -> None:
    row = found[name, MIXED]
    said = f"group '{name}' has members of type 'connect' at the same time as those of 'consumer'"
    assert row["message"] == f"{said}; {rules()[MIXED].asks}"
    assert (row["occurrences"], row["rejected"], row["taken"]) == AT_A_TIME[name][1]


@pytest.mark.parametrize("name", NOBODY_OFFERED)
def test_what_nobody_offered_is_the_coordinators(found: Found, name: str) -> None:
    row, (_, api, what, members) = found[name, UNOFFERED], NOBODY_OFFERED[name]
    said = f"{api} was answered with protocol {what}, which none of the {members} members of generation 1 offered"
    assert row["message"] == f"group '{name}': {said}; {rules()[UNOFFERED].asks}"
    assert row["blames"] == "broker"


# group and rule: seconds of the first request that counts, and of the last
TIMES = {
    (ALIVE, MIXED): (500, 500),
    (SEVERAL, MIXED): (500, 700),
    (MANY, MIXED): (60, 6059),
    (TWO_TYPES, UNOFFERED): (0, 9),
}


@pytest.mark.parametrize("which", TIMES, ids=" ".join)
def test_the_example_is_the_first_request_that_counts(found: Found, which: tuple[str, str]) -> None:
    row, (first, last) = found[which], TIMES[which]
    assert row["example"]["correlation_id"] == first
    assert [row[name].timestamp() for name in ("first_at", "last_at")] == [at(one).timestamp() for one in (first, last)]


def test_a_message_names_five_types_and_what_nobody_offered_is_counted_as_what_the_broker_took(found: Found) -> None:
    counted = [
        [found[one][name] for name in ("occurrences", "rejected", "taken")]
        for one in ((OF_TYPES, MIXED), (TWO_TYPES, UNOFFERED))
    ]
    assert counted == [[6, 6, 0], [3, 0, 3]]
    said = "has members of type 't1', 't2', 't3', 't4', 't5' at the same time"
    assert said in found[OF_TYPES, MIXED]["message"]


BLAMES = {(2, None): "broker", (1, None): "either", (0, None): "client", (0, 1): "either", (2, 0): "broker"}
"""By the numbers of requests that were contradicted, and that came without a JoinGroup."""


def test_what_an_earlier_release_has_not_counted_changes_no_blame(rules_session: Any) -> None:
    rows = [
        {"cluster": "c", "broker": "b", "connection_id": "x", "opened_at": at(0), "opened_seq": number, "group_id": str(number),
         "inconsistent_group_protocol": 2, "inconsistent_contradicted": contradicted, "inconsistent_unstated": 0,
         "inconsistent_without_join": without_join, "inconsistent_first_at": at(1), "inconsistent_last_at": at(2)}
        for number, (contradicted, without_join) in enumerate(BLAMES)
    ]  # fmt: skip
    given = {"connection_groups": rows, "connection_violations": []}
    tables = {name: frame(rules_session, name, rows) for name, rows in given.items()}
    found = collected(asked(rules_session, "violations", **tables))
    assert {row["rule"] for row in found} == {"inconsistent_group_protocol"}
    assert {int(row["group_id"]): row["blames"] for row in found} == dict(enumerate(BLAMES.values()))
