"""The parser of failures in server.log: requests that the broker could not read, and logins that failed.

The request logger does not log such a request. The broker closes the connection and logs the reason in server.log, or
in the one file that all loggers share. The record is `Closing socket for CONNECTION because of error`, followed by the
exception. The broker logs the failure a second time as `Exception while processing request from`, which is not counted.
Failed logins name the channel, from 2.x on.

Clients' texts may hold such records (`broker_records`). So a request that could not be read counts only if exactly one
stack trace follows, as Java writes it, and a failed login only if nothing follows. Both name the connection before any
text of a client.
"""

import re
from dataclasses import dataclass
from typing import Literal

from ..protocol import api_key, api_name
from .broker_records import LOGIN, is_stack_trace
from .clock import LogClock
from .connection import remote_end
from .generations.fields import INT16

FailureReason = Literal["unsupported_version", "unknown_api", "unreadable_request", "failed_authentication", "other"]

_READ = 64 << 10
_DETAIL = 500
_LOGGER = r" ?\((?:[\w.$]*\.)?%s\)"
_CLOSING = re.compile(
    r"Closing socket for (\S{1,600}) because of error" + _LOGGER % "Processor" + r"(?: \[[^\n]{1,300}\])?\r?(?:\n|\Z)"
)
_LOGIN = re.compile(
    r"(?![^\n]*\([\w.$]+\)\r?\n\s*\S)"  # if its first line ends with a logger, no other line belongs to it
    + LOGIN.decode()
    + r"(\S+) \(channelId=(\S{1,600})\)(?: \((.*)\))?"
    + _LOGGER % "Selector"
    + r"\s*",
    re.DOTALL,
)
_REQUEST = re.compile(
    r"Error getting request for apiKey: (-?\w{1,64})(?:,| and) apiVersion: (-?[0-9]{1,5})"
    r"(?:, connectionId: \S+, listenerName: ListenerName\(([^)]*)\), principal: ([^\n]*))?"
)
_VERSION = re.compile(
    r"Received request for api with key (-?[0-9]{1,5}) \(\w+\) and unsupported version (-?[0-9]{1,5})"
)
_DISABLED = re.compile(r"Received request api key (-?\w{1,64}) with version (-?[0-9]{1,5}) which is not enabled")
_GUESS = re.compile(r"(?:Our best guess of the apiKey(?:Id)? is: |Unknown API key )(-?[0-9]{1,5})")
_UNSUPPORTED = re.compile(
    r"Invalid version for API key|unsupported version|UnsupportedVersionException|which is not enabled"
)
_UNKNOWN_API = re.compile(r"Unexpected ApiKeys id|Unexpected api key|Unknown API key")
_EXCEPTION = re.compile(r"^[\w.$]+(?:Exception|Error)\b[^\n]*", re.MULTILINE)
_UNREADABLE = re.compile(r"Error parsing request header|Error getting request|SchemaException|BufferUnderflow")
_NUMBER = re.compile(r"-?[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class FailedRequest:
    """A request or a login that failed before it could be logged as a request.

    `logged_at` is in microseconds since the epoch. `api_key` and `api_version` are as the broker read them; None if it
    could not.
    """

    byte_offset: int
    logged_at: int
    connection_id: str
    remote_host: str | None
    api_key: int | None
    api_name: str | None
    api_version: int | None
    listener: str | None
    principal: str | None
    reason: FailureReason
    detail: str


def failed_request(
    offset: int, data: bytes, prefix: re.Match[bytes], clock: LogClock, escaped: bool = False
) -> FailedRequest | None:
    """Return the failure that a record of a broker's log reports; None if it reports none.

    `data` includes the stack trace after the record. `escaped` is that of `RawRecord`; if it is true, clients' texts
    cannot forge a record, so lines after it are not checked.
    """
    if prefix[4] not in (b"ERROR", b"INFO"):
        return None
    rest = data[prefix.end() : prefix.end() + _READ]
    if len(data) > prefix.end() + _READ:
        rest = rest[: rest.rfind(b"\n") + 1]
    text = rest.decode("utf-8", "replace")
    closing, login = _CLOSING.match(text), _LOGIN.fullmatch(text)
    if closing and not escaped and not is_stack_trace(rest.partition(b"\n")[2]):
        return None
    if not closing and not login:
        return None
    try:
        at = clock.micros(prefix[1], prefix[2], prefix[3])
    except ValueError:
        return None
    if closing:
        return _closed(offset, at, closing[1], text)
    assert login is not None
    detail = (login[3] or "no reason is logged")[:_DETAIL]
    host = remote_end(login[2])[0]
    return FailedRequest(offset, at, login[2], host, None, None, None, None, None, "failed_authentication", detail)


def _closed(offset: int, at: int, connection: str, text: str) -> FailedRequest:
    request, guess = _REQUEST.search(text), _GUESS.search(text)
    version = _VERSION.search(text) or _DISABLED.search(text)
    key, number = (request[1], request[2]) if request else (version[1], version[2]) if version else (None, None)
    api = _api(key) if key is not None else _number(guess[1]) if guess else None
    exception = _EXCEPTION.search(text)
    return FailedRequest(
        offset,
        at,
        connection,
        remote_end(connection)[0],
        api,
        None if api is None else api_name(api) or f"UNKNOWN({api})",
        _number(number),
        request[3] if request else None,
        request[4] if request else None,
        _reason(text),
        (exception[0] if exception else "no exception is logged")[:_DETAIL],
    )


def _reason(text: str) -> FailureReason:
    if _UNKNOWN_API.search(text):
        return "unknown_api"
    if _UNSUPPORTED.search(text):
        return "unsupported_version"
    return "unreadable_request" if _UNREADABLE.search(text) else "other"


def _api(key: str) -> int | None:
    return _number(key) if _NUMBER.fullmatch(key) else api_key(key)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and int(text) in INT16 else None
