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

RANGE = {"name": "range", "metadata": "AAMAAAABAAJ0MQAAAAAAAAAA/////wAA"}
T1 = "AAAAAAABAAJ0MQAAAAIAAAAAAAAAAQAAAAA="
ASSIGNED = {"assignedPartitions": [{"topic": "t1", "partitions": [0, 1]}], "userDataBytes": 0, "version": 0}
CONSUMERS = {"memberId": "m", "protocolType": "consumer", **ASSIGNED}


def decoded(key: int | None, request: Any, response: Any = None) -> Any:
    assert key is not None
    found = group_payloads(key, json.dumps(request), None if response is None else json.dumps(response))
    return None if found is None else json.loads(found)


def test_a_subscription_is_decoded_with_its_member() -> None:
    request = {"memberId": "", "protocolType": "consumer", "protocols": [RANGE]}
    (found,) = decoded(ApiKey.JOIN_GROUP, request, {"memberId": "m"})["subscriptions"]
    assert {
        "memberId": "m",
        "protocolName": "range",
        "version": 3,
        "topics": ["t1"],
        "rackId": "",
    }.items() <= found.items()


def test_the_leaders_answer_tells_of_all_members() -> None:
    answer = {"protocolName": "range", "members": [{"memberId": name, "metadata": RANGE["metadata"]} for name in "ab"]}
    found = decoded(ApiKey.JOIN_GROUP, {"protocolType": "consumer", "protocols": []}, answer)["subscriptions"]
    assert [entry["memberId"] for entry in found] == ["a", "b"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("consumer", {"assignments": [CONSUMERS]}),
     (None, {"undecoded": {"no protocol type": 1}, "assumed": {"consumer": [CONSUMERS]}}),
     ("sr", {"undecoded": {"unknown protocol type": 1}})],
)  # fmt: skip
def test_an_assignment_needs_its_protocol_type(kind: str | None, expected: dict[str, Any]) -> None:
    request = {"memberId": "m", "protocolType": kind, "assignments": [{"memberId": "m", "assignment": T1}]}
    assert decoded(ApiKey.SYNC_GROUP, request) == expected


def test_the_answer_to_sync_group_can_name_the_protocol_type() -> None:
    request = {"memberId": "m", "assignments": [{"memberId": "m", "assignment": T1}]}
    expected = {"memberId": "m", "protocolType": "consumer", **ASSIGNED}
    assert decoded(ApiKey.SYNC_GROUP, request, {"protocolType": "consumer"}) == {"assignments": [expected]}
    both = decoded(ApiKey.SYNC_GROUP, request | {"protocolType": "consumer"}, {"protocolType": "sr", "assignment": T1})
    assert both == {"assignments": [expected, expected]}


@pytest.mark.parametrize(
    ("asked", "answered", "members"),
    [
        ({"memberId": "asks"}, {"memberId": "is given"}, ["asks"]),
        ({"memberId": ""}, {"memberId": "is given"}, ["is given"]),
        ({}, {}, [None]),
        ({"memberId": "a"}, {"memberId": "b", "members": [{"memberId": "c", "metadata": RANGE["metadata"]}]}, ["a", "c"]),
        ({"memberId": "a"}, {"members": ["c", {"memberId": "d", "metadata": RANGE["metadata"]}]}, ["a", "d"]),
        ({"memberId": "a"}, {"members": {"memberId": "c"}}, ["a"]),
    ],
)  # fmt: skip
def test_a_subscription_is_that_of_its_member(asked: Any, answered: Any, members: list[str | None]) -> None:
    request = {"protocolType": "consumer", "protocols": [RANGE], **asked}
    found = decoded(ApiKey.JOIN_GROUP, request, {"protocolName": "chosen", **answered})["subscriptions"]
    assert [(entry["memberId"], entry["protocolName"]) for entry in found] == [
        (name, "chosen" if place else "range") for place, name in enumerate(members)
    ]


def test_the_answer_to_join_group_can_name_another_protocol_type() -> None:
    request = {"memberId": "m", "protocolType": "sr", "protocols": [RANGE]}
    answer = {"protocolType": "consumer", "members": [{"memberId": "m", "metadata": RANGE["metadata"]}]}
    found = decoded(ApiKey.JOIN_GROUP, request, answer)
    assert found["undecoded"] == {"unknown protocol type": 1}
    assert [entry["protocolType"] for entry in found["subscriptions"]] == ["consumer"]


def test_what_a_member_is_given_is_its_own() -> None:
    found = decoded(ApiKey.SYNC_GROUP, {"memberId": "m", "protocolType": "consumer"}, {"assignment": T1})
    assert found == {"assignments": [CONSUMERS]}
    assert decoded(ApiKey.SYNC_GROUP, {"memberId": "m", "protocolType": "consumer"}, {"assignment": ""}) is None


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_assignments_are_assumed_where_all_of_them_are_listed(more: int) -> None:
    given = [{"memberId": str(number), "assignment": T1} for number in range(MAX_LISTED + more)]
    found = decoded(ApiKey.SYNC_GROUP, {"assignments": given})
    assert found["undecoded"] == {"no protocol type": MAX_LISTED + more}
    assert [len(entries) for entries in found.get("assumed", {}).values()] == ([] if more > 0 else [MAX_LISTED + more])
    assert "assumed" not in decoded(
        ApiKey.SYNC_GROUP, {"assignments": [*given[:3], {"memberId": "m", "assignment": "AA=="}]}
    )


def test_the_text_is_the_same_whatever_the_order() -> None:
    members = [
        {"memberId": "ü", "memberMetadata": data, "memberAssignment": ""} for data in ("!", 7, RANGE["metadata"])
    ]
    texts = {
        group_payloads(
            ApiKey.DESCRIBE_GROUPS, None, json.dumps({"groups": [{"protocolType": "consumer", "members": some}]})
        )
        for some in (members, members[::-1])
    }
    (text,) = texts
    assert text is not None
    assert text.startswith(
        '{"subscriptions":[{"memberId":"ü","protocolType":"consumer","groupId":null,"protocolName":null,'
    )
    assert text.endswith('"undecoded":{"malformed":1,"no bytes":1}}')


def test_describe_groups_names_group_and_member() -> None:
    member = {"memberId": "m", "memberMetadata": RANGE["metadata"], "memberAssignment": T1}
    group = {"groupId": "g", "protocolType": "consumer", "protocolData": "range", "members": [member]}
    found = decoded(ApiKey.DESCRIBE_GROUPS, {}, {"groups": [group]})
    assert (found["subscriptions"][0]["groupId"], found["assignments"][0]["groupId"]) == ("g", "g")
    assert {"memberId": "m", "protocolType": "consumer", "protocolName": "range"}.items() <= found["subscriptions"][
        0
    ].items()
    assert found["assignments"] == [CONSUMERS | {"groupId": "g"}]


def test_a_type_is_assumed_by_the_number_of_the_api() -> None:
    found = decoded(14, {"assignments": [{"memberId": "m", "assignment": T1}]})
    assert found["assumed"] == {"consumer": [CONSUMERS]}


def test_no_type_is_assumed_where_a_group_is_described() -> None:
    member = {"memberId": "m", "memberMetadata": RANGE["metadata"], "memberAssignment": T1}
    found = decoded(ApiKey.DESCRIBE_GROUPS, {}, {"groups": [{"groupId": "g", "members": [member]}]})
    assert found == {"undecoded": {"no protocol type": 2}}


def test_many_members_are_cut_and_counted() -> None:
    members = [{"memberId": str(n), "metadata": RANGE["metadata"]} for n in range(MAX_LISTED + 5)]
    found = decoded(ApiKey.JOIN_GROUP, {"protocolType": "consumer"}, {"members": members})
    assert (len(found["subscriptions"]), found["undecoded"]) == (MAX_LISTED, {"too many": 5})


@pytest.mark.parametrize(
    ("kind", "metadata", "reason"),
    [
        ("consumer", None, "no bytes"),
        ("consumer", 7, "no bytes"),
        ("consumer", "AA", "malformed"),
        ("consumer", "!", "malformed"),
        ("sr", RANGE["metadata"], "unknown protocol type"),
        (None, RANGE["metadata"], "no protocol type"),
        ("", RANGE["metadata"], "no protocol type"),
        (7, RANGE["metadata"], "no protocol type"),
    ],
)
def test_it_counts_what_it_cannot_decode_with_the_reason(kind: object, metadata: object, reason: str) -> None:
    protocols = [RANGE | {"metadata": metadata}] * 2
    assert decoded(ApiKey.JOIN_GROUP, {"protocolType": kind, "protocols": protocols}) == {"undecoded": {reason: 2}}


def test_names_that_are_no_utf_8_are_replaced() -> None:
    metadata = base64.b64encode(base64.b64decode(RANGE["metadata"]).replace(b"t1", b"\xff1")).decode()
    request = json.dumps({"memberId": "m", "protocolType": "consumer", "protocols": [RANGE | {"metadata": metadata}]})
    assert ApiKey.JOIN_GROUP is not None
    found = group_payloads(ApiKey.JOIN_GROUP, request, None)
    assert found is not None
    assert json.loads(found.encode())["subscriptions"][0]["topics"] == ["\N{REPLACEMENT CHARACTER}1"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '"consumer"'])
def test_a_body_that_is_no_object_holds_no_payload(text: str) -> None:
    assert group_payloads(ApiKey.JOIN_GROUP or 0, text, text) is None


def test_other_apis_hold_no_payload() -> None:
    assert decoded(18, {"protocols": [RANGE]}) is None


_NAMES = st.sampled_from(
    ["protocolType", "protocols", "metadata", "members", "assignments", "assignment", "memberId", "groups", "consumer"]
)
_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=8) | st.sampled_from(["consumer", "connect", "AAA=", T1, "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from([ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.DESCRIBE_GROUPS]), _JSON, _JSON)
def test_no_body_makes_it_raise(key: int, request: Any, response: Any) -> None:
    found = group_payloads(key, json.dumps(request), json.dumps(response))
    assert found is None or json.loads(found.encode("utf-8"))


def test_a_record_in_json_has_its_payloads_and_one_in_text_has_none() -> None:
    body = {"memberId": "m", "protocolType": "consumer", "protocols": [RANGE]}
    found = json.loads(request(json_record(api="JOIN_GROUP", version=5, request=body)).group_payloads or "null")
    assert found == decoded(ApiKey.JOIN_GROUP, body)
    assert (
        request(request_header_struct_record(api="JOIN_GROUP", version=5, request="{group_id=g}")).group_payloads
        is None
    )
