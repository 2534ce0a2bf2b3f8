"""What cannot be read is kept with one of a few reasons, and never as a request with wrong values."""

from typing import Any, get_args

import pytest

from kafka_clientinfo.logs import IgnoredRecord, Parser, RawRecord, RequestEvent, framing, parser
from kafka_clientinfo.logs.parser import guarded
from kafka_clientinfo.logs.request_event import RAW_LIMIT, RejectReason
from kafka_clientinfo.tables.spec import table_spec
from tests.builders import ZERO_UUID, api_key_struct_record, json_record, name_text_record, request_header_struct_record
from tests.logs.excerpts import parse, rejected


def swap(line: bytes, old: str, new: str) -> bytes:
    assert old.encode() in line, line
    return line.replace(old.encode(), new.encode(), 1)


JSON, TEXT, STRUCT, NAMED = json_record(), request_header_struct_record(), api_key_struct_record(), name_text_record()
ID = '"clientId":"app"'
CONNECTION = '"connection":"10.0.0.1:9092-10.0.0.2:40000-0"'
TAIL, TOTAL = "no connection and times at the record's end", '"totalTimeMs":1.5'
CASES: list[tuple[bytes, str, str]] = [
    (b"no prefix at all (a.b)\n", "no_record_start", "no timestamp and level at its start: text of a record that began before"),
    (b"\xef\xbb" + JSON[30:], "no_record_start", ""),
    (JSON[:300] + b"\n", "malformed_json", ""),
    (TEXT[:-1], "unfinished", "the file ends inside this record"),
    (swap(TEXT, "RequestHeader(", "RequestFooter("), "malformed_header", "neither JSON nor one of the three text forms"),
    (swap(TEXT, "apiKey=METADATA", "apiKey=NO_SUCH_API"), "malformed_header", "no API is known by the name NO_SUCH_API"),
    (swap(TEXT, "Id=1)", "Id=one)"), "malformed_header", "no `RequestHeader(…, correlationId=N) -- {` before the body"),
    (swap(STRUCT, "api_version", "api_ver"), "malformed_header", "no `{api_key=…,client_id=…} -- {` before the body"),
    (swap(NAMED, "TopicMetadata", "NoSuch"), "malformed_header", "no API is known by the name NoSuchRequest"),
    (swap(NAMED, "CorrelationId", "Correlation"), "malformed_header", "no Name, Version and CorrelationId"),
    (swap(JSON, '"requestHeader":{', '"requestHead":{'), "malformed_header", "no requestHeader object"),
    (swap(TEXT, ",localTime:", ",lokalTime:"), "malformed_tail", TAIL),
    (swap(TEXT, "totalTime:1.5", "totalTime:soon"), "malformed_tail", TAIL),
    (swap(STRUCT, "sendTime:0.375", "sendTime:"), "malformed_tail", TAIL),
    (swap(TEXT, ";totalTime:", ";total:"), "unfinished", ""),
    (swap(JSON, TOTAL, '"totalTimeMs":NaN'), "malformed_tail", ""),
    (swap(JSON, TOTAL, '"totalTimeMs":1e400'), "malformed_tail", ""),
    (swap(JSON, TOTAL, '"totalTimeMs":-Infinity'), "malformed_tail", ""),
    (swap(JSON, TOTAL, '"totalTimeMs":true'), "malformed_tail", "totalTimeMs is True, not a number of milliseconds"),
    (swap(JSON, CONNECTION, '"connection":""'), "malformed_tail", "connection is empty"),
    (swap(JSON, ',"request":', ',"requst":'), "malformed_json", "no request between a requestHeader and a connection"),
    (swap(JSON, '"isForwarded":false', '"isForwarded":fals'), "malformed_json", ""),
    *((swap(JSON, '"isForwarded":false', f'"isForwarded":{nested * 100_000}'), "malformed_json", "nested too deeply")
      for nested in ("[", '{"a":', '[{"a":')),
    (swap(JSON, TOTAL, f'"totalTimeMs":{"9" * 5000}'), "malformed_json", ""),
    (swap(JSON, ID, f'"clientId":"a","clientInstanceId":"{ZERO_UUID}=="'), "malformed_value", ""),
    (swap(JSON, ID, '"clientId":"a","clientInstanceId":[]'), "malformed_value", "clientInstanceId is [], not a text"),
    (swap(JSON, ID, f'"clientId":"a","clientInstanceId":"{"i" * 41}"'), "malformed_value",
     f"clientInstanceId is '{'i' * 40}', not a Uuid in base64url"),
    (swap(JSON, ID, f'"clientId":[{"1" * 80}]'), "malformed_value", f"clientId is [{'1' * 79}, not a text"),
    *((swap(JSON, '"correlationId":1', f'"correlationId":{given}'), "malformed_value",
       f"correlationId is {shown}, not an integer in -2147483648..2147483647")
      for given, shown in (("1.5", "1.5"), ("true", "True"), ("2147483648", "2147483648"), (f'"{"1" * 80}"', "'" + "1" * 79))),
    *((swap(line, old, old.rstrip("013") + value), "malformed_value", f"{name} is {value}, not an integer in {least}..{-1 - least}")
      for line, old, name, value, least in (
          (JSON, '"requestApiKey":3', "requestApiKey", "32768", -32768),
          (JSON, '"requestApiVersion":1', "requestApiVersion", "-32769", -32768),
          (TEXT, "apiVersion=1", "apiVersion", "32768", -32768),
          (TEXT, "correlationId=1", "correlationId", "2147483648", -(1 << 31)),
          (STRUCT, "api_key=3", "api_key", "32768", -32768),
          (STRUCT, "api_version=1", "api_version", "32768", -32768),
          (STRUCT, "correlation_id=1", "correlation_id", "2147483648", -(1 << 31)),
          (NAMED, "Version: 0", "Version", "32768", -32768),
          (NAMED, "CorrelationId: 1", "CorrelationId", "2147483648", -(1 << 31)))),
    *((swap(JSON, CONNECTION, CONNECTION + ',"connection":7') if name == "connection" else swap(JSON, old, f'"{name}":7'),
       "malformed_value", f"{name} is 7, not a text")
      for name, old in {
          "requestApiKeyName": '"requestApiKeyName":"METADATA"', "clientId": ID, "connection": CONNECTION,
          "securityProtocol": '"securityProtocol":"PLAINTEXT"', "principal": '"principal":"User:ANONYMOUS"',
          "listener": '"listener":"PLAINTEXT"', "softwareName": '"softwareName":"unknown"',
          "softwareVersion": '"softwareVersion":"unknown"'}.items()),
    *((JSON.replace(b"}} (kafka", f'}},"{name}":{value}}} (kafka'.encode()), "malformed_tail",
       f"{name} is {shown}, not a number of milliseconds")
      for name in ("totalTimeMs", "requestQueueTimeMs", "localTimeMs", "remoteTimeMs", "throttleTimeMs", "responseQueueTimeMs",
                   "sendTimeMs")
      for value, shown in (("1e15", "1000000000000000.0"), ("-1e15", "-1000000000000000.0"), ("null", "None"), ('"1"', "'1'"))),
    (json_record(at="2026-02-31 00:00:00,000"), "malformed_value", ""),
    (json_record(at="1026-11-21 00:00:00,000"), "malformed_value", "logged or started before 1970 or after 9998"),
    (json_record(total=9e14), "malformed_value", ""),
    (request_header_struct_record(total="9" * 15), "malformed_value", ""),
    (request_header_struct_record(total="1.0E400"), "malformed_tail", "a time of 1.0E400 ms"),
    (request_header_struct_record(queue="1.0E400"), "malformed_tail", ""),
    (request_header_struct_record(send="-1,0E15"), "malformed_tail", ""),
    (request_header_struct_record(client_id="x", principal=" from connection y" * 40, send="?"), "malformed_tail", ""),
]  # fmt: skip
"""Records, the reason for which they are rejected, and the detail if it is to be these words."""


@pytest.mark.parametrize(("line", "reason", "detail"), CASES)
def test_it_says_why_a_record_cannot_be_read(line: bytes, reason: str, detail: str) -> None:
    found = rejected(line)
    assert (found.reason, found.raw, found.raw_length) == (reason, line, len(line))
    assert found.detail == (detail or found.detail) != ""
    found.detail.encode()
    torn, _ = parse(JSON[:-30] + JSON)
    assert (torn.reason, torn.detail) == ("unfinished", "no ` (logger)` at the record's end")


@pytest.mark.parametrize(
    ("line", "is_request"),
    [
        *((request_header_struct_record(principal="User:a" + " from connection y" * n), n < 16) for n in (1, 15, 16)),
        *((request_header_struct_record(connection="c" * n), 1 <= n <= 600) for n in (0, 1, 600, 601)),
        *((request_header_struct_record(connection=other), False) for other in ("a b", "a;b")),
        # Instants that all readers can show.
        (json_record(at="1970-01-01 00:00:00,000", total=0), True),
        (json_record(at="1970-01-01 00:00:00,000", total=0.001), False),
        (json_record(at="1970-01-01 00:00:01,000", total=1000), True),
        (json_record(at="1970-01-01 00:00:00,999999", total=-253_370_764_799_000), True),
        (json_record(at="1970-01-01 00:00:00,000000", total=-253_370_764_800_000), False),
    ],
)
def test_it_reads_connections_principals_and_instants_within_limits(line: bytes, is_request: bool) -> None:
    (event,) = parse(line, "UTC")
    assert isinstance(event, RequestEvent) == is_request


@pytest.mark.parametrize(
    ("time", "milliseconds"),
    [("0", 0.0), ("-1", -1.0), ("1.5", 1.5), ("1,5", 1.5), ("1.0E-3", 0.001), ("1.0E2", 100.0), ("0." + "1" * 18, 1 / 9),
     ("0." + "1" * 19, None), ("0" * 18, 0.0), ("0" * 19, None), ("1E-0001", None), ("999999999999999", 999999999999999.0),
     ("1000000000000000", None), ("-1000000000000000", None), ("1E15", None), ("1e2", None), ("+1", None), ("1.", None), ("", None)],
)  # fmt: skip
@pytest.mark.parametrize("name", ["queue", "local", "remote", "throttle", "response_queue", "send"])
def test_it_reads_the_notations_of_times_in_text(name: str, time: str, milliseconds: float | None) -> None:
    (event,) = parse(request_header_struct_record(**{name: time}))
    found = getattr(event, f"{'request_' * (name == 'queue')}{name}_time_ms", None)
    assert found == (None if milliseconds is None else pytest.approx(milliseconds))


@pytest.mark.parametrize("error", [RecursionError("deep"), KeyError("\ud800"), OverflowError("9" * 900), IndexError()])
def test_a_record_on_which_a_parser_fails_is_rejected_with_what_was_raised(error: BaseException) -> None:
    def parse(record: RawRecord) -> RequestEvent:
        raise error

    found: Any = guarded(parse, RawRecord(7, JSON, len(JSON), True))
    assert (found.byte_offset, found.reason, found.raw) == (7, "malformed_value", JSON)
    assert found.detail == f"{type(error).__name__}: {error}"[:200].replace("\ud800", "\\ud800")
    assert len(found.detail.encode()) <= 300
    error = MemoryError()  # no record's fault
    with pytest.raises(MemoryError):
        guarded(parse, RawRecord(7, JSON, len(JSON), True))


@pytest.mark.parametrize(("above", "reason"), [(0, "malformed_header"), (1, "oversized")])
def test_it_reads_records_up_to_the_limit(monkeypatch: pytest.MonkeyPatch, above: int, reason: str) -> None:
    line = swap(TEXT, "RequestHeader(", "RequestFooter(")
    monkeypatch.setattr(parser, "MAX_RECORD", len(line) - above)
    wrapped = RawRecord(0, b"wrapped", 7, True, text=line)
    found: Any = [Parser().parse(record) for record in (RawRecord(0, line, len(line), True), wrapped)]
    assert [event.reason for event in found] == [reason, reason]
    detail = f"{len(line)} bytes, at most {len(line) - 1} are read"
    assert found[0].detail == (detail if above else "neither JSON nor one of the three text forms")


def test_it_rejects_an_oversized_record_and_keeps_its_start() -> None:
    for data, length, text in (
        (JSON, framing.MAX_RECORD + 1, None),
        (JSON, len(JSON) + 1, None),
        (b"wrapped", 8, b"Completed request: x"),
    ):
        found: Any = Parser().parse(RawRecord(7, data, length, True, text=text))
        assert (found.reason, found.raw_length, found.byte_offset) == ("oversized", length, 7)
    found = rejected(b"x" * (RAW_LIMIT + 10))
    assert (len(found.raw), found.raw_length) == (RAW_LIMIT, RAW_LIMIT + 10)


@pytest.mark.parametrize(
    ("data", "more", "text", "found"),
    [
        (b"===> User\nuid=1000(appuser) gid=1000(appuser)\n===> Launching ...\n", 0, None, "other_logger"),
        (b"\x1b[36mkafka \x1b[0m02:44 \x1b[32mINFO \x1b[0m ==> Welcome to the container\n", 0, None, "other_logger"),
        (b"OpenJDK 64-Bit Server VM warning: Option x was deprecated\n", 0, None, "other_logger"),
        (b"Picked up JAVA_TOOL_OPTIONS: -Dx=y\n", 0, None, "other_logger"),
        (b"\xef\xbb\xbf==> /var/log/kafka-request.log <==\n", 0, None, "other_logger"),
        (b"k1 | CHANGED | rc=0 >>\r\n", 0, None, "other_logger"),
        (b"===> User\n" + JSON[30:], 0, None, "no_record_start"),
        (b"===> User\n" + JSON[JSON.index(b',"totalTimeMs"') :], 0, None, "no_record_start"),
        (b"===> User\n" + JSON[JSON.index(b'"requestHeader"') :][:99], 0, None, "no_record_start"),
        (b"===> User\n" + TEXT[TEXT.index(b";totalTime:") :], 0, None, "no_record_start"),
        (b"===> User\n", 1, None, "no_record_start"),
        (b"tail ===> User\n", 0, None, "no_record_start"),
        (b"x", 1, None, "no_record_start"),
        (b" ", 1, None, "no_record_start"),
        (b"x", 1, b"x", "other_logger"),
        (b"x", 0, b"Completed request:", "no_record_start"),
        (b"x", 1, b"Completed request:", "oversized"),
        (b"x" * 1000, 0, b";totalTime:", "no_record_start"),
        (b"x", 1, b";totalTime:", "oversized"),
        (b"x", 0, b" ", "blank"),
        *((blank * 2, 0, None, "blank") for blank in (b"", b" ", b"\t", b"\r", b"\n", b"\v", b"\f", b"\0")),
    ],
)
def test_it_judges_what_has_no_start(data: bytes, more: int, text: bytes | None, found: str) -> None:
    at = 3 if found == "blank" else 0  # other programs write at the beginning of a file
    event: Any = Parser().parse(RawRecord(at, data, len(data) + more, True, text=text))
    assert event.byte_offset == at
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
        (b"x (logger)\n", "other"),
        (b"x (kafka.network.RequestChannel$)\n", "other"),
        (b"x (kafka.network.RequestChannels)\n", "other_logger"),
        (b"x (state.change.logger)\n", "other_logger"),
        (b"x (_b.C$1)\na.CException\n\tat a.c(C.java:1)\n", "other_logger"),
        (b"x (a.b) [main]\r\na.CException\r\n\tat a.c(C.java:1)\r\n", "other_logger"),
        (b"x (kafka.request.logger)\na.CException\n\tat a.c(C.java:1)\n", "other"),
        (b"x\na.CException\n\tat a.c(C.java:1)\n", "other"),
        (b"x (%b)\n" % (b"a" * 256), "other_logger"),
        (b"x (%b)\n" % (b"a" * 257), "other"),
    ],
)
@pytest.mark.parametrize("level", [b"TRACE", b"DEBUG", b"INFO", b"WARN", b"ERROR", b"FATAL"])
def test_it_names_what_it_passes_over(level: bytes, line: bytes, kind: str) -> None:
    (event,) = parse(b"[2026-11-21 12:00:00,000] %b %b" % (level, line))
    assert event == IgnoredRecord(0, kind)  # type: ignore[arg-type]


def test_the_table_knows_every_reason() -> None:
    quoted = ", ".join(f"'{reason}'" for reason in get_args(RejectReason))
    assert dict(table_spec("rejected_records").checks)["reason_known"] == f"reason IN ({quoted})"
