"""KIP-559 by group: kinds, types and names, self-describing messages, members, subscriptions, inconsistencies."""

import json
from typing import Any

import pytest

from kafka_clientinfo.logs.group_payloads import group_payloads
from tests.frames import API_KEYS, at, derive, request

METADATA_V3 = "AAMAAAABAAJ0MQAAAAAAAAAA/////wAA"  # topic t1, no owned partitions, rack ""
METADATA_OWNED = "AAEAAAABAAJ0MQAAAAAAAAABAAJ0MQAAAAEAAAAC"  # topic t1, owned partition 2 of it
Case = tuple[list[dict[str, Any]], dict[str, Any]]


def message(
    seconds: float, api: str, version: int, sent: dict[str, Any], answer: dict[str, Any] | None = None, **given: Any
) -> dict[str, Any]:
    texts = json.dumps(sent), None if answer is None else json.dumps(answer)
    row = request("?", seconds, api, version, request=texts[0], response=texts[1], **given)
    return row | {"group_payloads": group_payloads(API_KEYS[api], *texts)}


def join(
    seconds: float,
    version: int = 7,
    kind: str = "consumer",
    told: str | None = "consumer",
    names: tuple[str, ...] = ("range",),
    metadata: str = METADATA_V3,
    **given: Any,
) -> dict[str, Any]:
    protocols = [{"name": name, "metadata": metadata} for name in names]
    sent = {"memberId": given.pop("member", "m1"), "protocolType": kind, "protocols": protocols}
    answer = {"protocolName": "range", "members": []} | ({"protocolType": told} if version >= 7 else {})
    return message(seconds, "JOIN", version, sent, answer, **given)


def sync(seconds: float, version: int, kind: str | None = "consumer", **given: Any) -> dict[str, Any]:
    named = {"protocolType": kind, "protocolName": "range"} if version >= 5 else {}
    return message(seconds, "SYNC", version, {"memberId": "m1", "assignments": []} | named, named, **given)


def heartbeat(api: str, **sent: Any) -> dict[str, Any]:
    return message(0, api, 1, {"memberId": "m2"} | sent, {})


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
        [join(0), join(5, told=None, error_code=23), sync(9, 5, error_code=23)],
        {"inconsistent_group_protocol": 2, "inconsistent_first_at": 5, "inconsistent_last_at": 9},
    ),
    "members of different types": (
        [join(0, 5), join(1, 5, kind="connect", member="m0")],
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
    "bytes of an unknown type": ([join(0, kind="sr")], {"subscriptions": [], "undecoded_payloads": 1}),
    "bytes that are wrong": ([join(0, metadata="AAA=")], {"subscriptions": [], "undecoded_payloads": 1}),
    "bodies that are no objects": ([join(0), request("?", 1, "JOIN", 7, request="[{", response="7")], {"requests": 1}),
}


@pytest.fixture(scope="module")
def relations(spark: Any) -> dict[str, Any]:
    rows = []
    for name, (messages, _) in CASES.items():
        for row in messages:
            body = json.loads(row["request"]) if row["request"] != "[{" else None
            sent = row["request"] if body is None else json.dumps(body | {"groupId": name})
            rows.append(row | {"connection_id": name, "request": sent})
    described = [{"groupId": "told", "protocolType": "consumer", "protocolData": "range", "members": []}]
    described.append({"groupId": "dead", "protocolType": "", "protocolData": "", "members": []})
    rows.append(message(0, "DESCRIBE", 3, {"groups": ["told", "dead"]}, {"groups": described}))
    return derive(spark, rows)


@pytest.fixture(scope="module")
def found(relations: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["group_id"]: row.asDict(recursive=True) for row in relations["group_protocols"].collect()}


def plain(value: Any) -> Any:
    """Seconds for times, and of a subscription what a case states."""
    if isinstance(value, list):
        return [{k: v for k, v in e.items() if k in SUBSCRIPTION} if "stated_at" in e else e for e in value]
    return (value.timestamp() - at(0).timestamp()) if hasattr(value, "timestamp") else value


@pytest.mark.parametrize("name", CASES)
def test_it_tells_what_a_group_does(found: dict[str, dict[str, Any]], name: str) -> None:
    assert {key: plain(found[name][key]) for key in CASES[name][1]} == CASES[name][1]


def test_who_only_describes_a_group_takes_no_part(found: dict[str, dict[str, Any]]) -> None:
    assert (found["told"]["connections"], found["told"]["protocol_types"]) == (0, ["consumer"])
    assert found["dead"]["protocol_types"] == []


def test_the_example_of_an_inconsistency_can_be_found_in_the_log(found: dict[str, dict[str, Any]]) -> None:
    assert found["inconsistent"]["inconsistent_example"]["grep"].endswith('"correlationId":5,')
