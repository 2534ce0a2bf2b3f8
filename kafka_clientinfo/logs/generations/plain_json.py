"""The form that nearly all JSON records have, written down so narrowly that reading it needs no JSON parser.

A plain record is one line in Kafka's own layout, as brokers from 2.8 on write it: every field in its place, no
backslash anywhere, numbers in the plainest notation, texts in valid UTF-8. The patterns accept less than `json`
does, never more: without backslash no text can hold a quote, so a text ends where its pattern says; a number has one
meaning; a field that is missing, null, doubled or new fits no pattern. What they don't accept is no error, it is
read by `json`, which says what a record means.

Each record is cut into pieces, most of which repeat from record to record (a connection id, a client's name, what
stands behind the times), so that each different piece is looked at once:

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

_TEXT = rb'"([^"\\\x00-\x1f]*)"'
_COUNT = rb"(?:0|[1-9]\d{0,3})"
_MILLISECONDS = rb"((?:0|[1-9]\d{0,8})(?:\.\d{1,6})?)"
"""Fifteen digits at most: each has one meaning as a double, and less than twelve days."""
_INTEGER = rb"(?:0|[1-9]\d{0,17})"
_BOOLEAN = rb"(true|false)"

HEAD = re.compile(
    rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:[0-5]\d),(\d{3})\] (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) Completed request:"
    rb'(\{"isForwarded":(?:true|false),"requestHeader":\{"requestApiKey":%b,"requestApiVersion":%b)'
    rb',"correlationId":(0|-?(?:[1-9]\d{0,8}|1\d{9}|20\d{8}|21[0-3]\d{7})),"clientId":' % (_COUNT, _COUNT)
)
"""Groups: date and time, milliseconds, level, API, correlation id (an int32)."""
REQUEST = b',"request":'
"""Ends the header."""
CONNECTION = b',"connection":"'
"""Begins what stands behind the bodies, where it stands last."""
_NAMES = ("total", "requestQueue", "local", "remote", "throttle", "responseQueue", "send")
TIMES = re.compile(
    rb',"connection":"([^"\\\x00-\x1f]+)"' + b"".join(rb',"%bTimeMs":%b' % (n.encode(), _MILLISECONDS) for n in _NAMES)
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
    """What a client says of itself in a request's header, and whether the version is deprecated."""

    client_id: str | None
    client_instance_id: str | None
    api_version_deprecated: bool


class End(NamedTuple):
    """What stands behind the times."""

    security_protocol: str
    principal: str
    listener: str
    client_software_name: str
    client_software_version: str


def read_api(piece: bytes) -> Api | None:
    """The fourth group of HEAD; None where the API is not known, so that its name is what the broker says."""
    found = _API.fullmatch(piece)
    if found is None:
        return None
    key, version = int(found[2]), int(found[3])
    name = api_name(key)
    return None if name is None else Api(found[1] == b"true", key, name, version, request_header_version(key, version))


def read_client(piece: bytes) -> Client | None:
    """What stands between HEAD and REQUEST; None where it is not plain."""
    found = _CLIENT.fullmatch(piece)
    if found is None:
        return None
    try:
        found[3].decode()
        client_id, instance_id = (None if text is None else text.decode() for text in (found[1], found[2]))
    except UnicodeDecodeError:
        return None
    return Client(client_id, instance_id, found[4] == b"true")


def read_end(piece: bytes) -> End | None:
    """What stands behind TIMES, up to the line end; None where it is not plain."""
    found = _END.fullmatch(piece)
    try:
        return None if found is None else End(*(text.decode() for text in found.groups()[:5]))
    except UnicodeDecodeError:
        return None
