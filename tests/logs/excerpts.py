"""The golden excerpts of real brokers' logs, and short ways to read them."""

from collections.abc import Iterable
from pathlib import Path

from kafka_clientinfo.ingestion.columnar import RequestRows
from kafka_clientinfo.logs import IgnoredRecord, Parser, RawRecord, RejectedRecord, RequestEvent, split_records
from kafka_clientinfo.logs.clock import LogClock

FOLDER = Path(__file__).parent.parent / "golden" / "logs"
GENERATIONS = ("name_text", "api_key_struct", "request_header_struct", "json")
EXCERPTS = {name: (FOLDER / f"{name}.log").read_bytes() for name in GENERATIONS}
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
Event = RequestEvent | RejectedRecord | IgnoredRecord


def records(data: bytes) -> list[RawRecord]:
    return list(split_records([data]))


def parse(data: bytes, zone: str = "UTC") -> list[Event]:
    parser = Parser(zone)
    return [parser.parse(record) for record in records(data)]


def duplicates(events: Iterable[Event]) -> list[bool]:
    """Which requests among some events were logged twice."""
    rows = RequestRows(LogClock())
    for event in events:
        if isinstance(event, RequestEvent):
            rows.add(event)
    flags: list[bool] = rows.events()[0]["is_duplicate"].to_pylist()
    return flags


def request(data: bytes) -> RequestEvent:
    """The only event of some bytes, which is a request."""
    (event,) = parse(data)
    assert isinstance(event, RequestEvent), event
    return event


def rejected(data: bytes) -> RejectedRecord:
    """The only event of some bytes, which is rejected."""
    (event,) = parse(data)
    assert isinstance(event, RejectedRecord), event
    return event


def requests(events: Iterable[Event]) -> list[RequestEvent]:
    return [event for event in events if isinstance(event, RequestEvent)]
