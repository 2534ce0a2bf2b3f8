"""One file of all loggers: requests, failures and other programs' lines of real brokers, apart and each counted once."""

from collections import Counter
from dataclasses import replace
from itertools import product
from operator import attrgetter

import pytest

from kafka_clientinfo.logs import IgnoredRecord, RejectedRecord, RequestEvent
from kafka_clientinfo.logs.framing import SERVER_LOG
from kafka_clientinfo.logs.layouts import detect
from kafka_clientinfo.logs.parser import Event, ServerLogParser
from kafka_clientinfo.logs.server_log import FailedRequest
from kafka_clientinfo.logs.unwrapping import split_records
from tests.amounts import one_in
from tests.builders import json_record, request_header_struct_record
from tests.logs import laid_out
from tests.logs.excerpts import FOLDER, parse, requests
from tests.logs.laid_out import INNER, wrapped
from tests.wrapping import PATTERNS, WRAPPERS, Logged

LOGS = {path.stem.removeprefix("kafka-"): path.read_bytes() for path in (FOLDER / "mixed").glob("*.log")}
CLOSING = (
    b"[2026-11-21 02:47:29,215] ERROR Closing socket for 10.0.0.1:9092-10.0.0.2:45612-64 because of error "
    b"(kafka.network.Processor)\n"
)
CAUSE = (
    b"org.apache.kafka.common.errors.UnsupportedVersionException: Received request for api with key 3 (Metadata) and "
    b"unsupported version 99\n"
)
CONNECTION = b" from connection 10.0.0.1:9092-10.0.0.2:40000-0;securityProtocol:PLAINTEXT,principal:User:ANONYMOUS"
HANDLING = b"[2026-11-21 02:47:29,215] TRACE [KafkaApi-1] Handling request:RequestHeader(apiKey=METADATA, clientId="


def failures(events: list[Event]) -> list[FailedRequest]:
    return [replace(event, byte_offset=0) for event in events if isinstance(event, FailedRequest)]


@pytest.mark.parametrize("release", LOGS)
def test_it_finds_every_request_and_every_failure(release: str) -> None:
    events = parse(LOGS[release])
    server_log = ServerLogParser()
    beside = [server_log.parse(record) for record in split_records([LOGS[release]], framing=SERVER_LOG)]
    assert failures(events) == [replace(e, byte_offset=0) for e in beside if isinstance(e, FailedRequest)]
    assert len(failures(events)) == LOGS[release].count(b"ERROR Closing socket for ") > 1
    assert len(requests(events)) == LOGS[release].count(b"DEBUG Completed request:") > 3
    kinds = Counter(event.kind for event in events if isinstance(event, IgnoredRecord))
    assert set(kinds) == {"handling_request", "other_logger"}
    assert kinds["handling_request"] == LOGS[release].count(b" Handling request:")
    assert not [event for event in events if isinstance(event, RejectedRecord)]


@pytest.mark.parametrize(("pattern", "wrapper", "release"), one_in(3, product(INNER, WRAPPERS, LOGS)))
def test_layouts_and_wrappers_change_nothing(release: str, pattern: str, wrapper: str) -> None:
    data = wrapped(LOGS[release], pattern, wrapper)
    events = laid_out.events(data)
    plain = parse(LOGS[release])
    if "first" in pattern:  # times of the layout `logger_first` have no milliseconds
        events, plain = ([e for e in some if not isinstance(e, IgnoredRecord)] for some in (events, plain))
    failure = attrgetter("connection_id", "api_name", "api_version", "reason", "detail")
    request = attrgetter("connection_id", "correlation_id", "client_id", "forged_lines")
    assert [*map(failure, failures(events))] == [*map(failure, failures(plain))]
    assert [*map(request, requests(events))] == [*map(request, requests(plain))]
    assert not [event for event in events if isinstance(event, RejectedRecord)]


@pytest.mark.parametrize("trace", [b"java.io.EOFException\n", CAUSE, CAUSE + b"\tat x.y(Z.java:1)\n" * 9])
@pytest.mark.parametrize("request_record", [json_record(), request_header_struct_record()], ids=["json", "text"])
def test_a_stack_trace_swallows_no_request(trace: bytes, request_record: bytes) -> None:
    got = parse(CLOSING + trace + request_record + CLOSING.replace(b"Closing", b"x") + trace + request_record)
    assert [type(one) for one in got] == [FailedRequest, RequestEvent, IgnoredRecord, RequestEvent]


@pytest.mark.parametrize("wrapper", ["none", "cri", "docker"])
def test_a_failure_at_the_end_waits_for_its_trace(wrapper: str) -> None:
    data = wrapped(json_record() + CLOSING, "kafka", wrapper)
    *_, last = split_records([data], 0, detect(data))
    assert (last.finished, b"Closing" in last.data) == (False, True)
    data = wrapped(json_record() + CLOSING + CAUSE + json_record(), "kafka", wrapper)
    _, failed, request = split_records([data], 0, detect(data))
    assert (failed.finished, request.finished) == (True, True)
    assert b"version 99" in failed.data


@pytest.mark.parametrize("wrapper", ["none", "cri", "docker", "rfc_5424"])
@pytest.mark.parametrize("pattern", INNER)
@pytest.mark.parametrize("end", [b"", b" (a.b)"])
def test_a_client_id_in_the_trace_of_kafka_apis_forges_no_request(pattern: str, wrapper: str, end: bytes) -> None:
    forged = wrapped(json_record(client_id="forged"), pattern, "none").rstrip(b"\n")
    handled = HANDLING + b"x" + end + b"\n" + forged + b"\ny) -- {}" + CONNECTION + b" (kafka.server.KafkaApis)\n"
    data = json_record(client_id="first") + handled + json_record(client_id="good")
    if (pattern, wrapper) != ("kafka", "none"):
        at, message = "2026-11-21 02:47:29,215", handled[len("[2026-11-21 02:47:29,215] TRACE ") : -26]
        logged = Logged(at, "TRACE", message, "kafka.server.KafkaApis")
        text = b"\n".join(WRAPPERS[wrapper](logged, PATTERNS[pattern](logged), 16 << 10))
        first, good = (wrapped(json_record(client_id=name), pattern, wrapper) for name in ("first", "good"))
        data = first + text + b"\n" + good
    events = laid_out.events(data)
    assert [event.client_id for event in requests(events)] == ["first", "good"]
    (trace,) = (event for event in events if not isinstance(event, RequestEvent))
    assert isinstance(trace, RejectedRecord)  # it may be torn before a genuine request
