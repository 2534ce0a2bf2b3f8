"""0.8 to 0.10: `Name: TopicMetadataRequest; Version: 0; CorrelationId: 1; ClientId: x; Topics: …`.

Controller requests have no blanks, and order and presence of fields vary by API, so the client id ends where a
known next field of the same API starts. Nothing is escaped: the first such place is taken.
"""

import json
import re

from ...protocol import api_key
from ..apis import REPLICA_APIS
from ..request_event import MalformedRecord
from ..text_tail import read_tail
from .fields import LoggedRequest, int16, int32, read_header

STARTS = (b"Name:",)
_CONTROLLED_SHUTDOWN, _FIND_COORDINATOR = 7, 10

_NAME = re.compile(rb"Name: ?(\w{1,64}); ?Version: ?(-?\d{1,5});")
_CORRELATION = re.compile(rb"; ?CorrelationId: ?(-?\d{1,10})(?=;)")
_CLIENT = re.compile(rb"; ?ClientId: ?")
_CLIENT_END = re.compile(
    rb"; ?(?:RequiredAcks|Topics|ReplicaId|GroupId|Group|BrokerId|Leaders|AliveBrokers|PartitionState|DeletePartitions"
    rb"|Partitions|MemberId|SessionTimeout|TopicAndPartition|RequestInfo|AckTimeoutMs): ?"
)
_REPLICA = re.compile(rb"; ReplicaId: (\d{1,9});")
_GROUP = re.compile(rb"; Group: ?(.*)", re.DOTALL)
_SOME = re.compile(r"Some\((.*)\)", re.DOTALL)


def read(message: bytes) -> LoggedRequest:
    """Read a message that starts with `Name:`.

    Raises:
        MalformedRecord: `malformed_header` or `malformed_tail`.
    """
    tail = read_tail(message)
    body = message[: tail.start]
    found = _NAME.match(body)
    correlation = _CORRELATION.search(body, found.end() - 1) if found else None
    if found is None or correlation is None:
        raise MalformedRecord("malformed_header", "no Name, Version and CorrelationId")
    name = found[1].decode("ascii")
    key = api_key(name)
    if key is None:
        raise MalformedRecord("malformed_header", f"no API is known by the name {name}")
    client_id, end = _client_id(key, body, correlation.end())
    replica = _REPLICA.search(body, end) if key in REPLICA_APIS else None
    version, correlation_id = int16(found[2], "Version"), int32(correlation[1], "CorrelationId")
    header = read_header(key, name, version, correlation_id, client_id)
    replica_id = int(replica[1]) if replica else None
    return LoggedRequest("name_text", header, tail, request=_request(key, body, end), replica_id=replica_id)


def _request(key: int, body: bytes, at: int) -> str | None:
    """The body of the only control API that was logged in this form: FindCoordinator v0."""
    group = _GROUP.match(body, at) if key == _FIND_COORDINATOR else None
    if group is None:
        return None
    return json.dumps({"key": group[1].decode("utf-8", "replace")}, ensure_ascii=False, separators=(",", ":"))


def _client_id(key: int, body: bytes, at: int) -> tuple[str | None, int]:
    start = _CLIENT.match(body, at)
    if start is None:
        return None, at  # ControlledShutdown v0 has request header v0: no client id
    end = _CLIENT_END.search(body, start.end())
    stop = end.start() if end else len(body)
    text = body[start.end() : stop].decode("utf-8", "replace")
    # Only ControlledShutdown prints a Scala Option; any other client may call itself Some(x).
    some = _SOME.fullmatch(text) if key == _CONTROLLED_SHUTDOWN else None
    return (some[1] if some else text), stop
