"""Requests of group members, with bodies and with what the extraction reads of their bytes."""

import json
from typing import Any

from kafka_clientinfo.logs.group_bodies import group_payloads
from tests.frames import API_KEYS, request

METADATA_V3 = "AAMAAAABAAJ0MQAAAAAAAAAA/////wAA"  # topic t1, no owned partitions, rack ""
T1 = "AAAAAAABAAJ0MQAAAAIAAAAAAAAAAQAAAAA="  # partitions 0 and 1 of topic t1
T1_FIRST = "AAAAAAABAAJ0MQAAAAEAAAAAAAAAAA=="  # partition 0 of topic t1
METADATA_OWNED = "AAEAAAABAAJ0MQAAAAAAAAABAAJ0MQAAAAEAAAAC"  # topic t1, owned partition 2 of it


def message(
    seconds: float, api: str, version: int, sent: dict[str, Any], answer: dict[str, Any] | None = None, **given: Any
) -> dict[str, Any]:
    texts = json.dumps(sent), None if answer is None else json.dumps(answer)
    row = request("?", seconds, api, version, request=texts[0], response=texts[1], **given)
    return row | {"group_payloads": group_payloads(API_KEYS[api], *texts)}


def join(
    seconds: float, version: int = 7, kind: str = "consumer", told: str | None = "consumer",
    names: tuple[str | None, ...] = ("range",), metadata: str = METADATA_V3, generation: int | None = None,
    chosen: str | None = "range", **given: Any,
) -> dict[str, Any]:  # fmt: skip
    """JoinGroup of the member m1 with protocol type `kind`, answered with the type `told` and the name `chosen`."""
    protocols = [{"name": name, "metadata": metadata} for name in names]
    sent = {"memberId": given.pop("member", "m1"), "protocolType": kind, "protocols": protocols}
    answer: dict[str, Any] = {"protocolName": chosen, "members": [], "memberId": sent["memberId"]}
    answer |= {"generationId": generation} | ({"protocolType": told} if version >= 7 else {})
    return message(seconds, "JOIN", version, sent, answer, **given)


def sync(
    seconds: float, version: int, kind: str | None = "consumer", name: str = "range", answered: str | None = None,
    generation: int | None = None, **given: Any,
) -> dict[str, Any]:  # fmt: skip
    """SyncGroup of the member m1 with the protocol name `name`, answered with the same or another one."""
    named = {"protocolType": kind, "protocolName": name} if version >= 5 else {}
    sent = {"memberId": "m1", "generationId": generation, "assignments": []} | named
    answer = named | ({"protocolName": answered} if answered else {})
    return message(seconds, "SYNC", version, sent, answer, **given)


def assigned(
    seconds: float, version: int, assignment: str, kind: str | None = None, generation: int | None = None,
    leads: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """SyncGroup of the member m1, answered with these bytes; the leader sends them too."""
    named = {"protocolType": kind, "protocolName": "range"} if kind else {}
    of_members = [{"memberId": "m1", "assignment": assignment}] if leads else []
    sent = {"memberId": "m1", "generationId": generation, "assignments": of_members} | named
    return message(seconds, "SYNC", version, sent, named | {"assignment": assignment})


def heartbeat(api: str, **sent: Any) -> dict[str, Any]:
    return message(0, api, 1, {"memberId": "m2"} | sent, {})


def in_group(row: dict[str, Any], group: str) -> dict[str, Any]:
    """The same request on a connection and in a group of this name; a body that is no object stays."""
    try:
        sent = json.dumps(json.loads(row["request"]) | {"groupId": group})
    except (ValueError, TypeError):
        sent = row["request"]
    return row | {"connection_id": group, "request": sent}
