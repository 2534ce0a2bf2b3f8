"""Single lines of wrappers, events and the journal: times, names, levels and heads, and what is none."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from kafka_clientinfo.logs import wrappers
from kafka_clientinfo.logs.wrappers import LEFT_OUT, Line, unwrapped
from tests.logs.laid_out import LATEST

REPLACED = "\N{REPLACEMENT CHARACTER}".encode()
AT = "2026-11-21T02:45:09"
SEVERITIES = [b"FATAL", b"FATAL", b"FATAL", b"ERROR", b"WARN", b"INFO", b"INFO", b"DEBUG"]


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
        (datetime(2026, 12, 31, 23, tzinfo=UTC), b"Jan  1 23:00:00", b"2027"),
        (datetime(2026, 12, 31, 23, tzinfo=UTC), b"Jan  1 23:00:01", b"2026"),
        (datetime(2027, 1, 1, 3, tzinfo=timezone(timedelta(hours=4))), b"Jan  1 23:00:01", b"2026"),
    ],
)
def test_it_finds_the_year_of_a_syslog_time(latest: datetime, text: bytes, year: bytes) -> None:
    assert wrapped(b"<135>" + text + b" host app[1]: x", latest).time[:4] == year


CRI, LOG, SYSLOG = (Line(b"x", stream, True) for stream in (b"cri stdout", b"log stdout", b"syslog"))
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov"]
DATED = SYSLOG._replace(time=b"2026-11-21 02:45:09")
LINES: list[tuple[str, Line | None]] = [
    (f"{AT}.935123456Z stdout F a b", CRI._replace(text=b"a b", time=f"{AT}.935123456Z".encode())),
    (f"{AT}+01:00 stderr P:x ", Line(b"", b"cri stderr", False, f"{AT}+01:00".encode())),
    (f"{AT}-01:00 stdout F", CRI._replace(text=b"", time=f"{AT}-01:00".encode())),
    (f"{AT}Z stdout P x\r", CRI._replace(text=b"x\r", whole=False, time=f"{AT}Z".encode())),
    (f"{AT}Z stdout F:a:b_1 x", CRI._replace(time=f"{AT}Z".encode())),
    *((line, None) for line in (f"{AT}Z stdout F:- x", f"{AT}Z stdout X a", f"{AT}-0100 stdout F x", f"{AT} stdout F x")),
    (f'{{"log":"x\\n","stream":"stdout","time":"{AT}Z"}}', LOG._replace(time=f"{AT}Z".encode())),
    *((f'{{"stream":"stdout","{mark}":"{tag}","{key}":"x"}}', LOG._replace(whole=tag != "P"))
      for mark in ("_p", "logtag") for tag in "PF" for key in ("log", "message")),
    *((f'{{"source":"stdout","partial_id":"a","partial_last":"{is_last}","log":"x"}}', Line(b"x", b"log ", is_last == "true"))
      for is_last in ("true", "false")),
    *((f'{{"message":"x","source_type":"kubernetes_logs",{part}"stream":"stdout"}}', LOG._replace(whole=not part)) for part in ("", '"_partial":true,')),
    *((f'{{"log":"{"x" * size}","stream":"stdout"}}', LOG._replace(text=b"x" * size, whole=size != 16_384))
      for size in (15_999, 16_384, 17_000)),
    ('{"log":"\\ud800","stream":"stdout","time":7}', LOG._replace(text=REPLACED, time=b"1970-01-01T00:00:07.000000Z")),
    *((f'{{"log":{rest}}}', None) for rest in ('"a"', '"a","stream":1', '{"level":"info"},"stream":"stdout"', "[" * 100_000)),
    (f'<135>1 {AT}Z h a 1 m [x@1 a="\\]"][y b="c"] \ufeffx', DATED._replace(time=b"2026-11-21 02:45:09Z", level=b"DEBUG")),
    ("Nov  1 02:45:09 h a: t (x)#012", DATED._replace(text=b"t (x)", time=b"2026-11-01 02:45:09")),
    *((f"<{place + severity}>1 - - - - - - x", SYSLOG._replace(level=level))
      for severity, level in enumerate(SEVERITIES) for place in (0, 128, 184)),
    *((f"<14>{name}  9 02:45:09 h a: x", SYSLOG._replace(time=f"2026-{month:02d}-09 02:45:09".encode(), level=b"INFO"))
      for month, name in enumerate(MONTHS, 1)),
    ("<14>1 - {} {} {} {} - x".format("h" * 255, "a" * 48, "p" * 128, "m" * 32), SYSLOG._replace(level=b"INFO")),
    ("1 - - - - - -", SYSLOG._replace(text=b"")),
    *((line, None) for line in ("<1234>1 - - - - - - x", f"<14>1 {AT}.1234567Z h a p m - x", f"<14>1 - {'h' * 256} a p m - x",
                                f"<14>1 {AT}-0100 h a p m - x", "<14>1 - h a p m  x", "Nov 21 02:45:09h x", "rest of a message")),
    *((f"<14>1 - h a p m {data} x", None) for data in (
        f"[{'i' * 33}]", f'[i a="{"v" * 1025}"]', "[i" + ' a="v"' * 33 + "]", "[i]" * 17)),
    *((f"Nov 21 02:45:09 {rest}", DATED) for rest in ("h a: x", "h a[]: x", f"h a[{'7' * 64}]: x", f"h {'a' * 128}: x")),
    *((f"Nov 21 02:45:09 h {text}", DATED._replace(text=text.encode()))
      for text in (f"a[{'7' * 65}]: x", f"{'a' * 129}: x", "a:x", "a x")),
    (f"Nov 21 02:45:09 {'h' * 256} a: x", None),
    (f"<14>{AT}.123456789Z h app: x", DATED._replace(time=b"2026-11-21 02:45:09,123456789Z", level=b"INFO")),
    (f"{AT}-0100 h app[7]: x", DATED._replace(time=b"2026-11-21 02:45:09-0100")),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_it_reads_the_lines_of_wrappers(line: str, expected: Line | None) -> None:
    assert wrapped(line.encode()) == expected


SECONDS = b"1970-01-01T00:00:02.000000Z"
INSTANT = {"epochSecond": 1795262400, "nanoOfSecond": 935123456}
STATED: list[tuple[dict[str, Any], str, bytes | None]] = [
    ({"instant": INSTANT}, "time", b"2026-11-21T12:00:00.935123Z"),
    ({"instant": {"epochSecond": 0, "nanoOfSecond": 1000}}, "time", b"1970-01-01T00:00:00.000001Z"),
    ({"instant": INSTANT | {"epochSecond": 10**30}}, "time", None),
    *(({"instant": odd, "time": 2}, "time", SECONDS) for odd in ("1", INSTANT | {"nanoOfSecond": 1.5}, INSTANT | {"epochSecond": True})),
    *(({"timeMillis": odd, "time": 2}, "time", SECONDS) for odd in ("1", True)),
    ({"timeMillis": 0, "time": 2}, "time", b"1970-01-01T00:00:00.000000Z"),
    ({"@timestamp": "yesterday", "time": "2026-11-21 12:00:00"}, "time", b"2026-11-21 12:00:00"),
    ({}, "time", None),
    *(({name: 1795262400500}, "time", b"2026-11-21T12:00:00.500000Z") for name in (
        "t", "@t", "dt", "ts_ms", "_ts", "created", "created_at", "createdAt", "logged_at", "event_ts", "epoch", "epochMillis",
        "timestampMs", "EventTime", "ingestionTime")),
    *(({name: 1795262409, "event_time": 1795262400}, "time", b"2026-11-21T12:00:00.000000Z")
      for name in ("ingestedTime", "EventReceivedTime", "created", "read_time", "observedTimestamp")),
    *(({name: 1795262400}, "time", None) for name in ("totalTimeMs", "timestampNanos", "offset", "art")),
    ({"uptime": 7, "dt": 1795262400}, "time", b"2026-11-21T12:00:00.000000Z"),
    *(({name: stamp}, "time", time) for name in ("@timestamp", "timestamp", "time") for stamp, time in (
        (1795262400.935, b"2026-11-21T12:00:00.935000Z"),
        (10**11 + 1, b"1973-03-03T09:46:40.001000Z"),
        (-(10**11) - 1, b"1966-10-31T14:13:19.999000Z"),
        (10**14, b"5138-11-16T09:46:40.000000Z"),
        (10**15, b"2001-09-09T01:46:40.000000Z"),
        (1795262400462000999, b"2026-11-21T12:00:00.462001Z"),
        ("2026-11-21T12:00:00.123456789+01:00", b"2026-11-21T12:00:00.123456789+01:00"),
        *((odd, None) for odd in (-(10**11), 1e20, 1e300, float("inf"), float("-inf"), float("nan"), True, "", AT + " " + "x" * 64, AT[:-1] + "ü")))),
    *((fields, "level", level) for name, level in (
        ("trace", b"TRACE"), ("DEBUG", b"DEBUG"), ("Info", b"INFO"), ("WARN", b"WARN"), ("warning", b"WARN"), ("ERROR", b"ERROR"),
        ("FATAL", b"FATAL"), ("critical", b"FATAL"), ("notice", None), ("", None), (8, None), (-1, None), (True, None), ([3], None),
        *enumerate(SEVERITIES)) for fields in ({"level": name}, {"log": {"level": name}}, {"log.level": name}, {"severity": name})),
    ({"log": {"level": "WARN"}, "log.level": "INFO", "level": "ERROR"}, "level", b"INFO"),
    ({"log": {"logger": "a"}, "log.logger": "b", "logger": "c"}, "logger", b"b"),
    ({"log": {"logger": "a"}, "logger": "b"}, "logger", b"b"),
    ({"log.logger": 5, "logger_name": "b"}, "logger", b"b"),
    *(({"logger": odd}, "logger", None) for odd in ("", ["a"])),
    *(({"logger": name}, "logger", shown) for name, shown in (("a b", b"a_b"), ("a.ü-b", b"a.__b"), ("a" * 255, b"a" * 255), ("a" * 256, b"a" * 255))),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "part", "expected"), STATED)
def test_it_reads_what_events_state(fields: dict[str, Any], part: str, expected: bytes | None) -> None:
    found = event(json.dumps({"message": "m"} | fields).encode())
    assert (found.text, getattr(found, part)) == (b"m", expected)


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
        assert event(json.dumps({"message": "m"} | fields if part else fields).encode())[part] == first.encode()


def test_it_replaces_what_is_no_utf_8() -> None:
    for text in (b"\xff", b"\\ud800", b"\\udbff", b"\\udc00", b"\\udfff"):
        assert event(b'{"message":"a%b"}' % text) == Line(b"a" + REPLACED)
    assert wrapped(b'{"log":"a\xff\\n","stream":"stdout"}') == LOG._replace(text=b"a" + REPLACED)
    line = wrapped(b'{"MESSAGE":[97,255],"__REALTIME_TIMESTAMP":"1","_STREAM_ID":"\xff"}')
    assert line == Line(b"a\xff", b"journal " + REPLACED, True, b"1970-01-01T00:00:00.000001Z")


@pytest.mark.parametrize(
    "line",
    [b"", b"[]", b'["message"]', b' {"message":"a"}', b'{"message":1}', b'{"text":"a"}', b'{"message":"a"', b"{}"],
)
def test_it_takes_nothing_else_for_an_event(line: bytes) -> None:
    assert event(line) is None


FIELDS = {"__REALTIME_TIMESTAMP": "7000001", "_HOSTNAME": "h", "_PID": "1", "PRIORITY": "3", "MESSAGE": "a"}
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
        ({"CONTAINER_PARTIAL_MESSAGE": "true"}, ENTRY._replace(whole=False)),
        ({"CONTAINER_PARTIAL_MESSAGE": "true", "CONTAINER_PARTIAL_LAST": "true"}, ENTRY),
        ({"__REALTIME_TIMESTAMP": "x"}, ENTRY._replace(time=None)),
        ({"__REALTIME_TIMESTAMP": "1" * 17}, ENTRY._replace(time=b"2322-02-05T19:45:11.111111Z")),
        ({"__REALTIME_TIMESTAMP": "1" * 18}, ENTRY._replace(time=None)),
        ({"MESSAGE": [0, 97, 255]}, ENTRY._replace(text=b"\0a\xff")),
        ({"MESSAGE": []}, ENTRY._replace(text=b"")),
        *(({"MESSAGE": odd}, None) for odd in ([256], [-1], [True], ["a"], None, 7)),
    ],
)
def test_it_reads_the_entries_of_the_journal(fields: dict[str, Any], expected: Line | None) -> None:
    entry = FIELDS | fields
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
