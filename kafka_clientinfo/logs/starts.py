"""Where a record starts on a line, in any log4j pattern, and where its logger stands at the end.

    a line                                                 | its record
    -------------------------------------------------------|-----------------------------------------------------------
    `2026-11-21 02:49:28,462 DEBUG [thread] MESSAGE`       | begins after time, level and perhaps a thread, as any logger's
    `2026-11-21 02:49:28,462 DEBUG [thread] LOGGER - …`    | begins after the logger
    `{"@timestamp":…,"message":"…"}`                       | is the message of an event in JSON
    `HEAD Completed request:…`                             | begins with a request log's own words, after any head (`heads`)

Each line is looked at by itself, as log4j may have been reconfigured, or two programs may write one file.
"""

import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from json import JSONDecoder
from typing import NamedTuple

from .generations.plain_json import CONNECTION
from .heads import LONGEST, head_of, is_one_request, may_follow, time_in
from .record_marks import COMPLETED, OWN_WORDS, PREFIX, REQUEST_LOGGERS, STAMP, TEXT_STARTS, TIME
from .wrappers import Line, event, stated

_LOGGER_FIRST = re.compile(rb"(?:\[[^\r\n]{1,300}?\] {1,4})?([A-Za-z_][\w.$]{0,255})(:(?:\d{1,7}|\?))? {1,4}- ")
_PLACE = rb"(?: \([\w.$]{1,255}(?::\d{1,7})?\))?"
_END = re.compile(
    rb"\(([A-Za-z_][\w.$]{0,255})(?::(?<!\.java:)(?<!\.scala:)(?:\d{1,7}|\?))?\)(?: \[[^\r\n]{1,300}\])?(?: \([^\r\n\"]{1,300}\))?"
    rb"(?: \{[^{}\r\n\"]{0,300}\})?\Z"
)
"""A logger, perhaps with the number of a line, which in a stack trace is that of a file, and what a pattern writes after it."""
_BARE_END = re.compile(
    rb"(?: ?\| ?([A-Za-z_][\w.$]{0,255})(?: ?\|)?|(?: - |\t)(" + REQUEST_LOGGERS + rb"))" + _PLACE + rb"\Z"
)
"""A logger between pipes, as `| kafka.request.logger (Logging.scala:62)`, or that of requests after a dash or a tab."""
_OWN_LOGGER = re.compile(rb" ?\(" + REQUEST_LOGGERS + rb"\)\s*\Z")
_NAMED = re.compile(REQUEST_LOGGERS + rb"|\brequest\.logger|RequestChannel")
_ESCAPED = re.compile(rb'[=:\[] ?\\*"[^"]*\Z')
"""The beginning of a value in JSON or logfmt."""
_LAST_COLUMN = re.compile(rb"(?:[\t|]|[)}] | - ) *\[?(\d{13}|" + TIME + rb")\]?(?: *\|{1,2})?\s*\Z")
"""A time after the message, as in a pattern or in what the AWS CLI writes as text or a table: there that of receipt comes first."""
_OBJECT_END = re.compile(rb'"softwareVersion":"[^"\\]*"\}(?:,"\w{1,64}":[\d.E-]{1,40})*\}')
END_WINDOW = 700
REQUEST_LOGGER = b"kafka.request.logger"
_JSON_REQUEST = COMPLETED + b'{"'
_ONE_LINE = re.compile(rb"Completed request:(?!RequestHeader\(|\{api_key=|Name:)")


class Start(NamedTuple):
    """The start of a record.

    Attributes:
        stamp: time and level in Kafka's own pattern, followed by a blank; empty if they cannot be read.
        message: the first line of the message; if `logger` is None, with everything after it on the line.
        logger: the logger, if it does not follow the message; else None.
        whole: whether no further line can belong to the record.
        escaped: whether the file escapes line breaks in the message.
    """

    stamp: bytes
    message: bytes
    logger: bytes | None
    whole: bool
    escaped: bool = False


def stamp(time: bytes, level: bytes) -> bytes:
    """Return time and level in Kafka's own pattern, such as `[2026-11-21T02:45:09.935Z] DEBUG `."""
    return b"[" + time + b"] " + level + b" "


def stamped_start(line: Line) -> Start | None:
    """Return the start of a record that begins with time and level, and perhaps a logger; None if the line has none.

    A word and ` - ` belong to the message if the line ends with a logger, and the word is none in full or with a line.
    """
    head = STAMP.match(line.text)
    if head is None or _opens_text(line.text):
        return None
    own = stamp(head[1] + (b"." + head[2] if head[2] else b"") + (head[3] or b""), head[4])
    logger = _LOGGER_FIRST.match(line.text, head.end())
    if logger and b"." not in logger[1] and not logger[2] and split_logger(line.text)[1]:
        logger = None
    return Start(own, line.text[(logger or head).end() :], logger and logger[1], False)


def message_start(line: Line) -> Start | None:
    """Return the start of a record that begins with a request log's own words, after a head in any pattern (see `heads`).

    The head's time counts, else the line's. Without a level, a request of a deprecated version counts as INFO, and all
    others as DEBUG, as brokers log them.
    """
    text, logger = line.text, None
    prefix = PREFIX.match(text)
    if prefix is not None and OWN_WORDS.match(text, prefix.end()):  # the same as below, but faster
        words, own = prefix.end(), prefix[0]
    else:
        last = _LAST_COLUMN.search(text, len(text) - END_WINDOW // 10) if line.time is None else None
        head = head_of(text, last is not None or line.time is not None, line.latest)
        if head is None:
            return None
        words, time, level = head
        if last is not None and time is None:  # what receives a line states a later time
            times = (time_in(one, line.latest) for one in (text[:words], last[1]))
            time = min(filter(None, times), default=None)
            if time is None:
                return None
        level = level or line.level or (b"INFO" if b'"requestApiVersionDeprecated":true' in text else b"DEBUG")
        own = stamp(time or line.time or b"", level)
        logger = REQUEST_LOGGER if _NAMED.search(text, 0, words) else None
    message = text[words:]
    if message.startswith(_JSON_REQUEST):
        message = message.rstrip(b"\r")
        last = _OBJECT_END.search(message, max(0, message.rfind(CONNECTION)))
        end = last.end() if last else message.rfind(b"}") + 1
        is_cut = end == 0 or not may_follow(message[end:])
        return Start(own, message if is_cut else message[:end], REQUEST_LOGGER, True)
    return Start(own, message, logger, _ONE_LINE.match(message) is not None)


def quoted_start(line: Line) -> Start | None:
    r"""Return the start in a line that quotes the message: an event after a head, CSV (`""`), or `msg="…\"…"`."""
    text = line.text
    words = OWN_WORDS.search(text, 0, 4 * LONGEST)
    if words is None or text.startswith(b"{") or text.find(b'"', 0, words.start()) < 0:
        return None
    begin = text.find(b'{"', 0, LONGEST)
    if 0 < begin < words.start() and (start := json_start(line._replace(text=text[begin:]))) is not None:
        return start
    at = text.rfind(b'"', 0, words.start())
    while at > 0 and text[at - 1 : at] in (b"\\", b'"'):  # escaped or doubled: it stands inside the quoted text
        at = text.rfind(b'"', 0, at - 1)
    if at < 0:
        return None
    before, quoted = (part.decode("utf-8", "surrogateescape") for part in (text[:at], text[at:]))
    if (delimiter := before[-1:] or ",") in ",;\t":
        with suppress(csv.Error, StopIteration):
            return _quoted(line, next(csv.reader([before + quoted], delimiter=delimiter, strict=True)))
    with suppress(ValueError):
        message, end = JSONDecoder().raw_decode(quoted)
        if not quoted.startswith('""', end - 1):  # as in a long field of CSV
            return _quoted(line, [before.replace('"', " "), message, quoted[end:].replace('"', " ")])
    return None


def _quoted(line: Line, fields: Sequence[str]) -> Start | None:
    """Return the start of the record that one of the fields of a line holds; the others may have its time and level."""
    if not is_one_request(fields):
        return None  # it holds several events
    for message in fields:
        others = [one[:LONGEST].encode("utf-8", "replace") for one in fields if one is not message]
        ways = ((others, True), ([b" ".join(others)], True), (others, False))  # date and time may have a column each
        times = ([time for one in some if (time := time_in(one, line.latest, is_date))] for some, is_date in ways)
        time = min(next(filter(None, times), ()), default=line.time)  # what receives a line states a later time
        inner = line._replace(text=message.encode("utf-8", "surrogateescape"), time=time)
        if (start := message_start(inner) or (json_start(inner) if message.startswith("{") else None)) is not None:
            return start._replace(whole=True, escaped=True)
    return None


def json_start(line: Line) -> Start | None:
    """Return the start in a JSON event: from its message if that has time and level, else from its fields."""
    found = event(line.text)
    if found is None:
        return None
    message, fields = found
    text = message.rstrip(b"\r\n")
    is_bare = text.startswith(b"{") or OWN_WORDS.match(text) is not None
    inner = None if is_bare else start_of(Line(text, time=b"", latest=line.latest))
    if inner is not None and not inner.stamp.startswith(b"[]"):
        return inner._replace(whole=True)
    time, level, logger = stated(fields)
    time = time or line.time
    is_open = text.startswith(b"{") or (time is None and inner is not None)
    inner = start_of(Line(text, time=time, latest=line.latest)) if is_open else None
    if inner is not None and OWN_WORDS.match(inner.message):
        return inner._replace(whole=True)
    if time is None:
        return None
    return Start(stamp(time, level or b"DEBUG"), _OWN_LOGGER.sub(b"", message), logger or REQUEST_LOGGER, True, True)


def unreadable_start(line: Line) -> Start | None:
    """Return the start of a request in text after a head that cannot be read, without a stamp: what follows may be its text.

    In CSV a field may hold line breaks; in JSON and logfmt they are escaped, so the next line is no text of such a line.
    """
    text = line.text
    return Start(b"", text[text.find(COMPLETED) :], REQUEST_LOGGER, False) if _opens_text(text) else None


def _opens_text(text: bytes) -> bool:
    words = text.find(COMPLETED)
    return words >= 0 and text.startswith(TEXT_STARTS, words) and _ESCAPED.search(text, 0, words) is None


def start_of(line: Line) -> Start | None:
    if line.text.startswith(b"{") and (start := json_start(line)) is not None:
        return start
    return message_start(line) or quoted_start(line) or stamped_start(line)


def split_logger(text: bytes) -> tuple[bytes, bytes | None]:
    """Return message and logger of `MESSAGE (LOGGER)` or `MESSAGE (LOGGER) [THREAD]`; the rightmost logger counts."""
    last = None
    text = text.rstrip()
    at = len(text) - END_WINDOW
    while (end := _END.search(text, at)) is not None:
        last, at = end, end.start(1)
    last = last or _BARE_END.search(text, max(0, len(text) - END_WINDOW))
    if last is None:
        return text, None
    return text[: last.start()].rstrip(b" "), last[last.lastindex or 1]
