"""The results of the parser: a request, a rejected record, or an ignored record.

Every record gives exactly one of them, or a `server_log.FailedRequest`, which counts as ignored. So for each file
records = requests + rejected + sum(ignored).
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from .broker_events import BrokerEvent

LogGeneration = Literal["name_text", "api_key_struct", "request_header_struct", "json"]

RejectReason = Literal[
    "no_record_start",  # text before the first record of the file, or a file that holds no record
    "unfinished",  # a record without its end, which can get no more bytes
    "malformed_header",  # a completed request with a request header that cannot be read
    "malformed_tail",  # a completed request without readable connection and times at its end
    "malformed_json",  # a completed request in JSON that is not valid JSON or lacks its request header
    "malformed_value",  # a record with a value of the wrong type or out of its range
    "oversized",  # a record longer than the limit
    "unreadable",  # bytes that cannot be decompressed; all bytes before them were read
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
"""Most bytes of a rejected record that are kept; its true length is kept as well."""


class RequestEvent(NamedTuple):
    """One completed request as its record states it.

    `logged_at` and `started_at` are in microseconds since the epoch, `*_time_ms` in milliseconds. `client_software_*`
    is what the broker knew *before* this request (KIP-511). `request` and `response` are JSON text in the form that
    brokers from 2.8 on log, for control APIs and for responses that name loggers, else None; `group_payloads` has their
    bytes decoded (see `group_bodies`). `forged_lines` is the number of records' starts in the client's texts, raw ones
    before 2.8 and escaped ones in JSON. `errors` has the error codes of the response (see `error_codes`).
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
    errors: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that should be a request but cannot be read as one.

    Attributes:
        byte_offset: offset of its first byte in the decompressed file.
        reason: what is wrong with it.
        detail: a description of the problem.
        raw: its first bytes, at most `RAW_LIMIT`.
        raw_length: its true length in bytes.
    """

    byte_offset: int
    reason: RejectReason
    detail: str
    raw: bytes
    raw_length: int


@dataclass(frozen=True, slots=True)
class IgnoredRecord:
    """A valid record of another kind, such as a received request at TRACE, which is only counted.

    Attributes:
        byte_offset: offset of its first byte in the decompressed file.
        kind: kind of the record.
        event: the event of the broker that it reports, or None.
    """

    byte_offset: int
    kind: IgnoredKind
    event: BrokerEvent | None = None


class MalformedRecord(Exception):
    """An error in a record, raised by a generation's module and caught by the parser."""

    def __init__(self, reason: RejectReason, detail: str) -> None:
        self.reason: RejectReason = reason
        self.detail = detail
        super().__init__(detail)
