"""What the four generations share: the parts of a request that a record states, before times are computed."""

from typing import NamedTuple

from ...protocol import api_name, request_header_version
from ..request_event import LogGeneration, MalformedRecord
from ..text_tail import TextTail

HEADER_WITH_INSTANCE_ID = 3
INT16 = range(-(1 << 15), 1 << 15)
"""API keys and versions."""
INT32 = range(-(1 << 31), 1 << 31)
"""Correlation ids."""


class Header(NamedTuple):
    """A request header as logged, in the order of `RequestEvent`."""

    api_key: int
    api_name: str
    api_version: int
    header_version: int | None
    correlation_id: int
    client_id: str | None
    client_instance_id: str | None


class LoggedRequest(NamedTuple):
    """Everything that a completed request's record states, whatever its generation."""

    generation: LogGeneration
    header: Header
    tail: TextTail
    is_forwarded: bool = False
    error_code: int | None = None
    request: str | None = None
    response: str | None = None
    replica_id: int | None = None
    deprecated: bool | None = None


def read_header(
    key: int, name: str | None, version: int, correlation_id: int, client_id: str | None, instance_id: str | None = None
) -> Header:
    """Complete what is logged by today's name of the API and the header's version; `name` is the one that is logged."""
    today = api_name(key) or name or f"UNKNOWN({key})"
    header_version = request_header_version(key, version) if instance_id is None else HEADER_WITH_INSTANCE_ID
    return Header(key, today, version, header_version, correlation_id, client_id, instance_id)


def read_integer(value: object, allowed: range, what: str) -> int:
    """`value`, a number or its digits, where it is one of those that are allowed."""
    if isinstance(value, bytes):
        value = int(value)
    if type(value) is not int or value not in allowed:
        found = repr(value)[:80]
        raise MalformedRecord(
            "malformed_value", f"{what} is {found}, not an integer in {allowed.start}..{allowed.stop - 1}"
        )
    return value
