"""The files that a run does not read, and whether a command may still succeed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_FAILURES = frozenset({"unreadable", "damaged", "rewritten", "shorter", "late", "other_cluster"})
"""Kinds of problems after which a command does not succeed: something was not read, or perhaps not."""

REPLACED = "another file has taken its place since it was planned"
"""The error of a file that was rotated: nothing of it is rejected, as the next run reads it under its new name."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that is not read, a log that overlaps another one of its broker, or a view that could not be made.

    Attributes:
        kind: empty, unreadable, damaged (as before), rewritten, shorter, late (older than what retention has deleted),
            other_cluster (it was read before as the log of another cluster), copy, or rotated (after planning); overlap; or view.
    """

    path: str
    kind: str
    detail: str


def is_incomplete(problems: Iterable[Problem], files: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a log could not be read, or not to its end; `files` are the reports of a run."""
    return any(problem.kind in _FAILURES for problem in problems) or any(file["error"] for file in files)


def rotated(path: str) -> Problem:
    """Return the problem of a file that another one has replaced under its name."""
    return Problem(path, "rotated", f"{REPLACED}; if it was rotated, the next run reads it under its new name")


def reason_of(error: OSError) -> str:
    """Return the text of an error of the operating system or of a store."""
    return error.strerror or str(error)
