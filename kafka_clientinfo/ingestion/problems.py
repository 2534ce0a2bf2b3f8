"""What a run passes over, and whether a command may end well in spite of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_FAILURES = frozenset({"unreadable", "damaged", "rewritten", "shorter"})
"""Kinds of problems with which a command does not end well: something was not read, or nobody can say that it was."""

REPLACED = "another file has taken its place since it was planned"
"""The error of a file that was rotated: nothing of it is rejected, as it is read under its new name."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that was passed over, or a view that could not be made.

    Attributes:
        kind: empty, unreadable, damaged (as before), rewritten, shorter, copy, or rotated (after it was planned); or view.
    """

    path: str
    kind: str
    detail: str


def is_incomplete(problems: Iterable[Problem], files: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a log could not be read, or not to its end; `files` are as a run reports them."""
    return any(problem.kind in _FAILURES for problem in problems) or any(file["error"] for file in files)


def rotated(path: str) -> Problem:
    """Return the problem of a file that was replaced under its name."""
    return Problem(path, "rotated", f"{REPLACED}; if it was rotated, the next run reads it under its new name")


def reason_of(error: OSError) -> str:
    """Return what an error of the operating system or of a store says."""
    return error.strerror or str(error)
