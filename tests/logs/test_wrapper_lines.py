"""Single lines of wrappers: times, names, levels and heads, and what is none."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from kafka_clientinfo.logs import wrappers
from kafka_clientinfo.logs.wrappers import Line, unwrapped
from tests.logs.laid_out import LATEST


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


@pytest.mark.parametrize(
    ("latest", "text", "year"),
    [
        (datetime(2026, 11, 22, tzinfo=UTC), b"Nov 21 02:45:09", b"2026"),
        (datetime(2027, 1, 2, tzinfo=UTC), b"Dec 31 23:59:59", b"2026"),
        (datetime(2027, 1, 2, tzinfo=UTC), b"Jan  1 00:00:00", b"2027"),
        (datetime(2026, 12, 31, 23, tzinfo=UTC), b"Jan  1 08:00:00", b"2027"),
        (datetime(2026, 12, 31, 23, tzinfo=UTC), b"Jan  1 23:00:00", b"2027"),
        (datetime(2026, 12, 31, 23, tzinfo=UTC), b"Jan  1 23:00:01", b"2026"),
        (datetime(2027, 1, 1, 3, tzinfo=timezone(timedelta(hours=4))), b"Jan  1 23:00:00", b"2027"),
        (datetime(2027, 1, 1, 3, tzinfo=timezone(timedelta(hours=4))), b"Jan  1 23:00:01", b"2026"),
    ],
)
def test_it_finds_the_year_of_a_syslog_time(latest: datetime, text: bytes, year: bytes) -> None:
    line = wrapped(b"<135>" + text + b" host app[1]: x", latest)
    assert line is not None
    assert line.time is not None
    assert line.time[:4] == year


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"2026-11-21T02:45:09.935123456Z stdout F a b", Line(b"a b", b"cri stdout", True, b"2026-11-21T02:45:09.935123456Z")),
        (b"2026-11-21T02:45:09+01:00 stderr P:x ", Line(b"", b"cri stderr", False, b"2026-11-21T02:45:09+01:00")),
        (b"2026-11-21T02:45:09Z stdout F", Line(b"", b"cri stdout", True, b"2026-11-21T02:45:09Z")),
        (b"2026-11-21T02:45:09Z stdout X a", None),
        (b'{"log":"a\\n","stream":"stdout","time":"2026-11-21T02:45:09.1Z"}', Line(b"a", b"log stdout", True, b"2026-11-21T02:45:09.1Z")),
        (b'{"log":"\\ud800","stream":"stdout","time":7}', Line("\N{REPLACEMENT CHARACTER}".encode(), b"log stdout", True, b"1970-01-01T00:00:07.000000Z")),
        (b'{"log":"a\\n"}', None),
        (b'{"log":"a\\n","stream":1}', None),
        (b'{"log":{"level":"info"},"stream":"stdout"}', None),
        (b'["log"]', None),
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
        ({"timeMillis": 1795262400935}, b"2026-11-21T12:00:00.935000Z"),
        ({"timestamp": 1795262400.935}, b"2026-11-21T12:00:00.935000Z"),
        ({"timestamp": 1795262400935}, b"2026-11-21T12:00:00.935000Z"),
        ({"@timestamp": "2026-11-21T12:00:00.935+0000"}, b"2026-11-21T12:00:00.935+0000"),
        ({"@timestamp": "yesterday", "time": "2026-11-21 12:00:00"}, b"2026-11-21 12:00:00"),
        ({"timestamp": 1e300}, None),
        ({"timeMillis": 10**30}, None),
        ({"instant": {"epochSecond": 10**30, "nanoOfSecond": 0}}, None),
        ({"timestamp": True}, None),
        ({"instant": {"epochSecond": 1}, "time": 2}, b"1970-01-01T00:00:02.000000Z"),
        ({"instant": {"nanoOfSecond": 1}, "time": 2}, b"1970-01-01T00:00:02.000000Z"),
        ({"instant": {"epochSecond": 1, "nanoOfSecond": 1.5}, "time": 2}, b"1970-01-01T00:00:02.000000Z"),
        ({"instant": {"epochSecond": True, "nanoOfSecond": 1000}, "time": 2}, b"1970-01-01T00:00:02.000000Z"),
        ({"instant": {"epochSecond": 0, "nanoOfSecond": 999}, "timeMillis": 2}, b"1970-01-01T00:00:00.000000Z"),
        ({"instant": {"epochSecond": 0, "nanoOfSecond": 1000}}, b"1970-01-01T00:00:00.000001Z"),
        ({"instant": "1", "timeMillis": 1795262400935, "time": 3}, b"2026-11-21T12:00:00.935000Z"),
        ({"timeMillis": "1", "time": 2}, b"1970-01-01T00:00:02.000000Z"),
        ({"timeMillis": True, "time": 2}, b"1970-01-01T00:00:02.000000Z"),
        ({"timeMillis": 0, "time": 2}, b"1970-01-01T00:00:00.000000Z"),
        ({}, None),
    ],
)
def test_it_reads_the_times_of_events(fields: dict[str, object], time: bytes | None) -> None:
    got = event(json.dumps({"message": "m", "level": "debug", "logger": "a b"} | fields).encode())
    assert got == Line(b"m", time=time, level=b"DEBUG", logger=b"a_b")


@pytest.mark.parametrize("message", ["message", "short_message", "log", "msg"])
@pytest.mark.parametrize("time", ["@timestamp", "timestamp", "time"])
@pytest.mark.parametrize("level", ["log.level", "level", "severity"])
@pytest.mark.parametrize("logger", ["log.logger", "logger_name", "loggerName", "logger", "_logger"])
def test_it_reads_the_names_of_events(message: str, time: str, level: str, logger: str) -> None:
    got = event(json.dumps({message: "m", time: "2026-11-21T12:00:00Z", level: "INFO", logger: "a.b"}).encode())
    assert got == Line(b"m", time=b"2026-11-21T12:00:00Z", level=b"INFO", logger=b"a.b")


@pytest.mark.parametrize(("level", "expected"), [(0, b"FATAL"), (3, b"ERROR"), (7, b"DEBUG"), (8, None), (-1, None),
                                                 ("warning", b"WARN"), (True, None), ([3], None)])  # fmt: skip
def test_it_reads_the_levels_of_events(level: object, expected: bytes | None) -> None:
    got = event(json.dumps({"message": "m", "level": level}).encode())
    assert got is not None
    assert got.level == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("trace", "TRACE"), ("DEBUG", "DEBUG"), ("Info", "INFO"), ("WARN", "WARN"), ("warning", "WARN"), ("ERROR", "ERROR"),
     ("FATAL", "FATAL"), ("critical", "FATAL"), ("notice", None), ("", None)],
)  # fmt: skip
def test_it_reads_the_names_of_levels(name: str, expected: str | None) -> None:
    for fields in ({"level": name}, {"log": {"level": name}}, {"log.level": name}, {"severity": name}):
        got = event(json.dumps({"message": "m"} | fields).encode())
        assert got is not None
        assert got.level == (None if expected is None else expected.encode())


SEVERITIES = ["FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG"]


@pytest.mark.parametrize(("severity", "level"), [*enumerate(SEVERITIES)])
def test_it_reads_the_severities_of_syslog(severity: int, level: str) -> None:
    for priority in (severity, 128 + severity, 184 + severity):
        for head in (b"1 - - - - - -", b"Nov 21 02:45:09 host app: x"):
            line = wrapped(b"<%d>%b" % (priority, head))
            assert line is not None
            assert line.level == level.encode()
    got = event(json.dumps({"message": "m", "level": severity}).encode())
    assert got is not None
    assert got.level == level.encode()


MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


@pytest.mark.parametrize(("month", "name"), [*enumerate(MONTHS, 1)])
def test_it_reads_the_months_of_syslog(month: int, name: str) -> None:
    line = wrapped(f"<14>{name}  9 02:45:09 host app: x".encode(), datetime(2026, 12, 31, tzinfo=UTC))
    assert line == Line(b"x", b"syslog", True, f"2026-{month:02d}-09 02:45:09".encode(), b"INFO")
    assert unwrapped(b"<14>Nob  9 02:45:09 host app: x", LATEST).time is None


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        (b"1 - - - - - -", True),
        (b"<14>1 - - - - - - x", True),
        (b"<1234>1 - - - - - - x", False),
        (b"2 - - - - - -", False),
        (b"<14>1 2026-11-21T02:45:09.123456Z %b %b %b %b - x" % (b"h" * 255, b"a" * 48, b"p" * 128, b"m" * 32), True),
        (b"<14>1 2026-11-21T02:45:09.1234567Z h a p m - x", False),
        (b"<14>1 - %b a p m - x" % (b"h" * 256), False),
        (b"<14>1 - h %b p m - x" % (b"a" * 49), False),
        (b"<14>1 - h a %b m - x" % (b"p" * 129), False),
        (b"<14>1 - h a p %b - x" % (b"m" * 33), False),
        (b"<14>2026-11-21T02:45:09.123456789Z h app: x", True),
        (b"2026-11-21T02:45:09+01:00 h app[7]: x", True),
        (b"Nov 21 02:45:09 h x", True),
        (b"Nov 21 02:45:09h x", False),
        (b"nov 21 02:45:09 h x", False),
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
    ],
)
def test_it_takes_the_first_logger_that_is_a_name(loggers: dict[str, object], expected: bytes | None) -> None:
    got = event(json.dumps({"message": "m"} | loggers).encode())
    assert got is not None
    assert got.logger == expected


@pytest.mark.parametrize(("length", "kept"), [(254, 254), (255, 255), (256, 255)])
def test_it_cuts_long_loggers(length: int, kept: int) -> None:
    got = event(json.dumps({"message": "m", "logger": "a" * length}).encode())
    assert got is not None
    assert got.logger == b"a" * kept


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        (10**11, b"5138-11-16T09:46:40.000000Z"),
        (10**11 + 1, b"1973-03-03T09:46:40.001000Z"),
        (-1, b"1969-12-31T23:59:59.000000Z"),
        (-(10**11), None),
        (-(10**11) - 1, b"1966-10-31T14:13:19.999000Z"),
        (10**14, b"5138-11-16T09:46:40.000000Z"),
        (10**15, b"2001-09-09T01:46:40.000000Z"),
        (1795262400462000999, b"2026-11-21T12:00:00.462001Z"),
        (1e20, None),
        (float("inf"), None),
        (float("-inf"), None),
        (float("nan"), None),
        ("2026-11-21T12:00:00.123456789+01:00", b"2026-11-21T12:00:00.123456789+01:00"),
        ("2026-11-21T12:00:00 " + "x" * 64, None),
        ("", None),
    ],
)
def test_it_tells_seconds_from_milliseconds(stamp: object, time: bytes | None) -> None:
    for name in ("@timestamp", "timestamp", "time"):
        got = event(json.dumps({"message": "m", name: stamp}).encode())
        assert got is not None
        assert got.time == time


def test_it_replaces_what_is_no_utf_8_in_events() -> None:
    assert event(b'{"message":"a\xff"}') == Line("a\N{REPLACEMENT CHARACTER}".encode())
    got = wrapped(b'{"log":"a\xff\\n","stream":"stdout"}')
    assert got == Line("a\N{REPLACEMENT CHARACTER}".encode(), b"log stdout", True, None)
    named = event('{"message":"m","logger":"a.ü-b","timestamp":"2026-11-21 02:45:0ü"}'.encode())
    assert named == Line(b"m", logger=b"a.__b")


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
    for head, is_read in ((f"<14>1 {time} h a p m - x", is_one), (f"{time} h a: x", is_one or zone == "-0100")):
        line = unwrapped(head.encode(), LATEST)
        assert (line.text, line.time) == (
            (b"x", time.replace("T", " ").replace(".", ",").encode()) if is_read else (head.encode(), None)
        )


@pytest.mark.parametrize(
    ("tags", "is_one"),
    [("", True), (":", True), (":a:b_1", True), (":" + "t" * 64, True), (":" + "t" * 65, False), (":-", False)],
)
def test_lines_of_a_runtime_may_have_more_tags(tags: str, is_one: bool) -> None:
    line = wrapped(f"2026-11-21T02:45:09Z stdout P{tags} x".encode())
    assert (line == Line(b"x", b"cri stdout", False, b"2026-11-21T02:45:09Z")) == is_one


@pytest.mark.parametrize(
    ("structured", "is_one"),
    [
        ("-", True),
        ("[%s]" % ("i" * 32), True),
        ("[%s]" % ("i" * 33), False),
        ('[i a="%s"]' % ("v" * 1024), True),
        ('[i a="%s"]' % ("v" * 1025), False),
        ("[i%s]" % (' a="v"' * 32), True),
        ("[i%s]" % (' a="v"' * 33), False),
        ("[i]" * 16, True),
        ("[i]" * 17, False),
        ("", False),
    ],
)
def test_heads_of_syslog_may_have_structured_data(structured: str, is_one: bool) -> None:
    assert (wrapped(f"<14>1 - h a p m {structured} x".encode()) is not None) == is_one


@pytest.mark.parametrize(
    ("rest", "text"),
    [
        ("h a: x", "x"),
        ("h a:", ""),
        ("h a[7]: x", "x"),
        ("h a[]: x", "x"),
        (f"h a[{'7' * 64}]: x", "x"),
        (f"h a[{'7' * 65}]: x", f"a[{'7' * 65}]: x"),
        (f"h {'a' * 128}: x", "x"),
        (f"h {'a' * 129}: x", f"{'a' * 129}: x"),
        ("h a:x", "a:x"),
        ("h a x", "a x"),
        (f"{'h' * 255} a: x", "x"),
        (f"{'h' * 256} a: x", None),
    ],
)
def test_a_program_may_stand_after_the_host(rest: str, text: str | None) -> None:
    whole = f"Nov 21 02:45:09 {rest}"
    assert unwrapped(whole.encode(), LATEST).text == (whole if text is None else text).encode()


@pytest.mark.parametrize("half", ["\\ud800", "\\udbff", "\\udc00", "\\udfff"])
def test_half_a_pair_of_code_units_is_replaced(half: str) -> None:
    assert event(b'{"message":"a%b"}' % half.encode()) == Line("a\N{REPLACEMENT CHARACTER}".encode())


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
        got = event(json.dumps({"message": "m"} | fields if part else fields).encode())
        assert got is not None
        assert got[part] == first.encode()


@pytest.mark.parametrize(("outer", "inner", "part"), [("log.level", "level", 4), ("log.logger", "logger", 5)])
def test_a_name_with_a_dot_comes_before_a_nested_one(outer: str, inner: str, part: int) -> None:
    got = event(json.dumps({"message": "m", "log": {inner: "WARN"}, outer: "INFO", inner: "ERROR"}).encode())
    assert got is not None
    assert got[part] == b"INFO"
