"""What cannot be read is kept with one of a few reasons, and never as a request with wrong values."""

from pathlib import Path
from typing import Any, get_args

import pytest

from kafka_clientinfo.logs import (
    IgnoredRecord,
    Parser,
    RawRecord,
    RejectedRecord,
    RequestEvent,
    framing,
    parser,
)
from kafka_clientinfo.logs.parser import guarded
from kafka_clientinfo.logs.request_event import RAW_LIMIT, RejectReason
from kafka_clientinfo.tables.spec import table_spec
from tests.builders import (
    ZERO_UUID,
    api_key_struct_record,
    json_record,
    name_text_record,
    request_header_struct_record,
)
from tests.logs.excerpts import parse, rejected


def swap(line: bytes, old: str, new: str) -> bytes:
    assert old.encode() in line, line
    return line.replace(old.encode(), new.encode(), 1)


JSON = json_record()
TEXT = request_header_struct_record()
STRUCT = api_key_struct_record()
NAMED = name_text_record()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"no prefix at all (a.b)\n", "no_record_start"),
        (b"\xef\xbb" + JSON[30:], "no_record_start"),
        (JSON.replace(b"\n", b"\r\r")[5:], "no_record_start"),
        (JSON[:300] + b"\n", "malformed_json"),
        (TEXT[:-1], "unfinished"),
        (swap(TEXT, "RequestHeader(", "RequestFooter("), "malformed_header"),
        (swap(TEXT, "apiKey=METADATA", "apiKey=NO_SUCH_API"), "malformed_header"),
        (swap(TEXT, ", correlationId=1)", ", correlationId=one)"), "malformed_header"),
        (swap(STRUCT, "api_version", "api_ver"), "malformed_header"),
        (swap(NAMED, "TopicMetadataRequest", "NoSuchRequest"), "malformed_header"),
        (swap(NAMED, "CorrelationId", "Correlation"), "malformed_header"),
        (swap(JSON, '"requestHeader":{', '"requestHead":{'), "malformed_header"),
        (swap(TEXT, ",localTime:", ",lokalTime:"), "malformed_tail"),
        (swap(TEXT, "totalTime:1.5", "totalTime:soon"), "malformed_tail"),
        (swap(STRUCT, "sendTime:0.375", "sendTime:"), "malformed_tail"),
        (swap(TEXT, ";totalTime:", ";total:"), "unfinished"),
        (swap(JSON, '"totalTimeMs":1.5', '"totalTimeMs":NaN'), "malformed_tail"),
        (swap(JSON, '"totalTimeMs":1.5', '"totalTimeMs":1e400'), "malformed_tail"),
        (swap(JSON, '"totalTimeMs":1.5', '"totalTimeMs":-Infinity'), "malformed_tail"),
        (swap(JSON, '"totalTimeMs":1.5', '"totalTimeMs":true'), "malformed_tail"),
        (swap(JSON, '"connection":"10.0.0.1:9092-10.0.0.2:40000-0"', '"connection":""'), "malformed_tail"),
        (swap(JSON, ',"request":', ',"requst":'), "malformed_json"),
        (swap(JSON, ',"connection":', ',"konnection":'), "malformed_json"),
        (swap(JSON, '"isForwarded":false', '"isForwarded":fals'), "malformed_json"),
        (swap(JSON, '"isForwarded":false', '"isForwarded":' + "[" * 5000), "malformed_json"),
        (swap(JSON, '"totalTimeMs":1.5', f'"totalTimeMs":{"9" * 5000}'), "malformed_json"),
        (swap(JSON, '"correlationId":1', '"correlationId":1.5'), "malformed_value"),
        (swap(JSON, '"correlationId":1', '"correlationId":true'), "malformed_value"),
        (swap(JSON, '"correlationId":1', '"correlationId":2147483648'), "malformed_value"),
        (swap(JSON, '"requestApiKey":3', '"requestApiKey":40000'), "malformed_value"),
        (swap(JSON, '"clientId":"app"', '"clientId":7'), "malformed_value"),
        (swap(JSON, '"clientId":"app"', f'"clientId":"a","clientInstanceId":"{ZERO_UUID}=="'), "malformed_value"),
        (swap(JSON, '"clientId":"app"', '"clientId":"a","clientInstanceId":[]'), "malformed_value"),
        (request_header_struct_record(version=40000), "malformed_value"),
        (request_header_struct_record(correlation_id=3_000_000_000), "malformed_value"),
        (json_record(at="2026-02-31 00:00:00,000"), "malformed_value"),
        (json_record(at="1026-11-21 00:00:00,000"), "malformed_value"),
        (json_record(total=9e14), "malformed_value"),
        (request_header_struct_record(total="9" * 15), "malformed_value"),
        (request_header_struct_record(total="9" * 17), "malformed_tail"),
        (request_header_struct_record(total="1.0E300"), "malformed_tail"),
        (request_header_struct_record(total="1.0E400"), "malformed_tail"),
        (request_header_struct_record(queue="1.0E400"), "malformed_tail"),
        (request_header_struct_record(send="-1,0E15"), "malformed_tail"),
    ],
)
def test_it_names_why_a_record_cannot_be_read(line: bytes, reason: str) -> None:
    found = rejected(line)
    assert (found.reason, found.raw, found.raw_length) == (reason, line, len(line))
    assert found.detail
    found.detail.encode()


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        (b"no prefix at all (a.b)\n", "no timestamp and level at its start: text of a record that began before"),
        (TEXT[:-1], "the file ends inside this record"),
        (swap(TEXT, "RequestHeader(", "RequestFooter("), "neither JSON nor one of the three text forms"),
        (swap(TEXT, "apiKey=METADATA", "apiKey=NO_SUCH_API"), "no API is known by the name NO_SUCH_API"),
        (swap(TEXT, "Id=1)", "Id=one)"), "no `RequestHeader(…, correlationId=N) -- {` before the body"),
        (swap(STRUCT, "api_version", "api_ver"), "no `{api_key=…,client_id=…} -- {` before the body"),
        (swap(NAMED, "TopicMetadataRequest", "NoSuchRequest"), "no API is known by the name NoSuchRequest"),
        (swap(NAMED, "CorrelationId", "Correlation"), "no Name, Version and CorrelationId"),
        (swap(JSON, '"requestHeader":{', '"requestHead":{'), "no requestHeader object"),
        (swap(TEXT, ",localTime:", ",lokalTime:"), "no connection and times at the record's end"),
        (request_header_struct_record(total="1.0E400"), "a time of 1.0E400 ms"),
        (swap(JSON, '"totalTimeMs":1.5', '"totalTimeMs":true'), "totalTimeMs is True, not a number of milliseconds"),
        (swap(JSON, '"connection":"10.0.0.1:9092-10.0.0.2:40000-0"', '"connection":""'), "connection is empty"),
        (swap(JSON, ',"request":', ',"requst":'), "no request between a requestHeader and a connection"),
        (swap(JSON, '"clientId":"app"', '"clientId":7'), "clientId is 7, not a text"),
        (swap(JSON, '"correlationId":1', '"correlationId":1.5'), "correlationId is 1.5, not an integer in -2147483648..2147483647"),
        (swap(JSON, '"app"', '"a","clientInstanceId":[]'), "clientInstanceId is [], not a text"),
        (swap(JSON, '"app"', '"a","clientInstanceId":"id"'), "clientInstanceId is 'id', not a Uuid in base64url"),
        (swap(JSON, '"app"', f'"a","clientInstanceId":"{"i" * 41}"'), f"clientInstanceId is '{'i' * 40}', not a Uuid in base64url"),
        (swap(JSON, '"correlationId":1', f'"correlationId":"{"1" * 80}"'), f"correlationId is '{'1' * 79}, not an integer in -2147483648..2147483647"),
        (swap(JSON, '"clientId":"app"', f'"clientId":[{"1" * 80}]'), f"clientId is [{'1' * 79}, not a text"),
        (json_record(at="1026-11-21 00:00:00,000"), "logged or started before 1970 or after 9998"),
        (swap(JSON, '"requestApiKey":3', '"requestApiKey":32768'), "requestApiKey is 32768, not an integer in -32768..32767"),
        (swap(JSON, '"requestApiVersion":1', '"requestApiVersion":-32769'), "requestApiVersion is -32769, not an integer in -32768..32767"),
        (swap(TEXT, "apiVersion=1", "apiVersion=32768"), "apiVersion is 32768, not an integer in -32768..32767"),
        (swap(TEXT, "correlationId=1", "correlationId=2147483648"), "correlationId is 2147483648, not an integer in -2147483648..2147483647"),
        (swap(STRUCT, "api_key=3", "api_key=32768"), "api_key is 32768, not an integer in -32768..32767"),
        (swap(STRUCT, "api_version=1", "api_version=32768"), "api_version is 32768, not an integer in -32768..32767"),
        (swap(STRUCT, "correlation_id=1", "correlation_id=2147483648"), "correlation_id is 2147483648, not an integer in -2147483648..2147483647"),
        (swap(NAMED, "Version: 0", "Version: 32768"), "Version is 32768, not an integer in -32768..32767"),
        (swap(NAMED, "CorrelationId: 1", "CorrelationId: 2147483648"), "CorrelationId is 2147483648, not an integer in -2147483648..2147483647"),
    ],
)  # fmt: skip
def test_it_says_what_it_missed_or_found(line: bytes, detail: str) -> None:
    assert rejected(line).detail == detail


@pytest.mark.parametrize(
    ("old", "name"),
    [
        ('"requestApiKeyName":"METADATA"', "requestApiKeyName"),
        ('"clientId":"app"', "clientId"),
        ('"connection":"10.0.0.1:9092-10.0.0.2:40000-0"', "connection"),
        ('"securityProtocol":"PLAINTEXT"', "securityProtocol"),
        ('"principal":"User:ANONYMOUS"', "principal"),
        ('"listener":"PLAINTEXT"', "listener"),
        ('"softwareName":"unknown"', "softwareName"),
        ('"softwareVersion":"unknown"', "softwareVersion"),
    ],
)
def test_it_names_the_field_that_is_no_text(old: str, name: str) -> None:
    line = swap(JSON, old, f'"{name}":7') if name != "connection" else swap(JSON, old, old + ',"connection":7')
    found = rejected(line)
    assert (found.reason, found.detail) == ("malformed_value", f"{name} is 7, not a text")


@pytest.mark.parametrize(
    "name",
    ["totalTimeMs", "requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "throttleTimeMs", "responseQueueTimeMs", "sendTimeMs"],
)  # fmt: skip
@pytest.mark.parametrize("value", ["1e15", "-1e15", "null", '"1"'])
def test_it_names_the_time_that_is_none(name: str, value: str) -> None:
    found = rejected(JSON.replace(b"}} (kafka", f'}},"{name}":{value}}} (kafka'.encode()))
    shown = {"1e15": "1000000000000000.0", "-1e15": "-1000000000000000.0", "null": "None", '"1"': "'1'"}[value]
    assert (found.reason, found.detail) == ("malformed_tail", f"{name} is {shown}, not a number of milliseconds")


def test_it_rejects_a_record_that_another_ends_before_its_own_end() -> None:
    # JSON gives way to any prefix, so what stands before is cut in the middle of the file.
    first, second = parse(JSON[:-30] + b"\n" + JSON)
    assert isinstance(first, RejectedRecord)
    assert (first.reason, type(second)) == ("malformed_json", RequestEvent)
    torn, second = parse(JSON[:-30] + JSON)
    assert isinstance(torn, RejectedRecord)
    assert (torn.reason, torn.detail, type(second)) == (
        "unfinished",
        "no ` (logger)` at the record's end",
        RequestEvent,
    )


@pytest.mark.parametrize("count", [3, 40])
def test_it_gives_up_where_no_tail_of_many_is_whole(count: int) -> None:
    line = request_header_struct_record(client_id="x", principal=" from connection y" * count, send="?")
    assert rejected(line).reason == "malformed_tail"


@pytest.mark.parametrize(("count", "is_request"), [(1, True), (15, True), (16, False)])
def test_it_looks_through_some_starts_of_tails(count: int, is_request: bool) -> None:
    (event,) = parse(request_header_struct_record(principal="User:a" + " from connection y" * count))
    assert isinstance(event, RequestEvent) == is_request


@pytest.mark.parametrize(("length", "is_request"), [(1, True), (600, True), (601, False)])
def test_it_reads_connections_of_some_length(length: int, is_request: bool) -> None:
    (event,) = parse(request_header_struct_record(connection="c" * length))
    assert isinstance(event, RequestEvent) == is_request


@pytest.mark.parametrize(
    ("time", "milliseconds"),
    [("0", 0.0), ("-1", -1.0), ("1.5", 1.5), ("1,5", 1.5), ("1.0E-3", 0.001), ("1.0E2", 100.0), ("0." + "1" * 18, 1 / 9),
     ("0." + "1" * 19, None), ("0" * 18, 0.0), ("0" * 19, None), ("1E-0001", None), ("999999999999999", 999999999999999.0),
     ("1000000000000000", None), ("-1000000000000000", None), ("1e2", None), ("+1", None), ("", None)],
)  # fmt: skip
@pytest.mark.parametrize("name", ["queue", "local", "remote", "throttle", "response_queue", "send"])
def test_it_reads_the_notations_of_times_in_text(name: str, time: str, milliseconds: float | None) -> None:
    (event,) = parse(request_header_struct_record(**{name: time}))
    names = {"queue": "request_queue"}
    found = getattr(event, f"{names.get(name, name)}_time_ms", None)
    assert found == (None if milliseconds is None else pytest.approx(milliseconds))


@pytest.mark.parametrize("error", [RecursionError("deep"), KeyError("\ud800"), OverflowError("9" * 900), IndexError()])
def test_a_record_on_which_a_parser_fails_is_rejected_with_what_was_raised(error: Exception) -> None:
    def parse(record: RawRecord) -> RequestEvent:
        raise error

    found = guarded(parse, RawRecord(7, JSON, len(JSON), True))
    assert isinstance(found, RejectedRecord)
    assert (found.byte_offset, found.reason, found.raw) == (7, "malformed_value", JSON)
    whole = f"{type(error).__name__}: {error}"
    assert found.detail == whole[:200].replace("\ud800", "\\ud800")
    assert len(found.detail.encode()) <= 300


@pytest.mark.parametrize("nested", ["[", '{"a":', '[{"a":'])
def test_the_reason_does_not_tell_who_reads(nested: str) -> None:
    (found,) = parse(swap(JSON, '"isForwarded":false', '"isForwarded":' + nested * 100_000))
    assert (found.reason, found.detail) == ("malformed_json", "nested too deeply")


def test_a_want_of_memory_is_no_records_fault() -> None:
    def parse(record: RawRecord) -> RequestEvent:
        raise MemoryError

    with pytest.raises(MemoryError):
        guarded(parse, RawRecord(7, JSON, len(JSON), True))


def test_it_rejects_an_oversized_record_and_keeps_its_start() -> None:
    record = RawRecord(7, JSON, framing.MAX_RECORD + 1, True)
    found: Any = Parser().parse(record)
    assert (found.reason, found.raw_length, found.byte_offset) == ("oversized", framing.MAX_RECORD + 1, 7)


@pytest.mark.parametrize(("above", "reason"), [(0, "malformed_header"), (1, "oversized")])
def test_it_reads_records_up_to_the_limit(monkeypatch: pytest.MonkeyPatch, above: int, reason: str) -> None:
    line = swap(TEXT, "RequestHeader(", "RequestFooter(")
    monkeypatch.setattr(parser, "MAX_RECORD", len(line) - above)
    found: Any = [
        Parser().parse(RawRecord(0, line, len(line), True)),
        Parser().parse(RawRecord(0, b"wrapped", 7, True, text=line)),
    ]
    assert [event.reason for event in found] == [reason, reason]
    detail = f"{len(line)} bytes, at most {len(line) - 1} are read"
    assert found[0].detail == (detail if above else "neither JSON nor one of the three text forms")


@pytest.mark.parametrize("text", [None, b"Completed request: x"])
def test_it_rejects_a_record_whose_middle_is_missing(text: bytes | None) -> None:
    data = JSON if text is None else b"wrapped"
    found: Any = Parser().parse(RawRecord(0, data, len(data) + 1, True, text=text))
    assert found.reason == "oversized"


@pytest.mark.parametrize(
    ("data", "more", "text", "found"),
    [
        (b"===> User\nuid=1000(appuser) gid=1000(appuser)\n===> Launching ...\n", 0, None, "other_logger"),
        (b"===> User\nuid=1000(appuser) gid=1000(appuser)\n", 0, None, "other_logger"),
        (b"\x1b[36mkafka \x1b[0m02:44 \x1b[32mINFO \x1b[0m ==> Welcome to the container\n", 0, None, "other_logger"),
        (b"OpenJDK 64-Bit Server VM warning: Option x was deprecated\n", 0, None, "other_logger"),
        (b"Java HotSpot(TM) 64-Bit Server VM warning: Option x was deprecated\n", 0, None, "other_logger"),
        (b"Picked up JAVA_TOOL_OPTIONS: -Dx=y\n", 0, None, "other_logger"),
        (b" \t===> User\n", 0, None, "other_logger"),
        (b"===> User\n" + JSON[30:], 0, None, "no_record_start"),
        (b"===> User\n" + TEXT[30:], 0, None, "no_record_start"),
        (b"===> User\n" + JSON[JSON.index(b',"totalTimeMs"') :], 0, None, "no_record_start"),
        (b"===> User\n" + JSON[JSON.index(b'"requestHeader"') :][:99], 0, None, "no_record_start"),
        (b"===> User\n" + TEXT[TEXT.index(b";totalTime:") :], 0, None, "no_record_start"),
        (b"===> User\n", 1, None, "no_record_start"),
        (b"tail ===> User\n", 0, None, "no_record_start"),
        (b"x", 0, None, "no_record_start"),
        (b"x", 1, None, "no_record_start"),
        (b" ", 1, None, "no_record_start"),
        (b"x", 0, b"x", "other_logger"),
        (b"x", 1, b"x", "other_logger"),
        (b"x", 0, b"Completed request:", "no_record_start"),
        (b"x", 1, b"Completed request:", "oversized"),
        (b"x", 0, b";totalTime:", "no_record_start"),
        (b"x" * 1000, 0, b";totalTime:", "no_record_start"),
        (b"x", 1, b";totalTime:", "oversized"),
        (b"x", 0, b" ", "blank"),
    ],
)
def test_it_judges_what_has_no_start(data: bytes, more: int, text: bytes | None, found: str) -> None:
    event: Any = Parser().parse(RawRecord(0, data, len(data) + more, True, text=text))
    assert (event.kind if isinstance(event, IgnoredRecord) else event.reason) == found
    if found == "oversized":
        assert event.detail == f"2 bytes in one line, at most {framing.MAX_RECORD} are read"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"Processor 10 received request : x (a.b)\n", "received_request"),
        (b"Sending FETCH response to client x (a.b)\n", "sending_response"),
        (b"Not sending FETCH response to client x (a.b)\n", "not_sending_response"),
        (b"x (a.b)\n", "other_logger"),
        (b"x (kafka.server.logger)\n", "other"),
        (b"x (logger)\n", "other"),
        (b"x (k.r.logger)\n", "other"),
        (b"x (kafka.network.RequestChannel$)\n", "other"),
        (b"x (kafka.network.RequestChannels)\n", "other_logger"),
        (b"x (state.change.logger)\n", "other_logger"),
        (b"x (s.c.logger)\n", "other_logger"),
        (b"x (a.b)\na.CException\n\tat a.c(C.java:1)\n", "other_logger"),
        (b"x (_b.C$1)\na.CException\n\tat a.c(C.java:1)\n", "other_logger"),
        (b"x (a.b) [main]\r\na.CException\r\n\tat a.c(C.java:1)\r\n", "other_logger"),
        (b"x (kafka.request.logger)\na.CException\n\tat a.c(C.java:1)\n", "other"),
        (b"x\na.CException\n\tat a.c(C.java:1)\n", "other"),
        (b"x (%b)\n" % (b"a" * 256), "other_logger"),
        (b"x (%b)\n" % (b"a" * 257), "other"),
        (b"x\n", "other"),
    ],
)
@pytest.mark.parametrize("level", [b"TRACE", b"DEBUG", b"INFO", b"WARN", b"ERROR", b"FATAL"])
def test_it_names_what_it_passes_over(level: bytes, line: bytes, kind: str) -> None:
    (event,) = parse(b"[2026-11-21 12:00:00,000] %b %b" % (level, line))
    assert isinstance(event, IgnoredRecord)
    assert event.kind == kind


@pytest.mark.parametrize("blank", [b"", b" ", b"\t", b"\r", b"\n", b"\v", b"\f", b"\0"])
def test_it_passes_over_blanks(blank: bytes) -> None:
    found: Any = Parser().parse(RawRecord(3, blank * 2, 2 * len(blank), True))
    assert (type(found), found.byte_offset, found.kind) == (IgnoredRecord, 3, "blank")


@pytest.mark.parametrize(
    ("at", "total", "is_request"),
    [
        ("1970-01-01 00:00:00,000", 0, True),
        ("1970-01-01 00:00:00,000", 0.001, False),
        ("1970-01-01 00:00:01,000", 1000, True),
        ("1970-01-01 00:00:00,999999", -253_370_764_799_000, True),
        ("1970-01-01 00:00:00,000000", -253_370_764_800_000, False),
    ],
)
def test_it_reads_the_instants_that_all_readers_can_show(at: str, total: float, is_request: bool) -> None:
    (event,) = parse(json_record(at=at, total=total), "UTC")
    assert isinstance(event, RequestEvent) == is_request


def test_the_table_knows_every_reason() -> None:
    quoted = ", ".join(f"'{reason}'" for reason in get_args(RejectReason))
    assert dict(table_spec("rejected_records").checks)["reason_known"] == f"reason IN ({quoted})"


def test_it_keeps_a_bounded_part_of_a_rejected_record() -> None:
    line = b"x" * (RAW_LIMIT + 10)
    found = rejected(line)
    assert (len(found.raw), found.raw_length) == (RAW_LIMIT, RAW_LIMIT + 10)


def test_it_uses_every_reason_of_the_vocabulary_somewhere() -> None:
    # `unreadable` is given by the reader of compressed files, not by the parser.
    package = Path(framing.__file__).parents[1]
    sources = "".join(path.read_text("utf-8") for path in package.rglob("*.py") if path.name != "request_event.py")
    assert [reason for reason in get_args(RejectReason) if f'"{reason}"' not in sources] == []
