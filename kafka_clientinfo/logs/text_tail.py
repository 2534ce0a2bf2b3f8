"""The tail of a completed request in text (before 2.8): ` from connection …;totalTime:…,principal:…`.

The client's texts before it may hold a perfect copy of a tail, so the rightmost tail that reaches to the record's end
is the broker's.
"""

import re
from typing import NamedTuple

from .request_event import MalformedRecord

LONGEST_MS = 1e15
"""Milliseconds, about 31,000 years; a time as long is damaged."""
# 0.11 writes times in the broker's locale, such as 272.278000 or 272,278000.
_TIME = rb"(-?\d{1,18}(?:[.,]\d{1,18})?(?:E-?\d{1,3})?)"
_TAIL = re.compile(
    rb" from (?:connection|client) ([^\s;]{1,600});totalTime:" + _TIME
    + rb",requestQueueTime:" + _TIME
    + rb",localTime:" + _TIME
    + rb",remoteTime:" + _TIME
    + rb"(?:,throttleTime:" + _TIME + rb")?"
    + rb",responseQueueTime:" + _TIME
    + rb",sendTime:" + _TIME
    + rb"(?:,securityProtocol:(\w+),principal:(.*?))?"
    + rb"(?:,temporaryMemoryBytes:-?\d+)?(?:,messageConversionsTime:[\d.,E-]+)?",
    re.DOTALL,
)  # fmt: skip
_LISTENER = b",listener:"
_AFTER_PRINCIPAL = re.compile(
    rb",listener:([^,]*)"
    rb"(?:,clientInformation:ClientInformation\(softwareName=([^,()]*), softwareVersion=([^,()]*)\))?"
)
_STARTS = (b" from connection ", b" from client ")
_MOST_TRIED = 16
"""So many beginnings of a tail are tried, the rightmost first."""


class Times(NamedTuple):
    """The seven times of a request in milliseconds, in the order of `RequestEvent`."""

    total_time_ms: float
    request_queue_time_ms: float
    local_time_ms: float
    remote_time_ms: float
    throttle_time_ms: float | None
    response_queue_time_ms: float
    send_time_ms: float


class TextTail(NamedTuple):
    """Connection, times, and what the broker knew of the connection; `start` is the tail's position in the message."""

    start: int
    connection_id: str
    times: Times
    listener: str | None
    security_protocol: str | None
    principal: str | None
    client_software_name: str | None
    client_software_version: str | None


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
    """Read the tail of a message without its logger.

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
            connection, *times, protocol, rest = tail.groups()
            principal, listener, name, version = _split_principal(rest)
            texts = map(_text, (listener, protocol, principal, name, version))
            return TextTail(at, connection.decode("utf-8", "replace"), Times._make(map(_number, times)), *texts)
        end = at
    raise MalformedRecord("malformed_tail", "no connection and times at the record's end")


def _split_principal(text: bytes | None) -> tuple[bytes | None, ...]:
    """Return principal, listener, software name and version; a principal may hold copies of the others."""
    at = -1 if text is None else text.rfind(_LISTENER)
    rest = None if text is None or at < 0 else _AFTER_PRINCIPAL.fullmatch(text, at)
    if text is None or rest is None:
        return text, None, None, None
    return text[:at], *rest.groups()
