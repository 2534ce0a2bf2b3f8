"""server.log: requests that brokers could not read, with real records of 0.10 to 4.4."""

import re
from datetime import UTC, datetime

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
ERRORS = "org.apache.kafka.common.errors."
WHERE = f"connectionId: {CONNECTION}, listenerName: ListenerName(PLAINTEXT), principal: User:ANONYMOUS"

CASES: dict[str, tuple[str, tuple[object, ...]]] = {
    "1.0, a version that is not supported": (
        f"{ERRORS}InvalidRequestException: Error getting request for apiKey: METADATA, apiVersion: 99, {WHERE}\n"
        "Caused by: java.lang.IllegalArgumentException: Invalid version for API key METADATA: 99\n",
        ("METADATA", 99, "PLAINTEXT", "User:ANONYMOUS", "unsupported_version"),
    ),
    "0.11, keys as numbers": (
        f"{ERRORS}InvalidRequestException: Error getting request for apiKey: 17 and apiVersion: 99\n"
        "Caused by: java.lang.IllegalArgumentException: Invalid version for API key 17: 99\n",
        ("SASL_HANDSHAKE", 99, None, None, "unsupported_version"),
    ),
    "4.x, advertised but not accepted": (
        f"{ERRORS}UnsupportedVersionException: Received request for api with key 0 (Produce) and unsupported version 2\n",
        ("PRODUCE", 2, None, None, "unsupported_version"),
    ),
    "3.9, a version that is not supported": (
        f"{ERRORS}InvalidRequestException: Received request api key METADATA with version 99 which is not enabled\n",
        ("METADATA", 99, None, None, "unsupported_version"),
    ),
    "1.0, an API that does not exist": (
        f"{ERRORS}InvalidRequestException: Unknown API key 1000\n",
        ("UNKNOWN(1000)", None, None, None, "unknown_api"),
    ),
    "4.x, an API that does not exist": (
        f"{ERRORS}InvalidRequestException: Error parsing request header. Our best guess of the apiKeyId is: 999\n"
        "Caused by: java.lang.IllegalArgumentException: Unexpected api key: 999\n",
        ("UNKNOWN(999)", None, None, None, "unknown_api"),
    ),
    "2.5, a broken header": (
        f"{ERRORS}InvalidRequestException: Error parsing request header. Our best guess of the apiKey is: 18\n",
        ("API_VERSIONS", None, None, None, "unreadable_request"),
    ),
    "a number that is no API key": (
        f"{ERRORS}InvalidRequestException: Error parsing request header. Our best guess of the apiKey is: 99999\n",
        (None, None, None, None, "unreadable_request"),
    ),
    "a digit that is no number": (
        f"{ERRORS}InvalidRequestException: Error getting request for apiKey: ², apiVersion: 1, {WHERE}\n",
        (None, 1, "PLAINTEXT", "User:ANONYMOUS", "unreadable_request"),
    ),
    "a version in digits of another script": (
        f"{ERRORS}InvalidRequestException: Error getting request for apiKey: METADATA, apiVersion: ٣, {WHERE}\n",
        (None, None, None, None, "unreadable_request"),
    ),
    "a number of 60 digits": (
        f"{ERRORS}InvalidRequestException: Error getting request for apiKey: -{'1' * 60}, apiVersion: -1, {WHERE}\n",
        (None, -1, "PLAINTEXT", "User:ANONYMOUS", "unreadable_request"),
    ),
    "a number of 5,000 digits": (
        f"{ERRORS}InvalidRequestException: Error getting request for apiKey: {'1' * 5000}, apiVersion: 1, {WHERE}\n",
        (None, None, None, None, "unreadable_request"),
    ),
    "a key that is named, and another version below it": (
        f"{ERRORS}InvalidRequestException: Error getting request for apiKey: METADATA, apiVersion: 99, {WHERE}\n"
        f"Caused by: {ERRORS}X: Received request for api with key 0 (Produce) and unsupported version 2\n"
        "Our best guess of the apiKey is: 18\n",
        ("METADATA", 99, "PLAINTEXT", "User:ANONYMOUS", "unsupported_version"),
    ),
    "a version, and a guess below it": (
        f"{ERRORS}XException: Received request for api with key 0 (Produce) and unsupported version 2\n"
        "Our best guess of the apiKey is: 18\n",
        ("PRODUCE", 2, None, None, "unsupported_version"),
    ),
    "something else": ("java.lang.IndexOutOfBoundsException\n", (None, None, None, None, "other")),
}


def parse(text: str) -> list[object]:
    parser = ServerLogParser()
    return [parser.parse(record) for record in split_records([text.encode()], framing=SERVER_LOG)]


@pytest.mark.parametrize(("zone", "second"), [("", 0), ("Z", 0), ("+0100", -3600)])
@pytest.mark.parametrize(("fraction", "micros"), [("", 0), (",123", 123_000), (",000456", 456)])
def test_it_reads_the_time_of_a_failure(zone: str, second: int, fraction: str, micros: int) -> None:
    at = CLOSING.partition("]")[0][1:].partition(",")[0]
    (failed,) = parse(f"[{at}{fraction}{zone}]{CLOSING.partition(']')[2]}{CASES['something else'][0]}")
    assert isinstance(failed, FailedRequest)
    start = datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()
    assert failed.logged_at == (round(start) + second) * 1_000_000 + micros


@pytest.mark.kip("KIP-35", 27, 28)
@pytest.mark.parametrize("name", CASES)
def test_it_tells_what_the_broker_made_of_the_request(name: str) -> None:
    cause, expected = CASES[name]
    (failed,) = parse(CLOSING + cause + "\tat kafka.network.Processor.run(SocketServer.scala:1)\n")
    assert isinstance(failed, FailedRequest)
    found = (failed.api_name, failed.api_version, failed.listener, failed.principal, failed.reason)
    assert found == expected
    assert (failed.connection_id, failed.remote_host) == (CONNECTION, "127.0.0.1")


def test_a_stack_trace_belongs_to_its_record_and_the_second_report_is_not_counted_again() -> None:
    second = CLOSING.replace("Closing socket for", "Exception while processing request from").replace(
        " because of error", ""
    )
    found = parse(
        CLOSING
        + "java.io.EOFException\n\tat x.y(Z.java:1)\n"
        + second
        + "java.io.EOFException\n"
        + CLOSING
        + "a.XError\n"
    )
    assert [type(event).__name__ for event in found] == ["FailedRequest", "IgnoredRecord", "FailedRequest"]


def test_a_failed_login_names_its_channel() -> None:
    (failed,) = parse(
        "[2026-11-21 02:47:29,215] INFO [SocketServer listenerType=BROKER, nodeId=1] Failed authentication with /10.0.0.9 "
        "(channelId=10.0.0.1:19592-10.0.0.9:42010-68) (Authentication failed: Invalid username or password) "
        "(org.apache.kafka.common.network.Selector)\n"
    )
    assert isinstance(failed, FailedRequest)
    assert (failed.remote_host, failed.reason) == ("10.0.0.9", "failed_authentication")
    assert failed.connection_id == "10.0.0.1:19592-10.0.0.9:42010-68"
    assert failed.detail == "Authentication failed: Invalid username or password"


@pytest.mark.parametrize("logger", ["(a.Selector)", "(Selector)", "(a.B$)", "(B$c)"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_login_has_no_other_line_if_its_first_one_ends_with_a_logger(logger: str, end: str) -> None:
    start = (
        "[2026-11-21 02:47:29,215] INFO Failed authentication with /10.0.0.9 (channelId=10.0.0.1:1-10.0.0.9:2-6) (x "
    )
    for first, is_login in ((logger, False), (logger[:-1], True), (f"{logger} y", True)):
        (found,) = parse(f"{start}{first}{end}rest) (a.Selector){end}")
        assert isinstance(found, FailedRequest) == is_login, first


def test_a_failed_login_may_state_no_reason() -> None:
    (failed,) = parse(
        "[2026-11-21 02:47:29,215] INFO Failed authentication with /10.0.0.9 "
        "(channelId=10.0.0.1:19592-10.0.0.9:42010-68) (org.apache.kafka.common.network.Selector)\n"
    )
    assert isinstance(failed, FailedRequest)
    assert failed.detail == "no reason is logged"


@pytest.mark.parametrize(
    ("reason", "detail"), [("", "no reason is logged"), (" ()", "no reason is logged"), (" (x)", "x")]
)
@pytest.mark.parametrize("end", ["", "\n", "\n \n"])
def test_a_failed_login_may_be_the_end_of_a_file(reason: str, detail: str, end: str) -> None:
    start = "[2026-11-21 02:47:29,215] INFO Failed authentication with /10.0.0.9 (channelId=10.0.0.1:1-10.0.0.9:2-6)"
    (failed,) = parse(f"{start}{reason} (a.Selector){end}")
    assert isinstance(failed, FailedRequest)
    assert failed.detail == detail


def test_a_name_of_a_host_is_no_exception_and_other_names_may_be_empty() -> None:
    cause = f"{ERRORS}InvalidRequestException: Error getting request for apiKey: METADATA, apiVersion: 99"
    where = "connectionId: x, listenerName: ListenerName(), principal: "
    (failed,) = parse(CLOSING.replace("127.0.0.1:45612", "a.BError:45612") + f"{cause}, {where}\n")
    assert isinstance(failed, FailedRequest)
    assert (failed.remote_host, failed.detail) == ("a.BError", f"{cause}, {where}")
    assert (failed.listener, failed.principal) == ("", "")
    (failed,) = parse(CLOSING + "a.B$CException: x\n")
    assert isinstance(failed, FailedRequest)
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
    channel = "Failed authentication with /10.0.0.9 (channelId=10.0.0.1:1-10.0.0.9:2-6)"
    (login,) = parse(f"[2026-11-21 02:47:29,215] INFO {channel}{before}Selector){end}")
    assert isinstance(login, FailedRequest) == is_logger


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        ("Invalid version for API key", "unsupported_version"),
        ("unsupported version", "unsupported_version"),
        ("which is not enabled", "unsupported_version"),
        ("a.UnsupportedVersionException", "unsupported_version"),
        ("Unexpected ApiKeys id", "unknown_api"),
        ("Unexpected api key", "unknown_api"),
        ("Unknown API key", "unknown_api"),
        ("Error parsing request header", "unreadable_request"),
        ("Error getting request", "unreadable_request"),
        ("a.SchemaException", "unreadable_request"),
        ("a.BufferUnderflowException", "unreadable_request"),
        ("a.OtherException", "other"),
    ],
)
@pytest.mark.parametrize("level", ["ERROR", "INFO", "WARN", "DEBUG"])
def test_it_tells_the_reason_by_these_words(level: str, cause: str, reason: str) -> None:
    (found,) = parse(CLOSING.replace("ERROR", level) + "a.XException: " + cause + "\n")
    assert getattr(found, "reason", None) == (reason if level in ("ERROR", "INFO") else None)
    assert getattr(found, "kind", None) == (None if level in ("ERROR", "INFO") else "server_log")


@pytest.mark.parametrize(
    ("number", "key"), [("32767", 32767), ("32768", None), ("-32768", -32768), ("-32769", None), ("99999", None)]
)
def test_it_takes_no_api_key_that_is_no_int16(number: str, key: int | None) -> None:
    (failed,) = parse(CLOSING + f"a.InvalidRequestException: Unknown API key {number}\n")
    assert isinstance(failed, FailedRequest)
    assert (failed.api_key, failed.api_name) == (key, None if key is None else f"UNKNOWN({key})")


def test_it_replaces_what_is_no_utf_8() -> None:
    data = CLOSING.encode() + b"a.OtherException: \xff\n"
    (record,) = split_records([data], framing=SERVER_LOG)
    failed = ServerLogParser().parse(record)
    assert isinstance(failed, FailedRequest)
    assert failed.detail == "a.OtherException: \N{REPLACEMENT CHARACTER}"


def test_a_failure_at_no_time_is_not_counted_as_one() -> None:
    (found,) = parse(CLOSING.replace("2026-11-21", "2026-02-31"))
    assert found == IgnoredRecord(0, "server_log")


def test_the_detail_is_cut() -> None:
    (failed,) = parse(CLOSING + "java.lang.LongException: " + "x" * 900 + "\n")
    assert isinstance(failed, FailedRequest)
    assert (len(failed.detail), failed.detail[:24]) == (500, "java.lang.LongException:")
    (login,) = parse(
        "[2026-11-21 02:47:29,215] INFO Failed authentication with /10.0.0.9 (channelId=10.0.0.1:1-10.0.0.9:2-6) "
        f"({'x' * 900}) (a.Selector)\n"
    )
    assert isinstance(login, FailedRequest)
    assert login.detail == "x" * 500


@pytest.mark.parametrize("frames", [1, 3000])
def test_a_stack_trace_is_read_up_to_64_kib(frames: int) -> None:
    frame = "\tat kafka.network.Processor.run(SocketServer.scala:1)\n"
    cause = f"Caused by: {ERRORS}InvalidRequestException: Unknown API key 5\n"
    (failed,) = parse(CLOSING + "java.lang.StackOverflowError\n" + frame * frames + cause)
    assert isinstance(failed, FailedRequest)
    assert failed.detail == "java.lang.StackOverflowError"
    assert failed.api_key == (5 if frames == 1 else None)


@pytest.mark.parametrize(("end", "more", "key"), [("5\n", 0, 5), ("55", 0, 55), ("5\n", 1, None), ("5\n", 60, None)])
def test_a_line_is_read_that_ends_within_64_kib(end: str, more: int, key: int | None) -> None:
    first, cause = "a.BError\n", f"Caused by: {ERRORS}InvalidRequestException: Unknown API key {end}"
    size = (64 << 10) + more - len(CLOSING[CLOSING.index("Closing") :] + first + cause)
    frames = "\tat a.b(C.java:1)\n" * (size // 18 - 1) + "\tat a.b(%s)\n" % ("x" * (size % 18 + 8))
    assert len(frames) == size
    (failed,) = parse(CLOSING + first + frames + cause)
    assert isinstance(failed, FailedRequest)
    assert (failed.api_key, failed.detail) == (key, "a.BError")


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_request_needs_no_stack_trace_where_line_breaks_are_escaped(end: str) -> None:
    data = CLOSING.replace("\n", end).encode()
    found = [Parser().parse(RawRecord(0, data, len(data), True, escaped=escaped)) for escaped in (True, False)]
    assert isinstance(found[0], FailedRequest)
    assert (found[0].reason, found[0].detail) == ("other", "no exception is logged")
    assert found[1] == IgnoredRecord(0, "other_logger")


@pytest.mark.parametrize(
    "below",
    ["", "\tat a.b(C.java:1)\n", "no exception\n", "a.BException\nmore (a.B)\n", "a.BException\n\tat x\nmore\n"],
)
def test_a_request_without_its_stack_trace_is_none(below: str) -> None:
    (found,) = parse(CLOSING + below)
    assert found == IgnoredRecord(0, "server_log")


def test_a_date_that_does_not_exist_is_passed_over() -> None:
    (event,) = parse(CLOSING.replace("2026-11-21", "2026-02-31"))
    assert not isinstance(event, FailedRequest)


PIECES = [cause for cause, _ in CASES.values()]
NUMBERS = ["²", "٣", "1" * 5000, "-", "--1", "-1", "32768", "99999", "1e5", "\ud800", "", "\0"]
CHANGED = st.tuples(st.sampled_from(PIECES), st.sampled_from(NUMBERS)).map(
    lambda both: re.sub(r"-?\d+|[A-Z_]{6,}", lambda _: both[1], both[0]).encode("utf-8", "surrogatepass")
)


@given(st.one_of(st.binary(max_size=400), CHANGED))
def test_no_bytes_raise(data: bytes) -> None:
    parser = ServerLogParser()
    for start in (b"", CLOSING[:46].encode(), CLOSING.encode()):
        parser.parse(RawRecord(0, start + data, len(start) + len(data), True))
