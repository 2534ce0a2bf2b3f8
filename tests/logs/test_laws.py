"""Laws for any bytes: nothing raises, every record gives exactly one event, and what comes out fits the tables."""

from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.logs import IgnoredRecord, Parser, RejectedRecord, RequestEvent, split_records
from kafka_clientinfo.logs.request_event import RejectReason
from tests.amounts import examples
from tests.logs.excerpts import EXCERPTS, GENERATIONS, records

INT16, INT32, INT64 = (range(-(1 << bits), 1 << bits) for bits in (15, 31, 63))
SMALL = [record.data for name in GENERATIONS for record in records(EXCERPTS[name]) if len(record.data) < 1000]
PIECES = [b"[2026-11-21 12:00:00,000] DEBUG Completed request:", b'{"', b"RequestHeader(apiKey=FETCH", b"{api_key=",
          b"Name: FetchRequest; Version: 0; CorrelationId: 1;", b" (kafka.request.logger)\n", b"\n", b" -- {}",
          b",response:{}", b" from connection a:1-b:2;totalTime:1", b',"request":', b',"connection":"',
          b"}"]  # fmt: skip


def check_value(name: str, kind: Any, value: Any) -> None:
    if isinstance(value, str):
        value.encode()
    elif type(value) is int:
        wide = name in ("byte_offset", "logged_at", "started_at")
        assert value in (INT64 if wide else INT16 if name.startswith("api_v") else INT32), (name, value)
    elif isinstance(value, float):
        assert abs(value) < 1e19, (name, value)


def check(data: bytes) -> None:
    """Parse, and hold the laws."""
    parser = Parser("Europe/Berlin")
    found = list(split_records([data]))
    assert b"".join(record.data for record in found) == data
    for record in found:
        event = parser.parse(record)
        assert event.byte_offset == record.offset
        if isinstance(event, RequestEvent):
            for name, kind in RequestEvent.__annotations__.items():
                check_value(name, kind, getattr(event, name))
        elif isinstance(event, RejectedRecord):
            assert event.reason in get_args(RejectReason)
            assert event.raw_length == record.length
            event.detail.encode()
        else:
            assert isinstance(event, IgnoredRecord)


@given(st.binary(max_size=2000))
def test_it_takes_any_bytes(data: bytes) -> None:
    check(data)


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=6)), max_size=14))
def test_it_takes_any_mixture_of_the_notations(parts: list[bytes]) -> None:
    check(PIECES[0] + b"".join(parts))


@settings(max_examples=examples(400))
@given(st.sampled_from(SMALL), st.integers(0, 1000), st.integers(0, 255))
def test_it_takes_records_with_a_changed_byte(line: bytes, at: int, byte: int) -> None:
    place = at % len(line)
    check(line[:place] + bytes([byte]) + line[place + 1 :])


@settings(max_examples=examples(200))
@given(st.sampled_from(SMALL), st.integers(0, 1000))
def test_it_takes_records_cut_anywhere(line: bytes, at: int) -> None:
    check(line[: at % len(line)])
    check(line[at % len(line) :] + line)


@settings(max_examples=examples(200))
@given(st.sampled_from(SMALL), st.sampled_from(SMALL), st.integers(0, 1000), st.integers(0, 1000))
def test_it_takes_records_spliced_together(left: bytes, right: bytes, at: int, other: int) -> None:
    check(left[: at % len(left)] + right[other % len(right) :])


@settings(max_examples=examples(150))
@given(st.sampled_from([line for line in SMALL if b'{"isForwarded' in line]), st.integers(0, 99), st.data())
def test_it_takes_json_with_any_value_in_any_place(line: bytes, place: int, data: st.DataObject) -> None:
    # From `:` to the next `,` or `}`: a hostile value for any field of header or tail.
    values = [
        '"\\ud800"',
        "null",
        "NaN",
        "-Infinity",
        "1e999",
        "9" * 4400,
        "-1",
        "[]",
        "{}",
        "true",
        '"\\u0000"',
        "1.5",
    ]
    value = data.draw(st.sampled_from(values)).encode()
    colons = [at for at in range(len(line)) if line[at : at + 2] == b'":']
    start = colons[place % len(colons)] + 2
    ends = [end for mark in (b",", b"}") if (end := line.find(mark, start)) >= 0]
    check(line[:start] + value + line[min(ends, default=start) :])
