"""The parsers of records. Each record gives one event.

    event           | record
    ----------------|------------------------------------------------------------------------------------------------
    RequestEvent    | a completed request
    RejectedRecord  | a completed request that cannot be read, or bytes that are not a whole record
    FailedRequest   | a failed request or login, in server.log or in a file that all loggers share
    IgnoredRecord   | any other; it is only counted, but may hold an event of the broker

A parser must get the records of its file in order, as the repeated hour of a log in local time depends on it. Call it
through `guarded`, which turns exceptions into rejected records.
"""

import re
from collections.abc import Callable
from typing import TypeVar

from .broker_events import broker_event
from .clock import LogClock
from .connection import remote_end
from .framing import MAX_RECORD, RawRecord
from .generations import json, text
from .generations.fields import LoggedRequest
from .group_bodies import group_payloads
from .heads import time_in, words_after
from .record_marks import (
    COMPLETED,
    HANDLING,
    JSON_START,
    LOGGER_END,
    LOGGER_WINDOW,
    OWN_WORDS,
    PREFIX,
    TOTAL_TIME,
    prefix_of,
    strip_logger,
)
from .request_event import (
    RAW_LIMIT,
    IgnoredKind,
    IgnoredRecord,
    MalformedRecord,
    RejectedRecord,
    RejectReason,
    RequestEvent,
)
from .server_log import FailedRequest, failed_request
from .topics.bodies import name_text_mentions, struct_mentions
from .topics.mentions import NOTHING, Mentions
from .topics.plain import json_record_mentions
from .torn import may_be_two
from .wrappers import LEFT_OUT

Event = RequestEvent | RejectedRecord | IgnoredRecord | FailedRequest
T = TypeVar("T")
_GENERATIONS: tuple[tuple[bytes, Callable[[bytes], LoggedRequest]], ...] = (
    (b'{"', json.read),
    (b"RequestHeader(apiKey=", text.read_request_header_struct),
    (b"{api_key=", text.read_api_key_struct),
    (b"Name:", text.read_name_text),
)
_TRACED_LOGGER = re.compile(rb"[^\n]{0,2000}?\(([A-Za-z_][\w.$]{0,255})\)(?: \[[^\r\n]{1,300}\])?\r?\n")
"""The line before a stack trace."""
_REQUEST_LOGGER = re.compile(rb"(?!s\w*\.c\w*\.logger)(?:.*\.)?(?:logger|RequestChannel\$)")
"""`kafka.request.logger` or `RequestChannel`'s, in full or shortened by `%c{1}`, `%c{1.}`; no `state.change.logger`."""
_REQUEST_TRACES = (COMPLETED, TOTAL_TIME, b'"requestHeader"', b'"totalTimeMs"', b"(kafka.request.logger)")
"""Text that occurs in pieces of requests, but hardly in other programs' lines."""
_BANNER = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,9}(?:={2,3}> |[^\n]{0,99} (?:==>|rc=0 >>)\s|Picked up [A-Z_]+: "
    rb"|(?:OpenJDK|Java HotSpot)[^\n]{0,99} VM warning: )"
)
"""The first output of the images of Apache Kafka, Confluent and Bitnami, of Java, and of `tail` and ansible."""
_ESCAPED_PREFIX = re.compile(
    rb"(?<!\\)(?:\\\\)*\\n\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^\s\]]{0,20}\]? {1,4}(?:\[[^\]]{1,200}\] )?"
    rb"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) "
)
_STRUCT_OR_FIELD = re.compile(rb"(?:[)}]|; ?(?!ClientId|CorrelationId|Version)[A-Z]\w{2,30}: ?[^;]*)\Z")
_OTHER_KINDS: tuple[tuple[re.Pattern[bytes], IgnoredKind, re.Pattern[bytes]], ...] = (
    (re.compile(rb"Processor \d+ received request"), "received_request", _STRUCT_OR_FIELD),
    (re.compile(rb"Sending \w+ response to client"), "sending_response", re.compile(rb" of \d{1,10} bytes\.\Z")),
    (
        re.compile(rb"Not sending \w+ response to client"),
        "not_sending_response",
        re.compile(rb" as it's not required\.\Z"),
    ),
    (HANDLING, "handling_request", re.compile(rb";securityProtocol:\w+,principal:(?:(?!Completed request:)[^\n])*\Z")),
)
"""The traces of a request: how their messages begin, and how those end of which a client's text holds a request's words."""
_OF_REQUEST = re.compile(
    rb'Completed request:(?:\{"isForwarded":|(?:RequestHeader\(|\{api_key=|Name:)(?!.*\(kafka\.request\.logger\)))'
    rb'|Time:|TimeMs":|[,"]securityProtocol| received request| response to client |Handling request:',
    re.DOTALL,
)
"""Text that follows a trace that is torn before a request, but hardly stands in a client's text."""
INSTANTS = range(253_370_764_800_000_000)
"""1970 to 9998 in microseconds, the times that every reader of the tables can show."""


class Parser:
    """Parser of the records of one request log.

    Args:
        zone: IANA name of the time zone of the log's timestamps.
        reads_topics: whether to read what requests say of topics.

    Attributes:
        mentions: what the request that was read last says of topics.
    """

    def __init__(self, zone: str = "UTC", reads_topics: bool = False) -> None:
        self.clock = LogClock(zone)
        self.mentions = NOTHING
        self._reads_topics = reads_topics

    def parse(self, record: RawRecord) -> Event:
        """Return the event of a record; `is_duplicate` is False, as other records decide it."""
        event = self._read(record)
        is_wrapped = isinstance(event, IgnoredRecord) and record.text is not None
        if is_wrapped and record.data.count(COMPLETED) > record.kafka_text.count(COMPLETED):
            return _rejected(record, "no_record_start", "its bytes hold a request that is no part of its text")
        return event

    def _read(self, record: RawRecord) -> Event:
        data = record.kafka_text
        prefix = prefix_of(data)
        if prefix is None:
            return self._without_prefix(record, data)
        if record.torn:
            return _torn(record)
        words = prefix.end() if OWN_WORDS.match(data, prefix.end()) else _words_after(data, prefix)
        if words > prefix.end():  # after a torn prefix, the time before the words counts
            prefix = PREFIX.match(data, data.rfind(b"[", prefix.end(), words)) or prefix
        if not data.startswith(COMPLETED, words or len(data)):
            return self._of_another_kind(record, data, prefix)
        if len(record.data) < record.length or len(data) > MAX_RECORD:
            return _rejected(record, "oversized", f"{record.length} bytes, at most {MAX_RECORD} are read")
        if not record.finished:
            return _rejected(record, "unfinished", "the file ends inside this record")
        try:
            return self._request(record, data, prefix, words)
        except MalformedRecord as error:
            return _rejected(record, error.reason, error.detail)
        except ValueError as error:  # a 31st of February
            return _rejected(record, "malformed_value", str(error))

    @staticmethod
    def _without_prefix(record: RawRecord, data: bytes) -> RejectedRecord | IgnoredRecord:
        is_whole, is_wrapped = record.length == len(record.data), record.text is not None
        if is_whole and not data.strip(b" \t\r\n\v\f\0"):
            return IgnoredRecord(record.offset, "blank")
        if is_wrapped and LEFT_OUT.match(data):
            return _rejected(record, "oversized", "journalctl has left the message out; export it with --all")
        if record.torn:
            return _torn(record)
        is_output = is_wrapped or (record.offset == 0 and is_whole and _BANNER.match(data) is not None)
        if is_output and not any(trace in data for trace in _REQUEST_TRACES):
            return IgnoredRecord(record.offset, "other_logger")
        if is_wrapped and not is_whole:
            return _rejected(record, "oversized", f"{record.length} bytes in one line, at most {MAX_RECORD} are read")
        return _rejected(
            record, "no_record_start", "no timestamp and level at its start: text of a record that began before"
        )

    def _of_another_kind(
        self, record: RawRecord, data: bytes, prefix: re.Match[bytes]
    ) -> FailedRequest | IgnoredRecord | RejectedRecord:
        if COMPLETED.startswith(data[prefix.end() : prefix.end() + 64].rstrip(b"\r\n\0")):
            return _torn(record)
        for begin, kind, end in _OTHER_KINDS:  # they may hold anything, raw, that a client wrote
            is_unfinished = not record.finished and COMPLETED in data
            if begin.match(data, prefix.end()) and not (is_unfinished or _may_hold_request(data, end)):
                return IgnoredRecord(record.offset, kind)
        logger = LOGGER_END.search(data, len(data) - LOGGER_WINDOW)
        logger = logger or _TRACED_LOGGER.match(data, prefix.end())
        is_ours = logger is None or _REQUEST_LOGGER.fullmatch(logger[1]) is not None
        failed = None if is_ours else failed_request(record.offset, data, prefix, self.clock, record.escaped)
        if failed is None and COMPLETED in data:
            return _rejected(
                record, "malformed_header", "`Completed request:` after words that are no head of a request"
            )
        if is_ours:
            return IgnoredRecord(record.offset, "other")
        return failed or IgnoredRecord(record.offset, "other_logger", broker_event(data, prefix, self.clock))

    def _request(self, record: RawRecord, data: bytes, prefix: re.Match[bytes], words: int) -> RequestEvent:
        message = strip_logger(data)
        if message is None:
            raise MalformedRecord("unfinished", "no ` (logger)` at the record's end")
        message = message[words + len(COMPLETED) :]
        if message.startswith(b'{"'):
            if b"\n" in message or (b" " in message and JSON_START in message):  # one byte is found much faster
                raise MalformedRecord(
                    "malformed_json", "two records ran into one, or a line break is raw: it is damaged"
                )
        elif may_be_two(message, record.text is not None) or not data.rstrip(b"\r\n\0").endswith(b"logger)"):
            raise MalformedRecord(
                "unfinished", "another record may begin inside this one, as after a broker was killed"
            )
        for start, read in _GENERATIONS:
            if message.startswith(start):
                logged = read(message)
                if logged.generation != "json":
                    text.check_end(logged, record.text is None)
                logged_at = self.clock.micros(prefix[1], prefix[2], prefix[3])
                self.mentions = _mentions(logged) if self._reads_topics else NOTHING
                return self._event(record.offset, logged_at, prefix[4], logged, _forged(record, message))
        raise MalformedRecord("malformed_header", "neither JSON nor one of the three text forms")

    def _event(self, offset: int, logged_at: int, level: bytes, logged: LoggedRequest, forged: int) -> RequestEvent:
        header, tail = logged.header, logged.tail
        host, port = remote_end(tail.connection_id)
        started_at = logged_at - round(tail.times.total_time_ms * 1000)
        if logged_at not in INSTANTS or started_at not in INSTANTS:
            raise MalformedRecord("malformed_value", "logged or started before 1970 or after 9998")
        is_json = logged.generation == "json"
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
            *header,
            tail.client_software_name,
            tail.client_software_version,
            logged.is_forwarded,
            False,
            logged.error_code,
            *tail.times,
            logged.generation,
            level.decode("ascii"),
            logged.request,
            logged.response,
            logged.deprecated,
            logged.replica_id,
            group_payloads(header.api_key, logged.request, logged.response) if is_json else None,
            forged,
            logged.errors,
        )


def _words_after(data: bytes, prefix: re.Match[bytes]) -> int:
    """Return where a request's own words begin after a head in another pattern; 0 if another logger repeats them."""
    logger = LOGGER_END.search(data, len(data) - LOGGER_WINDOW)
    is_ours = logger is None or _REQUEST_LOGGER.fullmatch(logger[1]) is not None
    return words_after(data, prefix) if is_ours else 0


def _may_hold_request(trace: bytes, end: re.Pattern[bytes]) -> bool:
    """Return whether a trace may be a torn one and a request after it, which may be torn, too.

    A client can write the words of a request into a whole trace, of which the message has this end, and no time after the words.
    """
    words = trace.find(COMPLETED)
    if words < 0:
        return False
    message = strip_logger(trace) or b""
    return (
        not end.search(message)
        or _OF_REQUEST.search(message, words) is not None
        or time_in(message[words:]) is not None
    )


def _mentions(logged: LoggedRequest) -> Mentions:
    if logged.bodies is None:
        return NOTHING
    key, (request, response) = logged.header.api_key, logged.bodies
    if logged.generation == "json":
        middle = len(request)
        return json_record_mentions(request + response, 0, middle, middle, middle + len(response), key)
    if logged.generation == "name_text":
        return name_text_mentions(key, request)
    return struct_mentions(key, request, response)


class ServerLogParser(Parser):
    """Parser of the records of one server.log; it finds failed requests and logins, and counts all other records."""

    def parse(self, record: RawRecord) -> FailedRequest | IgnoredRecord:
        prefix = PREFIX.match(record.data)
        if prefix is None:
            return IgnoredRecord(record.offset, "server_log")
        failed = failed_request(record.offset, record.data, prefix, self.clock)
        return failed or IgnoredRecord(record.offset, "server_log", broker_event(record.data, prefix, self.clock))


def guarded(parse: Callable[[RawRecord], T], record: RawRecord) -> T | RejectedRecord:
    """Return the event of a record; if the parser raises, a rejected record with the exception's text."""
    try:
        return parse(record)
    except MemoryError:
        raise
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"[:200]
        return _rejected(record, "malformed_value", detail.encode("utf-8", "backslashreplace").decode())


def _forged(record: RawRecord, message: bytes) -> int:
    """Return the number of records' starts in clients' texts, which are raw before 2.8 and escaped in JSON."""
    if b"\\" not in message:  # a search for one byte is much faster than the pattern
        return record.forged_prefixes
    return record.forged_prefixes + sum(1 for _ in _ESCAPED_PREFIX.finditer(message))


def _torn(record: RawRecord) -> RejectedRecord:
    return _rejected(record, "unfinished", "its rest is missing, as after a broker was killed")


def _rejected(record: RawRecord, reason: RejectReason, detail: str) -> RejectedRecord:
    if record.forged_prefixes:
        detail += f"; it holds {record.forged_prefixes} starts of records as text"
    return RejectedRecord(record.offset, reason, detail, record.data[:RAW_LIMIT], record.length)
