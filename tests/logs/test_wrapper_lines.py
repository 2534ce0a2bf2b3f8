"""Single lines of wrappers, events and the journal: times, names, levels and heads, and what is none."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from kafka_clientinfo.logs import wrappers
from kafka_clientinfo.logs.wrappers import LEFT_OUT, Line, unwrapped
from tests.logs.laid_out import LATEST

REPLACED = "\N{REPLACEMENT CHARACTER}".encode()


def wrapped(line: bytes, latest: datetime = LATEST) -> Line | None:
    """The line inside a wrapper; None if there is none."""
    inner = unwrapped(line, latest)
    return inner if inner.stream else None


def event(line: bytes) -> Line | None:
    """The message of an event, with what its fields state."""
    found = wrappers.event(line)
    if found is None:
        return None
    time, level, logger = wrappers.stated(found[1])
    return Line(found[0], time=time, level=level, logger=logger)


def event_of(**fields: Any) -> Any:
    return event(json.dumps({"message": "m"} | fields).encode())


@pytest.mark.parametrize(
    ("latest", "text", "year"),
    [
        (datetime(2026, 11, 22, tzinfo=UTC), b"Nov 21 02:45:09", b"2026"),
        (datetime(2027, 1, 2, tzinfo=UTC), b"Dec 31 23:59:59", b"2026"),
        (datetime(2026, 12, 31, 23, tzinfo=UTC), b"Jan  1 23:00:00", b"2027"),
        (datetime(2026, 12, 31, 23, tzinfo=UTC), b"Jan  1 23:00:01", b"2026"),
        (datetime(2027, 1, 1, 3, tzinfo=timezone(timedelta(hours=4))), b"Jan  1 23:00:01", b"2026"),
    ],
)
def test_it_finds_the_year_of_a_syslog_time(latest: datetime, text: bytes, year: bytes) -> None:
    line: Any = wrapped(b"<135>" + text + b" host app[1]: x", latest)
    assert line.time[:4] == year


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"2026-11-21T02:45:09.935123456Z stdout F a b", Line(b"a b", b"cri stdout", True, b"2026-11-21T02:45:09.935123456Z")),
        (b"2026-11-21T02:45:09+01:00 stderr P:x ", Line(b"", b"cri stderr", False, b"2026-11-21T02:45:09+01:00")),
        (b"2026-11-21T02:45:09Z stdout F", Line(b"", b"cri stdout", True, b"2026-11-21T02:45:09Z")),
        (b"2026-11-21T02:45:09Z stdout F:a:b_1 x", Line(b"x", b"cri stdout", True, b"2026-11-21T02:45:09Z")),
        (b"2026-11-21T02:45:09Z stdout F:- x", None),
        (b"2026-11-21T02:45:09Z stdout X a", None),
        (b'{"log":"a\\n","stream":"stdout","time":"2026-11-21T02:45:09.1Z"}', Line(b"a", b"log stdout", True, b"2026-11-21T02:45:09.1Z")),
        (b'{"log":"\\ud800","stream":"stdout","time":7}', Line(REPLACED, b"log stdout", True, b"1970-01-01T00:00:07.000000Z")),
        (b'{"log":"a\xff\\n","stream":"stdout"}', Line(b"a" + REPLACED, b"log stdout", True)),
        (b'{"log":"a\\n"}', None),
        (b'{"log":"a\\n","stream":1}', None),
        (b'{"log":{"level":"info"},"stream":"stdout"}', None),
        (b'{"log":' + b"[" * 100_000, None),
        (b"<14>1 - - - - - -", Line(b"", b"syslog", True, None, b"INFO")),
        (b'<135>1 2026-11-21T02:45:09Z h a 1 m [x@1 a="\\]"][y b="c"] \xef\xbb\xbftext', Line(b"text", b"syslog", True, b"2026-11-21 02:45:09Z", b"DEBUG")),
        (b"Nov  1 02:45:09 h a: t (x)#012", Line(b"t (x)", b"syslog", True, b"2026-11-01 02:45:09")),
        (b"rest of a message", None),
    ],
)  # fmt: skip
def test_it_reads_the_lines_of_wrappers(line: bytes, expected: Line | None) -> None:
    assert wrapped(line) == expected


@pytest.mark.parametrize(
    ("fields", "time"),
    [
        ({"instant": {"epochSecond": 1795262400, "nanoOfSecond": 935123456}}, b"2026-11-21T12:00:00.935123Z"),
        ({"@timestamp": "2026-11-21T12:00:00.935+0000"}, b"2026-11-21T12:00:00.935+0000"),
        ({"@timestamp": "yesterday", "time": "2026-11-21 12:00:00"}, b"2026-11-21 12:00:00"),
        ({"instant": {"epochSecond": 10**30, "nanoOfSecond": 0}}, None),
        ({"timestamp": True}, None),
        ({"instant": {"epochSecond": 1, "nanoOfSecond": 1.5}, "time": 2}, b"1970-01-01T00:00:02.000000Z"),
        ({"instant": {"epochSecond": True, "nanoOfSecond": 1000}, "time": 2}, b"1970-01-01T00:00:02.000000Z"),
        ({"instant": {"epochSecond": 0, "nanoOfSecond": 1000}}, b"1970-01-01T00:00:00.000001Z"),
        ({"instant": "1", "timeMillis": 1795262400935, "time": 3}, b"2026-11-21T12:00:00.935000Z"),
        ({"timeMillis": True, "time": 2}, b"1970-01-01T00:00:02.000000Z"),
        ({"timeMillis": 0, "time": 2}, b"1970-01-01T00:00:00.000000Z"),
        ({}, None),
    ],
)
def test_it_reads_the_times_of_events(fields: dict[str, object], time: bytes | None) -> None:
    assert event_of(level="debug", logger="a b", **fields) == Line(b"m", time=time, level=b"DEBUG", logger=b"a_b")


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        (1795262400.935, b"2026-11-21T12:00:00.935000Z"),
        (10**11 + 1, b"1973-03-03T09:46:40.001000Z"),
        (-(10**11), None),
        (-(10**11) - 1, b"1966-10-31T14:13:19.999000Z"),
        (10**14, b"5138-11-16T09:46:40.000000Z"),
        (10**15, b"2001-09-09T01:46:40.000000Z"),
        (1795262400462000999, b"2026-11-21T12:00:00.462001Z"),
        *((odd, None) for odd in (1e20, 1e300, float("inf"), float("-inf"), float("nan"), "")),
        ("2026-11-21T12:00:00.123456789+01:00", b"2026-11-21T12:00:00.123456789+01:00"),
        ("2026-11-21T12:00:00 " + "x" * 64, None),
    ],
)
def test_it_tells_seconds_from_milliseconds(stamp: object, time: bytes | None) -> None:
    assert [event_of(**{name: stamp}).time for name in ("@timestamp", "timestamp", "time")] == [time] * 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [("trace", b"TRACE"), ("DEBUG", b"DEBUG"), ("Info", b"INFO"), ("WARN", b"WARN"), ("warning", b"WARN"), ("ERROR", b"ERROR"),
     ("FATAL", b"FATAL"), ("critical", b"FATAL"), ("notice", None), ("", None), (8, None), (-1, None), (True, None), ([3], None)],
)  # fmt: skip
def test_it_reads_the_names_of_levels(name: Any, expected: bytes | None) -> None:
    for fields in ({"level": name}, {"log": {"level": name}}, {"log.level": name}, {"severity": name}):
        assert event_of(**fields).level == expected


SEVERITIES = [b"FATAL", b"FATAL", b"FATAL", b"ERROR", b"WARN", b"INFO", b"INFO", b"DEBUG"]


@pytest.mark.parametrize(("severity", "level"), [*enumerate(SEVERITIES)])
def test_it_reads_the_severities_of_syslog(severity: int, level: bytes) -> None:
    for priority in (severity, 128 + severity, 184 + severity):
        for head in (b"1 - - - - - -", b"Nov 21 02:45:09 host app: x"):
            line: Any = wrapped(b"<%d>%b" % (priority, head))
            assert line.level == level
    assert event_of(level=severity).level == level


def test_it_reads_the_months_of_syslog() -> None:
    for month, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    ):
        line = wrapped(f"<14>{name}  9 02:45:09 host app: x".encode(), datetime(2026, 12, 31, tzinfo=UTC))
        assert line == Line(b"x", b"syslog", True, f"2026-{month:02d}-09 02:45:09".encode(), b"INFO")
    assert unwrapped(b"<14>Nob  9 02:45:09 host app: x", LATEST).time is None


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        (b"1 - - - - - -", True),
        (b"<1234>1 - - - - - - x", False),
        (b"<14>1 2026-11-21T02:45:09.123456Z %b %b %b %b - x" % (b"h" * 255, b"a" * 48, b"p" * 128, b"m" * 32), True),
        (b"<14>1 - %b a p m - x" % (b"h" * 256), False),
        (b"<14>1 - h a p m [%b] x" % (b"i" * 33), False),
        (b'<14>1 - h a p m [i a="%b"] x' % (b"v" * 1025), False),
        (b"<14>1 - h a p m [i%b] x" % (b' a="v"' * 33), False),
        (b"<14>1 - h a p m %b x" % (b"[i]" * 17), False),
        (b"<14>1 - h a p m  x", False),
        (b"<14>2026-11-21T02:45:09.123456789Z h app: x", True),
        (b"2026-11-21T02:45:09+01:00 h app[7]: x", True),
        (b"Nov 21 02:45:09 h x", True),
        (b"Nov 21 02:45:09h x", False),
    ],
)
def test_it_knows_the_heads_of_syslog(line: bytes, is_one: bool) -> None:
    assert (wrapped(line) is not None) == is_one


@pytest.mark.parametrize(
    ("loggers", "expected"),
    [
        ({"log": {"logger": "a"}, "logger": "b"}, b"b"),
        ({"log.logger": 5, "logger_name": "b"}, b"b"),
        ({"logger": ""}, None),
        ({"logger": ["a"]}, None),
        ({"logger": "a.ü-b"}, b"a.__b"),
        *(({"logger": "a" * length}, b"a" * min(length, 255)) for length in (254, 255, 256)),
    ],
)
def test_it_takes_the_first_logger_that_is_a_name(loggers: dict[str, object], expected: bytes | None) -> None:
    assert event_of(**loggers).logger == expected


def test_it_replaces_what_is_no_utf_8_in_events() -> None:
    line = wrapped(b'{"MESSAGE":[97,255],"__REALTIME_TIMESTAMP":"1","_STREAM_ID":"\xff"}')
    assert line == Line(b"a\xff", b"journal " + REPLACED, True, b"1970-01-01T00:00:00.000001Z")
    for text in (b"\xff", b"\\ud800", b"\\udbff", b"\\udc00", b"\\udfff"):
        assert event(b'{"message":"a%b"}' % text) == Line(b"a" + REPLACED)
    assert event_of(timestamp="2026-11-21 02:45:0ü").time is None


@pytest.mark.parametrize(
    "line",
    [b"", b"[]", b'["message"]', b' {"message":"a"}', b'{"message":1}', b'{"text":"a"}', b'{"message":"a"', b"{}"],
)
def test_it_takes_nothing_else_for_an_event(line: bytes) -> None:
    assert event(line) is None


ZONES = [("Z", True), ("+01:00", True), ("-01:00", True), ("-0100", False), ("", False)]


@pytest.mark.parametrize(("zone", "is_one"), ZONES)
def test_heads_have_times_with_a_zone(zone: str, is_one: bool) -> None:
    time = f"2026-11-21T02:45:09.1{zone}"
    line = wrapped(f"{time} stdout F x".encode())
    assert (line is not None and line.stream == b"cri stdout") == is_one
    shown = b"x", time.replace("T", " ").replace(".", ",").encode()
    for head, is_read in ((f"<14>1 {time} h a p m - x", is_one), (f"{time} h a: x", is_one or zone == "-0100")):
        line = unwrapped(head.encode(), LATEST)
        assert (line.text, line.time) == (shown if is_read else (head.encode(), None))


@pytest.mark.parametrize(
    ("rest", "text"),
    [
        ("h a: x", "x"),
        ("h a:", ""),
        ("h a[]: x", "x"),
        (f"h a[{'7' * 65}]: x", f"a[{'7' * 65}]: x"),
        (f"h {'a' * 129}: x", f"{'a' * 129}: x"),
        ("h a:x", "a:x"),
        ("h a x", "a x"),
        (f"{'h' * 256} a: x", None),
    ],
)
def test_a_program_may_stand_after_the_host(rest: str, text: str | None) -> None:
    whole = f"Nov 21 02:45:09 {rest}"
    assert unwrapped(whole.encode(), LATEST).text == (whole if text is None else text).encode()


@pytest.mark.parametrize(
    ("names", "part", "first", "later"),
    [
        (["message", "short_message", "log", "msg"], 0, "a", "b"),
        (["@timestamp", "timestamp", "time"], 3, "2026-11-21 12:00:00", "2026-11-22 12:00:00"),
        (["log.level", "level", "severity"], 4, "INFO", "WARN"),
        (["log.logger", "logger_name", "loggerName", "logger", "_logger"], 5, "a", "b"),
    ],
)
def test_the_names_of_events_have_an_order(names: list[str], part: int, first: str, later: str) -> None:
    for number, name in enumerate(names):
        fields = dict.fromkeys(names[number:], later) | {name: first}
        got: Any = event(json.dumps({"message": "m"} | fields if part else fields).encode())
        assert got[part] == first.encode()


@pytest.mark.parametrize(("outer", "inner", "part"), [("log.level", "level", 4), ("log.logger", "logger", 5)])
def test_a_name_with_a_dot_comes_before_a_nested_one(outer: str, inner: str, part: int) -> None:
    assert event_of(**{"log": {inner: "WARN"}, outer: "INFO", inner: "ERROR"})[part] == b"INFO"


STATED = {"__REALTIME_TIMESTAMP": "7000001", "_HOSTNAME": "h", "_PID": "1", "PRIORITY": "3", "MESSAGE": "a"}
TAKEN = b"1970-01-01T00:00:07.000001Z"
ENTRY = Line(b"a", b"journal h/1", True, TAKEN, b"ERROR")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"MESSAGE": "aX\n"}, ENTRY._replace(text=b"aX")),
        ({"MESSAGE": "a\nb"}, ENTRY._replace(text=b"a\nb")),
        ({"PRIORITY": "0"}, ENTRY._replace(level=b"FATAL")),
        ({"PRIORITY": "8"}, ENTRY._replace(level=None)),
        ({"_TRANSPORT": "stdout"}, ENTRY._replace(level=None)),
        ({"_TRANSPORT": "journal"}, ENTRY),
        ({"_STREAM_ID": "s" * 300}, ENTRY._replace(stream=b"journal " + b"s" * 256)),
        ({"_STREAM_ID": "\ud800"}, ENTRY._replace(stream=b"journal ?")),
        ({"_LINE_BREAK": "line-max"}, ENTRY._replace(whole=False)),
        ({"__REALTIME_TIMESTAMP": "x"}, ENTRY._replace(time=None)),
        ({"__REALTIME_TIMESTAMP": "1" * 17}, ENTRY._replace(time=b"2322-02-05T19:45:11.111111Z")),
        ({"__REALTIME_TIMESTAMP": "1" * 18}, ENTRY._replace(time=None)),
        ({"MESSAGE": [0, 97, 255]}, ENTRY._replace(text=b"\0a\xff")),
        ({"MESSAGE": []}, ENTRY._replace(text=b"")),
        *(({"MESSAGE": odd}, None) for odd in ([256], [-1], [True], ["a"], None, 7)),
    ],
)
def test_it_reads_the_entries_of_the_journal(fields: dict[str, Any], expected: Line | None) -> None:
    entry = STATED | fields
    assert wrapped(json.dumps(entry).encode()) == expected
    for name in ("__REALTIME_TIMESTAMP", "MESSAGE"):
        assert wrapped(json.dumps(entry | {name: ""}).replace(f'"{name}"', '"x"').encode()) is None


@pytest.mark.parametrize(
    ("text", "is_left_out"),
    [
        ('{"MESSAGE":null}', True),
        ('{"MESSAGE": null', True),
        ('{"MESSAGE":"x"}', False),
        ("[7B blob data]", True),
        ("[4.1G blob data] ", True),
        ("[7B blob data] x", False),
        ("[B blob data]", False),
    ],
)
def test_it_knows_what_journalctl_leaves_out(text: str, is_left_out: bool) -> None:
    assert (LEFT_OUT.match(text.encode()) is not None) == is_left_out
