"""The readers of the three generations in text, before 2.8. Each reads the text after `Completed request:`.

0.8 to 0.10: `Name: TopicMetadataRequest; Version: 0; CorrelationId: 1; ClientId: x; Topics: …`. Controller requests have
no blanks, and order and presence of fields vary by API. Nothing is escaped. The client id ends at the first name of a
field that can follow it.

0.9 to 0.11: `{api_key=3,api_version=1,correlation_id=7,client_id=x} -- {topics=[]}`. Responses are not logged.

1.0 to 2.7: `RequestHeader(apiKey=METADATA, apiVersion=5, clientId=x, correlationId=7) -- {…},response:{…}`. The client id
is raw text. It ends at the first `, correlationId=N) -- {` after which a struct begins; a later one may be in a topic.
"""

import json
import re

from ...protocol import api_key
from ..apis import CONTROL_APIS, LOGGER_API, REPLICA_APIS, TOPIC_APIS
from ..error_codes import struct_error_codes
from ..heads import may_follow
from ..request_event import MalformedRecord
from ..struct_text import struct_body
from .fields import INT16, INT32, LONGEST_MS, TIME_NAMES, LoggedRequest, TextTail, Times, read_header, read_integer

_CONTROLLED_SHUTDOWN, _FIND_COORDINATOR = 7, 10

_NAME = re.compile(rb"Name: ?(\w{1,64}); ?Version: ?(-?\d{1,5});")
_CORRELATION = re.compile(rb"; ?CorrelationId: ?(-?\d{1,10})(?=;)")
_CLIENT = re.compile(rb"; ?ClientId: ?")
_CLIENT_END = re.compile(
    rb"; ?(?:RequiredAcks|Topics|ReplicaId|GroupId|Group|BrokerId|Leaders|AliveBrokers|PartitionState|DeletePartitions"
    rb"|Partitions|MemberId|SessionTimeout|TopicAndPartition|RequestInfo|AckTimeoutMs): ?"
)
_NAMED_REPLICA = re.compile(rb"; ReplicaId: (\d{1,9});")
_GROUP = re.compile(rb"; Group: ?(.*)", re.DOTALL)
_SOME = re.compile(r"Some\((.*)\)", re.DOTALL)

_API_KEY_STRUCT = re.compile(
    rb"\{api_key=(-?\d{1,5}),api_version=(-?\d{1,5}),correlation_id=(-?\d{1,10})"
    rb"(?:,client_id=(.*?))?\} -- (?=\{\}\Z|\{[a-z_A-Z]+=)",
    re.DOTALL,
)
_REQUEST_HEADER = re.compile(
    rb"RequestHeader\(apiKey=(\w{1,64}), apiVersion=(-?\d{1,5}), clientId=(.*?), correlationId=(-?\d{1,10})"
    rb"(?:, headerVersion=\d+)?\) -- (?=\{\}(?:\Z|,response:)|\{[a-z_A-Z]+=)",
    re.DOTALL,
)
_RESPONSE = b",response:"
_REPLICA = re.compile(rb"\{replica_id=(\d{1,9}),")
# As in `json`, the top-level error code stands before any array or after all of them.
_ERROR_LEFT = re.compile(rb"\{(?:\w+=[^,\[\]{}=]*,){0,6}error_code=(-?\d{1,6})[,}]")
_ERROR_RIGHT = re.compile(rb"[,{]error_code=(-?\d{1,6})(?:,_tagged_fields=\{\})?\}\Z")

# 0.11 writes times in the broker's locale, such as 272.278000 or 272,278000.
_TIME = rb"(-?\d{1,18}(?:[.,]\d{1,18})?(?:E-?\d{1,3})?)"
_TIMES = b"".join(
    (rb"(?:,%bTime:%b)?" if name == "throttle" else rb",%bTime:%b") % (name.encode(), _TIME) for name in TIME_NAMES
)
_TAIL = re.compile(
    rb" from (?:connection|client) ([^\s;]{1,600});"
    + _TIMES[1:]
    + rb"(?:,securityProtocol:(\w+),principal:(?:(.*),listener:([\w.-]*+)"
    rb"(?:,clientInformation:ClientInformation\(softwareName=([^,()]*), softwareVersion=([^,()]*)\))?|(.*)\Z))?"
    rb"(?:,temporaryMemoryBytes:-?\d++)?(?:,messageConversionsTime:[\d.,E-]++)?((?![\w.,-])[^\r\n]{1,700})?",
    re.DOTALL,
)
"""The last group is what the log's pattern writes after the record; after a principal that comes last there is none."""
_NO_PRINCIPAL = re.compile(r",listener:|\((?:kafka\.request\.logger|kafka\.network\.RequestChannel\$)\)")
_LONGEST_END = 700
_AFTER_PRINCIPAL = re.compile(r"[\s\[({<>|;$\x1b]")
_STARTS = (b" from connection ", b" from client ")
_MOST_TRIED = 16
"""So many beginnings of a tail are tried, the rightmost first."""


def read_name_text(message: bytes) -> LoggedRequest:
    """Read a message that starts with `Name:`.

    Raises:
        MalformedRecord: `malformed_header` or `malformed_tail`.
    """
    tail = read_tail(message)
    body = message[: tail.start]
    head = _NAME.match(body)
    correlation = _CORRELATION.search(body, head.end() - 1) if head else None
    if head is None or correlation is None:
        raise MalformedRecord("malformed_header", "no Name, Version and CorrelationId")
    key, name = _named(head[1])
    client_id, end = _client_id(key, body, correlation.end())
    replica = _NAMED_REPLICA.search(body, end) if key in REPLICA_APIS else None
    version = read_integer(head[2], INT16, "Version")
    correlation_id = read_integer(correlation[1], INT32, "CorrelationId")
    header = read_header(key, name, version, correlation_id, client_id)
    # FindCoordinator v0 is the only control API that was logged in this form.
    group = _GROUP.match(body, end) if key == _FIND_COORDINATOR else None
    request = json.dumps({"key": _text(group[1])}, ensure_ascii=False, separators=(",", ":")) if group else None
    replica_id = int(replica[1]) if replica else None
    bodies = (body[end:], b"") if key in TOPIC_APIS else None
    return LoggedRequest("name_text", header, tail, request=request, replica_id=replica_id, bodies=bodies)


def _named(logged: bytes) -> tuple[int, str]:
    name = logged.decode()
    key = api_key(name)
    if key is None:
        raise MalformedRecord("malformed_header", f"no API is known by the name {name}")
    return key, name


def _client_id(key: int, body: bytes, at: int) -> tuple[str | None, int]:
    start = _CLIENT.match(body, at)
    if start is None:
        return None, at  # ControlledShutdown v0 has request header v0, which has no client id
    end = _CLIENT_END.search(body, start.end())
    stop = end.start() if end else len(body)
    text = body[start.end() : stop].decode("utf-8", "replace")
    # Only ControlledShutdown prints a Scala Option; any other client may call itself Some(x).
    some = _SOME.fullmatch(text) if key == _CONTROLLED_SHUTDOWN else None
    return (some[1] if some else text), stop


def read_api_key_struct(message: bytes) -> LoggedRequest:
    """Read a message that starts with `{api_key=`.

    Raises:
        MalformedRecord: `malformed_header`, `malformed_tail` or `malformed_value`.
    """
    tail = read_tail(message)
    head = _API_KEY_STRUCT.match(message, 0, tail.start)
    if head is None:
        raise MalformedRecord("malformed_header", "no `{api_key=…,client_id=…} -- {` before the body")
    key = read_integer(head[1], INT16, "api_key")
    version = read_integer(head[2], INT16, "api_version")
    client_id = None if head[4] is None else head[4].decode("utf-8", "replace")
    header = read_header(key, None, version, read_integer(head[3], INT32, "correlation_id"), client_id)
    body = message[head.end() : tail.start] if key in CONTROL_APIS or key in TOPIC_APIS else b""
    request = struct_body(body, key, version, "request") if key in CONTROL_APIS else None
    replica_id, bodies = _replica_id(key, message, head.end()), (body, b"") if key in TOPIC_APIS else None
    return LoggedRequest("api_key_struct", header, tail, request=request, replica_id=replica_id, bodies=bodies)


def read_request_header_struct(message: bytes) -> LoggedRequest:
    """Read a message that starts with `RequestHeader(apiKey=`.

    Raises:
        MalformedRecord: `malformed_header`, `malformed_tail` or `malformed_value`.
    """
    tail = read_tail(message)
    head = _REQUEST_HEADER.match(message, 0, tail.start)
    if head is None:
        raise MalformedRecord("malformed_header", "no `RequestHeader(…, correlationId=N) -- {` before the body")
    key, name = _named(head[1])
    version = read_integer(head[2], INT16, "apiVersion")
    correlation_id = read_integer(head[4], INT32, "correlationId")
    header = read_header(key, name, version, correlation_id, head[3].decode("utf-8", "replace"))
    between = message.find(_RESPONSE, head.end(), tail.start)
    request_end = between if between >= 0 else tail.start
    response = message[between + len(_RESPONSE) : tail.start] if between >= 0 else b""
    is_control, names_logger = key in CONTROL_APIS, key == LOGGER_API and b"resource_type=8," in response
    return LoggedRequest(
        "request_header_struct",
        header,
        tail,
        error_code=text_error_code(response),
        errors=struct_error_codes(response, key, version),
        request=struct_body(message[head.end() : request_end], key, version, "request") if is_control else None,
        response=struct_body(response, key, version, "response") if is_control or names_logger else None,
        replica_id=_replica_id(key, message, head.end()),
        bodies=(message[head.end() : request_end], response) if key in TOPIC_APIS else None,
    )


def _replica_id(key: int, message: bytes, at_body: int) -> int | None:
    replica = _REPLICA.match(message, at_body) if key in REPLICA_APIS else None
    return int(replica[1]) if replica else None


def text_error_code(response: bytes) -> int | None:
    """Return the top-level error_code of a response in struct text; None if it has none."""
    error_code = _ERROR_LEFT.match(response) or _ERROR_RIGHT.search(response, len(response) - 64)
    return int(error_code[1]) if error_code else None


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")


def _number(value: bytes | None) -> float | None:
    if value is None:
        return None
    number = float(value.replace(b",", b"."))
    if not abs(number) < LONGEST_MS:
        raise MalformedRecord("malformed_tail", f"a time of {value.decode('ascii')} ms")
    return number


def read_tail(message: bytes) -> TextTail:
    """Read the tail of a message without its logger: ` from connection …;totalTime:…,principal:…`.

    The client's texts before it may hold a perfect copy of a tail, so the rightmost tail that reaches to the record's
    end, or to what a pattern may write after it (`check_end`), is the broker's.

    Raises:
        MalformedRecord: `malformed_tail`; no tail reaches to the message's end.
    """
    end = len(message)
    for _ in range(_MOST_TRIED):
        at = max(message.rfind(start, 0, end) for start in _STARTS)
        if at < 0:
            break
        tail = _TAIL.fullmatch(message, at)
        if tail is not None:
            connection, *times, protocol, principal, listener, name, version, last, after = tail.groups()
            texts = map(_text, (listener, protocol, principal if last is None else last, name, version, after))
            return TextTail(at, connection.decode("utf-8", "replace"), Times._make(map(_number, times)), *texts)
        end = at
    raise MalformedRecord("malformed_tail", "no connection and times at the record's end")


def check_end(logged: LoggedRequest, is_own_pattern: bool) -> None:
    """Reject a request in text if it is not certain where its last field ends and what the log's pattern writes begins.

    In Kafka's own pattern the logger follows the last field. A principal is the last field only before 1.0.

    Raises:
        MalformedRecord: `malformed_tail`.
    """
    tail, after = logged.tail, logged.tail.after or ""
    is_cut = bool(after) if is_own_pattern else not may_follow(after.encode())
    if tail.listener is None and logged.generation == "request_header_struct":
        is_cut = True
    elif tail.listener is None and tail.principal and not is_own_pattern:
        last = tail.principal[-_LONGEST_END:]
        ends = (last[begin.start() :] for begin in _AFTER_PRINCIPAL.finditer(last))
        is_cut = _NO_PRINCIPAL.search(tail.principal) is not None or any(may_follow(end.encode()) for end in ends)
    if is_cut:
        raise MalformedRecord("malformed_tail", "what the log's pattern writes after the last field may be part of it")
