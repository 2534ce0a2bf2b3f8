"""The decoder of subscriptions and assignments in logged group messages; it returns them as JSON text and never raises.

Only JSON records hold these bytes, as base64. The protocol type says how they are encoded (KIP-559). If a record's
request and response state no type, as in SyncGroup before v5, or the type has no schema, they are only counted, under
`undecoded`, with the reason. Assignments of a SyncGroup without a type are also decoded as every type with a schema
that fits all of them (`assumed`), for readers that know the type from the JoinGroup before.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from ..printable import encodable
from ..protocol import GROUP_TYPES, ApiKey, DecodeError, GroupPayload, decode_member_assignment, decode_member_metadata
from .json_bodies import json_object

MAX_LISTED = 1000
"""Most subscriptions, and most assignments, that are listed for one record; a leader gets those of all members."""

_NO_TYPE = "no protocol type"
_Entry = tuple[str, str, dict[str, Any]]


def group_payloads(key: int, request: str | None, response: str | None) -> str | None:
    """Return the decoded payloads of a record of JoinGroup, SyncGroup or DescribeGroups, from its bodies in JSON.

    Returns:
        JSON text of an object; None if the record holds no payload. Its keys are `subscriptions` (memberId, groupId in
        DescribeGroups, protocolType, protocolName, version, and by type topics, ownedPartitions, generationId, rackId,
        userDataBytes or url), `assignments` (memberId, protocolType, version, assignedPartitions …), `assumed` (the
        assignments of a SyncGroup that states no protocol type, by each protocol type that fits all of them) and
        `undecoded` (count by reason).
    """
    read = _READERS.get(key)
    if read is None:
        return None
    bodies = [json_object((text or "").encode()) or {} for text in (request, response)]
    lists: dict[str, list[dict[str, Any]]] = {"subscriptions": [], "assignments": []}
    undecoded: Counter[str] = Counter()
    for kind, problem, entry in read(*bodies):
        if problem or len(lists[kind]) >= MAX_LISTED:
            undecoded[problem or "too many"] += 1
        else:
            lists[kind].append(entry)
    payloads: dict[str, Any] = {name: entries for name, entries in lists.items() if entries}
    if key == ApiKey.SYNC_GROUP and undecoded[_NO_TYPE] and (assumed := _assumed(*bodies)):
        payloads["assumed"] = assumed
    if undecoded:
        payloads["undecoded"] = dict(sorted(undecoded.items()))
    if not payloads:
        return None
    return encodable(json.dumps(payloads, ensure_ascii=False, separators=(",", ":")))


def _objects(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _join(request: dict[str, Any], response: dict[str, Any]) -> Iterator[_Entry]:
    kind, member = request.get("protocolType"), request.get("memberId") or response.get("memberId")
    for protocol in _objects(request.get("protocols")):
        yield _read("subscriptions", kind, protocol.get("metadata"), member, protocolName=protocol.get("name"))
    kind, name = response.get("protocolType") or kind, response.get("protocolName")
    for other in _objects(response.get("members")):
        yield _read("subscriptions", kind, other.get("metadata"), other.get("memberId"), protocolName=name)


def _sync(request: dict[str, Any], response: dict[str, Any]) -> Iterator[_Entry]:
    kind = request.get("protocolType") or response.get("protocolType")
    for other in _objects(request.get("assignments")):
        yield _read("assignments", kind, other.get("assignment"), other.get("memberId"))
    if response.get("assignment"):
        yield _read("assignments", kind, response["assignment"], request.get("memberId"))


def _assumed(request: dict[str, Any], response: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    by_type = {}
    for protocol_type in GROUP_TYPES:
        read = list(_sync(request | {"protocolType": protocol_type}, response))
        if len(read) <= MAX_LISTED and not any(problem for _, problem, _ in read):
            by_type[protocol_type] = [entry for _, _, entry in read]
    return by_type


def _describe(_: dict[str, Any], response: dict[str, Any]) -> Iterator[_Entry]:
    for group in _objects(response.get("groups")):
        kind, where = group.get("protocolType"), {"groupId": group.get("groupId")}
        for member in _objects(group.get("members")):
            name, more = member.get("memberId"), where | {"protocolName": group.get("protocolData")}
            yield _read("subscriptions", kind, member.get("memberMetadata"), name, **more)
            if member.get("memberAssignment"):
                yield _read("assignments", kind, member["memberAssignment"], name, **where)


_READERS: dict[int, Callable[[dict[str, Any], dict[str, Any]], Iterator[_Entry]]] = {
    ApiKey.JOIN_GROUP: _join,
    ApiKey.SYNC_GROUP: _sync,
    ApiKey.DESCRIBE_GROUPS: _describe,
}


def _read(kind: str, protocol_type: object, payload: object, member: object, **more: object) -> _Entry:
    entry = {"memberId": member, "protocolType": protocol_type, **more}
    if not isinstance(protocol_type, str) or not protocol_type:
        return kind, _NO_TYPE, entry
    if not isinstance(payload, str):
        return kind, "no bytes", entry
    decode = decode_member_metadata if kind == "subscriptions" else decode_member_assignment
    try:
        decoded = decode(protocol_type, payload)
    except DecodeError:
        return kind, "malformed", entry
    if not decoded.known:
        return kind, "unknown protocol type", entry
    return kind, "", entry | _content(decoded)


def _content(payload: GroupPayload) -> dict[str, Any]:
    """Return the payload's fields; give only the length of bytes, which belong to the client's assignor."""
    content: dict[str, Any] = {"version": payload.version}
    for name, value in (payload.body or {}).items():
        if isinstance(value, bytes | bytearray | memoryview):
            content[f"{name}Bytes"] = len(value)
        else:
            content[name] = value
    return content
