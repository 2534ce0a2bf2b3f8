"""The layout of a request log, detected from its first bytes: whether it is in Kafka's own pattern, and how records end.

A file in `[%d] %p %m (%c)`, Kafka's own pattern, without a wrapper is read by `framing`, in several tasks if it is large.
All others, in another log4j pattern, in JSON or in a wrapper, are read line by line by `unwrapping`, which finds what each
line holds (`wrappers`, `starts`) and gives records in Kafka's own pattern (`RawRecord.text`).
"""

import codecs
import re
from datetime import datetime
from typing import NamedTuple

from .heads import has_undated_head, uncoloured, words_after
from .record_marks import COMPLETED, FILLER, LOGGER_END, OWN_WORDS, PREFIX, STAMP
from .starts import END_WINDOW, split_logger, start_of
from .wrappers import Line, event, unwrapped

SAMPLE = 1 << 20
"""Bytes of a file's beginning in which the layout is detected if they hold no record."""
_SAMPLE_LINES = 2000
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The byte order marks with which text in UTF-16 begins."""
_WORDS_IN_UTF_16 = tuple(COMPLETED.decode().encode(form) for form in ("utf-16-le", "utf-16-be"))
_BARE_END = re.compile(rb"\}\}\Z|,sendTime:[\d.,]+(?:,securityProtocol:(?:(?! \().)*(?:softwareVersion=[^()]*\))?)?\Z")
"""The end of a request that has no logger at its end."""
_EXPORT = b"__CURSOR=s="
"""The beginning of every entry of `journalctl -o export`."""
_JSON = COMPLETED + b'{"'
_REQUEST = re.compile(rb'Completed request:(\{\\?")?')
_CUT_EVENT = re.compile(rb'"(?:message|short_message|log)": ?"')


class Layout(NamedTuple):
    """How the records of one file are laid out.

    Attributes:
        splittable: whether the file is in Kafka's own pattern, so that tasks can begin inside it; else one task reads it.
        logger_ends: the wrappers (empty: none) in which records end with their logger, so that a line without it ends none.
        latest: no line is more than a day newer than this (None: now); it gives times of RFC 3164 their year.
        json_requests: whether the first request is in JSON (2.8+), where clients' line breaks are escaped.
    """

    splittable: bool = True
    logger_ends: frozenset[bytes] = frozenset([b""])
    latest: datetime | None = None
    json_requests: bool = False


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
    if sample.startswith(UTF_16_MARKS) or any(words in sample for words in _WORDS_IN_UTF_16):
        raise UnreadableForm("it is in UTF-16; convert it to UTF-8, as `iconv -f UTF-16 -t UTF-8` does")
    lines = _lines(sample[:SAMPLE], None)
    starts = filter(None, map(start_of, lines))
    if not any(OWN_WORDS.match(start.message) for start in starts) and any(map(_is_undated, lines)):
        raise UnreadableForm(
            "its requests have no date, or none that is certain, as `11/12/2026`; write one with each line (`%d{ISO8601}` "
            "in log4j's pattern), or keep the wrapper that states the time"
        )
    if sample.startswith(_EXPORT):
        raise UnreadableForm(
            "it has the form of `journalctl -o export`; export the journal with `journalctl --all -o json`"
        )


def _is_undated(line: Line) -> bool:
    logged = event(line.text)
    return has_undated_head(line.text) or (logged is not None and not logged.time and has_undated_head(logged.text))


def detect(sample: bytes, latest: datetime | None = None) -> Layout:
    """Return the layout of a file.

    Args:
        sample: the first bytes of its decompressed content, as many as `is_enough` asks for.
        latest: time at which the file was last written; None if it is not known, which counts as now.
    """
    lines = _lines(sample, latest)
    begun = lines[next((at for at, line in enumerate(lines) if _begins_record(line)), 0) :]
    ends = {wrapper: _ends(begun, wrapper) for wrapper in {line.wrapper for line in begun}}
    logger_ends = frozenset(wrapper for wrapper, (kafkas, others, bare) in ends.items() if kafkas + others >= bare)
    is_json = _requests_are_json(lines)
    kafkas, others, bare = ends.get(b"", (0, 0, 0))
    is_coloured = any(uncoloured(line) is not line for line in sample.split(b"\n", _SAMPLE_LINES))
    if _begins_in_kafkas_pattern(lines) and not is_coloured and kafkas >= others and kafkas + others >= bare:
        return Layout(json_requests=is_json)
    return Layout(False, logger_ends, latest, is_json)


def is_enough(sample: bytes) -> bool:
    """Return whether a layout can be detected in a file's first bytes: they hold a whole line that begins a record.

    Otherwise `SAMPLE` bytes are enough. A record that is longer counts as one that ends with a logger.
    """
    begun = any(line.whole and _begins_record(line) for line in _lines(sample, None))
    return len(sample) >= SAMPLE or (begun and b"\n" in sample.strip(b"\n"))


def _begins_record(line: Line) -> bool:
    return OWN_WORDS.match(line.text) is not None or start_of(line) is not None


def _lines(sample: bytes, latest: datetime | None) -> list[Line]:
    """Return the sample's whole lines, unwrapped and joined, or the beginning of its only line.

    Lines that continue after the sample come last.
    """
    physical = sample.decode("utf-8", "replace").lstrip("\ufeff\0").encode().split(b"\n", _SAMPLE_LINES)
    whole_lines: list[Line] = []
    parts: dict[bytes, Line] = {}
    for data in physical[:-1] or physical:
        if not data.strip():
            continue
        line = unwrapped(uncoloured(data), latest)
        line = line._replace(text=FILLER.sub(b"", line.text.removesuffix(b"\r"), 1))
        if line.stream in parts:
            line = line._replace(text=parts.pop(line.stream).text + line.text)
        if line.whole:
            whole_lines.append(line)
        else:
            parts[line.stream] = line
    return whole_lines + list(parts.values())


def _begins_in_kafkas_pattern(lines: list[Line]) -> bool:
    """Return whether the first line with a time is in Kafka's own pattern, as lines are if nothing shows another one."""
    for line in lines:
        if line.stream:
            return False
        if STAMP.match(line.text):
            prefix = PREFIX.match(line.text)
            return prefix is not None and words_after(line.text, prefix) in (0, prefix.end())
        if start_of(line) or event(line.text):
            return False
    # The beginning of one long line of JSON is an event that the sample cuts off.
    return not (len(lines) == 1 and lines[0].text.startswith(b"{") and _CUT_EVENT.search(lines[0].text))


def _ends(lines: list[Line], wrapper: bytes) -> tuple[int, int, int]:
    """Count a wrapper's lines that end with a logger as Kafka writes it, with one in another pattern, and as requests
    without one.

    Numbers decide because one line may be a client's text. What a container prints when it starts does not count, as
    `uid=1000(appuser)` ends as with a logger; nor do lines that begin no request in JSON, where a record is one line.
    """
    lines = [line for line in lines if line.wrapper == wrapper]
    is_json = _requests_are_json(lines)
    kafkas = others = bare = 0
    for text in (line.text for line in lines if not is_json or _begins_record(line)):
        tail = text[-END_WINDOW:].rstrip(b'"')
        if split_logger(text)[1] is None:
            bare += _BARE_END.search(tail) is not None or (_JSON in text and b"}}" in tail)
        elif LOGGER_END.search(text, len(text) - END_WINDOW):
            kafkas += 1
        else:
            others += 1  # a thread after it, or a number of a line in `(logger:249)`
    return kafkas, others, bare


def _requests_are_json(lines: list[Line]) -> bool:
    """Return whether the first request is in JSON; False if the sample holds no request."""
    first = next((request for line in lines if (request := _REQUEST.search(line.text))), None)
    return first is not None and first[1] is not None
