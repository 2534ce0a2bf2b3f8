"""The parts of a request that records of all four generations state, before times are computed."""

from typing import NamedTuple

from ...protocol import api_name, request_header_version
from ..request_event import LogGeneration, MalformedRecord

HEADER_WITH_INSTANCE_ID = 3
INT16 = range(-(1 << 15), 1 << 15)
"""Values of API keys and versions."""
INT32 = range(-(1 << 31), 1 << 31)
"""Values of correlation ids."""
LONGEST_MS = 1e15
"""Milliseconds, about 31,000 years; a time as long is damaged."""

TIME_NAMES = ("total", "requestQueue", "local", "remote", "throttle", "responseQueue", "send")
"""The seven times as records name them, in the order of `Times`."""


class Header(NamedTuple):
    """A request header as logged, in the order of `RequestEvent`."""

    api_key: int
    api_name: str
    api_version: int
    header_version: int | None
    correlation_id: int
    client_id: str | None
    client_instance_id: str | None


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
    """Connection, times, and what the broker knew of the connection; `after` is what the log's pattern writes after them."""

    start: int
    connection_id: str
    times: Times
    listener: str | None
    security_protocol: str | None
    principal: str | None
    client_software_name: str | None
    client_software_version: str | None
    after: str | None = None


class LoggedRequest(NamedTuple):
    """Everything that the record of a completed request states, in any generation."""

    generation: LogGeneration
    header: Header
    tail: TextTail
    is_forwarded: bool = False
    error_code: int | None = None
    request: str | None = None
    response: str | None = None
    replica_id: int | None = None
    errors: tuple[tuple[int, int], ...] | None = None
    """The error codes of the response; see `error_codes`."""
    deprecated: bool | None = None
    bodies: tuple[bytes, bytes] | None = None
    """Request and response as logged; only of APIs with topics."""


def read_header(
    key: int, name: str | None, version: int, correlation_id: int, client_id: str | None, instance_id: str | None = None
) -> Header:
    """Return the header with the API's current name and the header's version; `name` is the API's logged name."""
    current_name = api_name(key) or name or f"UNKNOWN({key})"
    header_version = request_header_version(key, version) if instance_id is None else HEADER_WITH_INSTANCE_ID
    return Header(key, current_name, version, header_version, correlation_id, client_id, instance_id)


def read_integer(value: object, allowed: range, what: str) -> int:
    """Return `value`, an integer or its digits; `what` names it in errors.

    Raises:
        MalformedRecord: `malformed_value`; it is not an allowed integer.
    """
    if isinstance(value, bytes):
        value = int(value)
    if type(value) is not int or value not in allowed:
        shown = repr(value)[:80]
        raise MalformedRecord(
            "malformed_value", f"{what} is {shown}, not an integer in {allowed.start}..{allowed.stop - 1}"
        )
    return value
