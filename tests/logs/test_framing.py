"""Bytes to records: nothing lost, nothing twice, whatever the blocks; forged lines stay text; memory stays bounded."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.logs import framing
from kafka_clientinfo.logs.broker_records import LONGEST_TEXT, has_ended, has_whole_trace
from kafka_clientinfo.logs.framing import (
    ENDED_SERVER_LOG,
    SERVER_LOG,
    RawRecord,
)
from kafka_clientinfo.logs.line_records import receive_all
from kafka_clientinfo.logs.plain_splitter import PlainSplitter
from kafka_clientinfo.logs.unwrapping import split_records
from tests.amounts import examples
from tests.builders import json_record, request_header_struct_record
from tests.logs.excerpts import records

FORGED = "\n[2026-01-01 00:00:00,000] DEBUG Completed request:{} -- {} (kafka.request.logger)"
STACK_TRACE = b"java.lang.Exception\n\tat kafka.Foo(Foo.scala:3)\n"


def blocks(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in pairwise(places):
        yield data[start:end]


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from([b"\n[", b"\n", b"[2026-01-01 00:00:00,000]", b" DEBUG ", b"   ", b" (a.b)", b"x"])))
def test_it_gives_the_same_records_byte_by_byte(parts: list[bytes]) -> None:
    data = b"".join(parts) + b"[2026-11-21 12:00:00,000] INFO x (a)\n" * 2
    assert list(split_records(data[at : at + 1] for at in range(len(data)))) == records(data)


@pytest.mark.parametrize("client_id", [f"inj{FORGED}", f"two{FORGED}{FORGED}", f"cr\r{FORGED}"])
def test_it_keeps_forged_records_before_2_8_as_text_of_their_record(client_id: str) -> None:
    genuine = [request_header_struct_record(client_id=client_id), request_header_struct_record()]
    assert [record.data for record in records(b"".join(genuine))] == genuine


def test_it_does_not_take_a_logger_inside_a_client_id_for_the_records_end() -> None:
    genuine = [request_header_struct_record(client_id=f"x (kafka.request.logger){FORGED}"), json_record()]
    assert [record.data for record in records(b"".join(genuine))] == genuine


@pytest.mark.parametrize("damage", [b"", b"\x00", b"{"])
def test_it_lets_json_records_give_way_to_any_prefix(damage: bytes) -> None:
    for fraction in (b",000", b",000000", b""):
        first = (
            json_record().removesuffix(b" (kafka.request.logger)\n").replace(b",000]", fraction + b"]") + damage + b"\n"
        )
        second = json_record(client_id="b")
        assert [record.data for record in records(first + second)] == [first, second]


@pytest.mark.parametrize("leading", [b"\n", b"rest of a record (kafka.request.logger)\n", b"\xef\xbb\xbf", STACK_TRACE])
def test_it_makes_the_bytes_before_the_first_prefix_a_record_of_their_own(leading: bytes) -> None:
    # A byte order mark hides the first record's start: only a line's start is one.
    found = records(leading + (json_record() if leading.endswith(b"\n") else b"\n" + json_record()))
    assert found[0].data.startswith(leading)
    assert found[-1].data == json_record()


@pytest.mark.parametrize("step", [1, 100, 700, 1 << 20])
def test_records_that_are_taken_leave_their_place_and_number(step: int) -> None:
    """What is taken here: every second record whose end is in the buffer."""
    line = json_record()
    data = b"x\n" + line * 9

    found, taken = list[tuple[int, bytes, bool]](), list[bool]()
    splitter = PlainSplitter()
    for _ in receive_all(splitter, (data[at : at + step] for at in range(0, len(data), step))):
        while True:
            buffer, start, offset = splitter.buffer, splitter.start, splitter.offset
            is_one = buffer.startswith(line, start) and (offset - 2) // len(line) % 2 == 1
            if is_one and splitter.is_at_start:
                splitter.skip(start + len(line))
                found.append((offset, buffer[start : splitter.start], True))
            elif (record := splitter.next_record()) is not None:
                assert record.length == len(record.data)
                found.append((record.offset, record.data, record.finished))
            else:
                break
            taken.append(is_one)
    offsets = range(2, len(data), len(line))
    assert found == [(0, b"x\n", True), *((offset, line, True) for offset in offsets)]
    assert taken == [False, False, True, False, True, False, True, False, True, False]


def test_a_line_end_in_front_holds_nothing_back() -> None:
    short = b"[2026-11-21 12:00:00,000] INFO x\n"
    data = b"\n" + json_record() * 3
    whole = [record.data for record in records(data)]
    assert whole == [b"\n", *[json_record()] * 3]
    assert [r.data for r in split_records(data[at : at + 1] for at in range(len(data)))] == whole
    assert [record.data for record in records(b"\n" + short)] == [b"\n", short]
    fed: list[bytes] = []

    def feed() -> Iterator[bytes]:
        for block in (data, b"", json_record()):
            fed.append(block)
            yield block

    assert next(split_records(feed())).data == b"\n"
    assert fed == [data]


@pytest.mark.parametrize(("level", "is_whole"), [("INFO", True), ("WARN", False), ("ERROR", False), ("FATAL", False)])
def test_a_stack_trace_may_follow_while_a_server_log_grows(level: str, is_whole: bool) -> None:
    line = f"[2026-11-21 12:00:00,000] {level} x (kafka.Foo)\n".encode()
    for data, finished in ((b"\tat x\n", is_whole), (line, is_whole), (line[:-1], False)):
        assert [r.finished for r in split_records([line, data], framing=SERVER_LOG)][-1] == finished
        (*_, last) = split_records([data], framing=ENDED_SERVER_LOG)
        assert last.finished == data.endswith(b"\n")


@pytest.mark.parametrize("cut", [1, 2, 10, 200])
def test_it_tells_an_unfinished_last_record(cut: int) -> None:
    # Even the newline counts: the rest of the record would be a record of its own when the file has grown.
    whole = json_record()
    *_, last = records(whole + whole[:-cut])
    assert (last.data, last.finished) == (whole[:-cut], False)


def test_it_lets_go_of_the_middle_of_an_oversized_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "MAX_RECORD", 1 << 16)
    monkeypatch.setattr(framing, "KEPT_HEAD", 1 << 12)
    monkeypatch.setattr(framing, "KEPT_TAIL", 1 << 12)
    huge = json_record(request={"metrics": "A" * (1 << 20)})
    stream = json_record() + huge + json_record()
    held: list[int] = []

    def feed() -> Iterator[bytes]:
        for at in range(0, len(stream), 1 << 12):
            yield stream[at : at + (1 << 12)]

    found = []
    for record in split_records(feed()):
        held.append(len(record.data))
        found.append(record)
    assert [record.length for record in found] == [len(json_record()), len(huge), len(json_record())]
    assert max(held) <= (1 << 16) + (1 << 12) + 64
    assert found[2] == RawRecord(len(json_record()) + len(huge), json_record(), len(json_record()), True)


@pytest.mark.parametrize("step", [64, 256, 1000])
def test_it_finds_the_records_after_an_oversized_one_of_any_size(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    monkeypatch.setattr(framing, "MAX_RECORD", 1 << 10)
    monkeypatch.setattr(framing, "KEPT_HEAD", 1 << 7)
    monkeypatch.setattr(framing, "KEPT_TAIL", 1 << 7)
    last = b"[2026-11-21 12:00:00,000] DEBUG b (a)\n"
    for size in range(1100, 1100 + 2 * step, max(1, step // 128)):
        huge = b"[2026-11-21 12:00:00,000] DEBUG " + b"x" * size + b" (a)\n"
        stream = huge + last * 3
        found = list(split_records(stream[at : at + step] for at in range(0, len(stream), step)))
        assert [record.length for record in found] == [len(huge), *[len(last)] * 3], size
        assert [record.data for record in found[1:]] == [last] * 3


@pytest.mark.parametrize("torn", [1024, 1025, 1100])
def test_the_middle_that_is_let_go_belongs_to_a_line_of_two_records(monkeypatch: pytest.MonkeyPatch, torn: int) -> None:
    for name, value in (("MAX_RECORD", 1024), ("KEPT_HEAD", 256), ("KEPT_TAIL", 128)):
        monkeypatch.setattr(framing, name, value)
    long, short = json_record(client_id="x" * 1200), json_record()
    pieces = [long[:torn] + short, short]
    stream = b"".join(pieces)
    found = list(split_records(stream[at : at + 64] for at in range(0, len(stream), 64)))
    assert [record.length for record in found] == [len(piece) for piece in pieces]
    assert [len(record.data) < record.length for record in found] == [True, False]


@pytest.mark.parametrize("step", [1, 50, 1000])
@pytest.mark.parametrize("size", [1023, 1024, 1025, 1200])
def test_a_record_is_whole_up_to_the_limit(monkeypatch: pytest.MonkeyPatch, size: int, step: int) -> None:
    for name, value in (("MAX_RECORD", 1024), ("KEPT_HEAD", 100), ("KEPT_TAIL", 100)):
        monkeypatch.setattr(framing, name, value)
    start, end = b"[2026-11-21 12:00:00,000] DEBUG ", b" (a)\n"
    record = start + b"x" * (size - len(start) - len(end)) + end
    first, *rest = split_records((record * 2)[at : at + step] for at in range(0, 2 * size, step))
    assert [first.length, *(one.length for one in rest)] == [size, size]
    if size <= 1024:
        assert [first.data, *(one.data for one in rest)] == [record, record]


@pytest.mark.parametrize("level", ["DEBUG Completed request:", "TRACE Processor 0 received request: "])
def test_it_gets_through_many_prefixes_inside_one_record(level: str) -> None:
    start = f"[2026-01-01 00:00:00,000] {level}RequestHeader(apiKey=FETCH\n".encode()
    got = records(start * 4_000)
    assert sum(record.length for record in got) == len(start) * 4_000
    assert len(got) <= (1 if level.startswith("DEBUG") else 4)  # longer than a client's id is no header of a trace


@pytest.mark.parametrize("before", [b"", b"\n", b"x\n"])
def test_it_gives_a_record_as_soon_as_the_next_one_has_begun(before: bytes) -> None:
    def feed() -> Iterator[bytes]:
        yield before + json_record() * 2
        raise AssertionError("more bytes are asked for")

    found = split_records(feed())
    expected = [before, json_record()] if before else [json_record()]
    assert [next(found).data for _ in expected] == expected


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_it_counts_the_starts_that_it_takes_for_text(step: int) -> None:
    stream = b"".join(
        [
            request_header_struct_record(client_id=f"two{FORGED}{FORGED}"),
            request_header_struct_record(),
            json_record(),
            request_header_struct_record(client_id=f"one{FORGED}"),
        ]
    )
    found = list(split_records(stream[at : at + step] for at in range(0, len(stream), step)))
    assert [record.forged_prefixes for record in found] == [2, 0, 0, 1]


STAMP = b"[2026-11-21 12:00:00,000] INFO "
FAILURE = b"Failed authentication with /10.0.0.1 (channelId=1) (a) (org.apache.kafka.common.network.Selector)\n"


@pytest.mark.parametrize(
    ("line", "is_end"),
    [
        (STAMP + FAILURE, False),
        (b"x" + STAMP + FAILURE, True),
        (STAMP + b"x" + FAILURE, True),
        (b"\tat a.B(C)\n", False),
        (b"x\tat a.B(C)\n", True),
        (b"x (Selector)\n", True),
        (b"x (y)z\n", False),
    ],
)
def test_a_report_of_a_failure_ends_no_open_message(line: bytes, is_end: bool) -> None:
    """A client may have written it; any other line that ends with a logger ends the message."""
    data = STAMP + b"a message without a logger\n" + line
    assert has_ended(data, len(STAMP), len(data)) == is_end


@pytest.mark.parametrize("before", [b"", b"[2026-11-21 12:00:00,000] INFO x (a)\n"])
@pytest.mark.parametrize("more", [0, 1])
def test_an_open_text_ends_where_it_is_longer_than_clients_texts(before: bytes, more: int) -> None:
    start, end = len(before), len(before) + LONGEST_TEXT + more
    for first in (b"no logger: ", b"a.BException: "):
        data = before + first + b"x" * (LONGEST_TEXT + more - len(first) - 1) + b"\n"
        assert has_ended(data, start, end) == bool(more)
        if first.startswith(b"a.B"):
            assert has_whole_trace(data, start, end) == bool(more)
