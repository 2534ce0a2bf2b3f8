"""Records and events of logs in any layout, for the tests of layouts and wrappers."""

from datetime import UTC, datetime

from kafka_clientinfo.logs import IgnoredRecord, Parser, RawRecord, RejectedRecord, RequestEvent
from kafka_clientinfo.logs.layouts import Layout, detect
from kafka_clientinfo.logs.unwrapping import split_records

LATEST = datetime(2026, 11, 22, tzinfo=UTC)


LOGGED = "2026-11-21 12:00:00"


STAMPED = "2026-11-21T12:00:00Z"


Event = RequestEvent | RejectedRecord | IgnoredRecord


def found(data: bytes, layout: Layout | None = None, offset: int = 0) -> list[RawRecord]:
    return list(split_records([data[offset:]], offset, layout or detect(data, LATEST)))


def events(data: bytes, layout: Layout | None = None) -> list[Event]:
    parser = Parser()
    return [parser.parse(record) for record in found(data, layout)]


def comparable(event: RequestEvent) -> tuple[object, ...]:
    """A request without what a layout may lose: its place, parts of seconds, level, and the starts it recognises."""
    fields = event._asdict()
    at, total = fields.pop("logged_at"), fields["total_time_ms"]
    assert fields.pop("started_at") == at - round(total * 1000)
    fields.pop("forged_lines", None)
    return at // 1_000_000, *(value for name, value in fields.items() if name not in ("byte_offset", "log_level"))
