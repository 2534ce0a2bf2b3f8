"""Layouts in which a request log arrives: encoding, wrapper and log4j pattern, told from a file's first bytes.

Strategy. One file has one layout, fixed by `detect` before its records are read, so that text which a client wrote
is never tried as a wrapper. Kafka's own pattern in plain UTF-8 goes the fast way (`framing.split_records`) and may be
split; everything else is read line by line (`unwrapping`) and handed on in Kafka's own pattern (`RawRecord.text`).

Patterns. `stamped` is any line that starts with time and level, with or without a thread, mostly with the logger at
the end: `[%d] %p %m (%c)`, `%d{ISO8601} %p %m (%c) [%t]`. `logger_first` has the logger before the message:
`%d %-5p [%t] %c{1}:%L - %m`. `message` is `%m` alone: a record starts with a request log's own words and its time is
the wrapper's. `json` is one event a line. `any` is any of those but `message`, for files whose beginning holds nothing
but other programs' output.
"""

import codecs
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Literal, NamedTuple, cast

from ..settings import check_layout
from .framing import OWN_WORDS
from .physical_lines import ExportEntries
from .record_marks import LEVEL, PREFIX, TIME
from .wrappers import Line, Unwrap, cri, docker, event, export, is_journal, is_syslog, journal, syslog

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be"]
Wrapper = Literal["none", "cri", "docker", "journal", "export", "syslog"]
Pattern = Literal["kafka", "stamped", "logger_first", "message", "json", "any"]

SAMPLE = 1 << 20
"""Bytes of a file's beginning that are looked at."""
_SAMPLE_LINES = 2000
_BOMS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_STAMP = re.compile(
    rb"\[?" + TIME + rb"\]? {1,4}(?:\[[^\r\n\]]{1,300}\] {1,4})?" + LEVEL + rb"(?: {1,4}|\Z)"
    rb"(?:\[[^\r\n]{1,300}?\] {1,4}(?=Completed request:|Processor \d|Sending |Not sending ))?"
)
_LOGGER_FIRST = re.compile(rb"(?:\[[^\r\n]{1,300}?\] {1,4})?([A-Za-z_][\w.$]{0,255})(?::(?:\d{1,7}|\?))? {1,4}- ")
_LONGEST_PLAIN = len("[2026-11-21 02:45:09,935123] DEBUG ")
"""A longer head may hold a thread, in which another line's time can stand."""
_DAY = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:")
_END = re.compile(rb"\(([A-Za-z_][\w.$]{0,255})\)(?: \[[^\r\n]{1,300}\])?\Z")
_END_WINDOW = 700
_BARE_END = re.compile(rb"\}\}\Z|,sendTime:[\d.,]+(?:,securityProtocol:(?:(?! \().)*(?:softwareVersion=[^()]*\))?)?\Z")
"""The end of a request without its logger."""
_EXPORT = b"__CURSOR=s="
_CUT_DOCKER = re.compile(rb'\{"log": ?"')
_REQUEST = re.compile(rb'Completed request:(\{\\?")?')
_CUT_EVENT = re.compile(rb'"(?:message|short_message|log)": ?"')
REQUEST_LOGGER = b"kafka.request.logger"


class Layout(NamedTuple):
    """How the records of one file are laid out.

    Attributes:
        encoding: of the file; bytes that are not valid in it become U+FFFD.
        wrapper: what stands around each line.
        pattern: log4j's layout inside the wrapper.
        logger_ends: whether records end with their logger, so that a line end without it ends none.
        latest: no line is from more than a day after it (None: now); gives RFC 3164 times their year.
        json_requests: whether the file begins with requests in JSON (2.8+), in which no line break of a client's is raw.
    """

    encoding: Encoding = "utf-8"
    wrapper: Wrapper = "none"
    pattern: Pattern = "kafka"
    logger_ends: bool = True
    latest: datetime | None = None
    json_requests: bool = False

    @property
    def splittable(self) -> bool:
        """Whether tasks may start inside the file; else one task reads it whole."""
        return (self.encoding, self.wrapper, self.pattern) == ("utf-8", "none", "kafka")

    @property
    def name(self) -> str:
        """As the setting `log_layout` has it, e.g. `cri+json`."""
        return self.pattern if self.wrapper == "none" else f"{self.wrapper}+{self.pattern}"


KAFKA = Layout()
"""`[%d] %p %m (%c)%n` in UTF-8."""


class Start(NamedTuple):
    """The start of a record.

    Attributes:
        stamp: time and level as Kafka's own pattern has them, with a blank behind.
        message: the first line of the message and, where `logger` is None, what stands behind it.
        logger: where it does not stand behind the message.
        whole: whether no line can follow.
        escaped: whether line breaks in the message are escaped in the file.
    """

    stamp: bytes
    message: bytes
    logger: bytes | None
    whole: bool
    escaped: bool = False


def stamp(time: bytes, level: bytes) -> bytes:
    """`[2026-11-21T02:45:09.935Z] DEBUG `."""
    return b"[" + time + b"] " + level + b" "


def stamped_start(line: Line) -> Start | None:
    """The start of a record with time and level in front."""
    found = _STAMP.match(line.text)
    if found is None:
        return None
    end = found.end()
    if end > _LONGEST_PLAIN and _holds_time(line.text, found.end(1), end):
        return None
    return Start(_stamp_of(found), line.text[end:], None, False)


def logger_first_start(line: Line) -> Start | None:
    """The start of a record with time, level and logger in front."""
    found = _STAMP.match(line.text)
    logger = None if found is None else _LOGGER_FIRST.match(line.text, found.end())
    if found is None or logger is None or _holds_time(line.text, found.end(1), logger.start(1)):
        return None
    return Start(_stamp_of(found), line.text[logger.end() :], logger[1], False)


def _holds_time(text: bytes, start: int, end: int) -> bool:
    """Return whether another line begins in what seems to be a thread, so that the head is only the half of one."""
    return text.find(b":", start, end) >= 0 and _DAY.search(text, start, end) is not None


def _stamp_of(found: re.Match[bytes]) -> bytes:
    return stamp(found[1] + (b"." + found[2] if found[2] else b"") + (found[3] or b""), found[4])


def message_start(line: Line) -> Start | None:
    """The start of a record without time, by its own words. INFO shows deprecated versions only, DEBUG all."""
    if line.time is None or OWN_WORDS.match(line.text) is None:
        return None
    deprecated = b'"requestApiVersionDeprecated":true' in line.text
    return Start(stamp(line.time, line.level or (b"INFO" if deprecated else b"DEBUG")), line.text, None, False)


def json_start(line: Line) -> Start | None:
    """An event in JSON; where its message is a line of the log with its own time and level, that line."""
    found = event(line.text)
    if found is None:
        return None
    inner = None if found.text.startswith(b"{") else any_start(Line(found.text.rstrip(b"\r\n")))
    if inner is not None:
        return inner._replace(whole=True)
    time = found.time or line.time
    if time is None:
        return None
    return Start(stamp(time, found.level or b"DEBUG"), found.text, found.logger or REQUEST_LOGGER, True, True)


def any_start(line: Line) -> Start | None:
    """Any of those that state their time."""
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
    """Message and logger of `MESSAGE (LOGGER)` or `MESSAGE (LOGGER) [THREAD]`, the rightmost that reaches the end."""
    last = None
    text = text.rstrip(b"\r\n")
    at = len(text) - _END_WINDOW
    while (found := _END.search(text, at)) is not None:
        last, at = found, found.start(1)
    if last is None:
        return text, None
    return text[: last.start()].rstrip(b" "), last[1]


def unwrapper(wrapper: Wrapper, latest: datetime | None) -> Unwrap:
    """The reader of one physical line; wrapper and latest are those of `Layout`."""
    if wrapper == "syslog":
        return partial(syslog, latest or datetime.now(UTC))
    readers: dict[Wrapper, Unwrap] = {"none": Line, "cri": cri, "docker": docker, "journal": journal, "export": export}
    return readers[wrapper]


def detect(sample: bytes, name: str = "auto", latest: datetime | None = None) -> Layout:
    """The layout of a file.

    Args:
        sample: the first bytes of its decompressed content, best 64 KiB to 1 MiB.
        name: one of `settings.LOG_LAYOUTS`: `auto`, or a layout's name, which is a pattern alone or behind a wrapper and a
            plus sign, as `cri+json`.
        latest: when the file was last written; now where not known.

    Raises:
        ConfigError: for a name that is none.
    """
    check_layout(name)
    encoding: Encoding = next((encoding for bom, encoding in _BOMS if sample.startswith(bom)), "utf-8")
    lines = _lines(sample[:SAMPLE], encoding)
    before, _, after = name.rpartition("+")
    wrapper = _wrapper(lines) if name == "auto" else cast(Wrapper, before or "none")
    inner = _inner(_entries(lines, sample, wrapper), unwrapper(wrapper, latest))
    pattern = _pattern(inner, wrapper) if name == "auto" else cast(Pattern, after)
    ends = pattern == "kafka" or _logger_ends(inner)
    years = latest if wrapper == "syslog" else None  # the only times without a year
    return Layout(encoding, wrapper, pattern, ends, years, _requests_are_json(inner))


def _lines(sample: bytes, encoding: Encoding) -> list[bytes]:
    """The sample's whole lines, or its only one as far as it goes."""
    text = sample.decode(encoding, "replace").lstrip("\ufeff\0")
    lines = text.encode().split(b"\n", _SAMPLE_LINES)
    return [line for line in lines[:-1] or lines if line.strip()]


def _entries(lines: list[bytes], sample: bytes, wrapper: Wrapper) -> list[bytes]:
    if wrapper != "export":
        return lines
    return [entry for entry, _ in islice(ExportEntries().feed(sample[:SAMPLE]), _SAMPLE_LINES)]


_WRAPPED: tuple[tuple[Wrapper, Callable[[bytes], object]], ...] = (
    ("cri", cri),
    ("docker", lambda line: docker(line) or _CUT_DOCKER.match(line)),
    ("journal", is_journal),
    ("export", lambda line: line.startswith(_EXPORT)),
    ("syslog", is_syslog),
)
"""Whether a line is in a wrapper, asked in this order."""


def _wrapper(lines: list[bytes]) -> Wrapper:
    """The wrapper of the first line that is a record or has one; genuine lines come first, clients' texts later."""
    for line in lines:
        if _STAMP.match(line) is not None:
            return "none"
        for wrapper, is_wrapped in _WRAPPED:
            if is_wrapped(line):
                return wrapper
        if event(line) is not None:
            return "none"
    return "none"


def _inner(lines: list[bytes], unwrap: Unwrap) -> list[Line]:
    """The lines that the sample wraps, joined; those that go on behind the sample come last."""
    found: list[Line] = []
    parts: dict[bytes, list[Line]] = {}
    for line in map(unwrap, lines):
        if line is None:
            continue
        parts.setdefault(line.stream, []).append(line)
        if line.whole:
            found.append(_joined(parts.pop(line.stream)))
    return found + [_joined(rest) for rest in parts.values()]


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
    # A piece of one long line of JSON is an event whose end is not there.
    is_cut = len(lines) == 1 and lines[0].text.startswith(b"{") and _CUT_EVENT.search(lines[0].text)
    return "json" if is_cut else "kafka"


def _stamped_pattern(line: Line, lines: list[Line], wrapper: Wrapper) -> Pattern:
    if wrapper == "none" and _is_kafka(lines):
        return "kafka"
    first = logger_first_start(line)
    # A message may hold ` - ` too, as other loggers' do: then the logger stands at the end.
    is_first = first is not None and (OWN_WORDS.match(first.message) or split_logger(line.text)[1] is None)
    return "logger_first" if is_first else "stamped"


def _is_kafka(lines: list[Line]) -> bool:
    """Kafka's own pattern: prefixes in brackets, and lines that end with their logger rather than with a thread."""
    if not any(PREFIX.match(line.text) for line in lines):
        return False
    threads = sum(1 for line in lines if line.text.endswith(b"]") and split_logger(line.text)[1] is not None)
    return _logger_ends(lines) and 2 * threads <= len(lines)


def _requests_are_json(lines: list[Line]) -> bool:
    """Whether the first request is JSON; False where the sample holds none."""
    first = next((found for line in lines if (found := _REQUEST.search(line.text))), None)
    return first is not None and first[1] is not None


def _logger_ends(lines: list[Line]) -> bool:
    """Whether as many lines end with a logger as requests without; a client's text is not the only line, as a rule."""
    ends = [split_logger(line.text)[1] is not None for line in lines]
    bare = [_BARE_END.search(line.text[-_END_WINDOW:]) is not None for line in lines]
    return sum(ends) >= sum(is_bare and not end for is_bare, end in zip(bare, ends, strict=True))
