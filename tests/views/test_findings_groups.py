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
    member: str,
    seconds: float,
    kind: str = "consumer",
    error: int = 0,
    generation: int = 1,
    *,
    told: str | None = None,
    name: str = "range",
    offers: tuple[str, ...] = ("range",),
    leads: tuple[str, ...] = (),
    version: int = 7,
    timeout_ms: int | None = SESSION * 1000,
    **given: Any,
) -> Row:
    """JoinGroup v7 on the member's own connection, answered with the names of all members if it leads them."""
    protocols = [{"name": one, "metadata": ""} for one in offers]
    sent = {"memberId": member, "protocolType": kind, "protocols": protocols, "sessionTimeoutMs": timeout_ms}
    answer = {"memberId": member, "generationId": generation if error == 0 else -1, "errorCode": error}
    if error == 0:
        answer |= {"protocolType": told or kind, "protocolName": name, "members": [{"memberId": one} for one in leads]}
    return on(member, message(seconds, "JOIN", version, sent, answer, error_code=error, **given))


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


# Groups whose members state two types, and nobody is to blame.
ONE_AFTER_THE_OTHER: dict[str, list[Row]] = {
    "all members left": [joins("a", 0), *beats("a", 3, 6), leaves("a", 9), joins("w", 9, "connect", 0, 2)],
    "a member's session timed out": [joins("a", 0), joins("w", 60, "connect", 0, 2)],
    "a member left unseen": [joins("a", 0), syncs("a", 1), joins("w", 3, "connect", 0, 2)],
    "a new group of the same name": [joins("a", 0), joins("w", DAY, "connect", 0, 1)],
    "one connection, one type after the other": [
        joins("x", 0),
        leaves("x", 10),
        joins("x", 20, "connect", 0, 2),
        leaves("x", 30),
        joins("x", 40, generation=3),
    ],
    "refused long after": [joins("a", 0), *beats("a", 3), joins("w", 500, "connect", INCONSISTENT)],
    "refused at the instant at which the other joins": [
        joins("a", 0),
        *beats("a", 5),
        joins("w", 0, "connect", INCONSISTENT),
    ],
    "refused when the session has timed out": [joins("a", 0), joins("w", 10, "connect", INCONSISTENT)],
    "refused when a session of no stated length has timed out": [
        joins("a", 0, timeout_ms=None),
        joins("w", 10, "connect", INCONSISTENT),
    ],
    "heartbeats that are refused": [
        joins("a", 0),
        *beats("a", 100, 200, error=25),
        joins("w", 100, "connect", INCONSISTENT),
    ],
    "heartbeats that may be for another group": [
        of("another group", joins("a", 0)),
        joins("a", 1),
        *beats("a", 800),
        joins("w", 500, "connect", INCONSISTENT),
    ],
    "coordinators of which one's clock is slow": [
        joins("a", 0),
        *beats("a", 30),
        leaves("a", 40),
        joins("w", 20, "connect", 0, 2, broker="b1"),
    ],
    "asked of no coordinator": [joins("a", 0), syncs("a", 8), joins("w", 4, "connect", NOT_COORDINATOR)],
    "told to come again, both": [
        joins("a", 0, error=MEMBER_ID_REQUIRED),
        joins("w", 1, "connect", MEMBER_ID_REQUIRED),
        joins("w", 2, "connect"),
    ],
    "removed by an administrator": [
        joins("a", 0),
        leaves("a", 5, "admin"),
        joins("w", 6, "connect", 0, 2),
        syncs("a", 7, error=25),
    ],
    "who left is back under another id": [
        joins("a", 0),
        leaves("a", 5),
        joins("w", 6, "connect", 0, 2),
        leaves("w", 8),
        joins("a2", 9, generation=3),
    ],
    "no generation is said": [old(joins("a", 0, version=0)), old(joins("w", 5, "connect", version=0))],
    "without member ids, before 1.0": [
        old(joins("", 0, version=0)),
        old(joins("", 90, "connect", version=0)),
        old(joins("", 200, version=0)),
    ],
}
SEVERAL = "several members of the other type"
# Groups with two types at a time: the other type than the group's own, occurrences, rejected, taken.
AT_A_TIME: dict[str, tuple[list[Row], tuple[str, int, int, int]]] = {
    "refused while the other is alive": (
        [joins("a", 0), *beats("a", 400, 800), joins("w", 500, "connect", INCONSISTENT)],
        ("connect", 1, 1, 0),
    ),
    "refused before the other is silent for too long": (
        [joins("a", 0), joins("w", 9, "connect", INCONSISTENT), joins("w", 9.5, "connect", INCONSISTENT)],
        ("connect", 2, 2, 0),
    ),
    "refused just before the session times out": (
        [joins("a", 0), joins("w", 9.9995, "connect", INCONSISTENT)],
        ("connect", 1, 1, 0),
    ),
    "refused just before a session of no stated length times out": (
        [joins("a", 0, timeout_ms=None), joins("w", 9.9995, "connect", INCONSISTENT)],
        ("connect", 1, 1, 0),
    ),
    "refused in more minutes than are listed of a connection": (
        [
            joins("a", 0),
            *beats("a", 7000),
            *(joins("w", 60 * n + second, "connect", INCONSISTENT) for n in range(1, 102) for second in (0, 59)),
        ],
        ("connect", 200, 200, 0),
    ),
    "of more types than the message names": (
        [joins("a", 0), *beats("a", 100), *(joins(f"w{n}", n, f"t{n}", INCONSISTENT) for n in range(1, 7))],
        ("t1', 't2', 't3', 't4', 't5", 6, 6, 0),
    ),
    "asked while the other is alive": (
        [joins("a", 0), joins("w", 5, "connect", NO_RIGHTS), syncs("a", 8)],
        ("connect", 1, 0, 1),
    ),
    "both taken in one generation": (
        [joins("a", 0, generation=5), joins("w", 0.1, "connect", 0, 5)],
        ("connect", 1, 0, 1),
    ),
    "taken between two signs of life": (
        [joins("a", 0), joins("w", 50, "connect", 0, 2), joins("a", 100, generation=3)],
        ("connect", 1, 0, 1),
    ),
    "another member is still there": (
        [joins("a", 0), joins("b", 0), leaves("a", 3), *beats("b", 20), joins("w", 15, "connect", INCONSISTENT)],
        ("connect", 1, 1, 0),
    ),
    "a LeaveGroup that is refused ends nothing": (
        [joins("a", 0), leaves("a", 3, error=25), *beats("a", 20), joins("w", 15, "connect", INCONSISTENT)],
        ("connect", 1, 1, 0),
    ),
    "a member that joins again at the instant at which it leaves": (
        [
            joins("x", 0, "connect"),
            leaves("x", 10),
            joins("x", 10, generation=2),
            *beats("x", 40),
            joins("w", 20, "connect", INCONSISTENT),
        ],
        ("connect", 1, 1, 0),
    ),
    "both taken in the generation 0": (
        [joins("a", 0, generation=0), joins("w", 0.1, "connect", 0, 0)],
        ("connect", 1, 0, 1),
    ),
    "SyncGroup of another type": (
        [joins("a", 0), syncs("w", 1, "connect", INCONSISTENT), syncs("a", 2)],
        ("connect", 1, 1, 0),
    ),
    SEVERAL: (
        [
            joins("a", 0),
            *beats("a", 400, 800),
            joins("v", 600, "connect", NO_RIGHTS),
            joins("w", 500, "connect", INCONSISTENT),
            joins("x", 700, "connect", INCONSISTENT),
        ],
        ("connect", 3, 2, 1),
    ),
}
OWN, ALL, HALF = ("m1",), ("m1", "m2"), ("m1", "unseen")
HUNDRED = tuple(f"m{number}" for number in range(1, 101))
# Groups with an answer that one member did not offer, and perhaps somebody else did.
PERHAPS_OFFERED: dict[str, list[Row]] = {
    "as offered": [joins("m1", 0, leads=OWN), syncs("m1", 1)],
    "a member is not in the log": [joins("m1", 0, name="sticky", leads=HALF)],
    "of a member only SyncGroup is in the log": [joins("m1", 0, name="sticky", leads=ALL), syncs("m2", 1)],
    "another member offered it": [
        joins("m1", 0, name="sticky", leads=ALL),
        joins("m2", 0, name="sticky", offers=("range", "sticky")),
    ],
    "another member has this type": [
        joins("m1", 0, told="connect", leads=ALL),
        joins("m2", 0, "connect", generation=1, error=MEMBER_ID_REQUIRED),
    ],
    "a follower": [joins("m2", 0, name="sticky")],
    "more members than are looked at": [
        joins("m0", 0, name="sticky", leads=(*HUNDRED, "m0")),
        *(joins(one, 0, name="sticky") for one in HUNDRED),
    ],
    "as many names as are listed, and perhaps more": [joins("m1", 0, name="sticky", offers=names(20), leads=OWN)],
    "an error": [joins("m1", 0, name="sticky", leads=OWN, error=INCONSISTENT)],
}
# … and nobody did: what the message says.
NOBODY_OFFERED: dict[str, tuple[list[Row], str]] = {
    "a name, to the only member": (
        [joins("m1", 0, name="sticky", leads=OWN)],
        "JOIN_GROUP v7 was answered with protocol name 'sticky', which none of the 1 members of generation 1 offered",
    ),
    "a name, to a member of many": (
        [joins("m1", 0, name="sticky", offers=names(19), leads=OWN)],
        "JOIN_GROUP v7 was answered with protocol name 'sticky', which none of the 1 members of generation 1 offered",
    ),
    "a name, to two members": (
        [joins("m1", 0, 'consumer', 0, 4, name="sticky", leads=ALL), joins("m2", 0, 'consumer', 0, 4, name="sticky")],
        "JOIN_GROUP v7 was answered with protocol name 'sticky', which none of the 2 members of generation 4 offered",
    ),
    "a name, to a hundred members": (
        [joins(one, 0, name="sticky", leads=HUNDRED if one == "m1" else ()) for one in HUNDRED],
        "JOIN_GROUP v7 was answered with protocol name 'sticky', which none of the 100 members of generation 1 offered",
    ),
    "a type": (
        [joins("m1", 0, told="connect", leads=OWN)],
        "JOIN_GROUP v7 was answered with protocol type 'connect', which none of the 1 members of generation 1 offered",
    ),
    "of two types": (
        [joins("m1", 5, told="connect", leads=OWN), joins("m1", 0, told="share", leads=OWN),
         joins("m1", 9, told="aaa", leads=OWN)],
        "JOIN_GROUP v7 was answered with protocol type 'share', which none of the 1 members of generation 1 offered",
    ),
    "in SyncGroup": (
        [joins("m1", 0, leads=OWN), syncs("m1", 1, name="sticky")],
        "SYNC_GROUP v5 was answered with protocol name 'sticky', which none of the 1 members of generation 1 offered",
    ),
}  # fmt: skip
MESSAGES = {
    "mixed_protocol_types": (
        "refused while the other is alive",
        "group 'refused while the other is alive' has members of type 'connect' at the same time as those of 'consumer'",
    ),
    "protocol_nobody_offered": (
        "a type",
        "group 'a type': JOIN_GROUP v7 was answered with protocol type 'connect', "
        "which none of the 1 members of generation 1 offered",
    ),
}
RULES = tuple(MESSAGES)
Found = dict[tuple[str, str], Row]


def all_rows() -> list[Row]:
    """Each case is a group, and its connections are named by it."""
    cases = (
        ONE_AFTER_THE_OTHER | PERHAPS_OFFERED | {name: rows for name, (rows, _) in (AT_A_TIME | NOBODY_OFFERED).items()}
    )
    return [
        row
        | {
            "connection_id": f"{row['connection_id']} in {name}",
            "request": json.dumps({"groupId": name} | json.loads(row["request"])),
        }
        for name, rows in cases.items()
        for row in rows
    ]  # fmt: skip


@pytest.fixture(scope="module")
def found(rules_session: Any) -> Found:
    """The findings by group and rule."""
    rows = [row | {"file_id": f"f{row['broker']}"} for row in all_rows()]
    findings = collected(asked(rules_session, "violations", **stored(rules_session, rows)))
    return {(row["group_id"], row["rule"]): row.asDict(recursive=True) for row in findings if row["rule"] in RULES}


@pytest.mark.parametrize("name", [*ONE_AFTER_THE_OTHER, *PERHAPS_OFFERED])
def test_what_may_be_innocent_is_not_found(found: Found, name: str) -> None:
    assert [rule for group, rule in found if group == name] == []


@pytest.mark.parametrize("name", AT_A_TIME)
def test_two_types_at_a_time_are_found(found: Found, name: str) -> None:
    other, *counts = AT_A_TIME[name][1]
    row = found[name, "mixed_protocol_types"]
    assert f"has members of type '{other}' at the same time as those of 'consumer'" in row["message"]
    assert [row["occurrences"], row["rejected"], row["taken"]] == counts


@pytest.mark.parametrize("name", NOBODY_OFFERED)
def test_what_nobody_offered_is_the_coordinators(found: Found, name: str) -> None:
    row = found[name, "protocol_nobody_offered"]
    assert NOBODY_OFFERED[name][1] in row["message"]
    assert row["blames"] == "broker"


@pytest.mark.parametrize("rule", RULES)
def test_the_findings_say_what_was_found(found: Found, rule: str) -> None:
    group, message = MESSAGES[rule]
    assert found[group, rule]["message"] == f"{message}; {rules()[rule].asks}"


def test_no_other_group_is_found(found: Found) -> None:
    guilty = {(name, RULES[0]) for name in AT_A_TIME} | {(name, RULES[1]) for name in NOBODY_OFFERED}
    assert set(found) == guilty


# group and rule: seconds of the first request that counts, and of the last
TIMES = {
    ("refused while the other is alive", "mixed_protocol_types"): (500, 500),
    (SEVERAL, "mixed_protocol_types"): (500, 700),
    ("refused in more minutes than are listed of a connection", "mixed_protocol_types"): (60, 6059),
    ("of two types", "protocol_nobody_offered"): (0, 9),
}


@pytest.mark.parametrize("which", TIMES, ids=" ".join)
def test_the_example_is_the_first_request_that_counts(found: Found, which: tuple[str, str]) -> None:
    row, (first, last) = found[which], TIMES[which]
    assert row["example"]["correlation_id"] == first
    assert [row[name].timestamp() for name in ("first_at", "last_at")] == [at(one).timestamp() for one in (first, last)]


def test_what_nobody_offered_is_counted_as_what_the_broker_took(found: Found) -> None:
    row = found["of two types", "protocol_nobody_offered"]
    assert [row[name] for name in ("occurrences", "rejected", "taken")] == [3, 0, 3]


@pytest.mark.parametrize(("contradicted", "without_join", "blames"), [(2, None, "broker"), (1, None, "either"), (0, None, "client"),
                                                                      (0, 1, "either"), (2, 0, "broker")])  # fmt: skip
def test_what_an_earlier_release_has_not_counted_changes_no_blame(
    rules_session: Any, contradicted: int, without_join: int | None, blames: str
) -> None:
    row = {
        "cluster": "c", "broker": "b", "connection_id": "x", "opened_at": at(0), "opened_seq": 0, "group_id": "g",
        "inconsistent_group_protocol": 2, "inconsistent_contradicted": contradicted, "inconsistent_unstated": 0,
        "inconsistent_without_join": without_join, "inconsistent_first_at": at(1), "inconsistent_last_at": at(2),
    }  # fmt: skip
    given = {"connection_groups": [row], "connection_violations": []}
    tables = {name: frame(rules_session, name, rows) for name, rows in given.items()}
    (found,) = collected(asked(rules_session, "violations", **tables))
    assert (found["rule"], found["blames"]) == ("inconsistent_group_protocol", blames)
