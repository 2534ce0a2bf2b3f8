"""Records to events: one record in, one `RequestEvent`, `RejectedRecord` or `IgnoredRecord` out, never an exception.

A parser belongs to one file (or one range of it) and reads its records in order, because two things need order:
the repeated hour of a log in local time, and requests that the broker logged twice.
"""

import re
from collections import OrderedDict

from ..protocol import request_header_version
from .clock import LogClock
from .connection import remote_end
from .framing import COMPLETED, MAX_RECORD, PREFIX, RawRecord, strip_logger
from .generations import api_key_struct, json, name_text, request_header_struct
from .generations.fields import LoggedRequest
from .group_payloads import group_payloads
from .request_event import (
    RAW_LIMIT,
    IgnoredKind,
    IgnoredRecord,
    MalformedRecord,
    RejectedRecord,
    RejectReason,
    RequestEvent,
)

_GENERATIONS = tuple(
    (start, module.read)
    for module in (json, request_header_struct, api_key_struct, name_text)
    for start in module.STARTS
)
_OTHER_KINDS: tuple[tuple[re.Pattern[bytes], IgnoredKind], ...] = (
    (re.compile(rb"Processor \d+ received request"), "received_request"),
    (re.compile(rb"Sending \w+ response to client"), "sending_response"),
    (re.compile(rb"Not sending \w+ response to client"), "not_sending_response"),
)
_HEADER_WITH_INSTANCE_ID = 3
_TWIN_MEMORY = 4096
_INSTANTS = range(253_370_764_800_000_000)
"""1970 to 9998 in microseconds: what every reader of the tables can show."""


class Parser:
    """Turns the records of one file into events.

    Args:
        zone: IANA name of the zone of the log's timestamps.
    """

    def __init__(self, zone: str = "UTC") -> None:
        """Start before the first record."""
        self._clock = LogClock(zone)
        self._recent: OrderedDict[tuple[object, ...], float] = OrderedDict()

    def parse(self, record: RawRecord) -> RequestEvent | RejectedRecord | IgnoredRecord:
        """The event of a record, whatever its bytes."""
        prefix = PREFIX.match(record.data)
        if prefix is None:
            return self._without_prefix(record)
        if not record.data.startswith(COMPLETED, prefix.end()):
            return IgnoredRecord(record.offset, self._kind(record.data, prefix.end()))
        if record.length > MAX_RECORD or len(record.data) < record.length:
            return _rejected(record, "oversized", f"{record.length} bytes, at most {MAX_RECORD} are read")
        if not record.finished:
            return _rejected(record, "unfinished", "the file ends inside this record")
        try:
            return self._request(record, prefix)
        except MalformedRecord as error:
            return _rejected(record, error.reason, error.detail)
        except (ValueError, OverflowError) as error:  # a 31st of February, a number of 5,000 digits
            return _rejected(record, "malformed_value", str(error)[:200])

    @staticmethod
    def _without_prefix(record: RawRecord) -> RejectedRecord | IgnoredRecord:
        if record.length == len(record.data) and not record.data.strip():
            return IgnoredRecord(record.offset, "blank")
        return _rejected(
            record,
            "no_record_start",
            "no timestamp and level at its start: text of a record that began before",
        )

    @staticmethod
    def _kind(data: bytes, start: int) -> IgnoredKind:
        for pattern, kind in _OTHER_KINDS:
            if pattern.match(data, start):
                return kind
        return "other"

    def _request(self, record: RawRecord, prefix: re.Match[bytes]) -> RequestEvent:
        message = strip_logger(record.data)
        if message is None:
            raise MalformedRecord("unfinished", "no ` (logger)` at the record's end")
        message = message[prefix.end() + len(COMPLETED) :]
        for start, read in _GENERATIONS:
            if message.startswith(start):
                logged = read(message)
                return self._event(record.offset, self._clock.micros(prefix[1], prefix[2]), prefix[3], logged)
        raise MalformedRecord("malformed_header", "neither JSON nor one of the three text forms")

    def _event(self, offset: int, logged_at: int, level: bytes, logged: LoggedRequest) -> RequestEvent:
        header, tail = logged.header, logged.tail
        host, port = remote_end(tail.connection_id)
        version = request_header_version(header.api_key, header.api_version)
        started_at = logged_at - round(tail.total_time_ms * 1000)
        if logged_at not in _INSTANTS or started_at not in _INSTANTS:
            raise MalformedRecord("malformed_value", "logged or started before 1970 or after 9998")
        return RequestEvent(
            offset,
            logged_at,
            started_at,
            tail.connection_id,
            host,
            port,
            tail.listener,
            tail.security_protocol,
            tail.principal,
            header.api_key,
            header.api_name,
            header.api_version,
            version if logged.client_instance_id is None else _HEADER_WITH_INSTANCE_ID,
            header.correlation_id,
            header.client_id,
            logged.client_instance_id,
            tail.software_name,
            tail.software_version,
            logged.is_forwarded,
            self._is_twin(logged),
            logged.error_code,
            tail.total_time_ms,
            tail.request_queue_time_ms,
            tail.local_time_ms,
            tail.remote_time_ms,
            tail.throttle_time_ms,
            tail.response_queue_time_ms,
            tail.send_time_ms,
            logged.generation,
            level.decode("ascii"),
            logged.request,
            logged.response,
            logged.deprecated,
            logged.replica_id,
            group_payloads(header.api_key, logged.request, logged.response) if logged.generation == "json" else None,
        )

    def _is_twin(self, logged: LoggedRequest) -> bool:
        """Whether the broker logged this very request before: the same times, only the total has grown.

        Integer milliseconds (before 0.11) are too coarse to tell twins from requests that are alike.
        """
        header, tail = logged.header, logged.tail
        if tail.throttle_time_ms is None:
            return False
        key = (
            tail.connection_id,
            header.correlation_id,
            header.api_key,
            header.client_id,
            tail.request_queue_time_ms,
            tail.local_time_ms,
            tail.remote_time_ms,
            tail.throttle_time_ms,
            tail.response_queue_time_ms,
        )
        earlier = self._recent.setdefault(key, tail.total_time_ms)
        if tail.total_time_ms > earlier:
            return True
        if len(self._recent) > _TWIN_MEMORY:
            self._recent.popitem(last=False)
        return False


def _rejected(record: RawRecord, reason: RejectReason, detail: str) -> RejectedRecord:
    return RejectedRecord(record.offset, reason, detail, record.data[:RAW_LIMIT], record.length)
