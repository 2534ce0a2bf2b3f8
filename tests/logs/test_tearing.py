"""A killed broker leaves half a record, and the next one follows on it: the whole one is read, and only that."""

from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import NamedTuple

import pytest

from kafka_clientinfo.logs import IgnoredRecord, Parser, RejectedRecord, RequestEvent, split_records
from tests.amounts import one_in, places
from tests.builders import TEXT_RECORDS, api_key_struct_record, json_record, request_header_struct_record
from tests.logs.excerpts import EXCERPTS, GENERATIONS, parse, records
from tests.logs.laid_out import events
from tests.wrapping import KINDS, wrap

Build = Callable[..., bytes]
PROCESSOR = b"[2026-11-21 12:00:00,000] TRACE Processor 1 received request: RequestHeader(apiKey=METADATA, apiVersion=9, clientId=r, correlationId=4, headerVersion=2) -- MetadataRequestData(topics=[]) (kafka.network.RequestChannel$)\n"
SERVER = b"[2026-11-21 12:00:00,000] INFO [GroupCoordinator 1]: Stabilized group g generation 1 (kafka.coordinator.group.GroupCoordinator)\n"
BANNER = b"===> User\nuid=1000(appuser) gid=1000(appuser)\n===> Launching ...\n"


class Outcome(NamedTuple):
    """What is read of some bytes: requests without their offsets, and where they begin; bytes that are rejected."""

    requests: list[tuple[int, RequestEvent]]
    rejected: bytes
    ignored: int


def read(data: bytes, step: int | None = None) -> Outcome:
    """Read a log, and hold that every byte is in one record."""
    blocks = [data] if step is None else [data[at : at + step] for at in range(0, len(data), step)]
    found, parser = list(split_records(blocks)), Parser()
    assert b"".join(record.data for record in found) == data
    assert [record.offset for record in found] == [sum(r.length for r in found[:i]) for i in range(len(found))]
    events = [parser.parse(record) for record in found]
    rejected = b"".join(event.raw for event in events if isinstance(event, RejectedRecord))
    requests = [
        (event.byte_offset, event._replace(byte_offset=0)) for event in events if isinstance(event, RequestEvent)
    ]
    return Outcome(requests, rejected, sum(isinstance(event, IgnoredRecord) for event in events))


def alone(record: bytes) -> RequestEvent:
    ((_, event),) = read(record).requests
    return event


def check(torn: bytes, whole: bytes, before: bytes = b"") -> None:
    """Hold that a torn piece of a record is rejected, and what follows it is read as it would be alone."""
    following = json_record(correlation_id=99, client_id="later")
    found = read(before + torn + whole + following)
    at = len(before) + len(torn)
    expected = ([(0, alone(before))] if before else []) + [(at, alone(whole)), (at + len(whole), alone(following))]
    is_whole = torn.endswith(b" (kafka.request.logger)")  # only its line end is missing
    if is_whole and len(found.requests) > len(expected):
        expected.insert(-2, (len(before), alone(torn + b"\n")))
    assert found.requests == expected
    assert found.rejected == (b"" if is_whole and len(expected) == 3 + bool(before) else torn)


FIRST = json_record(
    client_id="first", api="METADATA", request={"topics": [{"name": "a b"}]}, response={"brokers": [], "errorCode": 0}
)
WHOLE = json_record(client_id="second", connection="10.0.0.1:9092-10.0.0.3:50000-7", correlation_id=2)


@pytest.mark.parametrize("before", [b"", json_record(client_id="before")])
def test_a_torn_record_of_json_and_the_next_one_at_every_place(before: bytes) -> None:
    for at in places(1, len(FIRST)):
        check(FIRST[:at], WHOLE, before)


@pytest.mark.parametrize("generation", list(TEXT_RECORDS))
def test_a_torn_record_in_text_and_the_next_one_at_every_place(generation: str) -> None:
    first, whole = (
        TEXT_RECORDS[generation](client_id="first"),
        TEXT_RECORDS[generation](client_id="second", correlation_id=2),
    )
    before = TEXT_RECORDS[generation](client_id="before", connection="10.0.0.1:9092-10.0.0.3:50000-7")
    for at in places(1, len(first)):
        check(first[:at], whole)
        check(first[:at], whole, before)


@pytest.mark.parametrize("generation", list(TEXT_RECORDS))
def test_a_torn_record_in_text_accuses_nobody_where_the_next_one_has_a_line_of_its_own(generation: str) -> None:
    first, whole = (
        TEXT_RECORDS[generation](client_id="first"),
        TEXT_RECORDS[generation](client_id="second", correlation_id=2),
    )
    for at in places(60, len(first) - 1):
        check(first[:at] + b"\n", whole)
        check(first[:at] + BANNER, whole)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_records_of_real_brokers_are_torn_at_some_places(generation: str) -> None:
    real = [record.data for record in records(EXCERPTS[generation]) if record.forged_prefixes == 0]
    real = [data for data in real if data.count(b"\n") == 1 and isinstance(parse(data)[0], RequestEvent)][:12]
    for first, whole in pairwise(real):
        for at in places(1, len(first), 41):
            check(first[:at], whole)


def test_records_that_are_torn_one_after_the_other() -> None:
    for at in range(70, len(FIRST), 23):
        torn = FIRST[:at] + json_record(client_id="again")[: 70 + 7 * at % 500]
        check(torn, WHOLE)
        check(FIRST[:12] + torn, WHOLE)


def test_a_torn_prefix_before_a_time_without_milliseconds() -> None:
    for at in range(1, 30):
        check(FIRST[:at], WHOLE.replace(b",000]", b"]"))


@pytest.mark.parametrize("other", [PROCESSOR, SERVER], ids=["received request", "server.log"])
@pytest.mark.parametrize("whole", [WHOLE, request_header_struct_record(client_id="second")], ids=["json", "text"])
def test_a_torn_record_of_another_kind(other: bytes, whole: bytes) -> None:
    for at in places(1, len(other) - 1):
        check(other[:at], whole)
        check(other[:at], whole[:-1] + b"\r\n")


@pytest.mark.parametrize(
    "follows", [SERVER, BANNER, b"java.lang.Exception: x\n\tat kafka.Foo(Foo.scala:3)\n", PROCESSOR]
)
def test_what_follows_a_torn_record_of_json(follows: bytes) -> None:
    for at in range(70, len(FIRST) - 30, 31):
        found = read(FIRST[:at] + follows + WHOLE)
        assert found.requests == [(at + len(follows), alone(WHOLE))]
        assert found.rejected == FIRST[:at] + follows


@pytest.mark.parametrize(
    "banner",
    [BANNER, BANNER.rpartition(b"===>")[0], b"User (kafka.request.logger)\n"],
    ids=["any", "ends as with a logger", "ends with the logger"],
)
@pytest.mark.parametrize("whole", [WHOLE, *(build(client_id="second") for build in TEXT_RECORDS.values())])
def test_output_of_other_programs_after_a_whole_record_belongs_to_no_record(whole: bytes, banner: bytes) -> None:
    found = read(whole + banner + whole)
    assert [at for at, _ in found.requests] == [0, len(whole + banner)]
    assert {event for _, event in found.requests} == {alone(whole)}
    assert found.rejected == banner


def test_output_of_other_programs_after_a_whole_record_that_follows_a_half() -> None:
    half, whole = request_header_struct_record(client_id="first")[:120], api_key_struct_record(client_id="second")
    found = read(half + b"\n" + whole + b" (a)\n" + WHOLE)
    assert [at for at, _ in found.requests] == [len(half) + 1, len(half) + 1 + len(whole + b" (a)\n")]
    assert found.rejected == half + b"\n (a)\n"


@pytest.mark.parametrize(
    "client_id", ["Completed request:{", "x[2026-11-21 12:00:00,000] DEBUG Completed request:{",
                  "[2026-11-21 12:00:00,000] DEBUG Completed request:RequestHeader(apiKey="]
)  # fmt: skip
def test_the_words_in_a_text_of_json_tear_nothing(client_id: str) -> None:
    whole = json_record(client_id=client_id, request={"topics": [client_id], client_id: 1})
    assert [event.client_id for _, event in read(whole * 2).requests] == [client_id] * 2


ZEROS = bytes(600)
STARTED = b"[2026-11-21 12:00:00,000] INFO Registered signal handlers for TERM, INT, HUP (org.apache.kafka.common.utils.LoggingSignalHandler)\n"
OUTPUT = {
    "zeros": ZEROS,
    "zeros and a line end": ZEROS + b"\n",
    "a banner": BANNER,
    "a banner of one line": b"===> User\n",
    "a warning of Java": b"OpenJDK 64-Bit Server VM warning: x\n",
    "a note of Java": b"Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n",
    "a coloured banner": b"\x1b[38;5;6mkafka \x1b[38;5;5m12:00:00.00 \x1b[0mINFO ==> Welcome\n",
}


@pytest.mark.parametrize("output", OUTPUT)
@pytest.mark.parametrize("build", [json_record, *TEXT_RECORDS.values()])
def test_other_output_after_a_torn_record_hides_no_record(build: Build, output: str) -> None:
    first, whole = build(client_id="first"), build(client_id="second", correlation_id=2)
    before = build(client_id="before", connection="10.0.0.1:9092-10.0.0.3:50000-7")
    for at in places(1, len(first) - 1, 1 if output == "a banner" else 5):
        found = read(before + first[:at] + OUTPUT[output] + whole)
        assert [event for _, event in found.requests] == [alone(before), alone(whole)], at


@pytest.mark.parametrize("filler", [ZEROS, b"\xef\xbb\xbf", b"\xef\xbb\xbf" + ZEROS], ids=["zeros", "mark", "both"])
@pytest.mark.parametrize("build", [json_record, *TEXT_RECORDS.values()])
def test_filler_after_a_whole_record_belongs_to_no_request(build: Build, filler: bytes) -> None:
    whole = build(client_id="first")
    found = read(whole + filler + whole + filler + whole)
    assert ([event for _, event in found.requests], found.rejected) == ([alone(whole)] * 3, b"")


def test_a_whole_record_of_json_may_lack_its_line_end_before_zeros() -> None:
    for zeros in (ZEROS, ZEROS + b"\n"):
        assert [event for _, event in read(FIRST[:-1] + zeros + WHOLE).requests] == [alone(FIRST), alone(WHOLE)]


@pytest.mark.parametrize("generation", list(TEXT_RECORDS))
def test_a_record_of_another_kind_in_a_tail_is_no_principal(generation: str) -> None:
    first, whole = (
        TEXT_RECORDS[generation](client_id="first"),
        TEXT_RECORDS[generation](client_id="second", correlation_id=2),
    )
    for other in (STARTED, SERVER, PROCESSOR):
        for at in places(first.index(b",requestQueueTime"), len(first) - 1):
            found = read(first[:at] + other + whole)
            assert found == Outcome([(at + len(other), alone(whole))], first[:at], 1)


@pytest.mark.parametrize("begin", ["", "\n"], ids=["in the line", "on a line of its own"])
@pytest.mark.parametrize("build", [request_header_struct_record, api_key_struct_record])
def test_a_principal_that_holds_the_text_of_a_record_tears_nothing(build: Build, begin: str) -> None:
    record = build(principal=f"User:x{begin}[2026-11-21 12:00:00,000] INFO Registered")
    found = read(record + build(client_id="second", correlation_id=2))
    assert found.requests[0] == (0, alone(record))
    assert (len(found.requests), found.rejected) == (2, b"")


@pytest.mark.parametrize("generation", list(TEXT_RECORDS))
def test_torn_prefixes_one_after_the_other_tear_no_whole_record(generation: str) -> None:
    first, whole = (
        TEXT_RECORDS[generation](client_id="first"),
        TEXT_RECORDS[generation](client_id="second", correlation_id=2),
    )
    for torn in (b"[[", b"[2026-11-21 12:00:00,000[2026", b"[" + ZEROS, b"[2026-11-21 12:00:00,000" + ZEROS + b"["):
        assert [event for _, event in read(first + torn + whole).requests] == [alone(first), alone(whole)], torn


FORGED_JSON = WHOLE.decode().rstrip("\n")
FORGED_TEXT = request_header_struct_record(client_id="forged", connection="1.1.1.1:1-2.2.2.2:2-3").decode().rstrip("\n")


@pytest.mark.parametrize("forged", [FORGED_JSON, FORGED_TEXT, FORGED_TEXT.partition(" from connection")[0]])
@pytest.mark.parametrize("begin", ["x", "x\n"])
@pytest.mark.parametrize("end", ["", "\n", " x", "\nx"])
@pytest.mark.parametrize("generation", list(TEXT_RECORDS))
def test_what_a_client_writes_is_a_request_of_its_own_connection_alone(
    forged: str, begin: str, end: str, generation: str
) -> None:
    genuine = TEXT_RECORDS[generation](client_id=begin + forged + end)
    found = read(genuine + TEXT_RECORDS[generation]())
    expected = alone(TEXT_RECORDS[generation]())
    assert {event.connection_id for _, event in found.requests} == {expected.connection_id}
    assert found.requests[0][1].client_id.startswith(begin + "[2026-11-21 12:00:00,000] DEBUG Completed request:")
    assert found.requests[0][1].forged_lines == ("\n" in begin)
    received = PROCESSOR.replace(b"clientId=r", b"clientId=" + (begin + forged + end).encode())
    assert [event for _, event in read(received + SERVER + TEXT_RECORDS[generation]()).requests] == [expected]


def test_a_forged_line_that_damage_explains_accuses_nobody_and_is_on_its_own_connection() -> None:
    header = "x\n[2026-11-21 12:00:00,000] DEBUG Completed request:RequestHeader(apiKey=FETCH, apiVersion=1, clientId=y"
    ((_, event),) = read(request_header_struct_record(client_id=header, connection="h:1-10.9.8.7:6-0")).requests
    assert (event.client_id, event.remote_host, event.forged_lines) == ("y", "10.9.8.7", 0)


@pytest.mark.parametrize("torn", [FIRST[:20], FIRST[:100], FIRST[:-10], FIRST[:-1], PROCESSOR[:150], SERVER[:60],
                                  request_header_struct_record()[:150], request_header_struct_record()[:-60] + STARTED,
                                  request_header_struct_record() + b"[2026-11[" + bytes(40), FIRST[:35] + b"===> User\n",
                                  ])  # fmt: skip
@pytest.mark.parametrize("whole", [WHOLE, request_header_struct_record(client_id="second")])
def test_a_log_that_grows_is_read_as_the_whole_log(torn: bytes, whole: bytes) -> None:
    if b"RequestHeader" in torn and torn.startswith(b"[2026-11-21 12:00:00,000] DEBUG") and whole == WHOLE:
        return  # a broker that is upgraded as it is killed: its requests in JSON may be a client's text
    data = WHOLE + torn + whole + WHOLE
    expected = [(record.offset, record.data, record.torn) for record in records(data)]
    for size in places(1, len(data), 3):
        first = [record for record in split_records([data[:size]]) if record.finished]
        end = sum(record.length for record in first)
        found = [(r.offset, r.data, r.torn) for r in (*first, *split_records([data[end:]], end))]
        assert found == expected, size


TEXT = request_header_struct_record(client_id="second")


@pytest.mark.parametrize(
    ("last", "end", "finished"),
    [
        (WHOLE, BANNER, [True, False]),
        (WHOLE, ZEROS, [True, False]),
        (WHOLE[:-1], WHOLE[:100], [True, False]),
        (WHOLE[:100], WHOLE, [True, True]),
        (WHOLE[:100], TEXT, [True]),
        (FIRST[:40], WHOLE, [True, True]),
        (FIRST[:40], WHOLE[:100], [False]),
        (TEXT, BANNER, [False]),
        (TEXT, ZEROS, [False]),
        (TEXT, b"[2026-11", [True, False]),
        (TEXT[:-1], SERVER, [True, True]),
        (TEXT[:100], TEXT, [True, True]),
        (TEXT[:100], TEXT[:-1], [True, False]),
        (PROCESSOR[:100], WHOLE, [True, False]),
        (PROCESSOR[:100], WHOLE[:100], [False]),
        (SERVER[:60], TEXT, [True, False]),
        (b"x (a.b)\n", b"", [True]),
    ],
)
def test_a_record_is_finished_where_no_further_bytes_can_change_it(
    last: bytes, end: bytes, finished: list[bool]
) -> None:
    assert [record.finished for record in split_records([last + end])] == finished


def test_blocks_of_any_size_give_the_same() -> None:
    data = WHOLE + FIRST[:200] + WHOLE + BANNER + PROCESSOR[:100] + WHOLE + WHOLE
    expected = read(data)
    assert len(expected.requests) == 4
    assert all(read(data, step) == expected for step in (1, 7, 100, 1000))


def halves(build: Build, pattern: str, wrapper: str, step: int) -> Iterator[tuple[bytes, bytes, list[RequestEvent]]]:
    """Yield a half of a record, the record that follows, and what is read of both in the midst of whole ones."""
    before = wrap(build(client_id="before"), pattern, wrapper)
    whole = wrap(build(client_id="second", connection="h:1-10.0.0.3:5-7", correlation_id=2), pattern, wrapper)
    first = wrap(build(client_id="first"), pattern, wrapper)
    for at in places(1 + len(first) % step, first.find(b"totalTime"), step):
        for half in (first[:at], first[:at] + b"\n"):
            yield half, whole, [one for one in events(before * 4 + half + whole * 2) if isinstance(one, RequestEvent)]


@pytest.mark.parametrize(("build", "kind"), one_in(3, product([json_record, *TEXT_RECORDS.values()], KINDS)))
def test_a_torn_line_of_another_layout_and_the_next_one(build: Build, kind: tuple[str, str]) -> None:
    """The half and what follows it, on the same line or, as in a container, on the next one."""
    pattern, wrapper = kind
    for half, whole, got in halves(build, pattern, wrapper, 97):
        assert [one.client_id for one in got] == ["before"] * 4 + ["second"] * 2, half
        assert got[-2]._replace(byte_offset=0) == got[-1]._replace(byte_offset=0), half
        # Without a request's words the half is part of the next line's head.
        assert got[-1].byte_offset - got[-2].byte_offset in (len(whole), len(half) + len(whole))
        assert {one.forged_lines for one in got} == {0}


@pytest.mark.parametrize(
    ("pattern", "wrapper"), [("thread_last", "none"), ("bracketed_thread_last", "none"), ("kafka", "cri")]
)
@pytest.mark.parametrize("build", [json_record, *TEXT_RECORDS.values()])
def test_other_output_after_a_torn_line_hides_no_line(build: Build, pattern: str, wrapper: str) -> None:
    before, first, whole = (wrap(build(client_id=name), pattern, wrapper) for name in ("before", "first", "second"))
    places = range(1, first.index(b"endTime"), 5)
    torn = [first[:at] + output for output in (b"===> User\n", b"\r\n", ZEROS + b"\n") for at in places]
    for half in (*torn, first[: first.index(b"pleted request:")] + b"\nuid=1000\n"):
        got = events(before * 4 + half + whole * 2)
        found = [one for one in got if isinstance(one, RequestEvent)]
        assert [one.client_id for one in found] == ["before"] * 4 + ["second"] * 2, half
        assert {one.principal for one in found} == {found[0].principal}


@pytest.mark.parametrize(
    ("named", "is_found"),
    [("Completed request:" * 9, True), ("Completed request:Name:" * 3, True), ("Completed request:Name:" * 4, False)],
)
def test_a_line_after_a_torn_one_may_name_some_requests(named: str, is_found: bool) -> None:
    names = ["first", named]
    first, whole = (wrap(request_header_struct_record(client_id=name), "thread_last", "none") for name in names)
    got = [one.client_id for one in events(whole + first[:150] + whole) if isinstance(one, RequestEvent)]
    assert got == [names[1], names[is_found]]


@pytest.mark.parametrize("build", [json_record, *TEXT_RECORDS.values()])
@pytest.mark.parametrize("wrapper", ["docker", "cri"])
def test_a_runtime_that_passes_on_the_half_as_a_part_of_a_line(build: Build, wrapper: str) -> None:
    """The part has no end, so the first line of the next process goes on with it."""
    before, first, whole = (build(client_id=name) for name in ("before", "first", "second"))
    data = {name: wrap(one, "kafka", wrapper) for name, one in (("before", before), ("whole", whole))}
    for at in range(1, first.find(b"otalTime"), 37):
        half = wrap(first[:-1] + b"\n", "kafka", wrapper, at).splitlines(True)[0]
        got = events(data["before"] * 4 + half + data["whole"] * 2)
        found = [one for one in got if isinstance(one, RequestEvent)]
        assert [one.client_id for one in found] == ["before"] * 4 + ["second"] * 2, half
        assert {one.forged_lines for one in found} == {0}
        assert sum(isinstance(one, RejectedRecord) for one in got) <= 1


@pytest.mark.parametrize(("pattern", "wrapper"), one_in(3, KINDS))
def test_no_client_writes_a_request_of_another_connection_in_any_layout(pattern: str, wrapper: str) -> None:
    for build, begin, forged in product(TEXT_RECORDS.values(), ("x", "x\n"), (FORGED_JSON, FORGED_TEXT)):
        genuine, usual = build(client_id=begin + forged + "\n"), build(connection="h:1-9.9.9.9:1-1")
        got = events(b"".join(wrap(one, pattern, wrapper) for one in (usual * 4, genuine, usual)))
        expected = {alone(genuine).connection_id, alone(usual).connection_id}
        assert {one.connection_id for one in got if isinstance(one, RequestEvent)} <= expected, (build, begin, forged)
    request = request_header_struct_record(connection="1.1.1.1:1-2.2.2.2:2-3")
    text = b"clientId=x\n" + wrap(request, pattern, "none").rstrip(b"\n") + b"\n"
    got = events(b"".join(wrap(one, pattern, wrapper) for one in (PROCESSOR.replace(b"clientId=r", text), usual)))
    assert {one.connection_id for one in got if isinstance(one, RequestEvent)} == {alone(usual).connection_id}
