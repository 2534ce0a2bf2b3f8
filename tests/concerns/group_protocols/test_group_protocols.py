"""KIP-559 by group: kinds, types and names, self-describing messages, members, subscriptions, inconsistencies."""

from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.concerns.group_protocols import (
    connection_groups,
    group_memberships,
    group_messages,
    group_protocols,
    group_type_conflicts,
)
from kafka_clientinfo.concerns.group_protocols.rules import (
    findings_inconsistent,
    findings_mixed_types,
    findings_name_mismatch,
)
from kafka_clientinfo.connections.judged import judged_requests
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.connections.violations import violations
from kafka_clientinfo.rules import rules
from kafka_clientinfo.settings import Settings
from tests.concerns.cases import with_needed
from tests.concerns.group_protocols.messages import (
    METADATA_OWNED,
    METADATA_V3,
    T1,
    assigned,
    heartbeat,
    in_group,
    join,
    message,
    sync,
)
from tests.frames import as_stored, at, log, request

Case = tuple[list[dict[str, Any]], dict[str, Any]]


def counts(api: str, version: int, side: str, messages: int) -> dict[str, Any]:
    return {"api_name": api, "api_version": version, "message": side, "messages": messages}


SUBSCRIPTION = {
    "member_id": "m1",
    "protocol_name": "range",
    "version": 3,
    "topics": ["t1"],
    "owned_partitions": [],
    "rack_id": "",
}
ASSIGNMENT = {
    "member_id": "m1",
    "type_told_by": "message",
    "version": 0,
    "partitions": [{"topic": "t1", "partitions": [0, 1]}],
}
TWICE = [{"name": "range", "metadata": metadata} for metadata in (METADATA_V3, METADATA_OWNED)]
CASES: dict[str, Case] = {
    "self-describing": (
        [join(0), sync(1, 5)],
        {
            "kind": "classic",
            "protocol_types": ["consumer"],
            "protocol_types_response": ["consumer"],
            "protocol_names": ["range"],
            "self_describing": [
                counts(api, version, side, 1)
                for api, version in (("JOIN_GROUP", 7), ("SYNC_GROUP", 5))
                for side in ("request", "response")
            ],
            "not_self_describing": [],
            "members": ["m1"],
            "member_count": 1,
            "subscriptions": [SUBSCRIPTION],
            "topics": ["t1"],
            "inconsistent_group_protocol": 0,
        },
    ),
    "before KIP-559": (
        [join(0, 3, names=("range", "roundrobin")), sync(1, 2)],
        {
            "protocol_types": ["consumer"],
            "protocol_types_response": [],
            "protocol_names_request": ["range", "roundrobin"],
            "protocol_names_response": ["range"],
            "self_describing": [counts("JOIN_GROUP", 3, "request", 1)],
            "not_self_describing": [
                counts("JOIN_GROUP", 3, "response", 1),
                counts("SYNC_GROUP", 2, "request", 1),
                counts("SYNC_GROUP", 2, "response", 1),
            ],
        },
    ),
    "a SyncGroup with the type or the name alone": (
        [sync(0, 5, name=""), sync(1, 5, kind="")],
        {
            "self_describing": [counts("SYNC_GROUP", 5, "response", 1)],
            "not_self_describing": [counts("SYNC_GROUP", 5, side, n) for side, n in (("request", 2), ("response", 1))],
            "verified_sync_requests": 0,
            "unverified_sync_requests": 2,
        },
    ),
    "an error without a type": (
        [join(0, 9, told=None, error_code=79), join(1, 9)],
        {
            "self_describing": [counts("JOIN_GROUP", 9, "request", 2), counts("JOIN_GROUP", 9, "response", 1)],
            "not_self_describing": [counts("JOIN_GROUP", 9, "response", 1)],
        },
    ),
    "no response is logged": (
        [message(0, "JOIN", 0, {"memberId": "", "protocolType": "consumer", "protocols": [{"name": "range"}]})],
        {
            "not_self_describing": [counts("JOIN_GROUP", 0, "response", 1)],
            "subscriptions": [],
            "members": [],
            "protocol_names": ["range"],
        },
    ),
    "inconsistent": (
        [join(0), join(5, told=None, error_code=23), sync(8.8, 5, error_code=23), sync(9, 5, error_code=23)],
        {
            "inconsistent_group_protocol": 3,
            "inconsistent_join_group": 1,
            "inconsistent_sync_group": 2,
            "inconsistent_first_at": 5,
            "inconsistent_last_at": 9,
        },
    ),
    "members of different types": (
        [
            join(0, 5, error_code=0),
            join(1, 5, kind="connect", member="m0", error_code=23),
            join(2, 5, kind="connect", member="m0", error_code=25),
            join(3, 5, kind="connect", member="m0", error_code=42),
            join(4, 5, kind="connect", member="m0", error_code=35),
        ],
        {"protocol_types": ["connect", "consumer"], "kind": "connect", "members": ["m0", "m1"]},
    ),
    "the last subscription of a member": (
        [join(0), join(1, metadata=METADATA_OWNED)],
        {
            "subscriptions": [
                SUBSCRIPTION | {"version": 1, "owned_partitions": [{"topic": "t1", "partitions": [2]}], "rack_id": None}
            ]
        },
    ),
    "a consumer group": (
        [heartbeat("HEARTBEAT", subscribedTopicNames=["b", "a"], rackId="r1")],
        {
            "kind": "consumer",
            "protocol_types": [],
            "members": ["m2"],
            "topics": ["a", "b"],
            "self_describing": [counts("CONSUMER_GROUP_HEARTBEAT", 1, side, 1) for side in ("request", "response")],
        },
    ),
    "a share group": ([heartbeat("SHARE", subscribedTopicNames=None)], {"kind": "share", "subscriptions": []}),
    "a streams group": (
        [heartbeat("STREAMS", topology={"subtopologies": [{"sourceTopics": ["t"]}]})],
        {"kind": "streams", "topics": ["t"]},
    ),
    "moved to the new protocol": (
        [join(0), heartbeat("HEARTBEAT")],
        {"kind": "mixed", "kinds": ["classic", "consumer"], "member_count": 2},
    ),
    "an older SyncGroup after its JoinGroup": (
        [join(0, 5, generation=3), assigned(1, 4, T1, generation=3)],
        {
            "assignments": [ASSIGNMENT | {"type_told_by": "join_group"}],
            "undecoded_payloads": 0,
            "verified_sync_requests": 0,
            "unverified_sync_requests": 1,
        },
    ),
    "an older SyncGroup of another generation": (
        [join(0, 5, generation=3), assigned(1, 4, T1, generation=4)],
        {"assignments": [], "undecoded_payloads": 1},
    ),
    "an older SyncGroup of a type that has no schema": (
        [join(0, 5, kind="sr", generation=3), assigned(1, 4, T1, generation=3)],
        {"assignments": [], "undecoded_payloads": 2},
    ),
    "a SyncGroup that tells its type": (
        [assigned(0, 5, T1, kind="consumer")],
        {"assignments": [ASSIGNMENT], "verified_sync_requests": 1, "unverified_sync_requests": 0},
    ),
    "a SyncGroup without an answer that tells its type": (
        [
            message(
                0,
                "SYNC",
                5,
                {
                    "memberId": "m1",
                    "protocolType": "consumer",
                    "protocolName": "range",
                    "assignments": [{"memberId": "m1", "assignment": T1}],
                },
            )
        ],
        {"assignments": [ASSIGNMENT], "undecoded_payloads": 0},
    ),
    "names that agree": (
        [join(0, 7, names=("range", "roundrobin"), generation=3), sync(1, 5, generation=3)],
        {"protocol_name_mismatches": 0},
    ),
    "another name than JoinGroup chose, but later": (
        [join(0, 7, generation=3), sync(1, 5, name="sticky", generation=4)],
        {"protocol_name_mismatches": 0},
    ),
    "bytes of an unknown type": ([join(0, kind="sr", told="sr")], {"subscriptions": [], "undecoded_payloads": 1}),
    "bytes that are wrong": ([join(0, metadata="AAA=")], {"subscriptions": [], "undecoded_payloads": 1}),
    "no bytes in a subscription": (
        [join(0, metadata="")],
        {
            "subscriptions": [SUBSCRIPTION | dict.fromkeys(("version", "topics", "owned_partitions", "rack_id"))],
            "topics": [],
            "undecoded_payloads": 0,
        },
    ),
    "no bytes beside a subscription": (
        [join(0), join(1, metadata="", names=("sticky",), member="m2", chosen="sticky")],
        {"topics": ["t1"], "member_count": 2},
    ),
    "a subtopology without topics": (
        [heartbeat("STREAMS", topology={"subtopologies": [{}, {"sourceTopics": ["t", None]}]})],
        {"topics": ["t"]},
    ),
    "a protocol without a name": (
        [join(0, names=(None, "range"))],
        {"protocol_names": ["range"], "protocol_name_mismatches": 0},
    ),
    "one name twice in a message": (
        [message(0, "JOIN", 7, {"memberId": "m1", "protocolType": "consumer", "protocols": TWICE}, {})],
        {
            "subscriptions": [
                SUBSCRIPTION | {"version": 1, "owned_partitions": [{"topic": "t1", "partitions": [2]}], "rack_id": None}
            ]
        },
    ),
    "bodies that are no objects": ([join(0), request("?", 1, "JOIN", 7, request="[{", response="7")], {"requests": 1}),
}


# Connection: requests whose protocol name is another one, and how the message tells of the first.
NAMES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "not offered": (
        [join(0, 7, names=("sticky", "x"))],
        "JOIN_GROUP v7 was answered with protocol name 'range' after offering 'sticky', 'x'",
    ),
    "not offered beside one without a name": (
        [join(0, 7, names=(None, "sticky"))],
        "JOIN_GROUP v7 was answered with protocol name 'range' after offering 'sticky'",
    ),
    "answered otherwise": (
        [sync(0, 5, name="range", answered="sticky", error_code=0)],
        "SYNC_GROUP v5 with protocol name 'range' was answered with 'sticky'",
    ),
    "chosen otherwise": (
        [join(0, 7, names=("range", "x"), generation=3), sync(1, 5, name="x", generation=3, error_code=23)],
        "SYNC_GROUP v5 with protocol name 'x' after JoinGroup chose 'range'",
    ),
    "offered otherwise": (
        [join(0, 7, chosen=None, generation=3), sync(1, 5, name="x", generation=3)],
        "SYNC_GROUP v5 with protocol name 'x' after offering 'range'",
    ),
}
# What breaks KIP-559: the request that shows it, and the message.
MISMATCH = join(0, told="connect")
MESSAGES = {
    "group_name_mismatch": NAMES["chosen otherwise"][1],
    "group_type_mismatch": "JOIN_GROUP v7 with protocol type 'consumer' was answered with 'connect'",
    "inconsistent_group_protocol": "group 'inconsistent' was answered with INCONSISTENT_GROUP_PROTOCOL",
    "mixed_protocol_types": "group 'members of different types' has members of type 'connect' at a time with those of "
    "'consumer'",
}


@dataclass(frozen=True)
class Found:
    groups: dict[str, dict[str, Any]]
    violations: dict[tuple[str, str], Any]
    """By group, or connection id, and rule."""


@pytest.fixture(scope="module")
def found(spark: Any) -> Found:
    """All cases in one log; each is a group, and a connection, of its own name."""
    rows = [in_group(row, name) for name, (messages, _) in CASES.items() for row in messages]
    rows += [in_group(row, name) for name, (messages, _) in NAMES.items() for row in messages]
    rows.append(in_group(MISMATCH, "mismatch"))
    described = [{"groupId": "told", "protocolType": "consumer", "protocolData": "range", "members": []}]
    described.append({"groupId": "dead", "protocolType": "", "protocolData": "", "members": []})
    rows.append(message(0, "DESCRIBE", 3, {"groups": ["told", "dead"]}, {"groups": described}))
    settings, needed = Settings(), with_needed("group_protocols")
    judged = judged_requests(*log(spark, rows), settings, needed).localCheckpoint()
    opened = connections(judged, settings, needed).withColumn("client_id", F.col("first.client_id")).localCheckpoint()
    messages = group_messages.transform(judged)
    memberships = group_memberships.transform(messages, judged, settings)
    derived = connection_groups.transform(messages, memberships, settings).localCheckpoint()
    of_connections = as_stored(derived, "connection_groups")
    groups = as_stored(group_protocols.transform(of_connections, opened), "group_protocols").localCheckpoint()
    conflicts = group_type_conflicts.transform(of_connections)
    findings = [findings_inconsistent(groups), findings_mixed_types(conflicts)]
    findings.append(findings_name_mismatch(derived, opened))
    broken = violations(judged, opened, findings, settings, needed).collect()
    return Found(
        {row["group_id"]: row.asDict(recursive=True) for row in groups.collect()},
        {(row["group_id"] or row["connection_id"], row["rule"]): row for row in broken},
    )


def plain(value: Any) -> Any:
    """Seconds for times, and of a subscription what a case states."""
    if isinstance(value, list):
        stated = (*SUBSCRIPTION, *ASSIGNMENT)
        is_dated = ("stated_at", "assigned_at")
        return [{k: v for k, v in e.items() if k in stated} if {*is_dated} & {*e} else e for e in value]
    return (value.timestamp() - at(0).timestamp()) if hasattr(value, "timestamp") else value


@pytest.mark.kip("KIP-559", 3, 4, 5, 6, case="self-describing")
@pytest.mark.kip("KIP-559", 13, case="before KIP-559")
@pytest.mark.kip("KIP-559", 14, 16, case="a SyncGroup with the type or the name alone")
@pytest.mark.kip("KIP-559", 15, case="inconsistent")
@pytest.mark.kip("KIP-559", 16, 20, case="an older SyncGroup after its JoinGroup")
@pytest.mark.kip("KIP-559", 19, case="a SyncGroup that tells its type")
@pytest.mark.kip("KIP-559", 19, case="a SyncGroup without an answer that tells its type")
@pytest.mark.parametrize("name", CASES)
def test_it_tells_what_a_group_does(found: Found, name: str) -> None:
    assert {key: plain(found.groups[name][key]) for key in CASES[name][1]} == CASES[name][1]


@pytest.mark.kip("KIP-559", 7)
def test_who_only_describes_a_group_takes_no_part(found: Found) -> None:
    assert (found.groups["told"]["connections"], found.groups["told"]["protocol_types"]) == (0, ["consumer"])
    for name in ("told", "dead"):  # also where the type is empty
        assert plain(found.groups[name]["self_describing"]) == [counts("DESCRIBE_GROUPS", 3, "response", 1)]
        assert found.groups[name]["not_self_describing"] == []
    assert found.groups["dead"]["protocol_types"] == []


def test_the_example_of_an_inconsistency_can_be_found_in_the_log(found: Found) -> None:
    assert found.groups["inconsistent"]["inconsistent_example"]["grep"].endswith('"correlationId":5,')


# rule: group or connection, occurrences, seconds of the first and the last, correlation id of the example
VIOLATIONS: dict[str, tuple[str, int, int, int, int]] = {
    "group_name_mismatch": ("chosen otherwise", 1, 1, 1, 1),
    "group_type_mismatch": ("mismatch", 1, 0, 0, 0),
    "inconsistent_group_protocol": ("inconsistent", 3, 5, 9, 5),
    "mixed_protocol_types": ("members of different types", 4, 1, 4, 1),
}


@pytest.mark.kip("KIP-559", 17)
@pytest.mark.parametrize("rule", VIOLATIONS)
def test_its_violations_say_what_was_found(found: Found, rule: str) -> None:
    name, occurrences, first, last, correlation_id = VIOLATIONS[rule]
    row = found.violations[name, rule]
    assert row["message"] == f"{MESSAGES[rule]}; {rules()[rule].asks}"
    assert (row["occurrences"], plain(row["first_at"]), plain(row["last_at"])) == (occurrences, first, last)
    assert row["example"]["correlation_id"] == correlation_id


@pytest.mark.parametrize("rule", ["inconsistent_group_protocol", "mixed_protocol_types"])
def test_what_a_group_breaks_is_a_row_without_a_connection(found: Found, rule: str) -> None:
    row = found.violations[VIOLATIONS[rule][0], rule]
    assert (row["connection_id"], row["broker"], row["opened_at"], row["opened_seq"]) == (None, None, None, None)


def test_no_other_case_breaks_a_rule(found: Found) -> None:
    enforced = {(name, "inconsistent_group_protocol") for name in ("members of different types", "chosen otherwise")}
    names = {(name, "group_name_mismatch") for name in NAMES}
    assert set(found.violations) == {(name, rule) for rule, (name, *_) in VIOLATIONS.items()} | enforced | names


@pytest.mark.kip("KIP-559", 18)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_was_not_offered_chosen_or_answered_is_found(found: Found, name: str) -> None:
    row = found.violations[name, "group_name_mismatch"]
    assert row["message"].startswith(NAMES[name][1] + "; ")
    assert (row["occurrences"], row["group_id"], row["connection_id"]) == (1, name, name)
    assert found.groups[name]["protocol_name_mismatches"] == 1


# rule: how many of the requests the broker rejected, and how many it took
ENFORCED = {
    "group_name_mismatch": (1, 0),
    "group_type_mismatch": (0, 0),
    "inconsistent_group_protocol": (3, 0),
    "mixed_protocol_types": (2, 1),
}


@pytest.mark.kip("KIP-559", 15)
@pytest.mark.parametrize("rule", ENFORCED)
def test_a_violation_says_whether_the_broker_enforced_the_rule(found: Found, rule: str) -> None:
    row = found.violations[VIOLATIONS[rule][0], rule]
    assert (row["rejected"], row["taken"]) == ENFORCED[rule]


def test_a_group_that_is_described_does_not_take_along_the_others(spark: Any) -> None:
    """One answer describes as many groups as its client asks for."""
    settings, names = Settings(), [f"g{number}" for number in range(500)]
    member = {"memberId": "m1", "memberMetadata": METADATA_V3, "memberAssignment": T1}
    described = [
        {"groupId": name, "protocolType": "consumer", "protocolData": "range", "members": [member]} for name in names
    ]
    rows = [message(0, "DESCRIBE", 3, {"groups": names}, {"groups": described})]
    judged = judged_requests(*log(spark, rows), settings, with_needed("group_protocols"))
    assert judged.where("group_payloads IS NOT NULL").count() == 1
    messages = group_messages.transform(judged)
    assert messages.where("payloads IS NULL").count() == len(names)
    assert "groupId" not in messages.schema["answer"].simpleString()
