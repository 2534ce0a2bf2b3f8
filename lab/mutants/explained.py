"""Why some mutants survive: the entries of explained.toml."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
EXPLAINED = Path(__file__).with_name("explained.toml")


class Explanation(NamedTuple):
    """Why a change of a line cannot be seen: the change to `after`, or those within `part`: all, or some `into` others."""

    file: str
    before: str
    why: str
    after: str | None = None
    part: str | None = None
    into: Sequence[str] | None = None

    def covers(self, file: str, before: str, after: str) -> bool:
        """Whether this is the change of a file's line to another."""
        if (file, before) != (self.file, self.before):
            return False
        if self.after is not None:
            return after == self.after
        start, _, end = before.partition(self.part or before)
        if len(after) < len(start + end) or not after.startswith(start) or not after.endswith(end):
            return False
        return self.into is None or after[len(start) : len(after) - len(end)].strip() in self.into


def explanations() -> list[Explanation]:
    """Known survivors.

    Raises:
        SystemExit: a file no longer holds the line or its part, so that the entry explains nothing.
    """
    known = [Explanation(**one) for one in tomllib.loads(EXPLAINED.read_text("utf-8")).get("mutant", [])]
    for one in known:
        lines = (ROOT / one.file).read_text("utf-8").splitlines()
        if one.before not in map(str.strip, lines) or (one.part or "") not in one.before:
            raise SystemExit(f"mutants: explained.toml: {one.file} has no line {one.before!r}; take it out")
    return known
