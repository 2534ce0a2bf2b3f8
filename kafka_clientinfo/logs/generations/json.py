"""The reader of the generation in JSON, which is that of 2.8 and later, and of KIP-1313's header v3.

Only the fields before the request and after the response are parsed, because the bodies between them are most of the
bytes. JSON strings have escaped quotes, so `,"request":` and `,"connection":"` cannot be text of a string.
"""

import json
import re
from typing import Any, NamedTuple

from ...printable import encodable
from ..apis import CONTROL_APIS, LOGGER_API, REPLICA_APIS, TOPIC_APIS
from ..error_codes import ErrorCodes, json_error_codes
from ..json_bodies import json_body
from ..request_event import MalformedRecord
from .fields import INT16, INT32, LONGEST_MS, Header, LoggedRequest, TextTail, Times, read_header, read_integer
from .plain_json import CONNECTION, REQUEST

_RESPONSE = b',"response":'
_LOGGER = b'"resourceType":8,'
"""The sign of an answer that names loggers of a broker, which the request has set."""
# The top-level error code stands before any array or after all of them, so it is found from the body's first brace, or
# before its last one.
_ERROR_LEFT = re.compile(rb'\{(?:"\w+":(?:-?\d+|null|true|false|"[^"\\]*"),){0,6}"errorCode":(-?\d{1,6})[,}]')
_ERROR_RIGHT = re.compile(rb'"errorCode":(-?\d{1,6})\}\Z')
_ERROR_CODE = b'"errorCode":'
_REPLICA = re.compile(
    rb'\{"(?:clusterId":(?:null|"[^"\\]*"),")?replicaId":(\d{1,9}),|.{0,200}?"replicaState":\{"replicaId":(\d{1,9}),'
)
_REPLICA_HINT = re.compile(rb'replicaId":\d')
_REPLICA_WINDOW = 300
"""Bytes; longer than a match of `_REPLICA` without a cluster id."""
_CLUSTER_ID = b'{"clusterId":"'
_TIMES = ("totalTimeMs", "requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "throttleTimeMs", "responseQueueTimeMs",
          "sendTimeMs")  # fmt: skip
_INSTANCE_ID = re.compile(r"[A-Za-z0-9_-]{22}")


Bodies = tuple[int | None, str | None, str | None, int | None, ErrorCodes | None]
"""The response's own error code, the texts of request and response, the replica id, and all error codes; texts are kept
for control APIs and logger settings only."""


def read(message: bytes) -> LoggedRequest:
    """Read a message that starts with `{"`.

    Raises:
        MalformedRecord: `malformed_json`, `malformed_header`, `malformed_tail` or `malformed_value`.
    """
    at_request = message.find(REQUEST)
    at_connection = message.rfind(CONNECTION)
    if at_request < 0 or at_connection < at_request:
        raise MalformedRecord("malformed_json", "no request between a requestHeader and a connection")
    left = _object(message[:at_request] + b"}")
    right = _object(b"{" + message[at_connection + 1 :])
    header, deprecated = _header(left)
    start, end, answer = places = body_places(message, at_request, at_connection)
    is_forwarded, tail = left.get("isForwarded") is True, _tail(right, at_connection)
    values = read_bodies(message, places, at_connection, header.api_key)
    bodies = (message[start:end], message[answer:at_connection]) if header.api_key in TOPIC_APIS else None
    return LoggedRequest("json", header, tail, is_forwarded, *values, deprecated, bodies)


class BodyPlaces(NamedTuple):
    """Where the bodies of a record are; the response ends where the connection begins, and is empty if there is none."""

    request: int
    request_end: int
    response: int


def body_places(data: bytes, at_request: int, at_connection: int) -> BodyPlaces:
    """Find the bodies; `REQUEST` and the last `CONNECTION` are at these positions."""
    between = data.find(_RESPONSE, at_request, at_connection)
    end, answer = (between, between + len(_RESPONSE)) if between >= 0 else (at_connection, at_connection)
    return BodyPlaces(at_request + len(REQUEST), end, answer)


def read_bodies(data: bytes, places: BodyPlaces, at_connection: int, key: int) -> Bodies:
    """Return the values taken from request and response; the last `CONNECTION` is at this position."""
    start, end, answer = places
    keeps_bodies = key in CONTROL_APIS
    keeps_answer = keeps_bodies or (key == LOGGER_API and data.find(_LOGGER, answer, at_connection) >= 0)
    return (
        json_error_code(data, answer, at_connection),
        json_body(data[start:end]) if keeps_bodies else None,
        json_body(data[answer:at_connection]) if keeps_answer else None,
        _replica_id(data, start, end) if key in REPLICA_APIS else None,
        json_error_codes(data, answer, at_connection),
    )


def json_error_code(data: bytes, start: int, end: int) -> int | None:
    """Return the top-level errorCode of the response at data[start:end]; None if it has none."""
    error_code = _ERROR_LEFT.match(data, start, end)
    if error_code is None and data.find(_ERROR_CODE, max(start, end - 32), end) >= 0:
        error_code = _ERROR_RIGHT.search(data, max(start, end - 32), end)
    return int(error_code[1]) if error_code else None


def _object(text: bytes) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(text.decode("utf-8", "replace"))
    except RecursionError:  # its own text depends on the caller's depth
        raise MalformedRecord("malformed_json", "nested too deeply") from None
    except ValueError as error:
        raise MalformedRecord("malformed_json", str(error)) from None
    return value


def _header(left: dict[str, Any]) -> tuple[Header, bool]:
    header = left.get("requestHeader")
    if not isinstance(header, dict):
        raise MalformedRecord("malformed_header", "no requestHeader object")
    key = read_integer(header.get("requestApiKey"), INT16, "requestApiKey")
    stated = _text(header.get("requestApiKeyName"), "requestApiKeyName")
    instance_id = _text(header.get("clientInstanceId"), "clientInstanceId")
    if instance_id is not None and not _INSTANCE_ID.fullmatch(instance_id):
        raise MalformedRecord("malformed_value", f"clientInstanceId is {instance_id[:40]!r}, not a Uuid in base64url")
    deprecated = header.get("requestApiVersionDeprecated")
    version = read_integer(header.get("requestApiVersion"), INT16, "requestApiVersion")
    correlation_id = read_integer(header.get("correlationId"), INT32, "correlationId")
    client_id = _text(header.get("clientId"), "clientId")
    return read_header(key, stated, version, correlation_id, client_id, instance_id), deprecated is True


def _tail(right: dict[str, Any], start: int) -> TextTail:
    software = right.get("clientInformation")
    stated = software if isinstance(software, dict) else {}
    connection = _text(right.get("connection"), "connection")
    if not connection:
        raise MalformedRecord("malformed_tail", "connection is empty")
    return TextTail(
        start,
        connection,
        Times._make([_number(right, name) for name in _TIMES]),
        _text(right.get("listener"), "listener"),
        _text(right.get("securityProtocol"), "securityProtocol"),
        _text(right.get("principal"), "principal"),
        _text(stated.get("softwareName"), "softwareName"),
        _text(stated.get("softwareVersion"), "softwareVersion"),
    )


def _number(right: dict[str, Any], name: str) -> float:
    value: Any = right.get(name)
    if type(value) in (float, int) and abs(value) < LONGEST_MS:
        return float(value)
    raise MalformedRecord("malformed_tail", f"{name} is {value!r:.80}, not a number of milliseconds")


def _text(value: object, what: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise MalformedRecord("malformed_value", f"{what} is {value!r:.80}, not a text")
    return encodable(value)


def _replica_id(data: bytes, start: int, end: int) -> int | None:
    near = min(end, start + _REPLICA_WINDOW)
    if _REPLICA_HINT.search(data, start, near) is None and not data.startswith(_CLUSTER_ID, start):
        return None  # consumers send -1; the pattern would search at every position before it failed
    replica = _REPLICA.match(data, start, end)
    return int(replica[1] or replica[2]) if replica else None
