"""Patterns for plain JSON records, which are nearly all of them; they read a record without a JSON parser.

A plain record is one line in Kafka's own layout, as brokers from 2.8 on write it: all fields in their usual order, no
backslash, numbers in the simplest notation, and texts in valid UTF-8. The patterns accept only a part of what `json`
accepts. Without a backslash no text can hold a quote, so the end of a text is certain, and a number has one meaning. A
field that is missing, null, doubled or new fits no pattern. `json` reads the records that fit no pattern.

A record is cut into pieces. Most pieces repeat from record to record (a connection id, a client's name, the fields
after the times), so each different piece is read once:

    [2026-11-21 02:45:09,935] DEBUG Completed request:          HEAD: time, fraction, level
    {"isForwarded":…,"requestHeader":{…"requestApiVersion":…    HEAD: the API
    ,"correlationId":…,"clientId":                              HEAD: the correlation id
    "…","requestApiKeyName":"…"}                                CLIENT
    ,"request":{…},"response":{…}                               bodies, see `json.read_bodies`
    ,"connection":"…","totalTimeMs":…,…,"sendTimeMs":…          TIMES
    ,"securityProtocol":"…",…} (kafka.request.logger)           END
"""

import re
from typing import NamedTuple

from ...protocol import api_name, request_header_version
from .fields import TIME_NAMES

_TEXT = rb'"([^"\\\x00-\x1f]*)"'
_COUNT = rb"(?:0|[1-9]\d{0,3})"
_MILLISECONDS = rb"((?:0|[1-9]\d{0,8})(?:\.\d{1,6})?)"
"""A number of at most fifteen digits, which every reader converts to the same double; less than twelve days."""
_INTEGER = rb"(?:0|[1-9]\d{0,17})"
_BOOLEAN = rb"(true|false)"

HEAD = re.compile(
    rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:[0-5]\d),(\d{3})\] (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) Completed request:"
    rb'(\{"isForwarded":(?:true|false),"requestHeader":\{"requestApiKey":%b,"requestApiVersion":%b)'
    rb',"correlationId":(0|-?(?:[1-9]\d{0,8}|1\d{9}|20\d{8}|21[0-3]\d{7})),"clientId":' % (_COUNT, _COUNT)
)
"""Groups: date and time, milliseconds, level, API, correlation id (an int32)."""
REQUEST = b',"request":'
"""The bytes that end the header."""
CONNECTION = b',"connection":"'
"""The bytes that follow the bodies; their last occurrence counts."""
TIMES = re.compile(
    rb',"connection":"([^"\\\x00-\x1f]+)"'
    + b"".join(rb',"%bTimeMs":%b' % (n.encode(), _MILLISECONDS) for n in TIME_NAMES)
)
"""Groups: connection id, the seven times."""
_API = re.compile(rb'\{"isForwarded":(true|false),"requestHeader":\{"requestApiKey":(\d+),"requestApiVersion":(\d+)')
_CLIENT = re.compile(
    rb'(?:null|%b)(?:,"clientInstanceId":"([A-Za-z0-9_-]{22})")?,"requestApiKeyName":%b'
    rb'(?:,"requestApiVersionDeprecated":%b)?\}' % (_TEXT, _TEXT, _BOOLEAN)
)
_END = re.compile(
    rb',"securityProtocol":%b,"principal":%b,"listener":%b'
    rb',"clientInformation":\{"softwareName":%b,"softwareVersion":%b\}'
    rb'(?:,"temporaryMemoryBytes":%b)?(?:,"messageConversionsTime":%b)?\} \(kafka\.request\.logger\)\n'
    % (_TEXT, _TEXT, _TEXT, _TEXT, _TEXT, _INTEGER, _MILLISECONDS)
)


class Api(NamedTuple):
    """An API and version."""

    is_forwarded: bool
    api_key: int
    api_name: str
    api_version: int
    header_version: int | None


class Client(NamedTuple):
    """The client's ids in a request's header, and whether the request's version is deprecated."""

    client_id: str | None
    client_instance_id: str | None
    api_version_deprecated: bool


class End(NamedTuple):
    """The fields after the times."""

    security_protocol: str
    principal: str
    listener: str
    client_software_name: str
    client_software_version: str


def read_api(piece: bytes) -> Api | None:
    """Read the fourth group of HEAD; None if the API is not known, because then the broker's name for it counts."""
    api = _API.fullmatch(piece)
    if api is None:
        return None
    key, version = int(api[2]), int(api[3])
    name = api_name(key)
    return None if name is None else Api(api[1] == b"true", key, name, version, request_header_version(key, version))


def read_client(piece: bytes) -> Client | None:
    """Read the bytes between HEAD and REQUEST; None if they are not plain."""
    client = _CLIENT.fullmatch(piece)
    if client is None:
        return None
    try:
        client[3].decode()
        client_id, instance_id = (None if text is None else text.decode() for text in (client[1], client[2]))
    except UnicodeDecodeError:
        return None
    return Client(client_id, instance_id, client[4] == b"true")


def read_end(piece: bytes) -> End | None:
    """Read the bytes after TIMES, up to the line end; None if they are not plain."""
    end = _END.fullmatch(piece)
    try:
        return None if end is None else End(*(text.decode() for text in end.groups()[:5]))
    except UnicodeDecodeError:
        return None
