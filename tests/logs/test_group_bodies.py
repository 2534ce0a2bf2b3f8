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


MEMBER = {"memberId": "m", "memberMetadata": SUBSCRIBED, "memberAssignment": T1}
CASES: list[tuple[int, Any, Any, Any]] = [
    # An assignment is of the protocol type that is stated.
    (SYNC, CONSUMER | {"assignments": GIVEN}, None, {"assignments": [CONSUMERS]}),
    (SYNC, {"assignments": GIVEN}, None, {"undecoded": {"no protocol type": 1}, "assumed": {"consumer": [CONSUMERS]}}),
    (SYNC, {"protocolType": "sr", "assignments": GIVEN}, None, {"undecoded": {"unknown protocol type": 1}}),
    (SYNC, {"memberId": "m", "assignments": GIVEN}, {"protocolType": "consumer"}, {"assignments": [CONSUMERS]}),
    (SYNC, CONSUMER | {"assignments": GIVEN}, {"protocolType": "sr", "assignment": T1}, {"assignments": [CONSUMERS] * 2}),
    (SYNC, CONSUMER, {"assignment": T1}, {"assignments": [CONSUMERS]}),
    (SYNC, CONSUMER, {"assignment": ""}, None),
    # No type is assumed where a group is described, and another API holds none.
    (DESCRIBE, {}, {"groups": [{"groupId": "g", "members": [MEMBER]}]}, {"undecoded": {"no protocol type": 2}}),
    (18, {"protocols": [RANGE]}, None, None),
    # What cannot be decoded is counted with the reason.
    *((JOIN, {"protocolType": kind, "protocols": [{"metadata": metadata}] * 2}, None, {"undecoded": {reason: 2}})
      for kind, metadata, reason in (
          ("consumer", None, "no bytes"), ("consumer", 7, "no bytes"), ("consumer", "AA", "malformed"), ("consumer", "!", "malformed"),
          ("sr", SUBSCRIBED, "unknown protocol type"), *((kind, SUBSCRIBED, "no protocol type") for kind in (None, "", 7)))),
]  # fmt: skip


@pytest.mark.parametrize(("key", "asked", "answered", "expected"), CASES)
def test_payloads_are_decoded_or_counted(key: int, asked: Any, answered: Any, expected: Any) -> None:
    assert decoded(key, asked, answered) == expected


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
    group = {"groupId": "g", "protocolType": "consumer", "protocolData": "range", "members": [MEMBER]}
    found = decoded(DESCRIBE, {}, {"groups": [group]})
    assert (CONSUMER | {"groupId": "g", "protocolName": "range"}).items() <= found["subscriptions"][0].items()
    assert found["assignments"] == [CONSUMERS | {"groupId": "g"}]


def test_many_members_are_cut_and_counted() -> None:
    members = [{"memberId": str(n), "metadata": SUBSCRIBED} for n in range(MAX_LISTED + 5)]
    found = decoded(JOIN, {"protocolType": "consumer"}, {"members": members})
    assert (len(found["subscriptions"]), found["undecoded"]) == (MAX_LISTED, {"too many": 5})


def test_names_that_are_no_utf_8_are_replaced() -> None:
    metadata = base64.b64encode(base64.b64decode(SUBSCRIBED).replace(b"t1", b"\xff1")).decode()
    found = decoded(JOIN, CONSUMER | {"protocols": [RANGE | {"metadata": metadata}]})
    assert found["subscriptions"][0]["topics"] == ["\N{REPLACEMENT CHARACTER}1"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '"consumer"'])
def test_a_body_that_is_no_object_holds_no_payload(text: str) -> None:
    assert group_payloads(JOIN, text, text) is None


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
