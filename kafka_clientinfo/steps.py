"""The steps of a build: finds what the concerns make of requests, and orders it by its inputs.

A step makes one relation of others, which it names. Steps are found, not listed: the judged requests, the connections
and the violations, and every module of a concern that has a function `transform`, whose parameters name the relations
that it needs. A relation of the name of a declared table is written to it, as its `write_mode` says.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pyspark.sql import DataFrame

from .concerns import concerns
from .connections.judged import judged_requests
from .connections.table import connections
from .connections.violations import violations
from .errors import UnknownRelationError
from .tables.spec import table_specs

SOURCES = frozenset({"requests", "new_requests", "ingested_files", "failed_requests", "settings"})
"""Relations that no step makes."""
_WHOLE_SOURCES = SOURCES - {"requests", "new_requests"}
"""Those of them that a run takes whole."""


@dataclass(frozen=True)
class Step:
    """Makes one relation; `needs` names the relations that `make` is called with."""

    name: str
    needs: tuple[str, ...]
    make: Callable[[Mapping[str, Any]], DataFrame]

    @property
    def write_mode(self) -> str | None:
        """How its table is written; None for what is kept for the run only."""
        spec = table_specs().get(self.name)
        return None if spec is None else spec.write_mode

    @property
    def is_of_whole_tables(self) -> bool:
        """Whether it is made of whole tables, and not of what a run computes again of them.

        Where no table says so, that is where it needs nothing but derived tables, and sources that are whole.
        """
        whole = _WHOLE_SOURCES | {name for name, spec in table_specs().items() if spec.derived}
        return self.write_mode == "overwrite" or (self.write_mode is None and set(self.needs) <= whole)


@lru_cache(maxsize=1)
def steps() -> dict[str, Step]:
    """Finds all steps, by the relation that they make.

    Raises:
        UnknownRelationError: where one needs a relation that neither a step makes nor a run starts with.
    """
    found = {
        "judged_requests": _step(
            "judged_requests",
            ("requests", "ingested_files", "settings"),
            lambda requests, ingested_files, settings: judged_requests(requests, ingested_files, settings, concerns()),
        ),
        "connections": _step(
            "connections",
            ("judged_requests", "broker_hosts", "settings"),
            lambda judged_requests, broker_hosts, settings: connections(
                judged_requests, settings, concerns(), broker_hosts
            ),
        ),
        "violations": _violations(),
    }
    for concern in concerns():
        found |= {name: _step(name, _parameters(make), make) for name, make in concern.transforms.items()}
    known = SOURCES | set(found)
    for step in found.values():
        if unknown := sorted(set(step.needs) - known):
            raise UnknownRelationError(
                f"{step.name} needs the relation {unknown[0]!r}; known are {', '.join(sorted(known))}"
            )
    return found


def _step(name: str, needs: tuple[str, ...], make: Callable[..., DataFrame]) -> Step:
    return Step(name, needs, lambda relations: make(**{need: relations[need] for need in needs}))


def _violations() -> Step:
    finders = [find for concern in concerns() for find in concern.findings]
    needs = {"judged_requests", "connections", "settings", *(need for find in finders for need in _parameters(find))}

    def make(relations: Mapping[str, Any]) -> DataFrame:
        found = [find(**{need: relations[need] for need in _parameters(find)}) for find in finders]
        requests, rows, settings = (relations[name] for name in ("judged_requests", "connections", "settings"))
        return violations(requests, rows, found, settings, concerns())

    return Step("violations", tuple(sorted(needs)), make)


def _parameters(function: Callable[..., DataFrame]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


@lru_cache(maxsize=1)
def read_by_others() -> frozenset[str]:
    """Names the relations that other steps read: worth keeping for the run."""
    return frozenset(need for step in steps().values() for need in step.needs if need not in SOURCES)


def needed(wanted: Iterable[str]) -> dict[str, set[str]]:
    """Finds the steps that make what is wanted, and those that they need in turn; each with the steps that it needs itself."""
    found: dict[str, set[str]] = {}
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = set(steps()[name].needs) - SOURCES
            waiting += found[name]
    return found
