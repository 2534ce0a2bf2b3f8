"""Readers of the wrappers that container runtimes, journald, syslog and JSON layouts put around a line of the log.

Each reader takes one physical line without its line feed, as one file may hold lines of several sources. It returns the
line that the program wrote, with the time, level and logger that the wrapper states, or None if the line has another form.
A runtime wraps each line of a record, and cuts long lines into parts; `unwrapping` joins both.

Sources: Kubernetes' CRI log format, Docker's json-file driver, journald's JSON format, RFC 3164 and
RFC 5424 (and the ISO time of rsyslog's default file format), and the event templates of log4j's JsonTemplateLayout and
JsonLayout.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, islice
from typing import Any, NamedTuple

from ..printable import encodable
from .heads import LONGEST, head_of, is_one_request, of_epoch, time_in
from .json_bodies import json_object
from .record_marks import COMPLETED, OWN_WORDS, STAMP, TIME

_TIME = re.compile(TIME)
_CRI = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) ([FP])(?::[\w:]{0,64})?(?: |\Z)"
)
_PRIORITY = rb"(?:<(?P<priority>\d{1,3})>)"
_STRUCTURED = rb'(?:-|(?:\[[^\s\]="]{1,32}(?: [^\s\]="]{1,32}="(?:[^"\\\]]|\\.){0,1024}"){0,32}\]){1,16})'
_RFC_5424 = re.compile(
    _PRIORITY
    + rb"?1 (?P<time>-|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)) \S{1,255} \S{1,48} \S{1,128} \S{1,32} "
    + _STRUCTURED
    + rb"(?: (?:\xef\xbb\xbf)?|\Z)"
)
_RFC_3164 = re.compile(
    _PRIORITY
    + rb"?(?P<time>(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?[A-Z][a-z]{2} [ \d]\d(?: \d{4})? \d\d:\d\d:\d\d(?:\.\d{1,9})?"
    rb"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-][01]\d:?\d\d))"
    rb" (?!std(?:out|err) |\[?\d{4}[-/.]\d\d[-/.]\d\d|\d{10}(?:\d{3}|\.\d))[^\s\"{}]{1,255} (?:[^\s:\[\]]{1,128}(?:\[[^\s\]]{0,64}\])?:(?: |\Z))?"
)
_LINE_FEED_OF_RSYSLOG = b"#012"
_SEVERITIES = (b"FATAL", b"FATAL", b"FATAL", b"ERROR", b"WARN", b"INFO", b"INFO", b"DEBUG")
_LEVELS = {"WARNING": b"WARN", "CRITICAL": b"FATAL"}
_LEVELS |= {name: name.encode() for name in ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")}
LEFT_OUT = re.compile(rb'\{[^\n]*"MESSAGE" ?: ?null|\[\d[\d.]{0,9}[BKMGT]? blob data\]\s*\Z')
"""Text that journalctl without `--all` writes in place of a message above 4,096 bytes or with unprintable bytes."""
_DIGITS = re.compile("[0-9]{1,17}")
_OF_ENTRIES = (b'"stream"', b'"_p"', b'"partial_last"', b'"__REALTIME_TIMESTAMP"')
_PARTS_OF_DOCKER = range(16_000, 17_000)
"""Bytes of a part without a line end; Docker cuts a line into parts of 16 KiB, and may replace bytes at both ends."""
_MARKS = {"_p": "P", "logtag": "P", "partial_last": "false", "_partial": True, "source_type": "P"}
"""Fields, and their values in a part that is not the last, of fluent-bit, Docker's drivers and Vector.

`source_type` stands in all events of Vector, and is never `P`: of a whole line it is the only mark.
"""
SYSLOG = b"syslog"
"""The stream of lines of syslog. A line without a head continues one of them, as log4j's syslog layouts write line ends."""
_MOST_FIELDS = 64
"""Objects of an event in which a message is looked for."""
_OF_REQUEST = ("isForwarded", "requestHeader", "request", "response", "connection")
"""The first fields of a request in JSON (2.8+), in their order."""
_MESSAGES = ("message", "full_message", "short_message", "log", "msg")
_TIMES = ("instant", "timeMillis", "@timestamp", "timestamp", "time", "_time", "ts", "datetime",
          "date", "eventTime", "timestampMs", "$date")  # fmt: skip
_OF_TIME = re.compile(r"time|date|(?:^|_|@)ts?(?:_ms)?$|^dt$|^(?:created|logged)(?:_?at)?$|^epoch", re.IGNORECASE)
_LATER = re.compile("ingest|receiv|(?<!th)read|collect|observ|index|saved|enqueued|created", re.IGNORECASE)
"""Names of times at which an event was handed on, or of another thing; they count if there is no other time."""
_LOGGERS = ("log.logger", "logger_name", "loggerName", "logger", "_logger")
_NO_LOGGER = re.compile(rb"[^\w.$]")
_LONGEST_TIME = 40
_FIRST_RELEASE = b"2011"
"""The year of Kafka's first release; a lower number is no time."""
_MICROS_TO = 10**17
"""Microseconds; a number is in the greatest unit, from seconds to nanoseconds, in which it is at most this."""


class Line(NamedTuple):
    """A line as the program wrote it.

    Attributes:
        text: its bytes without line end.
        stream: wrapper and name of the stream of lines that it belongs to; empty without a wrapper.
        whole: False if the next line of the same stream continues it.
        time: time of the wrapper or the event, in the notation of `record_marks.TIME`, or None.
        level: one of log4j's levels, or None.
        latest: that of `layouts.Layout`, for a line or event without a wrapper.
    """

    text: bytes
    stream: bytes = b""
    whole: bool = True
    time: bytes | None = None
    level: bytes | None = None
    logger: bytes | None = None
    latest: datetime | None = None


def unwrapped(line: bytes, latest: datetime | None) -> Line:
    """Return what a program wrote as this line, which is the line itself if it has no wrapper."""
    if line.startswith(b"{"):
        return _entry(line) or Line(line, latest=latest)
    if STAMP.match(line):
        return Line(line)
    return _cri(line) or _syslog(line, latest) or Line(line, latest=latest)


def _cri(line: bytes) -> Line | None:
    """Read `2026-11-21T02:45:09.935123456Z stdout F MESSAGE`; `P` in place of `F` marks a part that is not the last."""
    head = _CRI.match(line)
    return None if head is None else Line(line[head.end() :], b"cri " + head[2], head[3] == b"F", head[1])


def _entry(line: bytes) -> Line | None:
    r"""Read an entry of Docker's json-file, of fluent-bit or of `journalctl -o json`; None if it is none, or has no message.

    Docker's `{"log":"MESSAGE\n","stream":"stdout","time":"…"}` lacks `\n` in a part of 16 KiB that is not the last.
    """
    entry = json_object(line) if any(name in line for name in _OF_ENTRIES) else None
    if entry is None:
        return None
    if "__REALTIME_TIMESTAMP" in entry:
        return _of_journal(entry)
    marks = [entry[name] == mark for name, mark in _MARKS.items() if name in entry]
    log, stream = entry.get("log", entry.get("message") if marks else None), entry.get("stream", "")
    if not isinstance(log, str) or not isinstance(stream, str) or not (marks or "stream" in entry):
        return None
    text = _bytes(log)
    is_part = any(marks) if marks else not text.endswith(b"\n") and len(text) in _PARTS_OF_DOCKER
    return Line(text.removesuffix(b"\n"), b"log " + _bytes(stream), not is_part, _event_time(entry))


def _of_journal(entry: dict[str, Any]) -> Line | None:
    message = entry.get("MESSAGE")
    if isinstance(message, list) and all(type(byte) is int and byte in range(256) for byte in message):
        text = bytes(message)  # a message that is not text is a list of its bytes
    elif isinstance(message, str):
        text = _bytes(message)
    else:
        return None
    stream = entry.get("_STREAM_ID") or f"{entry.get('_HOSTNAME')}/{entry.get('_PID')}"
    time, priority = (str(entry.get(name)) for name in ("__REALTIME_TIMESTAMP", "PRIORITY"))
    # Docker cuts lines, and the journal those above its LineMax.
    of_docker = entry.get("CONTAINER_PARTIAL_MESSAGE") == "true" and entry.get("CONTAINER_PARTIAL_LAST") != "true"
    is_part = of_docker or entry.get("_LINE_BREAK") == "line-max"
    is_stated = entry.get("_TRANSPORT") != "stdout"  # all lines of stdout have the same priority
    return Line(
        text.removesuffix(b"\n"),
        b"journal " + str(stream).encode("utf-8", "replace")[:256],
        not is_part,
        of_epoch(int(time)) if _DIGITS.fullmatch(time) else None,
        _SEVERITIES[int(priority)] if is_stated and priority in tuple("01234567") else None,
    )


def _syslog(line: bytes, latest: datetime | None) -> Line | None:
    """Read a line of RFC 5424 or RFC 3164, with or without `<PRI>`; None if it has another form."""
    head = _RFC_5424.match(line) or _RFC_3164.match(line)
    words = None if head is None else OWN_WORDS.search(line, 0, head.end() + LONGEST)
    if head is None or (words and words.start() < head.end()):  # no host is named `Completed`
        return None
    severity = None if head["priority"] is None else _SEVERITIES[int(head["priority"]) % 8]
    text = line[head.end() :].removesuffix(_LINE_FEED_OF_RSYSLOG)
    return Line(text, SYSLOG, True, time_in(head["time"], latest), severity)


def event(line: bytes) -> tuple[bytes, dict[str, Any]] | None:
    """Return message and fields of an event in JSON (ECS, logstash, JsonLayout, GELF and the like); None if it is none."""
    fields = json_object(line.rstrip(b" \t\r,]"))  # in an array, a comma or a bracket follows
    found = None if fields is None else _message(fields)
    return None if found is None else (_bytes(found[0]), found[1])


def stated(fields: dict[str, Any]) -> list[bytes | None]:
    """Return an event's time, level and logger; names may be nested (`{"log":{"level":…}}`) or have dots (`log.level`)."""
    readers = (_event_time, _level, _logger)
    return [read(fields) or next(filter(None, map(read, _objects(fields))), None) for read in readers]


def _objects(fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an event's object and those in it, each with the texts and numbers of the objects around it."""
    waiting = [fields]
    for one in islice(iter(waiting), _MOST_FIELDS):
        yield one
        if inner := [value for value in _values(one) if isinstance(value, dict)]:
            around = {name: value for name, value in one.items() if isinstance(value, str | int | float)}
            waiting += [around | each for each in inner]


def _values(fields: dict[str, Any]) -> Iterator[object]:
    return chain.from_iterable(value if isinstance(value, list) else (value,) for value in fields.values())


def _message(fields: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the message of an event, and the event's fields with those of the object that it stands in.

    If there is no usual message, it is a text at any depth that holds a request, or the request's own fields.
    """
    usual = [text for key in _MESSAGES if isinstance(text := fields.get(key), str)]
    if usual:
        return next((text for text in usual if OWN_WORDS.search(_bytes(text[:LONGEST]))), usual[0]), fields
    messages: list[tuple[str, dict[str, Any]]] = []
    for one in _objects(fields):
        if isinstance(one.get("requestHeader"), dict) and isinstance(one.get("connection"), str):
            request = {name: one[name] for name in (*_OF_REQUEST, *one) if name in one}
            return COMPLETED.decode() + json.dumps(request, ensure_ascii=False, separators=(",", ":")), fields | one
        messages += [(text, fields | one) for text in _values(one) if isinstance(text, str) and _is_message(text)]
    holds_one = is_one_request(text for text, _ in messages)  # else several events
    return messages[0] if messages and holds_one else None


def _is_message(text: str) -> bool:
    beginning = _bytes(text[: 4 * LONGEST])
    is_event = beginning.startswith(b"{") and OWN_WORDS.search(beginning) is not None
    return is_event or head_of(beginning, True) is not None


def _bytes(text: str) -> bytes:
    return encodable(text).encode()


def _level(fields: dict[str, Any]) -> bytes | None:
    for name in ("log.level", "level", "severity"):
        value = fields.get(name)
        if isinstance(value, str) and value.upper() in _LEVELS:
            return _LEVELS[value.upper()]
        if type(value) is int and value in range(8):
            return _SEVERITIES[value]
    return None


def _logger(fields: dict[str, Any]) -> bytes | None:
    logger = next((value for name in _LOGGERS if isinstance(value := fields.get(name), str) and value), None)
    return None if logger is None else _NO_LOGGER.sub(b"_", logger[:255].encode("ascii", "replace"))


def _event_time(fields: dict[str, Any]) -> bytes | None:
    named = [key for key in fields if _OF_TIME.search(key) and not key.endswith(("Ms", "Nanos"))]
    named.sort(key=lambda key: _LATER.search(key) is not None)
    known = (_time(fields.get(name)) for name in _TIMES)
    others = (time for name in named if (time := _time(fields[name])) is not None and time > _FIRST_RELEASE)
    pair = map(_time, [f"{fields['date']} {fields.get('time')}"] if "date" in fields else [])
    return next(filter(None, chain(known, others, pair)), None)


def _time(value: object) -> bytes | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):  # log4j's instant
        seconds, nanos = value.get("epochSecond"), value.get("nanoOfSecond")
        return of_epoch(seconds * 1_000_000 + nanos // 1000) if type(seconds) is type(nanos) is int else None
    if isinstance(value, str):
        text = value.encode("ascii", "replace")
        return text if _TIME.fullmatch(text) else time_in(text) if len(text) <= _LONGEST_TIME else None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e20:
        unit = next(unit for unit in (1_000_000, 1000, 1, 0.001) if unit == 0.001 or abs(value) * unit <= _MICROS_TO)
        return of_epoch(round(value * unit))
    return None
