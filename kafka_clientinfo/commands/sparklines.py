"""Numbers over time as one character each, so that a line of a table shows when they were high."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Marks:
    """Characters for numbers: one for 0, and eight for others, the lowest first."""

    none: str
    levels: str

    def line(self, numbers: Sequence[int]) -> str:
        """Return a character per number: the highest for the greatest number, whatever it is, and `none` for 0 only."""
        most = max(numbers, default=0)
        return "".join(
            self.levels[-(-number * len(self.levels) // most) - 1] if number > 0 else self.none for number in numbers
        )


BLOCKS = Marks("·", "▁▂▃▄▅▆▇█")
ASCII = Marks(".", "_-=+*%#@")
_WITHOUT_BLOCKS = ("dumb", "linux")
"""Values of TERM for terminals with few characters: the console of Linux has fonts of 256 or 512."""


def marks() -> Marks:
    """Return blocks if standard output is UTF-8 and the terminal, if it is one, can show them; else ASCII."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        (BLOCKS.none + BLOCKS.levels).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return ASCII if os.environ.get("TERM") in _WITHOUT_BLOCKS else BLOCKS
