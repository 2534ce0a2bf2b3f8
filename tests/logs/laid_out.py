"""Records and events of logs in any layout, for the tests of layouts and wrappers."""

import re
from datetime import UTC, datetime

from kafka_clientinfo.logs import IgnoredRecord, Parser, RawRecord, RejectedRecord, RequestEvent
from kafka_clientinfo.logs.layouts import Layout, detect
from kafka_clientinfo.logs.unwrapping import split_records
from tests.wrapping import PATTERNS, WRAPPERS, Logged

LATEST = datetime(2026, 11, 22, tzinfo=UTC)
LOGGED = "2026-11-21 12:00:00"


RECORD = re.compile(rb"(?s)\[([^\]]+)\] (\w+) (.*?) ?\(([\w.$]+)\)\n((?:(?!\[\d)[^\n]*\n)*)\Z")
INNER = ("kafka", "thread_last", "bracketed_thread_last", "logger_first", "thread_first")
"""Patterns of a line that may follow a head of any wrapper."""
TRACES = (
    "Processor 1 received request : {api_key=3,api_version=0,correlation_id=1,client_id=%s} -- {topics=[]}",
    "Processor 1 received request: RequestHeader(apiKey=METADATA, apiVersion=0, clientId=%s, correlationId=1) -- {topics=[]}",
    "Processor 1 received request : Name: TopicMetadataRequest; Version: 0; CorrelationId: 1; ClientId: a; Topics: %s",
    "Sending FETCH response to client %s of 218 bytes.",
    "Not sending PRODUCE response to client %s as it's not required.",
    "[KafkaApi-1] Handling request:RequestHeader(apiKey=METADATA, apiVersion=0, clientId=%s, correlationId=1) -- {} from connection "
    "a:1-b:2-3;securityProtocol:PLAINTEXT,principal:User:ANONYMOUS",
)  # fmt: skip
"""Traces of requests, each with a place for a client's text."""
Event = RequestEvent | RejectedRecord | IgnoredRecord


def found(data: bytes, layout: Layout | None = None, offset: int = 0) -> list[RawRecord]:
    return list(split_records([data[offset:]], offset, layout or detect(data, LATEST)))


def wrapped(data: bytes, pattern: str, wrapper: str) -> bytes:
    """Whole records of any logger, with their stack traces, as another layout has them."""
    lines: list[bytes] = []
    for record in split_records([data]):
        found = RECORD.match(record.data)
        assert found is not None, record.data
        logged = Logged(found[1].decode(), found[2].decode(), found[3], found[4].decode())
        lines += WRAPPERS[wrapper](logged, PATTERNS[pattern](logged) + (b"\n" + found[5]).rstrip(b"\n"), 16 << 10)
    return b"".join(line + b"\n" for line in lines)


def events(data: bytes, layout: Layout | None = None) -> list[Event]:
    return [*map(Parser().parse, found(data, layout))]


def comparable(event: RequestEvent) -> tuple[object, ...]:
    """A request without what a layout may lose: its place, parts of seconds, level, and the starts it recognises."""
    fields = event._asdict()
    at, total = fields.pop("logged_at"), fields["total_time_ms"]
    assert fields.pop("started_at") == at - round(total * 1000)
    fields.pop("forged_lines", None)
    return at // 1_000_000, *(value for name, value in fields.items() if name not in ("byte_offset", "log_level"))
