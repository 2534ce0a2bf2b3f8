"""The marks by which records are cut: prefixes, filler, loggers at their end, and the words of requests."""

import pytest

from kafka_clientinfo.logs.framing import is_finished
from kafka_clientinfo.logs.record_marks import HANDLING, PREFIX, prefix_of, strip_logger


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


START = b"[2026-11-21 02:45:09,935] INFO "


@pytest.mark.parametrize("zone", [b"Z", b"+01", b"-01:00"])
def test_at_most_one_blank_stands_before_a_zone(zone: bytes) -> None:
    times = [b"[2026-11-21 02:45:09.9" + b" " * blanks + zone + b"] INFO " for blanks in range(3)]
    assert [PREFIX.match(time) is not None for time in times] == [True, True, False]


@pytest.mark.parametrize(
    ("before", "has_prefix"),
    [(b"", True), (b"\0\0", True), (b"\xef\xbb\xbf", True), (b"\xef\xbb\xbf\0", True), (b"\0\xef\xbb\xbf", False),
     (b"x", False), (b"\n", False)],
)  # fmt: skip
def test_a_prefix_may_follow_filler(before: bytes, has_prefix: bool) -> None:
    for start in (0, 3):
        prefix = prefix_of(b"a" * start + before + START + b"x", start)
        assert (prefix is not None) == has_prefix
        assert prefix is None or prefix.span() == (start + len(before), start + len(before) + len(START))


@pytest.mark.parametrize(
    ("message", "is_trace"),
    [
        ("Handling request:RequestHeader(apiKey=FETCH", True),
        ("Handling request: RequestHeader(apiKey=FETCH", True),
        ("Handling request:{api_key=1", True),
        ("Handling request:Name: FetchRequest", True),
        ("Handling request:Name:FetchRequest", True),
        ("Handling request:  Name:FetchRequest", False),
        ("[KafkaApi-1] Handling request:{api_key=1", True),
        (f"[{'a' * 64}] Handling request:{{api_key=1", True),
        (f"[{'a' * 65}] Handling request:{{api_key=1", False),
        ("[a:1] Handling request:{api_key=1", False),
        ("x Handling request:{api_key=1", False),
    ],
)
def test_it_knows_the_traces_of_handled_requests(message: str, is_trace: bool) -> None:
    assert (HANDLING.match(message.encode()) is not None) == is_trace
