"""The layout of one table as text: columns, or a block of lines for each row if columns don't fit on the terminal.

If a table is wider than the terminal, the first of these steps that makes it fit is the last:

| step | the table then has |
|---|---|
| 1 | no column with the same value in all rows: the value is named once above the table |
| 2 | shortened texts, which end with …; prose and what users type into the next command stay whole |
| 3 | a block of lines for each row, with `name  value`; a value too long for its line stands below its name, folded |

Without a terminal, no step applies: a program may read the columns.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from ..printable import safe
from .text_tables import columns, display_width, fold, with_separators

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
    limits = grid.limits()
    if width is None or grid.width(limits) <= width:
        return _in_columns(grid, limits, colours)
    grid, equal = grid.without_equal_columns()
    limits = grid.limits_in(width)
    if blocks and grid.rows and grid.width(limits) > width:
        layout = _in_blocks(grid, width, colours)
        return replace(layout, text=(f"{equal}\n" if equal else "") + layout.text)
    layout = _in_columns(grid, limits, colours)
    return replace(layout, text=equal + layout.text)


def _in_columns(grid: Grid, limits: Sequence[int], colours: Mapping[str, str]) -> Layout:
    is_cut = any(
        isinstance(cell, str) and len(cell) > limit
        for row in grid.rows
        for cell, limit in zip(row, limits, strict=True)
    )
    return Layout(columns(grid.header, grid.rows, grid.indent, limits, colours), is_cut)


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
