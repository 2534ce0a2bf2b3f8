"""What the parser makes of a record: a request, a rejected record, or one that is counted and passed over.

Exactly one comes out for every record (or a `server_log.FailedRequest`, which counts as passed over), so that per file
records = requests + rejected + sum(ignored) always holds.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from .broker_events import BrokerEvent

LogGeneration = Literal["name_text", "api_key_struct", "request_header_struct", "json"]

RejectReason = Literal[
    "no_record_start",  # text before the first record of the file, or a file that holds no record
    "unfinished",  # a record that stops before its end, and no more can follow
    "malformed_header",  # a completed request whose request header cannot be read
    "malformed_tail",  # a completed request without readable connection and times at its end
    "malformed_json",  # a completed request in JSON that is not valid JSON or lacks its request header
    "malformed_value",  # a record with a value of the wrong type or out of its range
    "oversized",  # a record longer than the limit
    "unreadable",  # bytes that could not be decompressed; what stood before them was read
]

IgnoredKind = Literal[
    "received_request",
    "sending_response",
    "not_sending_response",
    "handling_request",
    "blank",
    "failed_request",
    "server_log",
    "other_logger",
    "other",
]

RAW_LIMIT = 1 << 20
"""Bytes of a rejected record that are kept (its true length is kept beside them)."""


class RequestEvent(NamedTuple):
    """One completed request as its record states it.

    Times are microseconds since the epoch (`logged_at`, `started_at`) or milliseconds (`*_time_ms`).
    `client_software_*` is the broker's knowledge *before* this request (KIP-511). `request` and `response` are
    JSON text in the shape that brokers from 2.8 on log, for control APIs only, else None; `group_payloads` is what
    the bytes in them mean (see the module of that name). `forged_lines` counts starts of log records in texts that the
    client wrote: raw ones before 2.8, escaped ones in JSON.
    """

    byte_offset: int
    logged_at: int
    started_at: int
    connection_id: str
    remote_host: str | None
    remote_port: int | None
    listener: str | None
    security_protocol: str | None
    principal: str | None
    api_key: int
    api_name: str
    api_version: int
    header_version: int | None
    correlation_id: int
    client_id: str | None
    client_instance_id: str | None
    client_software_name: str | None
    client_software_version: str | None
    is_forwarded: bool
    is_duplicate: bool
    error_code: int | None
    total_time_ms: float
    request_queue_time_ms: float | None
    local_time_ms: float | None
    remote_time_ms: float | None
    throttle_time_ms: float | None
    response_queue_time_ms: float | None
    send_time_ms: float | None
    log_generation: LogGeneration
    log_level: str
    request: str | None
    response: str | None
    api_version_deprecated: bool | None
    replica_id: int | None
    group_payloads: str | None
    forged_lines: int = 0


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that should have been a request and is not readable as one.

    Attributes:
        byte_offset: where it starts in the decompressed file.
        reason: what is wrong with it.
        detail: what was found, in words.
        raw: its bytes, up to `RAW_LIMIT`.
        raw_length: its true length in bytes.
    """

    byte_offset: int
    reason: RejectReason
    detail: str
    raw: bytes
    raw_length: int


@dataclass(frozen=True, slots=True)
class IgnoredRecord:
    """A genuine record of another kind, such as TRACE's received requests; only counted.

    Attributes:
        byte_offset: where it starts in the decompressed file.
        kind: what it is.
        event: what it says of the broker, if it does.
    """

    byte_offset: int
    kind: IgnoredKind
    event: BrokerEvent | None = None


class MalformedRecord(Exception):
    """Raised inside this package only, between a generation's module and the parser; never leaves it."""

    def __init__(self, reason: RejectReason, detail: str) -> None:
        self.reason: RejectReason = reason
        self.detail = detail
        super().__init__(detail)
