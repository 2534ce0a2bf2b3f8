"""Every layout and wrapper gives the requests of the plain log, whatever cuts it, and loses no byte."""

from itertools import cycle, pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.logs import IgnoredRecord, Parser, RejectedRecord, RequestEvent
from kafka_clientinfo.logs.layouts import detect
from kafka_clientinfo.logs.unwrapping import split_records
from tests.amounts import examples, one_in
from tests.builders import request_header_struct_record
from tests.logs.excerpts import EXCERPTS, FOLDER, GENERATIONS, parse, records, requests
from tests.logs.laid_out import LATEST, TRACES, Event, comparable, events, found
from tests.sections import sections
from tests.wrapping import KINDS, wrap

SECONDS = ("logger_first", "rfc_3164", "rfc_3164_bare")
"""What has no fraction of a second."""
WORDS = b"Completed request:"


def check_same(plain: bytes, pattern: str, wrapper: str, part: int) -> None:
    wrapped = wrap(plain, pattern, wrapper, part)
    expected, got = requests(parse(plain)), requests(events(wrapped))
    assert [comparable(event) for event in got] == [comparable(event) for event in expected]
    if wrapper not in SECONDS and pattern not in SECONDS:
        assert [event.logged_at for event in got] == [event.logged_at for event in expected]
    if pattern != "message":
        assert [event.log_level for event in got] == [event.log_level for event in expected]


@pytest.mark.parametrize(("generation", "kind"), one_in(3, product(GENERATIONS, KINDS)))
def test_it_reads_the_same_requests_in_every_layout(generation: str, kind: tuple[str, str]) -> None:
    pattern, wrapper = kind
    check_same(EXCERPTS[generation], pattern, wrapper, 200)


GOLDEN = sections(FOLDER / "layouts.txt")
LOSES_LEVEL = ("message", "rfc3164", "rfc5424", "template_GcpLayout", "template_GelfLayout")


@pytest.mark.parametrize("name", GOLDEN)
def test_it_reads_what_log4j_itself_writes(name: str) -> None:
    # `message.log` has no time of its own: a container runtime adds one.
    plain, data, name = GOLDEN["default.log"], GOLDEN[name], name.partition(".")[0]
    if name == "message":
        data = b"".join(b"2026-11-21T02:45:09.5Z stdout F " + line + b"\n" for line in data.split(b"\n")[:-1])
    got, expected = events(data), requests(parse(plain))
    assert [comparable(event)[1:] for event in requests(got)] == [comparable(event)[1:] for event in expected]
    if name not in ("message", "rfc3164", "logger_first"):
        assert [event.logged_at for event in requests(got)] == [event.logged_at for event in expected]
    if name not in LOSES_LEVEL:
        assert [event.log_level for event in requests(got)] == [event.log_level for event in expected]
    kinds = {event.kind for event in got if isinstance(event, IgnoredRecord)}
    assert kinds <= {"received_request", "other_logger", "other"}
    assert not [event for event in got if isinstance(event, RejectedRecord)]


LAYOUT_LAWS = st.tuples(st.sampled_from(KINDS), st.sampled_from(GENERATIONS))


def laid_out(kind: tuple[str, str], generation: str, part: int) -> bytes:
    return wrap(EXCERPTS[generation], *kind, part)


@given(LAYOUT_LAWS, st.integers(40, 4000), st.lists(st.integers(0, 1 << 20), max_size=8))
def test_it_gives_the_same_records_however_the_blocks_are_cut(kind: Any, part: int, cuts: list[int]) -> None:
    data = laid_out(*kind, part)
    layout = detect(data, LATEST)
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    blocks = [data[start:end] for start, end in pairwise(places)]
    assert list(split_records(blocks, 0, layout)) == found(data, layout)


@given(LAYOUT_LAWS, st.integers(40, 4000), st.integers(0, 1 << 20))
def test_it_resumes_where_any_part_of_the_file_ended(kind: Any, part: int, cut: int) -> None:
    data = laid_out(*kind, part)
    layout = detect(data, LATEST)
    whole = found(data, layout)
    before = found(data[: cut % (len(data) + 1)], layout)
    assert b"".join(record.data for record in before) == data[: cut % (len(data) + 1)]
    assert [record.finished for record in before[:-1]] == [True] * len(before[:-1])
    done = [record for record in before if record.finished]
    end = done[-1].offset + done[-1].length if done else 0
    after = found(data, layout, end)
    assert [(r.offset, r.length, r.text) for r in done + after] == [(r.offset, r.length, r.text) for r in whole]


KINDS_OF_TRACES = {"received_request", "sending_response", "not_sending_response", "handling_request"}
CLIENTS = ("c1", "Completed request:x", "[2026-01-01 00:00:00,000] DEBUG Completed request:{")


def traced(generation: str) -> bytes:
    """An excerpt with a trace after each record; some hold the words of a request in a client's text."""
    lines = (f"{trace % client} (kafka.network.RequestChannel$)" for client in CLIENTS for trace in TRACES)
    traces = cycle(f"[2026-11-21 02:50:00,000] TRACE {line}\n".encode() for line in lines)
    return b"".join(record.data + trace for record, trace in zip(records(EXCERPTS[generation]), traces, strict=False))


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_words_in_a_clients_text_are_no_anchor_of_a_whole_trace(generation: str) -> None:
    got, plain = parse(traced(generation)), parse(EXCERPTS[generation])
    assert [comparable(event) for event in requests(got)] == [comparable(event) for event in requests(plain)]
    assert not [event for event in got if isinstance(event, RejectedRecord)]
    assert {event.kind for event in got if isinstance(event, IgnoredRecord)} == KINDS_OF_TRACES


@settings(max_examples=examples(400))
@given(LAYOUT_LAWS, st.sampled_from([300, 16 << 10]), st.lists(st.integers(0, 1 << 20), min_size=1, max_size=3))
def test_no_request_is_only_counted_wherever_bytes_are_missing(kind: Any, part: int, cuts: list[int]) -> None:
    """Every record is a request, rejected or ignored, and what is ignored holds no anchor.

    An anchor is `Completed request:` where the message of a request begins; in a client's text inside a trace it is none.
    """
    data = wrap(traced(kind[1]), *kind[0], part)
    layout = detect(data, LATEST)
    parser = Parser()
    whole = [record for record in found(data, layout) if isinstance(parser.parse(record), RequestEvent)]
    places = sorted(cut % (len(data) + 1) for cut in cuts)
    spans = list(zip([0, *places[1::2]], [*places[::2], len(data)], strict=False))
    kept = b"".join(data[begin:end] for begin, end in spans)
    anchors, before = list[int](), 0
    for begin, end in spans:
        words = (record.offset + record.data.find(WORDS) for record in whole)
        anchors += [before + at - begin for at in words if begin <= at and at + len(WORDS) <= end]
        before += max(0, end - begin)
    parser, at = Parser(), 0
    for record in split_records([kept], 0, layout):
        assert record.offset == at
        at += record.length
        if not isinstance(parser.parse(record), RequestEvent | RejectedRecord):
            assert not [anchor for anchor in anchors if record.offset <= anchor < at]
    assert at == len(kept)


def test_lines_after_a_request_wait_with_it_for_the_rest_of_a_part() -> None:
    cri = b"2026-11-21T02:45:09.9Z stdout "
    data = cri + b"F " + request_header_struct_record() + cri + b"F other output\n" + cri + b"P a part\n" + cri[:9]
    (record,) = found(data)
    assert (record.data, record.length, record.finished) == (data, len(data), False)


PIECES = [b"2026-11-21T02:45:09.935123456Z stdout F ", b"2026-11-21T02:45:09.935Z stderr P ", b'{"log":"', b'\\n","stream":"stdout"}',
          b"<134>Nov 21 02:45:09 host app[1]: ", b"<134>1 2026-11-21T02:45:09Z h a p m - ", b'{"message":"', b'","timeMillis":1}', b"Completed request:",
          b"[2026-11-21 12:00:00,000] DEBUG ", b"2026-11-21 12:00:00 DEBUG [t] logger:1 - ", b" from client /a:1;totalTime:1", b"(a.b)", b"\n", b"\r\n",
          b"\0", b"\xff", b"Processor 0 received request: RequestHeader(apiKey=", b'{"isForwarded":false,']  # fmt: skip


@settings(max_examples=examples(300))
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=6)), max_size=20), st.sampled_from([None, False, True]),
       st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"]))  # fmt: skip
def test_it_takes_any_bytes_in_any_layout(parts: list[bytes], name: bool | None, mark: bytes) -> None:
    data = mark + b"".join(parts)
    layout = detect(data, LATEST)
    layout = layout if name is None else layout._replace(splittable=name)
    whole = found(data, layout)
    assert b"".join(record.data for record in whole) == data
    assert [record.offset for record in whole] == [sum(r.length for r in whole[:i]) for i in range(len(whole))]
    for event in events(data, layout):
        assert isinstance(event, Event)


@pytest.mark.parametrize(("pattern", "wrapper"), [("kafka", "none"), ("thread_last", "none"), ("no_logger", "none"),
                                                  ("thread_last", "cri"), ("ecs", "none"), ("message", "docker")])  # fmt: skip
@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\0" * 512])
def test_it_takes_line_ends_marks_and_zeros(pattern: str, wrapper: str, end: bytes, mark: bytes) -> None:
    plain = EXCERPTS["json"]
    data = mark + wrap(plain, pattern, wrapper).replace(b"\n", end)
    assert [comparable(event) for event in requests(events(data))] == [comparable(e) for e in requests(parse(plain))]


def test_it_keeps_zeros_and_replaces_what_is_no_utf_8() -> None:
    plain = request_header_struct_record(client_id="@@@").replace(b"@@@", b"a\0\xff")
    for pattern, wrapper in KINDS:
        (event,) = requests(events(wrap(plain, pattern, wrapper)))
        assert event.client_id == "a\0\N{REPLACEMENT CHARACTER}"
