"""server.log: requests that brokers could not read, with real records of 0.10 to 4.4."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.logs import IgnoredRecord
from kafka_clientinfo.logs.framing import SERVER_LOG, RawRecord
from kafka_clientinfo.logs.parser import Parser, ServerLogParser
from kafka_clientinfo.logs.server_log import FailedRequest
from kafka_clientinfo.logs.unwrapping import split_records

CONNECTION = "127.0.0.1:18341-127.0.0.1:45612-64"
CLOSING = (
    f"[2026-11-21 02:47:29,215] ERROR Closing socket for {CONNECTION} because of error (kafka.network.Processor)\n"
)
LOGIN = "[2026-11-21 02:47:29,215] INFO Failed authentication with /10.0.0.9 (channelId=10.0.0.1:1-10.0.0.9:2-6)"
ERRORS = "org.apache.kafka.common.errors."
INVALID = f"{ERRORS}InvalidRequestException:"
GETTING = f"{INVALID} Error getting request for apiKey:"
WHERE = f"connectionId: {CONNECTION}, listenerName: ListenerName(PLAINTEXT), principal: User:ANONYMOUS\n"
SENDER = ("PLAINTEXT", "User:ANONYMOUS")
UNSUPPORTED, UNREADABLE = (None, None, "unsupported_version"), (None, None, "unreadable_request")

CASES: dict[str, tuple[str, tuple[object, ...]]] = {
    "1.0, a version that is not supported": (
        f"{GETTING} METADATA, apiVersion: 99, {WHERE}"
        "Caused by: java.lang.IllegalArgumentException: Invalid version for API key METADATA: 99\n",
        ("METADATA", 99, *SENDER, "unsupported_version"),
    ),
    "0.11, keys as numbers": (
        f"{GETTING} 17 and apiVersion: 99\nCaused by: java.lang.IllegalArgumentException: Invalid version for API key 17: 99\n",
        ("SASL_HANDSHAKE", 99, *UNSUPPORTED),
    ),
    "4.x, advertised but not accepted": (
        f"{ERRORS}UnsupportedVersionException: Received request for api with key 0 (Produce) and unsupported version 2\n",
        ("PRODUCE", 2, *UNSUPPORTED),
    ),
    "3.9, a version that is not supported": (
        f"{INVALID} Received request api key METADATA with version 99 which is not enabled\n", ("METADATA", 99, *UNSUPPORTED),
    ),
    "1.0, an API that does not exist": (
        f"{INVALID} Unknown API key 1000\n", ("UNKNOWN(1000)", None, None, None, "unknown_api"),
    ),
    "4.x, an API that does not exist": (
        f"{INVALID} Error parsing request header. Our best guess of the apiKeyId is: 999\n"
        "Caused by: java.lang.IllegalArgumentException: Unexpected api key: 999\n",
        ("UNKNOWN(999)", None, None, None, "unknown_api"),
    ),
    "2.5, a broken header": (
        f"{INVALID} Error parsing request header. Our best guess of the apiKey is: 18\n", ("API_VERSIONS", None, *UNREADABLE),
    ),
    **{f"the key {number}": (f"{INVALID} Unknown API key {number}\n", (name, None, None, None, "unknown_api"))
       for number, name in (("32767", "UNKNOWN(32767)"), ("32768", None), ("-32768", "UNKNOWN(-32768)"), ("-32769", None),
                            ("99999", None))},
    "a digit that is no number": (f"{GETTING} ², apiVersion: 1, {WHERE}", (None, 1, *SENDER, "unreadable_request")),
    "a version in digits of another script": (f"{GETTING} METADATA, apiVersion: ٣, {WHERE}", (None, None, *UNREADABLE)),
    "a number of 60 digits": (
        f"{GETTING} -{'1' * 60}, apiVersion: -1, {WHERE}", (None, -1, *SENDER, "unreadable_request"),
    ),
    "a number of 5,000 digits": (f"{GETTING} {'1' * 5000}, apiVersion: 1, {WHERE}", (None, None, *UNREADABLE)),
    "a key that is named, and another version below it": (
        f"{GETTING} METADATA, apiVersion: 99, {WHERE}Caused by: {ERRORS}X: Received request for api with key 0 (Produce) and "
        "unsupported version 2\nOur best guess of the apiKey is: 18\n",
        ("METADATA", 99, *SENDER, "unsupported_version"),
    ),
    "a version, and a guess below it": (
        f"{ERRORS}XException: Received request for api with key 0 (Produce) and unsupported version 2\n"
        "Our best guess of the apiKey is: 18\n",
        ("PRODUCE", 2, *UNSUPPORTED),
    ),
    "something else": ("java.lang.IndexOutOfBoundsException\n", (None, None, None, None, "other")),
}  # fmt: skip


def parse(text: str) -> list[Any]:
    parser = ServerLogParser()
    return [parser.parse(record) for record in split_records([text.encode()], framing=SERVER_LOG)]


@pytest.mark.parametrize(("zone", "second"), [("", 0), ("Z", 0), ("+0100", -3600)])
@pytest.mark.parametrize(("fraction", "micros"), [("", 0), (",123", 123_000), (",000456", 456)])
def test_it_reads_the_time_of_a_failure(zone: str, second: int, fraction: str, micros: int) -> None:
    at = CLOSING.partition("]")[0][1:].partition(",")[0]
    (failed,) = parse(f"[{at}{fraction}{zone}]{CLOSING.partition(']')[2]}{CASES['something else'][0]}")
    start = datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()
    assert failed.logged_at == (round(start) + second) * 1_000_000 + micros
    assert parse(CLOSING.replace("2026-11-21", "2026-02-31")) == [IgnoredRecord(0, "server_log")]


@pytest.mark.kip("KIP-35", 27, 28)
@pytest.mark.parametrize("name", CASES)
def test_it_tells_what_the_broker_made_of_the_request(name: str) -> None:
    cause, expected = CASES[name]
    (failed,) = parse(CLOSING + cause + "\tat kafka.network.Processor.run(SocketServer.scala:1)\n")
    assert isinstance(failed, FailedRequest)
    assert (failed.api_name, failed.api_version, failed.listener, failed.principal, failed.reason) == expected
    assert (failed.connection_id, failed.remote_host) == (CONNECTION, "127.0.0.1")


def test_a_stack_trace_belongs_to_its_record_and_the_second_report_is_not_counted_again() -> None:
    second = CLOSING.replace("Closing socket for", "Exception while processing request from")
    second = second.replace(" because of error", "")
    trace = "java.io.EOFException\n"
    found = parse(f"{CLOSING}{trace}\tat x.y(Z.java:1)\n{second}{trace}{CLOSING}a.XError\n")
    assert [type(event).__name__ for event in found] == ["FailedRequest", "IgnoredRecord", "FailedRequest"]


@pytest.mark.parametrize("logger", ["(a.Selector)", "(Selector)", "(a.B$)", "(B$c)"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_login_has_no_other_line_if_its_first_one_ends_with_a_logger(logger: str, end: str) -> None:
    found = [parse(f"{LOGIN} (x {first}{end}rest) (a.Selector){end}") for first in (logger, logger[:-1], f"{logger} y")]
    assert [isinstance(*one, FailedRequest) for one in found] == [False, True, True]


@pytest.mark.parametrize(
    ("reason", "detail"),
    [("", "no reason is logged"), (" ()", "no reason is logged"), (" (x)", "x"), (f" ({'x' * 900})", "x" * 500)],
)
@pytest.mark.parametrize("end", ["", "\n", "\n \n"])
def test_a_failed_login_names_its_channel_and_its_reason(reason: str, detail: str, end: str) -> None:
    (failed,) = parse(f"{LOGIN}{reason} (a.Selector){end}")
    assert (failed.remote_host, failed.connection_id) == ("10.0.0.9", "10.0.0.1:1-10.0.0.9:2-6")
    assert (failed.reason, failed.detail) == ("failed_authentication", detail)


def test_a_name_of_a_host_is_no_exception_and_other_names_may_be_empty() -> None:
    cause = f"{GETTING} METADATA, apiVersion: 99, connectionId: x, listenerName: ListenerName(), principal: "
    (failed,) = parse(CLOSING.replace("127.0.0.1:45612", "a.BError:45612") + f"{cause}\n")
    assert (failed.remote_host, failed.detail) == ("a.BError", cause)
    assert (failed.listener, failed.principal) == ("", "")
    (failed,) = parse(CLOSING + "a.B$CException: x\n")
    assert failed.detail == "a.B$CException: x"


@pytest.mark.parametrize(
    ("before", "is_logger"),
    [("(", True), (" (", True), (" (kafka.network.", True), (" (k.n.", True), (" (a.B$.", True), (" (a.x", False), (" (x", False),
     ("  (", False), (" (.", True)],
)  # fmt: skip
@pytest.mark.parametrize(
    ("thread", "is_thread"), [("", True), (" [main]", True), (" [" + "t" * 301 + "]", False), (" x", False)]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_it_knows_a_failure_by_the_last_name_of_its_logger(
    before: str, is_logger: bool, thread: str, is_thread: bool, end: str
) -> None:
    message = CLOSING.removesuffix(" (kafka.network.Processor)\n")
    (closed,) = parse(f"{message}{before}Processor){thread}{end}java.io.EOFException{end}")
    assert isinstance(closed, FailedRequest) == (is_logger and is_thread)
    (login,) = parse(f"{LOGIN}{before}Selector){end}")
    assert isinstance(login, FailedRequest) == is_logger


REASONS = {
    "unsupported_version": ["Invalid version for API key", "unsupported version", "which is not enabled", "a.UnsupportedVersionException"],
    "unknown_api": ["Unexpected ApiKeys id", "Unexpected api key", "Unknown API key"],
    "unreadable_request": ["Error parsing request header", "Error getting request", "a.SchemaException", "a.BufferUnderflowException"],
    "other": ["a.OtherException"],
}  # fmt: skip


@pytest.mark.parametrize(("reason", "cause"), [(reason, cause) for reason in REASONS for cause in REASONS[reason]])
def test_it_tells_the_reason_by_these_words(cause: str, reason: str) -> None:
    for level in ("ERROR", "INFO", "WARN", "DEBUG"):
        (found,) = parse(CLOSING.replace("ERROR", level) + "a.XException: " + cause + "\n")
        is_failure = level in ("ERROR", "INFO")
        assert getattr(found, "reason", None) == (reason if is_failure else None)
        assert getattr(found, "kind", None) == (None if is_failure else "server_log")


def test_the_detail_is_cut_and_text() -> None:
    (failed,) = parse(CLOSING + "java.lang.LongException: " + "x" * 900 + "\n")
    assert (len(failed.detail), failed.detail[:24]) == (500, "java.lang.LongException:")
    (record,) = split_records([CLOSING.encode() + b"a.OtherException: \xff\n"], framing=SERVER_LOG)
    assert ServerLogParser().parse(record).detail == "a.OtherException: \N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(("end", "more", "key"), [("5\n", 0, 5), ("55", 0, 55), ("5\n", 1, None), ("5\n", 60, None)])
def test_a_line_is_read_that_ends_within_64_kib(end: str, more: int, key: int | None) -> None:
    first, cause = "a.BError\n", f"Caused by: {INVALID} Unknown API key {end}"
    size = (64 << 10) + more - len(CLOSING[CLOSING.index("Closing") :] + first + cause)
    frames = "\tat a.b(C.java:1)\n" * (size // 18 - 1) + "\tat a.b(%s)\n" % ("x" * (size % 18 + 8))
    assert len(frames) == size
    (failed,) = parse(CLOSING + first + frames + cause)
    assert (failed.api_key, failed.detail) == (key, "a.BError")


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_request_needs_no_stack_trace_where_line_breaks_are_escaped(end: str) -> None:
    data = CLOSING.replace("\n", end).encode()
    found: Any = [Parser().parse(RawRecord(0, data, len(data), True, escaped=escaped)) for escaped in (True, False)]
    assert (found[0].reason, found[0].detail) == ("other", "no exception is logged")
    assert found[1] == IgnoredRecord(0, "other_logger")


@pytest.mark.parametrize(
    "below",
    ["", "\tat a.b(C.java:1)\n", "no exception\n", "a.BException\nmore (a.B)\n", "a.BException\n\tat x\nmore\n"],
)
def test_a_request_without_its_stack_trace_is_none(below: str) -> None:
    assert parse(CLOSING + below) == [IgnoredRecord(0, "server_log")]


NUMBERS = ["²", "٣", "1" * 5000, "-", "--1", "-1", "32768", "99999", "1e5", "\ud800", "", "\0"]
CHANGED = st.tuples(st.sampled_from([cause for cause, _ in CASES.values()]), st.sampled_from(NUMBERS)).map(
    lambda both: re.sub(r"-?\d+|[A-Z_]{6,}", lambda _: both[1], both[0]).encode("utf-8", "surrogatepass")
)


@given(st.one_of(st.binary(max_size=400), CHANGED))
def test_no_bytes_raise(data: bytes) -> None:
    parser = ServerLogParser()
    for start in (b"", CLOSING[:46].encode(), CLOSING.encode(), LOGIN.encode()):
        parser.parse(RawRecord(0, start + data, len(start) + len(data), True))
