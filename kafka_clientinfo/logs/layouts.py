"""The layout of a request log, detected from its first bytes: whether it is in Kafka's own pattern, and how records end.

A file in `[%d] %p %m (%c)`, Kafka's own pattern, without a wrapper is read by `framing`, in several tasks if it is large.
All others, in another log4j pattern, in JSON or in a wrapper, are read line by line by `unwrapping`, which finds what each
line holds (`wrappers`, `starts`) and gives records in Kafka's own pattern (`RawRecord.text`).
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import dropwhile
from typing import NamedTuple

from .heads import head_of, uncoloured, words_after
from .line_records import WINDOW, is_unended
from .record_marks import COMPLETED, FILLER, LOGGER_END, OWN_WORDS, PREFIX, TEXT_STARTS, TOTAL_TIME
from .starts import END_WINDOW, split_logger, start_of
from .wrappers import Line, unwrapped

SAMPLE = 1 << 20
"""Bytes of a file's beginning in which the layout is detected if they hold no record."""
_SAMPLE_LINES = 2000
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The byte order marks with which text in UTF-16 begins."""
_WORDS_IN_UTF_16 = tuple(COMPLETED.decode().encode(form) for form in ("utf-16-le", "utf-16-be"))
_KAFKAS, _OTHER, _NO_LOGGER, _NOTHING = range(4)
"""Ends of records: with a logger as Kafka writes it, with one and a thread or the number of a line, with none; no end.
Their numbers decide, as one line may be a client's text.
"""
_STARTS = (COMPLETED + b'{"', *TEXT_STARTS)
_BEGIN = re.compile(rb"\[(?=\d)|\d[\d./-]*[ T]?")
_REQUEST = re.compile(rb'Completed request:(?:\{\\?")?')


class Layout(NamedTuple):
    """How the records of one file are laid out.

    Attributes:
        splittable: whether the file is in Kafka's own pattern, so that tasks can begin inside it; else one task reads it.
        logger_ends: forms of first lines (`form_of`) in which records end with their logger: a line without it continues the
            record. In a form that the sample lacks, as after a change of the pattern, any line may end one.
        latest: no line is more than a day newer than this (None: now); it gives times of RFC 3164 their year.
        json_requests: whether the first request is in JSON (2.8+), where clients' line breaks are escaped.
    """

    splittable: bool = True
    logger_ends: frozenset[bytes] = frozenset([b"["])
    latest: datetime | None = None
    json_requests: bool = False


KAFKA = Layout()
"""`[%d] %p %m (%c)%n`, without a wrapper."""


class UnreadableForm(OSError):
    """A log is in a form that must be converted before it can be read; the text says from what, and how."""


def check_form(sample: bytes, latest: datetime | None = None) -> None:
    """Refuse a log in UTF-16, and one without dates, by the first bytes of its decompressed content.

    Raises:
        UnreadableForm: it is one of these.
    """
    if sample.startswith(UTF_16_MARKS) or any(words in sample for words in _WORDS_IN_UTF_16):
        raise UnreadableForm("it is in UTF-16; convert it to UTF-8, as `iconv -f UTF-16 -t UTF-8` does")
    starts = filter(None, map(start_of, _lines(sample[:SAMPLE], latest)))
    if any(OWN_WORDS.match(start.message) for start in starts):
        return
    if any(map(_is_undated, _lines(sample[:SAMPLE], latest))):
        raise UnreadableForm(
            "its requests have no date, or none that is certain, as `11/12/2026`; write one with each line "
            "(`%d{ISO8601}` in log4j's pattern), or keep the wrapper that states the time"
        )


def _is_undated(line: Line) -> bool:
    start = None if start_of(line) else start_of(line._replace(time=b"2026-11-21 00:00:00"))
    head = None if start is None else head_of(start.message, True)
    return start is not None and head is not None and start.message.startswith(_STARTS, head[0])


def detect(sample: bytes, latest: datetime | None = None) -> Layout:
    """Return the layout of a file that begins with these decompressed bytes, as many as `is_enough` asks for.

    `latest` is the time at which it was last written; None if it is not known, which counts as now.
    """
    lines = list(_lines(sample, latest))
    votes, form, first = Counter[tuple[bytes, int]](), b"", dict[bytes, Line]()
    for line in lines:
        if _begins_record(line):
            form = form_of(line)
            first.setdefault(form, line)  # it is no client's text
        votes[form, _end(line)] += 1
    without = {form for form, line in first.items() if (start := start_of(line)) and is_unended(start.message)}
    loggers = {form: votes[form, _KAFKAS] + votes[form, _OTHER] for form, _ in votes if form not in without}
    logger_ends = frozenset(form for form, number in loggers.items() if number >= max(1, 3 * votes[form, _NO_LOGGER]))
    is_json = next((words[0] for line in lines if (words := _REQUEST.search(line.text))), b"").endswith(b'"')
    is_coloured = any(uncoloured(line) is not line for line in sample.split(b"\n", _SAMPLE_LINES))
    is_kafkas = b"[" not in without and votes[b"[", _KAFKAS] >= max(votes[b"[", _OTHER], votes[b"[", _NO_LOGGER])
    if is_kafkas and not is_coloured and _begins_in_kafkas_pattern(lines):
        return Layout(True, logger_ends if votes[b"[", _NO_LOGGER] else KAFKA.logger_ends, json_requests=is_json)
    return Layout(False, logger_ends, latest, is_json)


def form_of(line: Line) -> bytes:
    """Return a line's wrapper and the mark of its own time: a bracket, as in Kafka's pattern, or what follows the date, if any."""
    begin = _BEGIN.match(line.text)
    return line.stream.partition(b" ")[0] + (begin[0].translate(None, b"0123456789./-") if begin else b"")


def is_enough(sample: bytes) -> bool:
    """Return whether a layout can be detected in a file's first bytes: they hold a whole line that begins a record.

    Otherwise `SAMPLE` bytes are enough. A record that is longer counts as one that ends with a logger.
    """
    lines = _lines(sample, None) if b"\n" in sample.strip(b"\n") else iter(())
    begun = dropwhile(lambda line: not _begins_record(line), lines)
    return len(sample) >= SAMPLE or any(line.whole for line in begun)


def _begins_record(line: Line) -> bool:
    return OWN_WORDS.match(line.text) is not None or start_of(line) is not None


def _lines(sample: bytes, latest: datetime | None) -> Iterator[Line]:
    """Yield the sample's whole physical lines, or the beginning of its only one, unwrapped."""
    physical = sample.decode("utf-8", "replace").lstrip("\ufeff\0").encode().split(b"\n", _SAMPLE_LINES)
    lines = (unwrapped(uncoloured(line), latest) for line in physical[:-1] or physical if line.strip())
    return (line._replace(text=FILLER.sub(b"", line.text.removesuffix(b"\r"), 1)) for line in lines)


def _begins_in_kafkas_pattern(lines: list[Line]) -> bool:
    """Return whether the first line with a time is in Kafka's own pattern, as lines are if nothing shows another one."""
    for line in lines:
        if prefix := PREFIX.match(line.text):
            return not line.stream and words_after(line.text, prefix) in (0, prefix.end())
        if line.stream or line.text.startswith(b"{") or start_of(line):
            return False
    return True


def _end(line: Line) -> int:
    """Return what the record that begins or ends on a line ends with, unless a container printed it: `uid=1000(appuser)`."""
    has_times = any(time in line.text[-WINDOW:] for time in (TOTAL_TIME, b'"totalTimeMs":'))
    if LOGGER_END.search(line.text, len(line.text) - END_WINDOW):
        end = _KAFKAS
    else:
        end = _NO_LOGGER if split_logger(line.text)[1] is None else _OTHER
    return end if has_times or (end != _NO_LOGGER and _begins_record(line)) else _NOTHING
