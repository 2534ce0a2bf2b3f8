"""Text for terminals: plain tables, in which a logged value can only be read and has no effect on the terminal."""

import os
import re
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from .errors import ClientInfoError, ConfigError

# Printable by category, but invisible, or they change the characters beside them: fillers, variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_LONGEST = 4000
"""The most characters of one text, if no width is given."""


def safe(value: object, width: int = _LONGEST) -> str:
    """Return a value as one line of harmless text, at most `width` characters long.

    Each character that Unicode does not call printable (controls, ANSI escapes, newlines of any kind, bidirectional and
    zero-width marks, tags, lone surrogates, blanks other than the blank), or that is invisible, becomes one U+FFFD.
    """
    text = str(value)
    text = text if len(text) <= width else text[: width - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return _INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", shown)


def argument(option: str, text: str) -> str:
    """Return an argument's text unchanged.

    Raises:
        ConfigError: it holds bytes that are not UTF-8, which Python passes as lone surrogates.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{option} is {text!r}, which is not UTF-8; give it as UTF-8 text") from None
    return text


def output(text: str | None = None) -> bool:
    """Write a text to standard output, if one is given, and flush.

    If the reader has closed its end of a pipe, it has read enough: that is no failure, and later output is dropped.

    Returns:
        False if nobody reads it.

    Raises:
        ClientInfoError: standard output cannot be written, as on a full disk.
    """
    try:
        if sys.stdout is None:
            if text is not None:
                raise OSError("it is closed")
            return True
        if text is not None:
            print(text)
        sys.stdout.flush()
        return True
    except BrokenPipeError:
        _discard(sys.stdout)
        return False
    except OSError as error:
        _discard(sys.stdout)
        raise ClientInfoError(
            f"standard output cannot be written: {error.strerror or error}; send the output elsewhere, and run again"
        ) from None


def complain(text: object) -> None:
    """Write a line to standard error, if that can be written."""
    try:
        print(f"kafka-clientinfo: {safe(text)}", file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)


def _discard(stream: TextIO | None) -> None:
    """Drop what is still in a stream's buffer: Python would fail on it again at its end."""
    with suppress(OSError, ValueError):
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def number(value: int) -> str:
    """Return 1234567 as 1,234,567."""
    return f"{value:,}"


def columns(
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    indent: str = "  ",
    limits: Sequence[int] | None = None,
    colours: Mapping[str, str] | None = None,
) -> str:
    """Return rows under a header, in columns: numbers to the right, text to the left.

    A text has at most as many characters as the limit of its column; 60 without limits. Colours are SGR codes by the
    whole text of a cell; without any, the header has no colour either.
    """
    limits = limits or [60] * len(header)
    cells = [
        [
            number(c) if isinstance(c, int) and not isinstance(c, bool) else safe(c, limit)
            for c, limit in zip(row, limits, strict=True)
        ]
        for row in rows
    ]
    widths = [max(_width(line[i]) for line in [list(header), *cells]) for i in range(len(header))]
    right = [all(isinstance(row[i], int) for row in rows) and bool(rows) for i in range(len(header))]

    def line(values: Sequence[str], painted: Mapping[str, str]) -> str:
        padded = []
        for value, width, is_right in zip(values, widths, right, strict=True):
            blanks = " " * (width - _width(value))
            shown = f"\x1b[{painted[value]}m{value}\x1b[0m" if value in painted else value
            padded.append(blanks + shown if is_right else shown + blanks)
        return (indent + "  ".join(padded)).rstrip()

    bold = dict.fromkeys(header, "1") if colours else {}
    return "\n".join([line(header, bold), *(line(values, colours or {}) for values in cells)])


def _width(text: str) -> int:
    """Return the columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.category(character) in ("Mn", "Me") for character in text)


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal."""
    return stream is not None and not stream.closed and stream.isatty()


def terminal_width() -> int | None:
    """Return the columns of the terminal that standard output is; None if it is no terminal."""
    return shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None


def has_colours() -> bool:
    """Return whether standard output is a terminal, and the environment allows colours (NO_COLOR, TERM)."""
    return is_terminal(sys.stdout) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


Progress = Callable[[str], None]
"""Called with the name of each stage as it begins."""


class Stages:
    """Measures the time of each stage, in `seconds`, and reports that it begins."""

    seconds: dict[str, float]

    def __post_init__(self, progress: Progress | None) -> None:
        """Store the callback for each stage's name; subclasses are dataclasses that declare it as an `InitVar`."""
        self.on_stage = progress

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage, or one more part of it, and report that it begins."""
        if self.on_stage is not None:
            self.on_stage(name)
        started = time.monotonic()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - started, 3)


class ProgressLine:
    """A line of a terminal that shows the current stage; calling it with a stage's name begins the stage."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._started, self._stage = out, time.monotonic(), ""

    def __call__(self, stage: str) -> None:
        """Show that a stage begins."""
        self._stage = stage
        self._show(stage)

    def detail(self, text: str) -> None:
        """Show how far the stage is."""
        self._show(f"{self._stage}: {text}")

    def clear(self) -> None:
        """Empty the line."""
        self._write("\r\x1b[K")

    def _show(self, text: str) -> None:
        self._write(f"\r\x1b[K{time.monotonic() - self._started:6.1f} s  {safe(text)}")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # a run goes on without its terminal
            self._out.write(text)
            self._out.flush()


def progress(stream: TextIO | None = None) -> ProgressLine | None:
    """Return a progress line on a terminal; None if `stream` (standard error by default) is no terminal."""
    out = stream or sys.stderr
    return ProgressLine(out) if out is not None and is_terminal(out) else None
