"""Bytes to records: nothing lost, nothing twice, whatever the blocks; forged lines stay text; memory stays bounded."""

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.logs import framing
from kafka_clientinfo.logs.broker_records import LONGEST_TEXT, has_ended, has_whole_trace
from kafka_clientinfo.logs.framing import ENDED_SERVER_LOG, SERVER_LOG, RawRecord, is_finished
from kafka_clientinfo.logs.layouts import KAFKA, Layout
from kafka_clientinfo.logs.line_records import Kept
from kafka_clientinfo.logs.record_marks import HANDLING, PREFIX, strip_logger
from kafka_clientinfo.logs.unwrapping import split_records
from tests.amounts import examples
from tests.builders import json_record, request_header_struct_record
from tests.logs.excerpts import records

Build = Callable[..., bytes]
FORGED = "\n[2026-01-01 00:00:00,000] DEBUG Completed request:{} -- {} (kafka.request.logger)"
STACK_TRACE = b"java.lang.Exception\n\tat kafka.Foo(Foo.scala:3)\n"


def limit(monkeypatch: pytest.MonkeyPatch, most: int, kept_head: int, kept_tail: int) -> None:
    for name, value in (("MAX_RECORD", most), ("KEPT_HEAD", kept_head), ("KEPT_TAIL", kept_tail)):
        monkeypatch.setattr(framing, name, value)


def in_steps(stream: bytes, step: int, layout: Layout = KAFKA) -> list[RawRecord]:
    return list(split_records((stream[at : at + step] for at in range(0, len(stream), step)), 0, layout))


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from([b"\n[", b"\n", b"[2026-01-01 00:00:00,000]", b" DEBUG ", b"   ", b" (a.b)", b"x"])))
def test_it_gives_the_same_records_byte_by_byte(parts: list[bytes]) -> None:
    data = b"".join(parts) + b"[2026-11-21 12:00:00,000] INFO x (a)\n" * 2
    assert in_steps(data, 1) == records(data)


@pytest.mark.parametrize("build", [request_header_struct_record, json_record])
@pytest.mark.parametrize("client_id", [f"inj{FORGED}", f"cr\r{FORGED}", f"x (kafka.request.logger){FORGED}{FORGED}"])
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_it_keeps_forged_records_as_text_and_counts_them(step: int, client_id: str, build: Build) -> None:
    genuine = [request_header_struct_record(client_id=client_id), build(), request_header_struct_record(client_id="a")]
    stream = b"".join(genuine)
    found = in_steps(stream, step)
    assert [record.data for record in found] == genuine
    assert [record.forged_prefixes for record in found] == [client_id.count("[2026"), 0, 0]


@pytest.mark.parametrize("damage", [b"", b"\x00", b"{"])
def test_it_lets_json_records_give_way_to_any_prefix(damage: bytes) -> None:
    for fraction in (b",000", b",000000", b""):
        first = json_record(logger="").replace(b",000]", fraction + b"]").rstrip(b"\n") + damage + b"\n"
        second = json_record(client_id="b")
        assert [record.data for record in records(first + second)] == [first, second]


@pytest.mark.parametrize("leading", [b"\n", b"rest of a record (kafka.request.logger)\n", b"\xef\xbb\xbf", STACK_TRACE])
def test_it_makes_the_bytes_before_the_first_prefix_a_record_of_their_own(leading: bytes) -> None:
    # A byte order mark hides the first record's start: only a line's start is one.
    found = records(leading + (json_record() if leading.endswith(b"\n") else b"\n" + json_record()))
    assert found[0].data.startswith(leading)
    assert found[-1].data == json_record()


@pytest.mark.parametrize(("level", "is_whole"), [("INFO", True), ("WARN", False), ("ERROR", False), ("FATAL", False)])
def test_a_stack_trace_may_follow_while_a_server_log_grows(level: str, is_whole: bool) -> None:
    line = f"[2026-11-21 12:00:00,000] {level} x (kafka.Foo)\n".encode()
    for data, finished in ((b"\tat x\n", is_whole), (line, is_whole), (line[:-1], False)):
        assert [r.finished for r in split_records([line, data], framing=SERVER_LOG)][-1] == finished
        (*_, last) = split_records([data], framing=ENDED_SERVER_LOG)
        assert last.finished == data.endswith(b"\n")


def test_it_lets_go_of_the_middle_of_an_oversized_record(monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, 1 << 16, 1 << 12, 1 << 12)
    short, huge = json_record(), json_record(request={"metrics": "A" * (1 << 20)})
    found = in_steps(short + huge + short, 1 << 12)
    assert [record.length for record in found] == [len(short), len(huge), len(short)]
    assert max(len(record.data) for record in found) <= (1 << 16) + (1 << 12) + 64
    assert found[2] == RawRecord(len(short) + len(huge), short, len(short), True)


@pytest.mark.parametrize("step", [64, 256, 1000])
def test_it_finds_the_records_after_an_oversized_one_of_any_size(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    limit(monkeypatch, 1 << 10, 1 << 7, 1 << 7)
    last = b"[2026-11-21 12:00:00,000] DEBUG b (a)\n"
    for size in range(1100, 1100 + 2 * step, max(1, step // 128)):
        huge = b"[2026-11-21 12:00:00,000] DEBUG " + b"x" * size + b" (a)\n"
        found = in_steps(huge + last * 3, step)
        assert [record.length for record in found] == [len(huge), *[len(last)] * 3], size
        assert [record.data for record in found[1:]] == [last] * 3


@pytest.mark.parametrize("torn", [1024, 1025, 1100])
def test_the_middle_that_is_let_go_belongs_to_a_line_of_two_records(monkeypatch: pytest.MonkeyPatch, torn: int) -> None:
    limit(monkeypatch, 1024, 256, 128)
    pieces = [json_record(client_id="x" * 1200)[:torn] + json_record(), json_record()]
    found = in_steps(b"".join(pieces), 64)
    assert [record.length for record in found] == [len(piece) for piece in pieces]
    assert [len(record.data) < record.length for record in found] == [True, False]


@pytest.mark.parametrize("step", [1, 50, 1000])
@pytest.mark.parametrize("size", [1023, 1024, 1025, 1200])
@pytest.mark.parametrize("layout", [KAFKA, Layout(False)])
def test_a_record_is_whole_up_to_the_limit(
    monkeypatch: pytest.MonkeyPatch, size: int, step: int, layout: Layout
) -> None:
    limit(monkeypatch, 1024, 100, 100)
    start, end = b"[2026-11-21 12:00:00,000] DEBUG ", b" (a)\n"
    record = start + b"x" * (size - len(start) - len(end)) + end
    found = in_steps(record * 2, step, layout)
    assert [one.length for one in found] == [size, size]
    if size <= 1024:
        assert [one.data for one in found] == [record, record]


def test_of_what_is_longer_than_the_limit_head_and_tail_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    limit(monkeypatch, 64, 40, 20)
    kept, head = Kept(), b"a" * 30
    assert (kept.join(), kept.length) == (b"", 0)
    for letter, tail in ((b"a", b""), (b"b", b"b" * 30), (b"c", b"b" * 10 + b"c" * 20), (b"d", b"b" * 10 + b"d" * 20)):
        kept.add(letter * 30)
        assert kept.join() == head + tail
    kept.add(b"ef", 1000)  # the true length of a part that was shortened before
    assert (kept.join(), kept.length) == (head + b"b" * 10 + b"d" * 20 + b"ef", 1120)
    for more, length in ((0, 64), (1, 60), (4, 60), (40, 60)):
        kept, data = Kept(), bytes(range(64 + more))
        kept.add(data)
        assert (kept.join(), kept.length) == (data if length == 64 else data[:40] + data[-20:], 64 + more)


@pytest.mark.parametrize("level", ["DEBUG Completed request:", "TRACE Processor 0 received request: "])
def test_it_gets_through_many_prefixes_inside_one_record(level: str) -> None:
    start = f"[2026-01-01 00:00:00,000] {level}RequestHeader(apiKey=FETCH\n".encode()
    got = records(start * 4_000)
    assert sum(record.length for record in got) == len(start) * 4_000
    assert len(got) <= (1 if level.startswith("DEBUG") else 4)  # longer than a client's id is no header of a trace


@pytest.mark.parametrize("before", [b"", b"\n", b"x\n"])
def test_it_gives_a_record_as_soon_as_the_next_one_has_begun(before: bytes) -> None:
    data = before + json_record() * 2

    def feed() -> Iterator[bytes]:
        yield data
        raise AssertionError("more bytes are asked for")

    found = split_records(feed())
    expected = [before, json_record()] if before else [json_record()]
    assert [next(found).data for _ in expected] == expected
    assert [record.data for record in in_steps(data, 1)] == [*expected, json_record()]
    short = b"[2026-11-21 12:00:00,000] INFO x\n"
    assert [record.data for record in records(b"\n" + short)] == [b"\n", short]


STAMP = b"[2026-11-21 12:00:00,000] INFO "
FAILURE = b"Failed authentication with /10.0.0.1 (channelId=1) (a) (org.apache.kafka.common.network.Selector)\n"


ENDS_NO_MESSAGE = (STAMP + FAILURE, b"\tat a.B(C)\n", b"x (y)z\n")
ENDS_IT = (b"x" + STAMP + FAILURE, STAMP + b"x" + FAILURE, b"x\tat a.B(C)\n", b"x (Selector)\n")


@pytest.mark.parametrize("line", [*ENDS_NO_MESSAGE, *ENDS_IT])
def test_a_report_of_a_failure_ends_no_open_message(line: bytes) -> None:
    """A client may have written it; any other line that ends with a logger ends the message."""
    data = STAMP + b"a message without a logger\n" + line
    assert has_ended(data, len(STAMP), len(data)) == (line in ENDS_IT)


@pytest.mark.parametrize("before", [b"", b"[2026-11-21 12:00:00,000] INFO x (a)\n"])
@pytest.mark.parametrize("more", [0, 1])
def test_an_open_text_ends_where_it_is_longer_than_clients_texts(before: bytes, more: int) -> None:
    start, end = len(before), len(before) + LONGEST_TEXT + more
    for first in (b"no logger: ", b"a.BException: "):
        data = before + first + b"x" * (LONGEST_TEXT + more - len(first) - 1) + b"\n"
        assert has_ended(data, start, end) == bool(more)
        if first.startswith(b"a.B"):
            assert has_whole_trace(data, start, end) == bool(more)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        *((text, None) for text in (b"", b"x", b"(1)\n", b"(a", b"(a b)")),
        (b"(a)\n", b""),
        *((b"xX  (a)" + end, b"xX") for end in (b"\n", b"\r\n", b"\n\n", b"\r\n\r\n")),
        *((b"x (a)" + zeros, b"x") for zeros in (b"\0", b"\0\0\n", b"\r\n\0", b"\0\r\n\0\n", b"\0\r\0")),
        (b"x (a\0", None),
        *((b"x  (" + b"a" * size + b")" + end, b"x") for size in (1, 255, 256) for end in (b"", b"\n", b"\r\n")),
        (b"x (" + b"a" * 257 + b")\n", None),
        *((b"x (%b)\n" % logger, b"x") for logger in (b"_", b"Z.b$1", b"kafka.network.RequestChannel$")),
        *((b"x (%ba)\n" % first, None) for first in (b"1", b".", b"$", b"-", b" ")),
    ],
)
def test_a_logger_may_end_a_text(text: bytes, rest: bytes | None) -> None:
    assert strip_logger(text) == rest
    assert rest is not None or not is_finished(text, 0, len(text))


@pytest.mark.parametrize("level", [b"TRACE", b"DEBUG", b"INFO", b"WARN", b"ERROR", b"FATAL", b"WARNING", b"info"])
@pytest.mark.parametrize(
    ("time", "groups"),
    [
        (b"2026-11-21 02:45:09", (b"2026-11-21 02:45:09", None, None)),
        (b"2026-11-21T02:45:09.9", (b"2026-11-21T02:45:09", b"9", None)),
        (b"2026-11-21 02:45:09,123456789Z", (b"2026-11-21 02:45:09", b"123456789", b"Z")),
        (b"2026-11-21 02:45:09,935 +01:00", (b"2026-11-21 02:45:09", b"935", b"+01:00")),
        (b"2026-11-21 02:45:09-0100", (b"2026-11-21 02:45:09", None, b"-0100")),
        (b"2026-11-21 02:45:09+01", (b"2026-11-21 02:45:09", None, b"+01")),
        (b"2026-11-21 02:45:09,935  +01:00", None),
        (b"2026-11-21 02:45:09,1234567890", None),
        (b"2026-11-21 02:45:09,", None),
        (b"2026-11-21  02:45:09", None),
        (b"2026-11-21 02:45:09+1", None),
    ],
)
def test_it_knows_the_start_of_a_record(level: bytes, time: bytes, groups: tuple[bytes | None, ...] | None) -> None:
    for before, after in ((1, 1), (4, 4), (0, 1), (5, 1), (1, 0), (1, 5)):
        found = PREFIX.match(b"[" + time + b"]" + b" " * before + level + b" " * after + b"x")
        is_start = groups is not None and level not in (b"WARNING", b"info") and 1 <= before <= 4 and after >= 1
        assert (found is not None) == is_start
        if found is not None:
            assert found.groups() == (*(groups or ()), level)
            assert found.end() == 2 + len(time) + before + len(level) + min(after, 4)


TRACES = [
    *("Handling request:RequestHeader(apiKey=FETCH", "Handling request: RequestHeader(apiKey=FETCH"),
    *("Handling request:{api_key=1", "Handling request:Name: FetchRequest", "Handling request:Name:FetchRequest"),
    *("[KafkaApi-1] Handling request:{api_key=1", f"[{'a' * 64}] Handling request:{{api_key=1"),
]
OTHERS = [f"{before}Handling request:{{api_key=1" for before in (f"[{'a' * 65}] ", "[a:1] ", "x ")]


@pytest.mark.parametrize("message", [*TRACES, *OTHERS, "Handling request:  Name:FetchRequest"])
def test_it_knows_the_traces_of_handled_requests(message: str) -> None:
    assert (HANDLING.match(message.encode()) is not None) == (message in TRACES)
