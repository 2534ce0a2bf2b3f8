"""Text for terminals: plain tables, in which a logged value can only be read and has no effect on the terminal.

If a table is wider than the terminal, the first of these steps that makes it fit is the last:

| step | the table then has |
|---|---|
| 1 | no column with the same value in all rows: the value is named once above the table |
| 2 | shortened texts, which end with …; prose and what users type into the next command stay whole |
| 3 | a block of lines for each row, with `name  value`; a value too long for its line stands below its name, folded |

Without a terminal, no step applies: a program may read the columns.
"""

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TextIO

from ..errors import ClientInfoError
from ..printable import safe
from ..warehouse.progress import ProgressLine

_LONGEST = 100
"""The largest number of characters of a text in a column, also on a wider terminal."""
_LONGEST_PROSE = 500
"""The largest number of characters of prose in a block."""
_NARROWEST = 12
"""Texts are not shortened below this number of characters."""
_MOST_ROWS = 95
"""The percentage of rows with texts that a column first tries to hold whole: a single long name must not widen it."""
_WHOLE = frozenset({"connection", "connection id", "rule", "grep", "table", "view"})
"""Columns that are never shortened, because users type their values into the next command."""
_PROSE = frozenset({"what to do", "found", "message"})
"""Columns with sentences, which columns don't shorten to fit: half a sentence is of no use."""
_NOTHING = ("-", "")
"""Texts that stand for no value; blocks leave them out."""


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


@dataclass(frozen=True)
class Layout:
    """A table as text.

    Attributes:
        text: its lines, without title.
        is_cut: whether a text in it is shortened.
        in_blocks: whether each row is a block of lines.
    """

    text: str
    is_cut: bool
    in_blocks: bool = False


@dataclass(frozen=True)
class Grid:
    """A table's cells as text shows them, not shortened yet.

    Attributes:
        header: the titles of the columns.
        rows: texts and numbers.
        longest: the largest number of characters of the texts of a column, by its title; 100 for others.
        whole: titles of columns that are never shortened, besides those that no table shortens.
        indent: the blanks before each line.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    longest: Mapping[str, int]
    whole: AbstractSet[str]
    indent: str

    def is_whole(self, title: str) -> bool:
        """Return whether the texts of a column are never shortened."""
        return title in _WHOLE or title in self.whole

    def limits(self) -> list[int]:
        """Return the largest number of characters of each column, whatever the terminal's width."""
        limits = []
        for c, title in enumerate(self.header):
            length = max((_length(with_separators(row[c])) for row in self.rows), default=0)
            most = length if self.is_whole(title) else min(length, self.longest.get(title, _LONGEST))
            limits.append(max(most, len(title)))
        return limits

    def limits_in(self, width: int) -> list[int]:
        """Return limits with which lines fit on a terminal, if texts can shrink so far.

        The widest columns shrink first, and no column below the texts of most rows as long as others can.
        """
        limits = self.limits()
        texts = [
            c
            for c, title in enumerate(self.header)
            if not self.is_whole(title) and title not in _PROSE and any(isinstance(row[c], str) for row in self.rows)
        ]
        for least in ({c: self._usual_length(c) for c in texts}, {}):
            for _ in range(self.width(limits) - width):
                floors = {c: max(_NARROWEST, len(self.header[c]), least.get(c, 0)) for c in texts}
                can_shrink = [c for c in texts if limits[c] > floors[c]]
                if not can_shrink:
                    break
                limits[max(can_shrink, key=limits.__getitem__)] -= 1
        return limits

    def _usual_length(self, column: int) -> int:
        """Return the length that the texts of most rows do not exceed."""
        lengths = sorted(_length(with_separators(row[column])) for row in self.rows)
        return lengths[-(-_MOST_ROWS * len(lengths) // 100) - 1]

    def width(self, limits: Sequence[int]) -> int:
        """Return the width of a line if each column is as wide as its limit."""
        return len(self.indent) + sum(limits) + 2 * (len(limits) - 1)

    def without_equal_columns(self) -> tuple["Grid", str]:
        """Split the columns that have the same value in all rows off, and return them as lines with `name: value`.

        Nothing is split off if there is only one row, or if all rows are the same.
        """
        differ = [c for c in range(len(self.header)) if any(row[c] != self.rows[0][c] for row in self.rows)]
        if not differ:
            return self, ""
        equal = ((title, self.rows[0][c]) for c, title in enumerate(self.header) if c not in differ)
        lines = [f"{self.indent}{title}: {self.block_text(title, value)}\n" for title, value in equal]
        rows = [[row[c] for c in differ] for row in self.rows]
        return replace(self, header=[self.header[c] for c in differ], rows=rows), "".join(lines)

    def block_text(self, title: str, value: object) -> str:
        """Return a value as text that stands on its own line."""
        if isinstance(value, int | float):
            return with_separators(value)
        if self.is_whole(title):
            return safe(value)
        return safe(value, _LONGEST_PROSE if title in _PROSE else _LONGEST)


def _length(text: str) -> int:
    """Return the characters of a text or its columns on a terminal, whichever is more."""
    return max(len(text), display_width(text))


def laid_out(grid: Grid, width: int | None, colours: Mapping[str, str], blocks: bool = True) -> Layout:
    """Lay cells out for a terminal with `width` columns; None is no terminal.

    With `blocks` False, step 3 is left out, so that every row is one line.
    """
    limits, equal = grid.limits(), ""
    if width is not None and grid.width(limits) > width:
        grid, equal = grid.without_equal_columns()
        limits = grid.limits_in(width)
        if blocks and grid.rows and grid.width(limits) > width:
            layout = _in_blocks(grid, width, colours)
            return replace(layout, text=(f"{equal}\n" if equal else "") + layout.text)
    is_cut = any(
        isinstance(cell, str) and len(cell) > limit
        for row in grid.rows
        for cell, limit in zip(row, limits, strict=True)
    )
    return Layout(equal + columns(grid.header, grid.rows, grid.indent, limits, colours), is_cut)


def _in_blocks(grid: Grid, width: int, colours: Mapping[str, str]) -> Layout:
    """Return a block of lines for each row, with an empty line between two."""
    names, is_cut, blocks = max(map(len, grid.header)), False, []
    for row in grid.rows:
        lines = []
        for title, value in zip(grid.header, row, strict=True):
            if value in _NOTHING:
                continue
            text = grid.block_text(title, value)
            is_cut |= isinstance(value, str) and len(text) < len(value)
            name = f"\x1b[1m{title}\x1b[0m" if colours else title
            if len(grid.indent) + names + 2 + _length(text) > width and " " in text:
                below = f"{grid.indent}  {text}"
                lines += [grid.indent + name, below if grid.is_whole(title) else fold(below, width, hanging="")]
            else:
                painted = f"\x1b[{colours[text]}m{text}\x1b[0m" if text in colours else text
                lines.append(f"{grid.indent}{name}{' ' * (names - len(title))}  {painted}".rstrip())
        blocks.append("\n".join(lines))
    return Layout("\n\n".join(blocks), is_cut, in_blocks=True)
