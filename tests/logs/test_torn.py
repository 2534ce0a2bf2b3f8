"""A killed broker leaves half a record, and the next one follows on it: nothing is lost uncounted, and nothing is forged."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from kafka_clientinfo.logs import IgnoredRecord, Parser, RejectedRecord, RequestEvent, split_records
from tests.amounts import places
from tests.builders import TEXT_RECORDS, api_key_struct_record, json_record, request_header_struct_record
from tests.logs.excerpts import EXCERPTS, GENERATIONS, parse, records

Build = Callable[..., bytes]
PROCESSOR = b"[2026-11-21 12:00:00,000] TRACE Processor 1 received request: RequestHeader(apiKey=METADATA, apiVersion=9, clientId=r, correlationId=4, headerVersion=2) -- MetadataRequestData(topics=[]) (kafka.network.RequestChannel$)\n"
SERVER = b"[2026-11-21 12:00:00,000] INFO [GroupCoordinator 1]: Stabilized group g generation 1 (kafka.coordinator.group.GroupCoordinator)\n"
BANNER = b"===> User\nuid=1000(appuser) gid=1000(appuser)\n===> Launching ...\n"


LATER = {"correlation_id": 99, "client_id": "later"}


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
    requests = [(one.byte_offset, one._replace(byte_offset=0)) for one in events if isinstance(one, RequestEvent)]
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
    is_whole = torn.endswith((b"}", b"} ", b"r)"))  # only its logger or its line end is missing
    if is_whole and len(found.requests) > len(expected):
        expected.insert(-2, (len(before), alone(torn + b"\n")))
        torn = b""
    if b"Completed request:" not in torn:  # the rest is read with the whole one
        expected[-2] = (at - len(torn), expected[-2][1])
        torn = b""
    assert found.requests == expected
    assert found.rejected == torn


def check_counted(torn: bytes, whole: bytes, later: bytes, before: bytes = b"") -> None:
    """Hold that a torn piece costs at most the next record, which is rejected with its bytes then."""
    found = read(before + torn + whole + later)
    requests = [event for _, event in found.requests]
    if torn.endswith(b" (kafka.request.logger)") and alone(torn + b"\n") in requests:  # only its line end is missing
        requests.remove(alone(torn + b"\n"))
    assert requests in ([alone(one) for one in read if one] for read in ((before, whole, later), (before, later)))
    assert alone(whole) in requests or found.rejected.endswith(torn + whole)


FIRST = json_record(client_id="first", request={"topics": [{"name": "a b"}]}, response={"brokers": [], "errorCode": 0})
WHOLE = json_record(client_id="second", connection="10.0.0.1:9092-10.0.0.3:50000-7", correlation_id=2)


@pytest.mark.parametrize("before", [b"", json_record(client_id="before")])
def test_a_torn_record_of_json_and_the_next_one_at_every_place(before: bytes) -> None:
    for at in places(1, len(FIRST)):
        check(FIRST[:at], WHOLE, before)


@pytest.mark.parametrize("between", [b"", b"\n", BANNER], ids=["on its line", "on the next line", "after a banner"])
@pytest.mark.parametrize("generation", list(TEXT_RECORDS))
def test_a_torn_record_in_text_costs_at_most_the_next_one(generation: str, between: bytes) -> None:
    build = TEXT_RECORDS[generation]
    first, whole, later = build(client_id="first"), build(client_id="second", correlation_id=2), build(**LATER)
    before = build(client_id="before", connection="10.0.0.1:9092-10.0.0.3:50000-7")
    for at in places(1, len(first) - len(" (kafka.request.logger)\n")):
        check_counted(first[:at] + between, whole, later)
        check_counted(first[:at] + between, whole, later, before)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_records_of_real_brokers_are_torn_at_some_places(generation: str) -> None:
    real = [record.data for record in records(EXCERPTS[generation]) if record.forged_prefixes == 0]
    real = [data for data in real if data.count(b"\n") == 1 and isinstance(parse(data)[0], RequestEvent)][:12]
    for first, whole, later in zip(real, real[1:], real[2:], strict=False):
        for at in places(1, len(first) - 40, 41):
            check_counted(first[:at], whole, later)


def test_records_torn_one_after_the_other_and_before_a_time_without_milliseconds() -> None:
    for at in range(70, len(FIRST), 23):
        check(FIRST[:at] + json_record(client_id="again")[: 70 + 7 * at % 500], WHOLE)
    for at in range(1, 30):
        check(FIRST[:at], WHOLE.replace(b",000]", b"]"))


@pytest.mark.parametrize("other", [PROCESSOR, SERVER], ids=["received request", "server.log"])
@pytest.mark.parametrize("build", [json_record, *TEXT_RECORDS.values()])
def test_a_torn_record_of_another_kind(other: bytes, build: Build) -> None:
    whole, later = build(client_id="second"), build(**LATER)
    for at in places(1, len(other) - 1):
        for end in (b"\n", b"\r\n"):
            trace = PROCESSOR if other is PROCESSOR else b""  # the end of the next one ends the torn one
            found = read(other[:at] + whole[:-1] + end + trace + later)
            assert alone(later) in [event for _, event in found.requests]
            assert len(found.requests) == 2 or whole[:-1] in found.rejected


@pytest.mark.parametrize(
    "follows", [SERVER, BANNER, b"java.lang.Exception: x\n\tat kafka.Foo(Foo.scala:3)\n", PROCESSOR]
)
def test_what_follows_a_torn_record_of_json(follows: bytes) -> None:
    for at in range(70, len(FIRST) - 30, 31):
        found = read(FIRST[:at] + follows + WHOLE)
        assert found == Outcome([(at + len(follows), alone(WHOLE))], FIRST[:at] + follows, 0)


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


@pytest.mark.parametrize(
    "client_id", ["Completed request:{", "x[2026-11-21 12:00:00,000] DEBUG Completed request:{",
                  "[2026-11-21 12:00:00,000] DEBUG Completed request:RequestHeader(apiKey="]
)  # fmt: skip
def test_the_words_in_a_text_of_json_tear_nothing(client_id: str) -> None:
    whole = json_record(client_id=client_id, request={"topics": [client_id], client_id: 1})
    assert [event.client_id for _, event in read(whole * 2).requests] == [client_id] * 2


ZEROS = bytes(600)
STARTED = b"[2026-11-21 12:00:00,000] INFO Registered signal handlers for TERM, INT, HUP (org.apache.kafka.common.utils.LoggingSignalHandler)\n"
OUTPUT = [BANNER, ZEROS, ZEROS + b"\n", b"===> User\n", b"OpenJDK 64-Bit Server VM warning: x\n",
          b"Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n", b"\x1b[38;5;6mkafka \x1b[38;5;5m12:00:00.00 \x1b[0mINFO ==> Welcome\n"]  # fmt: skip


@pytest.mark.parametrize("output", OUTPUT)
@pytest.mark.parametrize("build", [json_record, *TEXT_RECORDS.values()])
def test_other_output_after_a_torn_record_costs_at_most_the_next_one(build: Build, output: bytes) -> None:
    first, whole = build(client_id="first"), build(client_id="second", correlation_id=2)
    before = build(client_id="before", connection="10.0.0.1:9092-10.0.0.3:50000-7")
    for at in places(1, len(first) - 40, 1 if output == BANNER else 5):
        found = read(before + first[:at] + output + whole + whole)
        events = [event for _, event in found.requests]
        assert events[0] == alone(before)
        assert events[1:] in ([alone(whole)] * 2, [alone(whole)]), at
        assert len(events) == 3 or whole in found.rejected


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
    first, whole = (TEXT_RECORDS[generation](client_id=name) for name in ("first", "second"))
    for other in (STARTED, SERVER, PROCESSOR):
        for at in places(first.index(b",requestQueueTime"), len(first) - 1):
            found = read(first[:at] + other + whole)
            assert found == Outcome([(at + len(other), alone(whole))], first[:at] + other, 0)


@pytest.mark.parametrize("begin", ["", "\n"], ids=["in the line", "on a line of its own"])
@pytest.mark.parametrize("build", [request_header_struct_record, api_key_struct_record])
def test_a_principal_that_holds_the_text_of_a_record_tears_nothing(build: Build, begin: str) -> None:
    record = build(principal=f"User:x{begin}[2026-11-21 12:00:00,000] INFO Registered")
    found = read(record + build(client_id="second", correlation_id=2))
    assert found.requests[0] == (0, alone(record))
    assert (len(found.requests), found.rejected) == (2, b"")


@pytest.mark.parametrize("generation", list(TEXT_RECORDS))
def test_torn_prefixes_one_after_the_other_tear_no_whole_record(generation: str) -> None:
    first, whole = (TEXT_RECORDS[generation](client_id=name) for name in ("first", "second"))
    for torn in (b"[[", b"[2026-11-21 12:00:00,000[2026", b"[" + ZEROS, b"[2026-11-21 12:00:00,000" + ZEROS + b"["):
        found = read(first + torn + whole)
        assert [event for _, event in found.requests] in ([alone(first), alone(whole)], [alone(first)]), torn
        assert len(found.requests) == 2 or found.rejected == torn + whole


FORGED_JSON = WHOLE.decode().rstrip("\n")
FORGED_TEXT = request_header_struct_record(client_id="forged", connection="1.1.1.1:1-2.2.2.2:2-3").decode().rstrip("\n")


@pytest.mark.parametrize("forged", [FORGED_JSON, FORGED_TEXT, FORGED_TEXT.partition(" from connection")[0]])
@pytest.mark.parametrize("begin", ["x", "x\n"])
@pytest.mark.parametrize("end", ["", "\n", " x", "\nx"])
@pytest.mark.parametrize("generation", list(TEXT_RECORDS))
def test_what_a_client_writes_is_of_its_own_connection_alone(
    forged: str, begin: str, end: str, generation: str
) -> None:
    genuine = TEXT_RECORDS[generation](client_id=begin + forged + end)
    found = read(genuine + TEXT_RECORDS[generation]())
    expected = alone(TEXT_RECORDS[generation]())
    assert {event.connection_id for _, event in found.requests} == {expected.connection_id}
    (_, first), *_ = found.requests
    assert first.client_id.startswith(begin + "[2026-11-21 12:00:00,000] DEBUG Completed request:")
    assert first.forged_lines == ("\n" in begin)
    received = PROCESSOR.replace(b"clientId=r", b"clientId=" + (begin + forged + end).encode())
    assert [event for _, event in read(received + SERVER + TEXT_RECORDS[generation]()).requests] == [expected]


def test_a_forged_line_that_damage_explains_accuses_nobody() -> None:
    header = "x\n[2026-11-21 12:00:00,000] DEBUG Completed request:RequestHeader(apiKey=FETCH, apiVersion=1, clientId=y"
    record = request_header_struct_record(client_id=header, connection="h:1-10.9.8.7:6-0")
    assert read(record + record) == Outcome([], record * 2, 0)


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
        (WHOLE[:-1], WHOLE[:100], [False]),
        (WHOLE[:100], WHOLE, [True, True]),
        (FIRST[:40], WHOLE, [True]),
        (FIRST[:40], WHOLE[:100], [False]),
        (TEXT, BANNER, [False]),
        (TEXT, b"[2026-11", [True, False]),
        (TEXT[:-1], SERVER, [True]),
        (TEXT[:100], TEXT, [True]),
        (PROCESSOR[:100], WHOLE, [False]),
        (PROCESSOR[:100], WHOLE + PROCESSOR, [True]),
        (SERVER[:60], TEXT, [True]),
    ],
)
def test_a_record_is_finished_where_no_bytes_can_change_it(last: bytes, end: bytes, finished: list[bool]) -> None:
    assert [record.finished for record in split_records([last + end])] == finished


@pytest.mark.parametrize("filler", [b"\xef\xbb\xbf", b"\xef\xbb\xbf\0", bytes(70)])
def test_blocks_of_any_size_give_the_same(filler: bytes) -> None:
    parts = [TEXT, filler, TEXT, filler, WHOLE, FIRST[:200], WHOLE, BANNER, PROCESSOR[:100], WHOLE, PROCESSOR, WHOLE]
    data = b"".join(parts)
    expected = read(data)
    assert len(expected.requests) == 5
    assert all(read(data, step) == expected for step in (*range(1, 90), 1000))
