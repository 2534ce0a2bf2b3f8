"""journald's formats: entries that journald itself wrote, and what its journalctl leaves out."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.logs import IgnoredRecord, RawRecord, RejectedRecord, RequestEvent
from kafka_clientinfo.logs.layouts import detect
from kafka_clientinfo.logs.parser import Event, Parser
from kafka_clientinfo.logs.recognition import content_of
from kafka_clientinfo.logs.server_log import FailedRequest
from kafka_clientinfo.logs.unwrapping import split_records
from tests.logs.excerpts import FOLDER, parse

GOLDEN = FOLDER / "journal"
LOG = (GOLDEN / "kafka.log").read_bytes()
JSON, SHORT = ((GOLDEN / name).read_bytes() for name in ("journal.json", "journal.short-iso"))
ASKED = b"METADATA, apiV"


def entry(line: bytes, **fields: object) -> bytes:
    return json.dumps(json.loads(line) | fields).encode()


def read(data: bytes, *cuts: int) -> tuple[list[RawRecord], list[Event]]:
    places = [0, *sorted(cuts), len(data)]
    blocks = [data[begin:end] for begin, end in pairwise(places)]
    records = list(split_records(blocks, 0, detect(data)))
    parser = Parser()
    return records, [parser.parse(record) for record in records]


def facts(events: list[Event]) -> list[Event]:
    """Requests and failures, without their positions."""
    found = [event._replace(byte_offset=0) if isinstance(event, RequestEvent) else event for event in events]
    kept = [event for event in found if isinstance(event, RequestEvent | FailedRequest)]
    return [replace(event, byte_offset=0) if isinstance(event, FailedRequest) else event for event in kept]


def test_a_journal_in_json_tells_what_the_broker_wrote() -> None:
    assert content_of(GOLDEN / "journal.json") == "requests"
    assert b"line-max" in JSON
    assert not detect(JSON).splittable
    records, events = read(JSON)
    assert b"".join(record.data for record in records) == JSON
    assert facts(events) == facts(parse(LOG))
    assert len(facts(events)) == 4
    assert not [event for event in events if isinstance(event, RejectedRecord)]
    _, events = read(JSON.replace(b"\n", b'\n{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"x","A":"b"}\n', 1))
    assert facts(events) == facts(parse(LOG))  # an entry without message is another program's
    assert {event.kind for event in events if isinstance(event, IgnoredRecord)} == {"other_logger", "handling_request"}


def test_a_line_that_was_cut_is_rejected_where_the_format_does_not_say_so() -> None:
    _, events = read(SHORT)
    whole = [event for event in facts(parse(LOG)) if isinstance(event, FailedRequest) or event.api_key != 18]  # type: ignore[union-attr]
    assert [event for event in facts(events) if event in whole] == whole
    requests = [event for event in events if isinstance(event, RequestEvent | RejectedRecord)]
    assert len(requests) == LOG.count(b"Completed request:")


@pytest.mark.parametrize("blob", [False, True])
def test_what_journalctl_left_out_is_rejected(blob: bool) -> None:
    if blob:
        lines = [
            line.partition(b": ")[0] + b": [3.4K blob data]" if ASKED in line else line for line in SHORT.splitlines()
        ]
    else:
        lines = [entry(line, MESSAGE=None) if ASKED in line else line for line in JSON.splitlines()]
    _, events = read(b"\n".join(lines) + b"\n")
    found = {event.detail for event in events if isinstance(event, RejectedRecord) and event.reason == "oversized"}
    assert found == {"journalctl has left the message out; export it with --all"}


@given(st.lists(st.integers(0, len(JSON)), max_size=6))
def test_entries_are_whole_wherever_a_block_ends(cuts: list[int]) -> None:
    assert read(JSON, *cuts) == read(JSON)


def test_a_journal_in_the_form_export_is_read() -> None:
    entries = [json.loads(line) for line in JSON.splitlines()]
    names = ("__CURSOR", "__REALTIME_TIMESTAMP", "PRIORITY", "MESSAGE", "_PID")
    lines = ["".join(f"{name}={entry.get(name, '')}\n" for name in names) + "\n" for entry in entries]
    _, events = read("".join(lines).encode())
    assert len([event for event in events if isinstance(event, RequestEvent)]) == LOG.count(b"Completed request:")
    assert not [event for event in events if isinstance(event, RejectedRecord)]


@pytest.mark.parametrize("at", [b"METADATA", b"MESSAGE"])
def test_an_entry_that_is_torn_is_rejected_with_its_bytes_and_the_next_is_read(at: bytes) -> None:
    """Older releases of journald write the cursor first, so that a line is known as journald's before its message begins."""
    (whole,) = [line for line in JSON.splitlines(True) if b"Completed request" in line and b"METADATA" in line]
    fields = json.loads(whole)
    torn = json.dumps({"__CURSOR": fields["__CURSOR"], **fields}).encode()
    half = torn[: torn.index(at)] + b"\n"
    _, events = read(JSON.replace(whole, half))
    assert [event.raw for event in events if isinstance(event, RejectedRecord)] == [half]
    others = [event for event in facts(parse(LOG)) if (type(event), event.api_name) != (RequestEvent, "METADATA")]
    assert facts(events) == others


def test_an_entry_on_the_line_of_a_torn_one_is_rejected_with_it() -> None:
    _, torn, last = [line for line in JSON.splitlines(True) if b"Completed request" in line]
    half = torn[: torn.index(b"METADATA")]
    _, events = read(JSON.replace(torn, b"").replace(last, half + last))
    first, *_ = [event for event in events if isinstance(event, RejectedRecord)]
    assert first.raw == half + last
