"""Changes that break one statement of a KIP each: the entries of planted.toml."""

import os
import shutil
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .explained import ROOT

PLANTED = Path(__file__).with_name("planted.toml")
_RESOURCES = "kafka_clientinfo/resources.py"
_OTHER_SCHEMAS = """

def schemas() -> Traversable:
    return Path({folder!r})
"""


class Change(NamedTuple):
    """A module of the package with another text, for the process that imports it."""

    module: str
    file: str
    text: str

    def source(self) -> str:
        """Return the file's text with the change."""
        return self.text


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
        text = _text(self.file)
        if (times := text.count(self.before)) != 1:
            raise SystemExit(f"mutants: planted.toml, {self.statement}: {self.file} has {self.before!r} {times} times")
        return text.replace(self.before, self.after)

    def change(self) -> Change:
        """Return the change of a module; that of a file in schemas/ is one of the module that reads them.

        It reads a folder of links to all other files, which stays until the process that makes it removes `scratch()`.
        """
        if self.file.startswith("kafka_clientinfo/"):
            module = self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            return Change(module, self.file, self.text())
        folder = Path(tempfile.mkdtemp(dir=scratch())) / "schemas"
        shutil.copytree(ROOT / "schemas", folder, copy_function=os.symlink)
        file = folder.parent / self.file
        file.unlink()
        file.write_text(self.text(), "utf-8")
        text = _text(_RESOURCES) + _OTHER_SCHEMAS.format(folder=str(folder))
        return Change("kafka_clientinfo.resources", _RESOURCES, text)


@cache
def scratch() -> Path:
    """Return a folder for the schemas that are changed."""
    return Path(tempfile.mkdtemp(prefix="planted-"))


@cache
def _text(file: str) -> str:
    return (ROOT / file).read_text("utf-8")


def planted() -> list[Planted]:
    """The changes in the order of the statements."""
    entries = tomllib.loads(PLANTED.read_text("utf-8"))["mutant"]
    return [Planted(**entry) for entry in entries]
