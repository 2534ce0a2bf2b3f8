"""The checks of a warehouse: what each asks for, and what to do where it finds something; `verify` makes them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .state import LEDGER

LISTED = 20
"""Rows that a check lists at most; it counts them all."""
_RESTORE = "somebody altered the table: restore it (RESTORE TABLE), or build a new warehouse from the logs"
_BUILD_ANEW = "the build is not of these requests: delete the table connections and run `kafka-clientinfo build`"
CHECKS = {
    "layout": ("tables, columns and constraints are as declared; no deletion vectors", _RESTORE),
    "records of files": (
        "records = requests + rejected + all of ignored",
        f"{LEDGER} was altered: restore it, or build a new warehouse from the logs",
    ),
    "rows of files": (
        f"requests, rejected_records and failed_requests hold what {LEDGER} counts, less what retention deleted",
        "rows were lost, added or doubled by others: restore the table (RESTORE TABLE), or build a new warehouse",
    ),
    "offsets in files": (
        "no row lies beyond the bytes that were read of its file",
        "a run broke off: the next `kafka-clientinfo run` on the same logs mends it",
    ),
    "keys": (
        "no two rows of a table have the same key",
        "somebody wrote into the table: restore it (RESTORE TABLE)",
    ),
    "constraints": (
        "NOT NULL and CHECK hold for every row",
        "somebody wrote into the table: restore it (RESTORE TABLE)",
    ),
    "requests of connections": (
        "the connections of each connection id count its requests, those logged twice once, up to the last one",
        _BUILD_ANEW,
    ),
    "first requests": ("every connection begins with a request that was logged when it opened", _BUILD_ANEW),
    "rows of connections": (
        "every row that names a connection has that connection in connections",
        "a build broke off, or tables were altered: run `kafka-clientinfo build`",
    ),
    "build": (
        "all tables are derived of all requests",
        "the build is behind: run `kafka-clientinfo build`",
    ),
}
"""Requirement and advice by name, in the order of the report."""


@dataclass(frozen=True)
class Check:
    """One check: how many rows disagree with its requirement, the first `LISTED` of them, and what to do."""

    name: str
    requirement: str
    failed: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)
    advice: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing disagrees."""
        return self.failed == 0


def check(name: str, findings: Sequence[dict[str, Any]], failed: int | None = None) -> Check:
    """The outcome of one of `CHECKS`; where `failed` counts what disagrees, `findings` are the first of it."""
    requirement, advice = CHECKS[name]
    number = len(findings) if failed is None else failed
    return Check(name, requirement, number, list(findings[:LISTED]), advice if number else "")
