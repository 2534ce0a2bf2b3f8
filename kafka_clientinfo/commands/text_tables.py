"""Text for terminals: plain tables, in which a logged value can only be read and has no effect on the terminal.

If a table is wider than the terminal, the first of these steps that makes it fit is the last:

| step | the table then has |
|---|---|
| 1 | no column with the same value in all rows: the value is named once above the table, as that of the rows shown if a limit left some out |
| 2 | shortened texts, which end with …, the longest first; prose and what users type into the next command stay whole |
| 3 | a block of lines for each row, with `name  value`, all whole; a value too long for its line stands below its name, folded |

Without a terminal, no step applies: a program may read the columns, and texts have up to 4,000 characters.
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
from functools import cached_property
from typing import TextIO

from ..errors import ClientInfoError
from ..printable import safe

_WITHOUT_TERMINAL = 4000
"""The largest number of characters of a text without a terminal: no list of hosts or topics is often longer."""
_WIDEST = 100
_LONGEST = 500
"""The largest number of characters of a text on a terminal, however many lines it may take."""
_NARROWEST = 12
_WHOLE = frozenset({"connection", "connection id", "rule", "grep", "table", "view"})
"""Columns that are never shortened or folded, because users type their values into the next command."""
_PROSE = frozenset({"what to do", "found", "message"})
"""Columns with sentences, which are folded in blocks, and never shortened: half a sentence is of no use."""
_NOTHING = ("-", "")


def output(text: str | None = None) -> bool:
    """Write a text to standard output, if one is given, and flush; return False if nobody reads it.

    If the reader has closed its end of a pipe, it has read enough: that is no failure, and later output is dropped.
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

    A text has at most as many characters as the limit of its column. Without limits it has 4,000, and one of more than 100
    runs over its column, so that it does not widen every line. Colours are SGR codes by the whole
    text of a cell; without any, the header has no colour either.
    """
    cells = [
        [_cell(c, limit) for c, limit in zip(row, limits or [_WITHOUT_TERMINAL] * len(row), strict=True)]
        for row in rows
    ]
    widths = [max(map(display_width, texts)) for texts in zip(header, *cells, strict=True)]
    widths = widths if limits else [min(width, _WIDEST) for width in widths]
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


def _cell(value: object, limit: int = sys.maxsize) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:,}" if is_number else safe(value, limit)


def _shortened(value: object, limit: int) -> object:
    return safe(value, limit) if isinstance(value, str) else value


def _is_numeric(values: Sequence[object]) -> bool:
    return any(isinstance(v, int | float) for v in values) and all(
        isinstance(v, int | float) or v == "-" for v in values
    )


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
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.category(character) in ("Mn", "Me") for character in text)


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def terminal_width() -> int | None:
    """Return the columns of the terminal that standard output is; None if it is no terminal."""
    return shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None


def has_colours() -> bool:
    return is_terminal(sys.stdout) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@dataclass(frozen=True)
class Layout:
    text: str
    is_cut: bool = False
    in_blocks: bool = False


@dataclass(frozen=True)
class Grid:
    """A table's cells as text shows them, not shortened yet.

    Attributes:
        whole: titles of columns that are never shortened, besides those that no table shortens.
        is_part: whether a limit left rows out, so that equal values are those of the rows shown.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    whole: AbstractSet[str] = frozenset()
    indent: str = ""
    is_part: bool = False

    def laid_out(self, width: int | None, colours: Mapping[str, str], blocks: bool = True) -> Layout:
        """Lay the cells out for a terminal with `width` columns; None is no terminal.

        With `blocks` False, step 3 is left out, so that every row is one line.
        """
        if width is None or not self.rows:
            limits = [_WITHOUT_TERMINAL] * len(self.header)
            return Layout(columns(self.header, self.rows, self.indent, None, colours), self._is_longer(limits))
        most = [sys.maxsize if title in _WHOLE | self.whole else _LONGEST for title in self.header]
        rows = [[_shortened(*pair) for pair in zip(row, most, strict=True)] for row in self.rows]
        short, is_cut = replace(self, rows=rows), self._is_longer(most)
        if limits := short._limits(width, _LONGEST):
            return Layout(columns(self.header, rows, self.indent, limits, colours), is_cut)
        rest, equal = short._without_equal_columns()
        caps = range(max(_NARROWEST, *rest._widths), _NARROWEST - 1, -1)
        limits = next(filter(None, (rest._limits(width, cap) for cap in caps)), [])
        if not limits and blocks:
            return Layout((f"{equal}\n" if equal else "") + rest._in_blocks(width, colours), is_cut, in_blocks=True)
        limits = limits or rest._limits(sys.maxsize, _NARROWEST)
        text = columns(rest.header, rest.rows, self.indent, limits, colours)
        return Layout(equal + text, is_cut or rest._is_longer(limits))

    def _is_longer(self, limits: Sequence[int]) -> bool:
        return any(
            isinstance(cell, str) and len(cell) > limit
            for row in self.rows
            for cell, limit in zip(row, limits, strict=True)
        )

    def _limits(self, width: int, cap: int) -> list[int]:
        """Return the widths of the columns if a line fits with texts of `cap` characters at most; an empty list if not."""
        limits = [
            longest if is_fixed else min(longest, max(cap, len(title)))
            for title, longest, is_fixed in zip(self.header, self._widths, self._are_fixed, strict=True)
        ]
        return limits if len(self.indent) + sum(limits) + 2 * (len(limits) - 1) <= width else []

    @cached_property
    def _widths(self) -> list[int]:
        """The columns or the characters of the longest text of each column, whichever are more."""
        lines = (self.header, *([_cell(value) for value in row] for row in self.rows))
        return [max(max(len(text), display_width(text)) for text in texts) for texts in zip(*lines, strict=True)]

    @cached_property
    def _are_fixed(self) -> list[bool]:
        return [
            title in _WHOLE | _PROSE | self.whole or not any(isinstance(row[c], str) for row in self.rows)
            for c, title in enumerate(self.header)
        ]

    def _without_equal_columns(self) -> tuple["Grid", str]:
        """Split the columns that have the same value in all rows off, and return them as lines with `name: value`.

        Nothing is split off if there is only one row, or if all rows are the same.
        """
        differ = [c for c in range(len(self.header)) if any(row[c] != self.rows[0][c] for row in self.rows)]
        if not differ:
            return self, ""
        equal = ((title, self.rows[0][c]) for c, title in enumerate(self.header) if c not in differ)
        of_rows = " (in the rows shown)" if self.is_part else ""
        lines = [f"{self.indent}{title}: {_cell(value)}{of_rows}\n" for title, value in equal]
        rows = [[row[c] for c in differ] for row in self.rows]
        return replace(self, header=[self.header[c] for c in differ], rows=rows), "".join(lines)

    def _in_blocks(self, width: int, colours: Mapping[str, str]) -> str:
        names, blocks = max(map(len, self.header)), []
        for row in self.rows:
            lines = []
            for title, value in zip(self.header, row, strict=True):
                if value in _NOTHING:
                    continue
                text = _cell(value)
                name = f"\x1b[1m{title}\x1b[0m" if colours else title
                if len(self.indent) + names + 2 + display_width(text) > width and " " in text:
                    below = f"{self.indent}  {text}"
                    is_whole = title in _WHOLE | self.whole
                    lines += [self.indent + name, below if is_whole else fold(below, width, hanging="")]
                else:
                    painted = f"\x1b[{colours[text]}m{text}\x1b[0m" if text in colours else text
                    lines.append(f"{self.indent}{name}{' ' * (names - len(title))}  {painted}".rstrip())
            blocks.append("\n".join(lines))
        return "\n\n".join(blocks)
