"""0.9 to 0.11: `{api_key=3,api_version=1,correlation_id=7,client_id=x} -- {topics=[]}`; no response is logged."""

import re

from ..apis import CONTROL_APIS, REPLICA_APIS
from ..bodies import struct_body
from ..request_event import MalformedRecord
from ..text_tail import read_tail
from .fields import LoggedRequest, int16, int32, read_header

STARTS = (b"{api_key=",)

_HEADER = re.compile(
    rb"\{api_key=(-?\d{1,5}),api_version=(-?\d{1,5}),correlation_id=(-?\d{1,10})"
    rb"(?:,client_id=(.*?))?\} -- (?=\{\}\Z|\{[a-z_A-Z]+=)",
    re.DOTALL,
)
_REPLICA = re.compile(rb"\{replica_id=(\d{1,9}),")


def read(message: bytes) -> LoggedRequest:
    """Read a message that starts with `{api_key=`.

    Raises:
        MalformedRecord: `malformed_header`, `malformed_tail` or `malformed_value`.
    """
    tail = read_tail(message)
    found = _HEADER.match(message, 0, tail.start)
    if found is None:
        raise MalformedRecord("malformed_header", "no `{api_key=…,client_id=…} -- {` before the body")
    key = int16(found[1], "api_key")
    version = int16(found[2], "api_version")
    client_id = None if found[4] is None else found[4].decode("utf-8", "replace")
    header = read_header(key, None, version, int32(found[3], "correlation_id"), client_id)
    body = message[found.end() : tail.start]
    request = struct_body(body, key, version, "request") if key in CONTROL_APIS else None
    replica = _REPLICA.match(body) if key in REPLICA_APIS else None
    replica_id = int(replica[1]) if replica else None
    return LoggedRequest("api_key_struct", header, tail, request=request, replica_id=replica_id)
