"""1.0 to 2.7: `RequestHeader(apiKey=METADATA, apiVersion=5, clientId=x, correlationId=7) -- {…},response:{…}`.

The client id is raw text. It ends at the first `, correlationId=N) -- {` behind which a struct starts: a later one
may be a topic's.
"""

import re

from ...protocol import api_key
from ..apis import CONTROL_APIS, REPLICA_APIS
from ..bodies import struct_body, text_error_code
from ..request_event import MalformedRecord
from ..text_tail import read_tail
from .fields import LoggedRequest, int16, int32, read_header

STARTS = (b"RequestHeader(apiKey=",)

_HEADER = re.compile(
    rb"RequestHeader\(apiKey=(\w{1,64}), apiVersion=(-?\d{1,5}), clientId=(.*?), correlationId=(-?\d{1,10})"
    rb"(?:, headerVersion=\d+)?\) -- (?=\{\}(?:\Z|,response:)|\{[a-z_A-Z]+=)",
    re.DOTALL,
)
_RESPONSE = b",response:"
_REPLICA = re.compile(rb"\{replica_id=(\d{1,9}),")


def read(message: bytes) -> LoggedRequest:
    """Read a message that starts with `RequestHeader(apiKey=`.

    Raises:
        MalformedRecord: `malformed_header`, `malformed_tail` or `malformed_value`.
    """
    tail = read_tail(message)
    found = _HEADER.match(message, 0, tail.start)
    if found is None:
        raise MalformedRecord("malformed_header", "no `RequestHeader(…, correlationId=N) -- {` before the body")
    name = found[1].decode()
    key = api_key(name)
    if key is None:
        raise MalformedRecord("malformed_header", f"no API is known by the name {name}")
    version = int16(found[2], "apiVersion")
    correlation_id = int32(found[4], "correlationId")
    header = read_header(key, name, version, correlation_id, found[3].decode("utf-8", "replace"))
    between = message.find(_RESPONSE, found.end(), tail.start)
    request_end = between if between >= 0 else tail.start
    response = message[between + len(_RESPONSE) : tail.start] if between >= 0 else b""
    kept = key in CONTROL_APIS
    replica = _REPLICA.match(message, found.end()) if key in REPLICA_APIS else None
    return LoggedRequest(
        "request_header_struct",
        header,
        tail,
        error_code=text_error_code(response),
        request=struct_body(message[found.end() : request_end], key, version, "request") if kept else None,
        response=struct_body(response, key, version, "response") if kept else None,
        replica_id=int(replica[1]) if replica else None,
    )
