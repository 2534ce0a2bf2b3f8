"""2.8 to today, and KIP-1313's header v3: one JSON object.

Only what stands left of the request and right of the response is parsed: the bodies between them are most of the
bytes. Quotes inside JSON strings are escaped, so `},"request":` and `,"connection":"` cannot be text of a string.
"""

import json
import re
from typing import Any, NamedTuple

from ..apis import CONTROL_APIS, LOGGER_API, REPLICA_APIS
from ..json_bodies import json_body
from ..request_event import MalformedRecord
from ..text_tail import LONGEST_MS, TextTail, Times
from .fields import INT16, INT32, Header, LoggedRequest, read_header, read_integer
from .plain_json import CONNECTION, REQUEST

_RESPONSE = b',"response":'
# The top-level error code stands before any array or after all of them, never inside: the first brace opens the
# body and the last one closes it.
_LOGGER = b'"resourceType":8,'
_ERROR_LEFT = re.compile(rb'\{(?:"\w+":(?:-?\d+|null|true|false|"[^"\\]*"),){0,6}"errorCode":(-?\d{1,6})[,}]')
_ERROR_RIGHT = re.compile(rb'"errorCode":(-?\d{1,6})\}\Z')
_ERROR_CODE = b'"errorCode":'
_REPLICA = re.compile(
    rb'\{"(?:clusterId":(?:null|"[^"\\]*"),")?replicaId":(\d{1,9}),|.{0,200}?"replicaState":\{"replicaId":(\d{1,9}),'
)
_REPLICA_HINT = re.compile(rb'replicaId":\d')
_REPLICA_WINDOW = 300
"""What `_REPLICA` matches is shorter, but for a cluster id."""
_CLUSTER_ID = b'{"clusterId":"'
_TIMES = ("totalTimeMs", "requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "throttleTimeMs", "responseQueueTimeMs",
          "sendTimeMs")  # fmt: skip
_SURROGATE = re.compile("[\ud800-\udfff]")
_INSTANCE_ID = re.compile(r"[A-Za-z0-9_-]{22}")


class Bodies(NamedTuple):
    """What is taken from the bodies of a record; the texts of control APIs only."""

    error_code: int | None
    request: str | None
    response: str | None
    replica_id: int | None


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
    bodies = read_bodies(message, at_request, at_connection, header.api_key)
    is_forwarded, tail = left.get("isForwarded") is True, _tail(right, at_connection)
    return LoggedRequest("json", header, tail, is_forwarded, *bodies, deprecated)


def read_bodies(data: bytes, at_request: int, at_connection: int, key: int) -> Bodies:
    """What is taken from request and response, by the places where `REQUEST` and the last `CONNECTION` begin."""
    start = at_request + len(REQUEST)
    between = data.find(_RESPONSE, at_request, at_connection)
    end = between if between >= 0 else at_connection
    answer = between + len(_RESPONSE) if between >= 0 else at_connection
    kept = key in CONTROL_APIS
    return Bodies(
        json_error_code(data, answer, at_connection),
        json_body(data[start:end]) if kept else None,
        json_body(data[answer:at_connection]) if kept or _names_logger(data, answer, at_connection, key) else None,
        _replica_id(data, start, end) if key in REPLICA_APIS else None,
    )


def _names_logger(data: bytes, start: int, end: int, key: int) -> bool:
    """Tell whether an answer names a broker's loggers, of which it says that they were set."""
    return key == LOGGER_API and data.find(_LOGGER, start, end) >= 0


def json_error_code(data: bytes, start: int, end: int) -> int | None:
    """The top-level errorCode of the response at data[start:end]; None where it has none."""
    found = _ERROR_LEFT.match(data, start, end)
    if found is None and data.find(_ERROR_CODE, max(start, end - 32), end) >= 0:
        found = _ERROR_RIGHT.search(data, max(start, end - 32), end)
    return int(found[1]) if found else None


def _object(text: bytes) -> dict[str, Any]:
    """Read what stands between two braces."""
    try:
        value: dict[str, Any] = json.loads(text.decode("utf-8", "replace"))
    except RecursionError:  # whose text depends on how deep the caller is
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
    known = software if isinstance(software, dict) else {}
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
        _text(known.get("softwareName"), "softwareName"),
        _text(known.get("softwareVersion"), "softwareVersion"),
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
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", value) if not value.isascii() else value


def _replica_id(data: bytes, start: int, end: int) -> int | None:
    near = min(end, start + _REPLICA_WINDOW)
    if _REPLICA_HINT.search(data, start, near) is None and not data.startswith(_CLUSTER_ID, start):
        return None  # without the price of trying every place, which consumers' -1 has
    found = _REPLICA.match(data, start, end)
    return int(found[1] or found[2]) if found else None
