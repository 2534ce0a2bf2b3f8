"""The layout of a request log: its wrapper and log4j pattern, detected from the file's first bytes.

A file has one wrapper and a main pattern, which `detect` finds before records are read, so that a client's text is never
taken for a wrapper. `framing` reads Kafka's own pattern in plain UTF-8, in several tasks if the file is large. `unwrapping`
reads all other layouts line by line and gives records in Kafka's own pattern (`RawRecord.text`). A request in another
pattern than the file's is read as well (`starts`).

    pattern      | a line, as log4j patterns                                       | remarks
    -------------|-----------------------------------------------------------------|------------------------------------
    kafka        | `[%d] %p %m (%c)`                                               | Kafka's own, without a wrapper
    stamped      | `[%d] %p %m (%c)`, `%d{ISO8601} %p %m (%c) [%t]` and the like   | begins with time and level, may
                 |                                                                 | have a thread or lack the logger
    logger_first | `%d %-5p [%t] %c{1}:%L - %m`                                    | the logger precedes the message
    message      | `%m`                                                            | begins with a request log's own
                 |                                                                 | words; the wrapper has the time
    json         | one JSON event                                                  |
    any          | any other, and any of these                                     | a request's own words begin the
                 |                                                                 | message, after a head with a time
"""

import codecs
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Literal, NamedTuple, cast

from ..config.settings import check_layout
from .heads import has_undated_head, words_after
from .record_marks import FILLER, LOGGER_END, OWN_WORDS, PREFIX
from .starts import (
    END_WINDOW,
    STAMP,
    STARTS,
    Pattern,
    logger_first_start,
    message_start,
    quoted_start,
    split_logger,
    stamped_start,
)
from .wrappers import Line, Unwrap, cri, docker, event, is_journal, is_syslog, journal, syslog

Wrapper = Literal["none", "cri", "docker", "journal", "syslog"]

SAMPLE = 1 << 20
"""Bytes of a file's beginning in which the layout is detected if they hold no record."""
_LONG_SAMPLE = 8 << 20
"""Bytes in which the layout is detected if they hold the beginning of a record only; it then counts as one in which records
end with a logger."""
_SAMPLE_LINES = 2000
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The byte order marks with which text in UTF-16 begins."""
_BARE_END = re.compile(rb"\}\}\Z|,sendTime:[\d.,]+(?:,securityProtocol:(?:(?! \().)*(?:softwareVersion=[^()]*\))?)?\Z")
"""The end of a request that has no logger at its end."""
_EXPORT = b"__CURSOR=s="
"""The beginning of every entry of `journalctl -o export`."""
_PART_OF_DOCKER = 16_000
"""Bytes; Docker cuts a line into parts of 16 KiB."""
_FILLERS = (b"\0", b"\xef\xbb\xbf")
_CUT_DOCKER = re.compile(rb'\{"log": ?"')
_REQUEST = re.compile(rb'Completed request:(\{\\?")?')
_CUT_EVENT = re.compile(rb'"(?:message|short_message|log)": ?"')


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
    """Refuse a log in UTF-16, one that `journalctl -o export` wrote, and one without dates.

    Args:
        sample: the first bytes of its decompressed content.

    Raises:
        UnreadableForm: it is one of these.
    """
    if sample.startswith(UTF_16_MARKS):
        raise UnreadableForm("it is in UTF-16; convert it to UTF-8, as `iconv -f UTF-16 -t UTF-8` does")
    lines = [Line(line) for line in _lines(sample[:SAMPLE])]
    if all(STARTS["any"](line) is None for line in lines) and any(has_undated_head(line.text) for line in lines):
        raise UnreadableForm(
            "its requests have no date; write one with each line (`%d{ISO8601}` in log4j's pattern), or keep the wrapper "
            "that states the time"
        )
    if sample.startswith(_EXPORT):
        raise UnreadableForm(
            "it has the form of `journalctl -o export`; export the journal with `journalctl --all -o json`"
        )


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
    if STAMP.match(text) or OWN_WORDS.match(text) or (text.startswith(b"{") and _REQUEST.search(text)):
        return True
    return message_start(line) is not None or quoted_start(line) is not None


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
        if STAMP.match(line) is not None:
            return "none"
        for wrapper, is_wrapped in _WRAPPED:
            if wrapper == "docker" and _has_parts_only(lines):
                continue  # fluent-bit writes lines without their ends, and without a mark that says of parts
            if is_wrapped(line):  # the torn head of a CRI line is like that of syslog
                return "cri" if wrapper == "syslog" and any(map(cri, lines)) else wrapper
        if event(line) is not None:
            return "none"
    return "none"


def _has_parts_only(lines: list[bytes]) -> bool:
    parts = [part for line in lines if (part := docker(line)) is not None]
    return bool(parts) and not any(part.whole or len(part.text) >= _PART_OF_DOCKER for part in parts)


def _inner(lines: list[bytes], unwrap: Unwrap) -> list[Line]:
    """Return the sample's lines, unwrapped and joined; lines that continue after the sample come last."""
    whole_lines: list[Line] = []
    parts: dict[bytes, list[Line]] = {}
    for line in map(unwrap, lines):
        if line is None:
            continue
        if (
            line.whole
            and line.stream not in parts
            and not line.text.startswith(_FILLERS)
            and not line.text.endswith(b"\r")
        ):
            whole_lines.append(line)
            continue
        parts.setdefault(line.stream, []).append(line)
        if line.whole:
            whole_lines.append(_joined(parts.pop(line.stream)))
    return whole_lines + [_joined(rest) for rest in parts.values()]


def _joined(parts: list[Line]) -> Line:
    text = b"".join(part.text.removesuffix(b"\r") for part in parts)
    filler = FILLER.match(text)
    return parts[-1]._replace(text=text[filler.end() if filler else 0 :])


def _pattern(lines: list[Line], wrapper: Wrapper) -> Pattern:
    for line in lines:
        if STAMP.match(line.text):
            return _stamped_pattern(line, lines, wrapper)
        if wrapper != "none" and OWN_WORDS.match(line.text):
            return "message"
        if message_start(line) is not None or quoted_start(line) is not None:
            return "any"
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
    known = next((one for one, start in starts if start is not None and OWN_WORDS.match(start.message)), None)
    if known is None and any(message_start(one) is not None for one in lines):
        return "any"
    line = known or line
    first = logger_first_start(line)
    # A message of another logger may hold ` - ` as well; then its logger stands at the end.
    is_first = first is not None and (OWN_WORDS.match(first.message) or split_logger(line.text)[1] is None)
    return "logger_first" if is_first else "stamped"


def _is_kafka(lines: list[Line]) -> bool:
    """Return whether lines are in Kafka's own pattern, with bracketed times and ending with a logger, not a thread."""
    prefixes = [(prefix, line.text) for line in lines if (prefix := PREFIX.match(line.text))]
    if not prefixes or next(
        (words_after(text, prefix) > prefix.end() for prefix, text in prefixes if words_after(text, prefix)), False
    ):
        return False
    ended = [line for line in _possible_ends(lines) if split_logger(line.text)[1] is not None]
    # A thread, or a number of a line in `(logger:249)`.
    others = sum(1 for line in ended if LOGGER_END.search(line.text, len(line.text) - END_WINDOW) is None)
    return _logger_ends(lines) and 2 * others <= len(ended)


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
    bare = [_BARE_END.search(line.text[-END_WINDOW:]) is not None for line in lines]
    return sum(ends) >= sum(is_bare and not end for is_bare, end in zip(bare, ends, strict=True))
