"""The layout of a request log: its wrapper, and whether it is in Kafka's own pattern, detected from its first bytes.

A file has one wrapper, which `detect` finds before records are read, so that a client's text is never taken for one:

    kind     | a line
    ---------|------------------------------------------------------------------------------------------------------
    kafka    | `[%d] %p %m (%c)`, Kafka's own pattern, without a wrapper: read by `framing`, in several tasks if large
    lines    | any other log4j pattern, or events in JSON, without a wrapper
    cri      | Kubernetes' CRI
    docker   | Docker's json-file, or fluent-bit's
    journal  | `journalctl -o json`
    syslog   | RFC 3164 or RFC 5424

`unwrapping` reads all kinds but the first line by line, finds what each line holds (`starts`), and gives records in Kafka's
own pattern (`RawRecord.text`).
"""

import codecs
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Literal, NamedTuple

from .heads import has_undated_head, uncoloured, words_after
from .record_marks import COMPLETED, FILLER, LOGGER_END, OWN_WORDS, PREFIX
from .starts import END_WINDOW, STAMP, message_start, quoted_start, split_logger, start_of
from .wrappers import Line, Unwrap, cri, docker, event, is_journal, is_syslog, journal, syslog

Kind = Literal["kafka", "lines", "cri", "docker", "journal", "syslog"]

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
_JSON = COMPLETED + b'{"'
_RFC_5424 = b">1 "
"""What a line of RFC 5424 has before its time; a torn one may stand before a whole one."""
_CUT_DOCKER = re.compile(rb'\{"log": ?"')
_REQUEST = re.compile(rb'Completed request:(\{\\?")?')
_CUT_EVENT = re.compile(rb'"(?:message|short_message|log)": ?"')


class Layout(NamedTuple):
    """How the records of one file are laid out.

    Attributes:
        kind: what surrounds each line, or that nothing does.
        logger_ends: whether records end with their logger, so that a line without it ends no record.
        stamped: whether lines state their time; if not, the wrapper does, and a time on a line is somebody's text.
        latest: no line is more than a day newer than this (None: now); it gives RFC 3164 times their year.
        json_requests: whether the first request is in JSON (2.8+), where clients' line breaks are escaped.
    """

    kind: Kind = "kafka"
    logger_ends: bool = True
    stamped: bool = True
    latest: datetime | None = None
    json_requests: bool = False

    @property
    def splittable(self) -> bool:
        """Whether tasks can begin inside the file; if not, one task reads the whole file."""
        return self.kind == "kafka"


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
    if all(start_of(line) is None for line in lines) and any(has_undated_head(line.text) for line in lines):
        raise UnreadableForm(
            "its requests have no date; write one with each line (`%d{ISO8601}` in log4j's pattern), or keep the wrapper "
            "that states the time"
        )
    if sample.startswith(_EXPORT):
        raise UnreadableForm(
            "it has the form of `journalctl -o export`; export the journal with `journalctl --all -o json`"
        )


def unwrapper(kind: Kind, latest: datetime | None) -> Unwrap:
    """Return the function that unwraps a physical line; `kind` and `latest` are those of `Layout`."""
    if kind == "syslog":
        return partial(syslog, latest or datetime.now(UTC))
    readers: dict[Kind, Unwrap] = {"cri": cri, "docker": docker, "journal": journal}
    return readers.get(kind, Line)


def detect(sample: bytes, latest: datetime | None = None) -> Layout:
    """Return the layout of a file.

    Args:
        sample: the first bytes of its decompressed content, as many as `is_enough` asks for.
        latest: time at which the file was last written; None if it is not known, which counts as now.
    """
    lines = _lines(sample)
    kind = _wrapper(lines)
    inner = _inner(lines, unwrapper(kind, latest))
    inner = inner[next((at for at, line in enumerate(inner) if _begins_record(line)), 0) :]
    if kind == "lines" and all(uncoloured(line) is line for line in lines) and _is_kafkas(inner):
        kind = "kafka"
    ends = kind == "kafka" or _logger_ends(inner)
    years = latest if kind == "syslog" else None  # the only times without a year
    is_stamped = kind in ("kafka", "lines") or not (inner and OWN_WORDS.match(inner[0].text))
    return Layout(kind, ends, is_stamped, years, _requests_are_json(inner))


def is_enough(sample: bytes) -> bool:
    """Return whether a layout can be detected in a file's first bytes: they hold a whole line that begins a record.

    One long record tells nothing of how records end. Without a record, `SAMPLE` bytes are enough, and with the beginning
    of one, `_LONG_SAMPLE` bytes.
    """
    lines = _lines(sample)
    begun = [line for line in _inner(lines, unwrapper(_wrapper(lines), None)) if _begins_record(line)]
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


_WRAPPED: tuple[tuple[Kind, Callable[[bytes], object]], ...] = (
    ("cri", cri),
    ("docker", lambda line: docker(line) or _CUT_DOCKER.match(line)),
    ("journal", is_journal),
    ("syslog", is_syslog),
)
"""Wrappers, each with a function that returns whether a line has it; they are tried in this order."""


def _wrapper(lines: list[bytes]) -> Kind:
    """Return the wrapper of the first line that is a record or has one, else `lines`; clients' texts only come later."""
    for line in lines:
        if STAMP.match(line) is not None:
            return "lines"
        for wrapper, is_wrapped in _WRAPPED:
            if not is_wrapped(line):
                continue
            # fluent-bit writes lines without their ends, and without a mark that says of parts
            if wrapper != "docker" or not _has_parts_only(lines):  # the torn head of a CRI line is like that of syslog
                return "cri" if wrapper == "syslog" and any(map(cri, lines)) else wrapper
        is_torn = _RFC_5424 in line[: _words(line)]
        if event(line) or (not is_torn and (message_start(Line(line)) or quoted_start(Line(line)))):
            break
    return "lines"


def _words(line: bytes) -> int:
    words = OWN_WORDS.search(line)
    return words.start() if words else 0


def _has_parts_only(lines: list[bytes]) -> bool:
    parts = [part for line in lines if (part := docker(line)) is not None]
    return bool(parts) and not any(part.whole or len(part.text) >= _PART_OF_DOCKER for part in parts)


def _inner(lines: list[bytes], unwrap: Unwrap) -> list[Line]:
    """Return the sample's lines, unwrapped and joined; lines that continue after the sample come last."""
    whole_lines: list[Line] = []
    parts: dict[bytes, list[Line]] = {}
    for line in map(unwrap, map(uncoloured, lines)):
        if line is not None:
            parts.setdefault(line.stream, []).append(line)
            if line.whole:
                whole_lines.append(_joined(parts.pop(line.stream)))
    return whole_lines + [_joined(rest) for rest in parts.values()]


def _joined(parts: list[Line]) -> Line:
    text = b"".join(part.text.removesuffix(b"\r") for part in parts)
    return parts[-1]._replace(text=FILLER.sub(b"", text, 1))


def _is_kafkas(lines: list[Line]) -> bool:
    """Return whether lines without a wrapper are in Kafka's own pattern, as they are if nothing shows another one."""
    for line in lines:
        if STAMP.match(line.text):
            return PREFIX.match(line.text) is not None and _has_kafkas_ends(lines)
        if message_start(line) is not None or quoted_start(line) is not None or event(line.text) is not None:
            return False
    # The beginning of one long line of JSON is an event that the sample cuts off.
    return not (len(lines) == 1 and lines[0].text.startswith(b"{") and _CUT_EVENT.search(lines[0].text))


def _has_kafkas_ends(lines: list[Line]) -> bool:
    """Return whether lines with a time have it in brackets, and end with a logger, not with a thread."""
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
    tails = [line.text[-END_WINDOW:].rstrip(b'"') for line in lines]
    bare = [
        _BARE_END.search(tail) is not None or (_JSON in line.text and b"}}" in tail)
        for line, tail in zip(lines, tails, strict=True)
    ]
    return sum(ends) >= sum(is_bare and not end for is_bare, end in zip(bare, ends, strict=True))
