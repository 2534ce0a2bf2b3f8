"""Text for terminals: plain tables, in which a logged value can only be read and has no effect on the terminal."""

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TextIO

from ..errors import ClientInfoError
from ..printable import safe
from ..warehouse.progress import ProgressLine


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
            with_separators(c) if isinstance(c, int | float) else safe(c, limit)
            for c, limit in zip(row, limits, strict=True)
        ]
        for row in rows
    ]
    widths = [max(display_width(line[i]) for line in [list(header), *cells]) for i in range(len(header))]
    right = [_is_numeric([row[i] for row in rows]) for i in range(len(header))]

    def line(values: Sequence[str], painted: Mapping[str, str]) -> str:
        padded = []
        for value, width, is_right in zip(values, widths, right, strict=True):
            blanks = " " * (width - display_width(value))
            shown = f"\x1b[{painted[value]}m{value}\x1b[0m" if value in painted else value
            padded.append(blanks + shown if is_right else shown + blanks)
        return (indent + "  ".join(padded)).rstrip()

    bold = dict.fromkeys(header, "1") if colours else {}
    return "\n".join([line(header, bold), *(line(values, colours or {}) for values in cells)])


def _is_numeric(values: Sequence[object]) -> bool:
    """Return whether a column has numbers, and nothing else but `-` for those that are missing."""
    return any(isinstance(v, int | float) for v in values) and all(
        isinstance(v, int | float) or v == "-" for v in values
    )


def with_separators(value: object) -> str:
    """Return a value as text; a number gets thousands separators."""
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def fold(text: str, width: int | None, hanging: str = "  ") -> str:
    """Fold each line of a text at the terminal's width, between words; without a terminal, the text stays unchanged.

    An indented line, or one that begins with "- ", goes on below its own indent plus `hanging`.
    """
    if width is None:
        return text
    return "\n".join(_fold_line(line, width, hanging) for line in text.split("\n"))


def _fold_line(line: str, width: int, hanging: str) -> str:
    words = line.lstrip(" ")
    indent = line[: len(line) - len(words)]
    following = indent + hanging if indent or words.startswith("- ") else ""
    return textwrap.fill(
        words,
        max(width, len(following) + 20),
        initial_indent=indent,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    )


def display_width(text: str) -> int:
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


def progress(stream: TextIO | None = None) -> ProgressLine | None:
    """Return a progress line on a terminal; None if `stream` (standard error by default) is no terminal."""
    out = stream or sys.stderr
    return ProgressLine(out) if out is not None and is_terminal(out) else None
