"""journald's formats: entries that journald itself wrote, and what its journalctl leaves out."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.logs import IgnoredRecord, RawRecord, RejectedRecord, RequestEvent
from kafka_clientinfo.logs import framing as module
from kafka_clientinfo.logs.layouts import detect
from kafka_clientinfo.logs.parser import Event, Parser
from kafka_clientinfo.logs.physical_lines import ExportEntries
from kafka_clientinfo.logs.recognition import content_of
from kafka_clientinfo.logs.server_log import FailedRequest
from kafka_clientinfo.logs.unwrapping import layout_records
from tests.logs.excerpts import FOLDER, parse

GOLDEN = FOLDER / "journal"
LOG = (GOLDEN / "kafka.log").read_bytes()
EXPORT = (GOLDEN / "journal.export").read_bytes()
JSON = (GOLDEN / "journal.json").read_bytes()


def read(data: bytes, *cuts: int) -> tuple[list[RawRecord], list[Event]]:
    places = [0, *sorted(cuts), len(data)]
    blocks = [data[begin:end] for begin, end in pairwise(places)]
    records = list(layout_records(blocks, 0, detect(data)))
    parser = Parser()
    return records, [parser.read(record) for record in records]


def told(events: list[Event]) -> list[Event]:
    """Requests and failures, wherever they stand."""
    found: list[Event] = []
    for event in events:
        if isinstance(event, RequestEvent):
            found.append(event._replace(byte_offset=0))
        elif isinstance(event, FailedRequest):
            found.append(replace(event, byte_offset=0))
    return found


@pytest.mark.parametrize(("name", "layout"), [("json", "journal+stamped"), ("export", "export+stamped")])
def test_an_export_tells_what_the_broker_wrote(name: str, layout: str) -> None:
    path = GOLDEN / f"journal.{name}"
    assert content_of(path) == "requests"
    data = path.read_bytes()
    assert b"line-max" in data
    assert detect(data).name == layout
    records, events = read(data)
    assert b"".join(record.data for record in records) == data
    assert told(events) == told(parse(LOG))
    assert len(told(events)) == 4
    assert not [event for event in events if isinstance(event, RejectedRecord)]


def test_a_line_that_was_cut_is_rejected_where_the_format_does_not_say_so() -> None:
    _, events = read((GOLDEN / "journal.short-iso").read_bytes())
    whole = [event for event in told(parse(LOG)) if isinstance(event, FailedRequest) or event.api_key != 18]  # type: ignore[union-attr]
    assert [event for event in told(events) if event in whole] == whole
    requests = [event for event in events if isinstance(event, RequestEvent | RejectedRecord)]
    assert len(requests) == LOG.count(b"Completed request:")


@pytest.mark.parametrize("blob", [False, True])
def test_what_journalctl_left_out_is_rejected(blob: bool) -> None:
    if blob:
        data = (GOLDEN / "journal.short-iso").read_bytes()
        lines = [
            line.partition(b": ")[0] + b": [3.4K blob data]" if b"METADATA, apiV" in line else line
            for line in data.split(b"\n")
        ]
    else:
        entries = [json.loads(line) for line in JSON.splitlines()]
        lines = [
            json.dumps(entry | ({"MESSAGE": None} if "METADATA, apiV" in entry["MESSAGE"] else {})).encode()
            for entry in entries
        ]
    _, events = read(b"\n".join(lines).rstrip(b"\n") + b"\n")
    found = {event.detail for event in events if isinstance(event, RejectedRecord) and event.reason == "oversized"}
    assert found == {"journalctl has left the message out; export it with --all"}


def test_bytes_that_are_no_text_stand_one_by_one() -> None:
    entries = [json.loads(line) for line in JSON.splitlines()]
    lines = [json.dumps(entry | {"MESSAGE": list(entry["MESSAGE"].encode())}).encode() for entry in entries]
    assert told(read(b"\n".join(lines) + b"\n")[1]) == told(parse(LOG))


@given(st.lists(st.integers(0, len(EXPORT)), max_size=6))
def test_entries_are_whole_wherever_a_block_ends(cuts: list[int]) -> None:
    assert read(EXPORT, *cuts) == read(EXPORT)


@given(st.binary(max_size=300), st.integers(0, len(EXPORT)))
def test_every_byte_is_in_one_record_whatever_stands_in_an_export(junk: bytes, at: int) -> None:
    data = EXPORT[:at] + junk + EXPORT[at:]
    records = list(layout_records([data], 0, detect(EXPORT)))
    assert b"".join(record.data for record in records) == data
    parser = Parser()
    for record in records:
        parser.read(record)


def test_an_entry_without_end_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RECORD", 1000)
    entries = ExportEntries()
    found = [entry for _ in range(10) for entry in entries.feed(b"A=" + b"x" * 500)]
    assert sum(length for _, length in found) + len(entries.rest) + entries.truncated == 5020
    assert len(entries.rest) + entries.truncated <= 2000
    damaged = b"MESSAGE\n" + b"\xff" * 8 + b"x\n\n"
    assert b"".join(entry for entry, _ in ExportEntries().feed(damaged)) == damaged


def test_what_is_longer_than_two_records_is_given_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RECORD", 1000)
    entries, longest = ExportEntries(), b"A=" + b"x" * 1998
    assert (list(entries.feed(longest)), entries.rest) == ([], longest)
    assert (list(entries.feed(b"x")), entries.rest) == ([(longest + b"x", 2001)], b"")
    assert list(entries.feed(b"\nA=1\n\n")) == list(ExportEntries().feed(b"\nA=1\n\n")) == [(b"\n", 1), (b"A=1\n\n", 5)]


@pytest.mark.parametrize(("length", "whole"), [(999, True), (1000, True), (1001, False)])
def test_a_value_is_as_long_as_it_says_unless_that_is_damage(
    monkeypatch: pytest.MonkeyPatch, length: int, whole: bool
) -> None:
    monkeypatch.setattr(module, "MAX_RECORD", 1000)
    entry = b"MESSAGE\n" + length.to_bytes(8, "little") + b"x\n\n" + b"x" * (length - 3) + b"\n\n"
    found = [text for text, _ in ExportEntries().feed(entry)]
    assert (found == [entry]) is whole
    assert b"".join(found) == entry


@pytest.mark.parametrize("step", [1, 7, 100, 1 << 20])
def test_an_entry_is_whole_up_to_its_empty_line_whatever_its_fields_hold(
    monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr(module, "MAX_RECORD", 400)
    value = b"a\n\nb=c\n\n" * 30
    binary = b"MESSAGE\n" + len(value).to_bytes(8, "little") + value + b"\n"
    text = b"".join(b"F%d=%b\n" % (number, b"x" * 90) for number in range(4))
    whole = [entry + b"\n" for entry in (binary, text + binary, b"A=\n", b"", binary + text, b"N" * 64 + b"=1\n")]
    assert max(map(len, whole)) > 400
    entries, found = ExportEntries(), []
    data = b"".join(whole) + binary
    for at in range(0, len(data), step):
        found += entries.feed(data[at : at + step])
    assert found == [(entry, len(entry)) for entry in whole]
    assert (entries.rest, len(entries.rest) + entries.truncated) == (binary, len(binary))


def test_an_entry_without_message_is_another_programs(tmp_path: Path) -> None:
    _, events = read(EXPORT.replace(b"\n\n", b"\n\n__CURSOR=s=1\n__REALTIME_TIMESTAMP=x\nA=b\n\n", 1))
    assert told(events) == told(parse(LOG))
    assert {event.kind for event in events if isinstance(event, IgnoredRecord)} == {"other_logger", "handling_request"}
