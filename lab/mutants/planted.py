"""Changes that break one statement of a KIP each: the entries of planted.toml."""

import tomllib
from pathlib import Path
from typing import NamedTuple

from .explained import ROOT

PLANTED = Path(__file__).with_name("planted.toml")


class Planted(NamedTuple):
    """A change of a file that breaks a statement: the one place of the text `before` has `after` in its stead."""

    document: str
    number: int
    file: str
    before: str
    after: str

    @property
    def statement(self) -> str:
        return f"{self.document}, statement {self.number}"

    def text(self) -> str:
        """Return the file's text with the change.

        Raises:
            SystemExit: `before` does not stand in the file exactly once.
        """
        text = (ROOT / self.file).read_text("utf-8")
        if (times := text.count(self.before)) != 1:
            raise SystemExit(f"mutants: planted.toml, {self.statement}: {self.file} has {self.before!r} {times} times")
        return text.replace(self.before, self.after)


def planted() -> list[Planted]:
    """The changes in the order of the statements."""
    entries = tomllib.loads(PLANTED.read_text("utf-8"))["mutant"]
    return [Planted(**entry) for entry in entries]
