"""Requests of group members, with bodies and with what the extraction reads of their bytes."""

import json
from typing import Any

from kafka_clientinfo.logs.group_payloads import group_payloads
from tests.frames import API_KEYS, request

METADATA_V3 = "AAMAAAABAAJ0MQAAAAAAAAAA/////wAA"  # topic t1, no owned partitions, rack ""
METADATA_OWNED = "AAEAAAABAAJ0MQAAAAAAAAABAAJ0MQAAAAEAAAAC"  # topic t1, owned partition 2 of it


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
    """JoinGroup of the member m1 with protocol type `kind`, answered with the type `told`."""
    protocols = [{"name": name, "metadata": metadata} for name in names]
    sent = {"memberId": given.pop("member", "m1"), "protocolType": kind, "protocols": protocols}
    answer = {"protocolName": "range", "members": []} | ({"protocolType": told} if version >= 7 else {})
    return message(seconds, "JOIN", version, sent, answer, **given)


def sync(seconds: float, version: int, kind: str | None = "consumer", **given: Any) -> dict[str, Any]:
    named = {"protocolType": kind, "protocolName": "range"} if version >= 5 else {}
    return message(seconds, "SYNC", version, {"memberId": "m1", "assignments": []} | named, named, **given)


def heartbeat(api: str, **sent: Any) -> dict[str, Any]:
    return message(0, api, 1, {"memberId": "m2"} | sent, {})


def in_group(row: dict[str, Any], group: str) -> dict[str, Any]:
    """The same request on a connection and in a group of this name; a body that is no object stays."""
    try:
        sent = json.dumps(json.loads(row["request"]) | {"groupId": group})
    except (ValueError, TypeError):
        sent = row["request"]
    return row | {"connection_id": group, "request": sent}
