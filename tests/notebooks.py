"""Runs notebooks in Databricks' source format: cell after cell, with stand-ins for what a notebook finds there.

The session can be any, classic or of Spark Connect: a notebook sees it as `spark` and nothing else of it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FIRST_LINE = "# Databricks notebook source\n"
_CELLS = re.compile(r"^# COMMAND -{10}\n", re.MULTILINE)
_MAGIC = re.compile(r"# MAGIC ?")


@dataclass(frozen=True)
class Cell:
    """Python, or what a magic such as `%md` makes of the text."""

    magic: str | None
    text: str


def cells(notebook: Path) -> list[Cell]:
    """The cells of a notebook, in order."""
    source = notebook.read_text("utf-8")
    assert source.startswith(FIRST_LINE), f"{notebook} does not begin as a notebook does"
    return [_cell(text.strip("\n")) for text in _CELLS.split(source.removeprefix(FIRST_LINE))]


def _cell(text: str) -> Cell:
    lines = text.split("\n")
    if not lines[0].startswith("# MAGIC %"):
        return Cell(None, text)
    assert all(line.startswith("# MAGIC") for line in lines), text
    plain = "\n".join(_MAGIC.sub("", line, count=1) for line in lines)
    magic, _, rest = plain.partition("\n")
    return Cell(magic.split()[0], rest)


@dataclass
class Widgets:
    """`dbutils.widgets`: a declared input has the value that a job gives it, or else its default."""

    given: Mapping[str, str]
    declared: dict[str, str] = field(default_factory=dict)

    def text(self, name: str, defaultValue: str, label: str = "") -> None:  # noqa: N803
        assert label, f"the widget {name} has no label"
        self.declared[name] = self.given.get(name, defaultValue)

    def get(self, name: str) -> str:
        return self.declared[name]


@dataclass
class Run:
    """What a notebook did."""

    shown: list[Any] = field(default_factory=list)
    """What it displayed, in order: rows of a DataFrame as a list of dicts, or a figure."""
    names: dict[str, Any] = field(default_factory=dict)
    """Its variables at the end."""
    exited_with: str | None = None
    """The text with which it ended before its last cell, if it did."""


class _Exit(Exception):
    """Ends a notebook."""


def _exit(text: str) -> None:
    raise _Exit(text)


def run(notebook: Path, spark: Any, shell: Callable[[], Any] | None = None, /, **given: str) -> Run:
    """Run a notebook to its end; `shell` makes the shell of IPython, if there is one, `given` are values of widgets."""
    done, widgets = Run(), Widgets(given)
    utilities = SimpleNamespace(widgets=widgets, notebook=SimpleNamespace(exit=_exit))

    def display(shown: Any) -> None:
        done.shown.append([row.asDict(True) for row in shown.collect()] if hasattr(shown, "collect") else shown)

    done.names = {"__name__": "__main__", "spark": spark, "display": display, "dbutils": utilities}
    if shell is not None:
        done.names["get_ipython"] = shell
    for number, cell in enumerate(cells(notebook), 1):
        assert cell.magic in (None, "%md"), f"{notebook}: nothing here runs {cell.magic}"
        if cell.magic is None:
            try:
                exec(compile(cell.text, f"{notebook.name}, cell {number}", "exec"), done.names)
            except _Exit as end:
                done.exited_with = str(end)
                break
    unknown = set(given) - set(widgets.declared)
    assert not unknown, f"{notebook} has no widget {unknown}"
    return done
