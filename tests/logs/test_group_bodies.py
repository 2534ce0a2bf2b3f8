"""Bytes in group messages become JSON; what cannot be decoded is counted with the reason, and nothing raises."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.logs.group_bodies import MAX_LISTED, group_payloads
from kafka_clientinfo.protocol import ApiKey
from tests.builders import json_record, request_header_struct_record
from tests.logs.excerpts import request

JOIN, SYNC, DESCRIBE = ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.DESCRIBE_GROUPS
SUBSCRIBED = "AAMAAAABAAJ0MQAAAAAAAAAA/////wAA"
RANGE = {"name": "range", "metadata": SUBSCRIBED}
T1 = "AAAAAAABAAJ0MQAAAAIAAAAAAAAAAQAAAAA="
ASSIGNED = {"assignedPartitions": [{"topic": "t1", "partitions": [0, 1]}], "userDataBytes": 0, "version": 0}
CONSUMER = {"memberId": "m", "protocolType": "consumer"}
CONSUMERS = CONSUMER | ASSIGNED
GIVEN = [{"memberId": "m", "assignment": T1}]


def decoded(key: int, request: Any, response: Any = None) -> Any:
    found = group_payloads(key, json.dumps(request), None if response is None else json.dumps(response))
    return None if found is None else json.loads(found)


@pytest.mark.parametrize(
    ("asked", "answered", "expected"),
    [
        ({"protocolType": "consumer", "assignments": GIVEN}, None, {"assignments": [CONSUMERS]}),
        ({"assignments": GIVEN}, None, {"undecoded": {"no protocol type": 1}, "assumed": {"consumer": [CONSUMERS]}}),
        ({"protocolType": "sr", "assignments": GIVEN}, None, {"undecoded": {"unknown protocol type": 1}}),
        ({"assignments": GIVEN}, {"protocolType": "consumer"}, {"assignments": [CONSUMERS]}),
        (CONSUMER | {"assignments": GIVEN}, {"protocolType": "sr", "assignment": T1}, {"assignments": [CONSUMERS] * 2}),
        (CONSUMER, {"assignment": T1}, {"assignments": [CONSUMERS]}),
        (CONSUMER, {"assignment": ""}, None),
    ],
)
def test_an_assignment_is_of_the_protocol_type_that_is_stated(asked: Any, answered: Any, expected: Any) -> None:
    assert decoded(SYNC, {"memberId": "m"} | asked, answered) == expected


@pytest.mark.parametrize(
    ("asked", "answered", "members"),
    [
        ({"memberId": "asks"}, {"memberId": "is given"}, ["asks"]),
        ({"memberId": ""}, {"memberId": "is given"}, ["is given"]),
        ({}, {}, [None]),
        ({"memberId": "a"}, {"memberId": "b", "members": [{"memberId": "c", "metadata": SUBSCRIBED}]}, ["a", "c"]),
        ({"memberId": "a"}, {"members": ["c", {"memberId": "d", "metadata": SUBSCRIBED}]}, ["a", "d"]),
        ({"memberId": "a"}, {"members": {"memberId": "c"}}, ["a"]),
    ],
)
def test_a_subscription_is_that_of_its_member(asked: Any, answered: Any, members: list[str | None]) -> None:
    request = {"protocolType": "consumer", "protocols": [RANGE], **asked}
    found = decoded(JOIN, request, {"protocolName": "chosen", **answered})["subscriptions"]
    names = [(name, "chosen" if place else "range") for place, name in enumerate(members)]
    assert [(entry["memberId"], entry["protocolName"]) for entry in found] == names
    assert {"version": 3, "topics": ["t1"], "rackId": ""}.items() <= found[0].items()


def test_the_answer_to_join_group_can_name_another_protocol_type() -> None:
    request = {"memberId": "m", "protocolType": "sr", "protocols": [RANGE]}
    answer = {"protocolType": "consumer", "members": [{"memberId": "m", "metadata": SUBSCRIBED}]}
    found = decoded(JOIN, request, answer)
    assert found["undecoded"] == {"unknown protocol type": 1}
    assert [entry["protocolType"] for entry in found["subscriptions"]] == ["consumer"]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_assignments_are_assumed_where_all_of_them_are_listed(more: int) -> None:
    given = [{"memberId": str(number), "assignment": T1} for number in range(MAX_LISTED + more)]
    found = decoded(SYNC, {"assignments": given})
    assert found["undecoded"] == {"no protocol type": MAX_LISTED + more}
    assert [len(entries) for entries in found.get("assumed", {}).values()] == ([] if more > 0 else [MAX_LISTED + more])
    torn = [*given[:3], {"memberId": "m", "assignment": "AA=="}]
    assert "assumed" not in decoded(SYNC, {"assignments": torn})


def test_the_text_is_the_same_whatever_the_order() -> None:
    members = [{"memberId": "ü", "memberMetadata": data, "memberAssignment": ""} for data in ("!", 7, SUBSCRIBED)]
    bodies = [{"groups": [{"protocolType": "consumer", "members": some}]} for some in (members, members[::-1])]
    (text,) = {group_payloads(DESCRIBE, None, json.dumps(body)) for body in bodies}
    assert text.startswith(
        '{"subscriptions":[{"memberId":"ü","protocolType":"consumer","groupId":null,"protocolName":null,'
    )
    assert text.endswith('"undecoded":{"malformed":1,"no bytes":1}}')


def test_describe_groups_names_group_and_member() -> None:
    member = {"memberId": "m", "memberMetadata": SUBSCRIBED, "memberAssignment": T1}
    group = {"groupId": "g", "protocolType": "consumer", "protocolData": "range", "members": [member]}
    found = decoded(DESCRIBE, {}, {"groups": [group]})
    assert (CONSUMER | {"groupId": "g", "protocolName": "range"}).items() <= found["subscriptions"][0].items()
    assert found["assignments"] == [CONSUMERS | {"groupId": "g"}]
    untyped = {"groups": [{"groupId": "g", "members": [member]}]}  # no type is assumed here
    assert decoded(DESCRIBE, {}, untyped) == {"undecoded": {"no protocol type": 2}}


def test_many_members_are_cut_and_counted() -> None:
    members = [{"memberId": str(n), "metadata": SUBSCRIBED} for n in range(MAX_LISTED + 5)]
    found = decoded(JOIN, {"protocolType": "consumer"}, {"members": members})
    assert (len(found["subscriptions"]), found["undecoded"]) == (MAX_LISTED, {"too many": 5})


@pytest.mark.parametrize(
    ("kind", "metadata", "reason"),
    [
        *(("consumer", odd, "no bytes") for odd in (None, 7)),
        *(("consumer", odd, "malformed") for odd in ("AA", "!")),
        ("sr", SUBSCRIBED, "unknown protocol type"),
        *((kind, SUBSCRIBED, "no protocol type") for kind in (None, "", 7)),
    ],
)
def test_it_counts_what_it_cannot_decode_with_the_reason(kind: object, metadata: object, reason: str) -> None:
    protocols = [RANGE | {"metadata": metadata}] * 2
    assert decoded(JOIN, {"protocolType": kind, "protocols": protocols}) == {"undecoded": {reason: 2}}


def test_names_that_are_no_utf_8_are_replaced() -> None:
    metadata = base64.b64encode(base64.b64decode(SUBSCRIBED).replace(b"t1", b"\xff1")).decode()
    found = decoded(JOIN, CONSUMER | {"protocols": [RANGE | {"metadata": metadata}]})
    assert found["subscriptions"][0]["topics"] == ["\N{REPLACEMENT CHARACTER}1"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '"consumer"'])
def test_a_body_that_is_no_object_holds_no_payload(text: str) -> None:
    assert group_payloads(JOIN, text, text) is None
    assert decoded(18, {"protocols": [RANGE]}) is None  # another API


_NAMES = st.sampled_from(
    ["protocolType", "protocols", "metadata", "members", "assignments", "assignment", "memberId", "groups", "consumer"]
)
_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=8) | st.sampled_from(["consumer", "connect", "AAA=", T1, "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from([JOIN, SYNC, DESCRIBE]), _JSON, _JSON)
def test_no_body_makes_it_raise(key: int, request: Any, response: Any) -> None:
    found = group_payloads(key, json.dumps(request), json.dumps(response))
    assert found is None or json.loads(found.encode("utf-8"))


def test_a_record_in_json_has_its_payloads_and_one_in_text_has_none() -> None:
    asked = {"api": "JOIN_GROUP", "version": 5}
    body = CONSUMER | {"protocols": [RANGE]}
    assert json.loads(request(json_record(**asked, request=body)).group_payloads) == decoded(JOIN, body)
    assert request(request_header_struct_record(**asked, request="{group_id=g}")).group_payloads is None
