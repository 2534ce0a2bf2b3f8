"""The layout of a request log: its wrapper and log4j pattern, detected from the file's first bytes.

A file has one layout, which `detect` finds before records are read, so that a client's text is never taken for a
wrapper. `framing.split_records` reads Kafka's own pattern in plain UTF-8, in several tasks if the file is large.
`unwrapping` reads all other layouts line by line and gives records in Kafka's own pattern (`RawRecord.text`).

    pattern      | a line, as log4j patterns                                       | remarks
    -------------|-----------------------------------------------------------------|------------------------------------
    kafka        | `[%d] %p %m (%c)`                                               | Kafka's own, without a wrapper
    stamped      | `[%d] %p %m (%c)`, `%d{ISO8601} %p %m (%c) [%t]` and the like   | begins with time and level, may
                 |                                                                 | have a thread or lack the logger
    logger_first | `%d %-5p [%t] %c{1}:%L - %m`                                    | the logger precedes the message
    message      | `%m`                                                            | begins with a request log's own
                 |                                                                 | words; the wrapper has the time
    json         | one JSON event                                                  |
    any          | any of these except `message`                                   | for a file that begins with other
                 |                                                                 | programs' output only
"""

import codecs
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Literal, NamedTuple, cast

from ..config.settings import check_layout
from .framing import OWN_WORDS
from .record_marks import LEVEL, PREFIX, TIME
from .wrappers import Line, Unwrap, cri, docker, event, is_journal, is_syslog, journal, syslog

Wrapper = Literal["none", "cri", "docker", "journal", "syslog"]
Pattern = Literal["kafka", "stamped", "logger_first", "message", "json", "any"]

SAMPLE = 1 << 20
"""Bytes of a file's beginning in which the layout is detected if they hold no record."""
_LONG_SAMPLE = 8 << 20
"""Bytes in which the layout is detected if they hold the beginning of a record only; it then counts as one in which records
end with a logger."""
_SAMPLE_LINES = 2000
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The byte order marks with which text in UTF-16 begins."""
_STAMP = re.compile(
    rb"\[?" + TIME + rb"\]? {1,4}(?:\[[^\r\n\]]{1,300}\] {1,4})?" + LEVEL + rb"(?: {1,4}|\Z)"
    rb"(?:\[[^\r\n]{1,300}?\] {1,4}(?=Completed request:|Processor \d|Sending |Not sending ))?"
)
_LOGGER_FIRST = re.compile(rb"(?:\[[^\r\n]{1,300}?\] {1,4})?([A-Za-z_][\w.$]{0,255})(?::(?:\d{1,7}|\?))? {1,4}- ")
_LONGEST_PLAIN = len("[2026-11-21 02:45:09,935123] DEBUG ")
"""Bytes of the longest prefix without a thread; what seems to be a thread may hold another line's time."""
_DAY = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:")
_END = re.compile(rb"\(([A-Za-z_][\w.$]{0,255})\)(?: \[[^\r\n]{1,300}\])?\Z")
_END_WINDOW = 700
_BARE_END = re.compile(rb"\}\}\Z|,sendTime:[\d.,]+(?:,securityProtocol:(?:(?! \().)*(?:softwareVersion=[^()]*\))?)?\Z")
"""The end of a request that has no logger at its end."""
_EXPORT = b"__CURSOR=s="
"""The beginning of every entry of `journalctl -o export`."""
_CUT_DOCKER = re.compile(rb'\{"log": ?"')
_REQUEST = re.compile(rb'Completed request:(\{\\?")?')
_CUT_EVENT = re.compile(rb'"(?:message|short_message|log)": ?"')
REQUEST_LOGGER = b"kafka.request.logger"


class Layout(NamedTuple):
    """How the records of one file are laid out.

    Attributes:
        wrapper: what surrounds each line.
        pattern: log4j's pattern inside the wrapper.
        logger_ends: whether records end with their logger, so that a line without it ends no record.
        latest: no line is more than a day newer than this (None: now); it gives RFC 3164 times their year.
        json_requests: whether the first request is in JSON (2.8+), where clients' line breaks are escaped.
    """

    wrapper: Wrapper = "none"
    pattern: Pattern = "kafka"
    logger_ends: bool = True
    latest: datetime | None = None
    json_requests: bool = False

    @property
    def splittable(self) -> bool:
        """Whether tasks can begin inside the file; if not, one task reads the whole file."""
        return (self.wrapper, self.pattern) == ("none", "kafka")

    @property
    def name(self) -> str:
        """Its name in the setting `log_layout`, such as `cri+json`."""
        return self.pattern if self.wrapper == "none" else f"{self.wrapper}+{self.pattern}"


KAFKA = Layout()
"""`[%d] %p %m (%c)%n`, without a wrapper."""


class UnreadableForm(OSError):
    """A log is in a form that must be converted before it can be read; the text says from what, and how."""


def check_form(sample: bytes) -> None:
    """Refuse a log in UTF-16, and one that `journalctl -o export` wrote.

    Args:
        sample: the first bytes of its decompressed content.

    Raises:
        UnreadableForm: it is one of these.
    """
    if sample.startswith(UTF_16_MARKS):
        raise UnreadableForm("it is in UTF-16; convert it to UTF-8, as `iconv -f UTF-16 -t UTF-8` does")
    if sample.startswith(_EXPORT):
        raise UnreadableForm(
            "it has the form of `journalctl -o export`; export the journal with `journalctl --all -o json`"
        )


class Start(NamedTuple):
    """The start of a record.

    Attributes:
        stamp: time and level in Kafka's own pattern, followed by a blank.
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
    """Return the start of a record that begins with time and level; None if the line has none."""
    head = _STAMP.match(line.text)
    if head is None:
        return None
    end = head.end()
    if end > _LONGEST_PLAIN and _holds_time(line.text, head.end(1), end):
        return None
    return Start(_stamp_of(head), line.text[end:], None, False)


def logger_first_start(line: Line) -> Start | None:
    """Return the start of a record that begins with time, level and logger; None if the line has none."""
    head = _STAMP.match(line.text)
    logger = None if head is None else _LOGGER_FIRST.match(line.text, head.end())
    if head is None or logger is None or _holds_time(line.text, head.end(1), logger.start(1)):
        return None
    return Start(_stamp_of(head), line.text[logger.end() :], logger[1], False)


def _holds_time(text: bytes, start: int, end: int) -> bool:
    """Return whether the apparent thread holds another line's time, which shows a torn first head."""
    return text.find(b":", start, end) >= 0 and _DAY.search(text, start, end) is not None


def _stamp_of(head: re.Match[bytes]) -> bytes:
    return stamp(head[1] + (b"." + head[2] if head[2] else b"") + (head[3] or b""), head[4])


def message_start(line: Line) -> Start | None:
    """Return the start of a record without a time, which begins with a request log's own words.

    Without a level, a request of a deprecated version counts as INFO, and all others as DEBUG, as brokers log them.
    """
    if line.time is None or OWN_WORDS.match(line.text) is None:
        return None
    deprecated = b'"requestApiVersionDeprecated":true' in line.text
    return Start(stamp(line.time, line.level or (b"INFO" if deprecated else b"DEBUG")), line.text, None, False)


def json_start(line: Line) -> Start | None:
    """Return the start in a JSON event: from its message if that has time and level, else from its fields."""
    logged = event(line.text)
    if logged is None:
        return None
    inner = None if logged.text.startswith(b"{") else any_start(Line(logged.text.rstrip(b"\r\n")))
    if inner is not None:
        return inner._replace(whole=True)
    time = logged.time or line.time
    if time is None:
        return None
    return Start(stamp(time, logged.level or b"DEBUG"), logged.text, logged.logger or REQUEST_LOGGER, True, True)


def any_start(line: Line) -> Start | None:
    """Return the start of a record in any pattern that states its time."""
    if line.text.startswith(b"{"):
        return json_start(line)
    first = logger_first_start(line)
    return first if first is not None and OWN_WORDS.match(first.message) else stamped_start(line)


STARTS: dict[Pattern, Callable[[Line], Start | None]] = {
    "kafka": stamped_start,
    "stamped": stamped_start,
    "logger_first": logger_first_start,
    "message": message_start,
    "json": json_start,
    "any": any_start,
}


def split_logger(text: bytes) -> tuple[bytes, bytes | None]:
    """Return message and logger of `MESSAGE (LOGGER)` or `MESSAGE (LOGGER) [THREAD]`; the rightmost logger counts."""
    last = None
    text = text.rstrip(b"\r\n")
    at = len(text) - _END_WINDOW
    while (end := _END.search(text, at)) is not None:
        last, at = end, end.start(1)
    if last is None:
        return text, None
    return text[: last.start()].rstrip(b" "), last[1]


def unwrapper(wrapper: Wrapper, latest: datetime | None) -> Unwrap:
    """Return the function that unwraps a physical line; `wrapper` and `latest` are those of `Layout`."""
    if wrapper == "syslog":
        return partial(syslog, latest or datetime.now(UTC))
    readers: dict[Wrapper, Unwrap] = {"none": Line, "cri": cri, "docker": docker, "journal": journal}
    return readers[wrapper]


def detect(sample: bytes, name: str = "auto", latest: datetime | None = None) -> Layout:
    """Return the layout of a file.

    Args:
        sample: the first bytes of its decompressed content, as many as `is_enough` asks for.
        name: one of `settings.LOG_LAYOUTS`: `auto`, a pattern, or a wrapper and a pattern, such as `cri+json`.
        latest: time at which the file was last written; None if it is not known, which counts as now.

    Raises:
        ConfigError: the name is none of these.
    """
    check_layout(name)
    lines = _lines(sample)
    before, _, after = name.rpartition("+")
    wrapper = _wrapper(lines) if name == "auto" else cast(Wrapper, before or "none")
    inner = _inner(lines, unwrapper(wrapper, latest))
    inner = inner[next((at for at, line in enumerate(inner) if _begins_record(line)), 0) :]
    pattern = _pattern(inner, wrapper) if name == "auto" else cast(Pattern, after)
    ends = pattern == "kafka" or _logger_ends(inner)
    years = latest if wrapper == "syslog" else None  # the only times without a year
    return Layout(wrapper, pattern, ends, years, _requests_are_json(inner))


def is_enough(sample: bytes) -> bool:
    """Return whether a layout can be detected in a file's first bytes: they hold a whole line that begins a record.

    One long record tells nothing of how records end. Without a record, `SAMPLE` bytes are enough, and with the beginning
    of one, `_LONG_SAMPLE` bytes.
    """
    lines = _lines(sample)
    wrapper = _wrapper(lines)
    begun = [line for line in _inner(lines, unwrapper(wrapper, None)) if _begins_record(line)]
    if any(line.whole for line in begun) and b"\n" in sample.strip(b"\n"):
        return True
    is_cut = _begins_record(Line(sample[sample.rfind(b"\n") + 1 :]))
    return len(sample) >= (_LONG_SAMPLE if begun or is_cut else SAMPLE)


def _begins_record(line: Line) -> bool:
    text = line.text
    return bool(_STAMP.match(text) or OWN_WORDS.match(text) or (text.startswith(b"{") and _REQUEST.search(text)))


def _lines(sample: bytes) -> list[bytes]:
    """Return the sample's whole lines, or the beginning of its only line."""
    lines = sample.decode("utf-8", "replace").lstrip("\ufeff\0").encode().split(b"\n", _SAMPLE_LINES)
    return [line for line in lines[:-1] or lines if line.strip()]


_WRAPPED: tuple[tuple[Wrapper, Callable[[bytes], object]], ...] = (
    ("cri", cri),
    ("docker", lambda line: docker(line) or _CUT_DOCKER.match(line)),
    ("journal", is_journal),
    ("syslog", is_syslog),
)
"""Wrappers, each with a function that returns whether a line has it; they are tried in this order."""


def _wrapper(lines: list[bytes]) -> Wrapper:
    """Return the wrapper of the first line that is a record or has a wrapper; clients' texts only come later."""
    for line in lines:
        if _STAMP.match(line) is not None:
            return "none"
        for wrapper, is_wrapped in _WRAPPED:
            if is_wrapped(line):  # the torn head of a CRI line is like that of syslog
                return "cri" if wrapper == "syslog" and any(map(cri, lines)) else wrapper
        if event(line) is not None:
            return "none"
    return "none"


def _inner(lines: list[bytes], unwrap: Unwrap) -> list[Line]:
    """Return the sample's lines, unwrapped and joined; lines that continue after the sample come last."""
    whole_lines: list[Line] = []
    parts: dict[bytes, list[Line]] = {}
    for line in map(unwrap, lines):
        if line is None:
            continue
        parts.setdefault(line.stream, []).append(line)
        if line.whole:
            whole_lines.append(_joined(parts.pop(line.stream)))
    return whole_lines + [_joined(rest) for rest in parts.values()]


def _joined(parts: list[Line]) -> Line:
    return parts[-1]._replace(text=b"".join(part.text.removesuffix(b"\r") for part in parts))


def _pattern(lines: list[Line], wrapper: Wrapper) -> Pattern:
    for line in lines:
        if _STAMP.match(line.text):
            return _stamped_pattern(line, lines, wrapper)
        if wrapper != "none" and OWN_WORDS.match(line.text):
            return "message"
        if line.text.startswith(b"{") and (event(line.text) or (not line.whole and _CUT_EVENT.search(line.text))):
            return "json"
    if wrapper != "none":
        return "any"
    # The beginning of one long line of JSON is an event that the sample cuts off.
    is_cut = len(lines) == 1 and lines[0].text.startswith(b"{") and _CUT_EVENT.search(lines[0].text)
    return "json" if is_cut else "kafka"


def _stamped_pattern(line: Line, lines: list[Line], wrapper: Wrapper) -> Pattern:
    if wrapper == "none" and _is_kafka(lines):
        return "kafka"
    # A request log's own words begin the message in one of the patterns, but not in a torn line.
    starts = ((one, start(one)) for one in lines for start in (stamped_start, logger_first_start))
    line = next((one for one, start in starts if start is not None and OWN_WORDS.match(start.message)), line)
    first = logger_first_start(line)
    # A message of another logger may hold ` - ` as well; then its logger stands at the end.
    is_first = first is not None and (OWN_WORDS.match(first.message) or split_logger(line.text)[1] is None)
    return "logger_first" if is_first else "stamped"


def _is_kafka(lines: list[Line]) -> bool:
    """Return whether lines are in Kafka's own pattern, with bracketed times and ending with a logger, not a thread."""
    if not any(PREFIX.match(line.text) for line in lines):
        return False
    ended = [line for line in _possible_ends(lines) if split_logger(line.text)[1] is not None]
    threads = sum(1 for line in ended if line.text.endswith(b"]"))
    return _logger_ends(lines) and 2 * threads <= len(ended)


def _possible_ends(lines: list[Line]) -> list[Line]:
    """Return the lines that may end a record; in JSON, where a record is one line, those that begin one."""
    return [line for line in lines if _begins_record(line)] if _requests_are_json(lines) else lines


def _requests_are_json(lines: list[Line]) -> bool:
    """Return whether the first request is in JSON; False if the sample holds no request."""
    first = next((request for line in lines if (request := _REQUEST.search(line.text))), None)
    return first is not None and first[1] is not None


def _logger_ends(lines: list[Line]) -> bool:
    """Return whether at least as many lines end with a logger as requests end without one.

    Numbers decide because one line may be a client's text. What a container prints when it starts does not count:
    `uid=1000(appuser)` ends as with a logger.
    """
    lines = _possible_ends(lines)
    ends = [split_logger(line.text)[1] is not None for line in lines]
    bare = [_BARE_END.search(line.text[-_END_WINDOW:]) is not None for line in lines]
    return sum(ends) >= sum(is_bare and not end for is_bare, end in zip(bare, ends, strict=True))
