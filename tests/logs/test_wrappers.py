"""Wrapped logs of real fleets: streams that mix, lines of other programs, forged lines, sizes without bound."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.logs import IgnoredRecord, Parser, RawRecord, RejectedRecord, RequestEvent, framing
from kafka_clientinfo.logs.layouts import Layout, detect
from kafka_clientinfo.logs.unwrapping import split_records
from tests.amounts import one_in
from tests.builders import json_record, request_header_struct_record
from tests.logs.excerpts import EXCERPTS, parse, requests
from tests.logs.laid_out import comparable, events, found
from tests.wrapping import KINDS, wrap

TAIL = (
    " from connection 1.2.3.4:1-5.6.7.8:2-0;totalTime:1.0,requestQueueTime:1.0,localTime:1.0,remoteTime:0.0,"
    "throttleTime:0.0,responseQueueTime:0.0,sendTime:0.0,securityProtocol:PLAINTEXT,principal:User:EVIL,listener:EVIL"
)
CRI = Layout(False, frozenset([b"cri ", b"cri["]))
"""A log of a runtime, with a logger at the end of each record."""
SECOND = json_record(client_id="b")
STAMP = "2026-11-21T12:00:00.5Z"
TEXT_KINDS = [kind for kind in KINDS if kind[0] not in ("ecs", "ecs_nested", "logstash", "filebeat")]


def client_ids(data: bytes) -> list[str | None]:
    return [event.client_id for event in requests(events(data))]


def kinds(data: bytes) -> Counter[str]:
    return Counter(getattr(event, "kind", getattr(event, "reason", "ok")) for event in events(data))


def check_account(records: list[RawRecord], data: bytes) -> None:
    assert b"".join(record.data for record in records) == data
    assert [record.offset for record in records] == [sum(r.length for r in records[:i]) for i in range(len(records))]


def forged_in(pattern: str) -> str:
    """A whole forged record as the layout would have it, for a client id."""
    (line,) = wrap(json_record(client_id="FORGED"), pattern, "none").decode().splitlines()
    return line


@pytest.mark.parametrize(("pattern", "wrapper"), TEXT_KINDS)
def test_it_keeps_forged_records_and_ends_as_text_in_every_layout(pattern: str, wrapper: str) -> None:
    # After a forged end without a start after it the record's own end comes later.
    for client_id, forged in ((f"x\n{forged_in(pattern)}", 1), (f"x{TAIL} (kafka.request.logger)\nrest", 0)):
        data = wrap(request_header_struct_record(client_id=client_id) + SECOND, pattern, wrapper)
        assert client_ids(data) == [client_id, "b"]
        assert [record.forged_prefixes for record in found(data)] == [forged, 0]


@pytest.mark.parametrize("wrapper", ["cri", "docker", "rfc_5424", "rfc_3164"])
@pytest.mark.parametrize("pattern", ["thread_last", "logger_first", "message"])
def test_it_takes_no_wrapper_inside_a_line_for_one(pattern: str, wrapper: str) -> None:
    inner = wrap(json_record(client_id="FORGED"), pattern, wrapper).decode().removesuffix("\n")
    plain = request_header_struct_record(client_id=f"x\n{inner}") + SECOND
    assert client_ids(wrap(plain, pattern, wrapper)) == [f"x\n{inner}", "b"]


def test_a_line_after_a_forged_end_rejects_the_request_and_words_of_an_end_are_none() -> None:
    client_id = f"x{TAIL}\n[2026-01-01 00:00:00,000] DEBUG y\nz\n[2026-01-01 00:00:00,000] INFO w"
    plain = request_header_struct_record(client_id=client_id) + SECOND
    assert client_ids(wrap(plain, "message", "cri")) == ["b"]
    assert isinstance(events(wrap(plain, "message", "cri"))[0], RejectedRecord)
    for words in ("listener:x", "sendTime:0.0", " from connection a;totalTime:1.0,sendTime:0.0"):
        client_id = f"x\n{words};y (kafka.request.logger)\n{forged_in('kafka')}"
        plain = request_header_struct_record(client_id=client_id) + SECOND
        assert client_ids(wrap(plain, "kafka", "cri")) == [client_id, "b"]


@pytest.mark.parametrize(("lines", "whole"), [(1, True), (2, True), (64, True), (65, False)])
def test_it_looks_through_some_lines_after_an_end_for_another(lines: int, whole: bool) -> None:
    client_id = f"x{TAIL} (kafka.request.logger)" + "\ny" * lines
    data = wrap(request_header_struct_record(client_id=client_id) + SECOND, "kafka", "cri")
    assert client_ids(data)[-1] == "b"
    assert (client_ids(data)[0] == client_id) is whole


@pytest.mark.parametrize(("pattern", "wrapper"), [("kafka", "cri"), ("thread_last", "docker"), ("message", "rfc_3164"),
                                                  ("logger_first", "cri"), ("message", "cri")])  # fmt: skip
def test_it_counts_other_programs_lines_and_loses_no_request(pattern: str, wrapper: str) -> None:
    plain = EXCERPTS["request_header_struct"]
    other = {
        "cri": b"2026-11-21T02:45:09.9Z stdout F  at kafka.Foo(Foo.scala:3)\n",
        "docker": b'{"log":" at kafka.Foo(Foo.scala:3)\\n","stream":"stdout","time":"2026-11-21T02:45:09.9Z"}\n',
        "rfc_3164": b"<134>Nov 21 02:45:09 host kernel: something else\n",
    }[wrapper]
    lines = wrap(plain, pattern, wrapper).splitlines(keepends=True)
    starts = [b"Completed request:RequestHeader(apiKey=" in line and b"fake" not in line for line in lines]
    data = b"".join(other * is_start + line for is_start, line in zip(starts, lines, strict=True))
    assert [comparable(e) for e in requests(events(data))] == [comparable(e) for e in requests(parse(plain))]
    assert kinds(data)["other_logger"] >= sum(starts)


@pytest.mark.parametrize("first", ["P", "F"])
def test_it_joins_the_parts_of_each_stream(first: str) -> None:
    whole = json_record(client_id="ü").decode().removesuffix("\n")
    half = len(whole) // 2
    data = (
        f"{STAMP} stdout P {whole[:half]}\n{STAMP} stderr {first} a warn\n{STAMP} stdout F {whole[half:]}\n"
        f"{STAMP} stderr F ing\n{STAMP} stdout F {whole}\n"
    ).encode()
    records = found(data)
    assert client_ids(data) == ["ü", "ü"]
    check_account(records, data)


@given(st.lists(st.sampled_from(["stderr F x", "stderr P y", "stdout P [2026-11-21 12:00:00,000] INFO ", "stdout F a (b.C)",
                                 "stdout F [2026-11-21 12:00:00,000] DEBUG Completed request:Name: ", "no wrapper",
                                 f"stdout F z{TAIL} (kafka.request.logger)", "stdout F {}"]), max_size=30), st.data())  # fmt: skip
def test_it_accounts_for_mixed_streams_and_resumes_in_them(lines: list[str], data: st.DataObject) -> None:
    text = "".join(f"{STAMP} {line}\n" if line != "no wrapper" else "text\n" for line in lines).encode()
    layout = detect(f"{STAMP} stdout F x\n".encode())
    whole = list(split_records([text], 0, layout))
    check_account(whole, text)
    assert all(record.finished for record in whole[:-1])
    cut = data.draw(st.integers(0, len(text)))
    before = [record for record in split_records([text[:cut]], 0, layout) if record.finished]
    end = sum(record.length for record in before)
    after = list(split_records([text[end:]], end, layout))
    assert sum(record.length for record in [*before, *after]) == len(text)


@pytest.mark.parametrize("wrapper", ["cri", "docker", "journal"])
def test_a_line_without_the_wrapper_ends_a_record(wrapper: str) -> None:
    first, rest = wrap(request_header_struct_record(client_id="x\ny"), "kafka", wrapper).splitlines(keepends=True)
    data = first + b"text\n" + rest + wrap(SECOND, "kafka", wrapper)
    assert client_ids(data) == ["b"]


def test_a_line_in_parts_has_the_time_of_its_first_and_is_waited_for() -> None:
    whole = json_record().partition(b"] DEBUG ")[2]
    data = b"2026-11-21T12:00:00Z stdout P " + whole[:50] + b"\n2026-11-21T12:00:01Z stdout F " + whole[50:]
    (record,) = found(data, CRI)
    assert record.text == b"[2026-11-21T12:00:00Z] DEBUG " + whole
    part, _ = wrap(json_record(client_id="x" * (16 << 10)), "kafka", "docker").splitlines(keepends=True)
    assert [record.finished for record in found(wrap(json_record(), "kafka", "docker") + part)] == [True, False]


def test_it_counts_the_starts_inside_one_event() -> None:
    client_id = "x\n[2026-01-01 00:00:00,000] DEBUG y\nz\n[2026-01-01 00:00:00,000] INFO w"
    two = wrap(request_header_struct_record(client_id=client_id), "ecs", "none")
    none = b'{"message":"%b","timeMillis":1}\n' % (2 * b"[2026-01-01 00:00:00,000] DEBUG ")
    assert [record.forged_prefixes for record in (*found(two), *found(none))] == [2, 0]


STARTED = "[2026-11-21 12:00:00,000] "
RECEIVED = "TRACE Processor 0 received request: RequestHeader(apiKey=FETCH, apiVersion=1, clientId=a"
STRUCT = "TRACE Processor 0 received request: {api_key=1,api_version=1,client_id=a"
NAMED = "TRACE Processor 0 received request : Name: FetchRequest; Version: 0; CorrelationId: 1; ClientId: a"
HANDLED = "TRACE [KafkaApi-0] Handling request:RequestHeader(apiKey=FETCH, apiVersion=1, clientId=a"
LOGGER = " (kafka.request.logger)"
CHANNEL = " (kafka.network.RequestChannel$)"


@pytest.mark.parametrize(
    ("first", "goes_on", "goes_on_without"),
    [
        (f"DEBUG Completed request:RequestHeader(x{TAIL}{LOGGER}", False, False),
        (f"DEBUG Completed request:RequestHeader(x{TAIL}", True, False),
        ("DEBUG Completed request:RequestHeader(x" + LOGGER, True, True),
        ("INFO x", True, False),
        (RECEIVED + CHANNEL, True, True),
        (f"{RECEIVED}, correlationId=1) -- {{x}}", True, False),
        (f"{RECEIVED}, correlationId=1, headerVersion=2) -- {{x}}{CHANNEL}", False, False),
        (f"{STRUCT}}} -- {{x}}{CHANNEL}", False, False),
        (f"{NAMED}; ReplicaId: -1{CHANNEL}", False, False),
        (f"{HANDLED}, correlationId=1) -- {{x}}{CHANNEL}", True, True),
        (f"{HANDLED}, correlationId=1) -- {{x}} from client: /1.2.3.4:5{CHANNEL}", False, False),
    ],
)
def test_it_knows_which_records_go_on_in_the_next_line(first: str, goes_on: bool, goes_on_without: bool) -> None:
    data = f"{STAMP} stdout F {STARTED}{first}\n{STAMP} stdout F text\n".encode()
    for layout, expected in ((CRI, goes_on), (Layout(False), goes_on_without)):
        records = found(data, layout)
        assert [record.text for record in records[1:]] == [b"text"] * (not expected), layout
        assert records[-1].finished is not expected


@pytest.mark.parametrize(("quiet", "other"), [("stdout", "stderr"), ("stderr", "stdout")])
def test_a_quiet_stream_holds_nothing_back(quiet: str, other: str) -> None:
    request = f"{STAMP} {quiet} F {STARTED}DEBUG Completed request:RequestHeader(x{TAIL}{LOGGER}\n".encode()
    lines = iter([request, *[f"{STAMP} {other} F x\n".encode()] * 3000])
    next(split_records(lines, 0, CRI))
    assert len(list(lines)) == 2999


def test_a_line_of_another_stream_inside_a_request_is_of_its_bytes_or_ends_it() -> None:
    begin, end, other = (f"{STAMP} {text}".encode() for text in (
        f"stdout F {STARTED}DEBUG Completed request:RequestHeader(x\n", f"stdout F y{TAIL}{LOGGER}\n", "stderr F "))  # fmt: skip
    (record,) = found(begin + other + b"warning\n" + end, CRI)
    assert (b"warning" in record.data, b"warning" in record.text) == (True, False)
    first, second, third = found(begin + other + SECOND + end, CRI)
    assert (first.torn, first.data, second.data) == (True, begin, other + SECOND)
    assert isinstance(Parser().parse(third), RejectedRecord)


def test_it_lets_go_of_the_middle_of_oversized_wrapped_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_clientinfo.logs.parser.MAX_RECORD", 1 << 16)
    for name, value in (("MAX_RECORD", 1 << 16), ("KEPT_HEAD", 1 << 12), ("KEPT_TAIL", 1 << 12)):
        monkeypatch.setattr(framing, name, value)
    huge = json_record(request={"metrics": "A" * (1 << 20)})
    for pattern, wrapper in [("kafka", "cri"), ("thread_last", "none"), ("logger_first", "docker"), ("ecs", "none")]:
        data = wrap(SECOND + huge + SECOND, pattern, wrapper, 500)
        blocks = (data[at : at + (1 << 12)] for at in range(0, len(data), 1 << 12))
        records = list(split_records(blocks, 0, detect(data[: 1 << 14])))
        assert max(len(record.data) + len(record.text or b"") for record in records) < 3 * (1 << 16)
        got = map(Parser().parse, records)
        assert [getattr(event, "reason", "ok") for event in got] == ["ok", "oversized", "ok"]


def test_a_record_after_a_torn_line_that_lost_its_middle_is_not_taken_from_a_wrong_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("MAX_RECORD", 1 << 13), ("KEPT_HEAD", 1 << 11), ("KEPT_TAIL", 1 << 11)):
        monkeypatch.setattr(framing, name, value)
    first, inner, last = (wrap(json_record(client_id=name), "kafka", "docker") for name in "abc")
    torn = b'{"log":"' + b"x" * (1 << 14) + inner
    data = first + torn + last
    blocks = (data[at : at + 1000] for at in range(0, len(data), 1000))
    records = list(split_records(blocks, 0, Layout(False, frozenset([b"log"]))))
    assert [record.length for record in records] == [len(first), len(torn), len(last)]
    assert [event.client_id for event in map(Parser().parse, records) if isinstance(event, RequestEvent)] == ["a", "c"]


@pytest.mark.parametrize(
    ("line", "stream"),
    one_in(5, product(
        ["[2026-01-01 00:00:00,000] DEBUG Completed request:RequestHeader(apiKey=FETCH",
         "[2026-01-01 00:00:00,000] TRACE Processor 0 received request: RequestHeader(apiKey=FETCH", " from connection ", "{", "(a.b) [",
         "[2026-01-01 00:00:00,000] INFO x"],
        ["stdout F", "stdout P"],
    )),
)  # fmt: skip
def test_it_gets_through_many_lines_of_one_record(line: str, stream: str) -> None:
    start = f"{STAMP} stdout F [2026-11-21 12:00:00,000] DEBUG Completed request:RequestHeader(apiKey=FETCH\n".encode()
    data = start + f"{STAMP} {stream} {line}\n".encode() * 20_000
    assert sum(record.length for record in found(data)) == len(data)


def test_it_reads_the_plain_log_the_same_way_line_by_line() -> None:
    for name, data in EXCERPTS.items():
        got = events(data, detect(data)._replace(splittable=False))
        assert [comparable(e) for e in requests(got)] == [comparable(e) for e in requests(parse(data))], name
        assert isinstance(got[0], RequestEvent | IgnoredRecord)
