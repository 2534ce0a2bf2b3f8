"""The steps of a build: the functions that make relations from requests.

A step makes one relation from others, which it names. The steps are the positions of files in their broker's log, the
judged requests, the connections, the violations, and the transforms that concerns declare; a transform's parameters
name the relations that it needs. A relation with the name of a declared table is written to it, as its `write_mode`
says.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..concerns import concerns
from ..connections.coverage import log_positions
from ..connections.engine import DataFrame
from ..connections.judged import judged_requests
from ..connections.table import connections
from ..connections.violations import violations
from ..errors import UnknownRelationError
from ..tables.spec import table_specs

GIVEN_RELATIONS = frozenset(
    {
        "requests", "new_requests", "judged_before", "stored_connections",
        "ingested_files", "failed_requests", "topic_mentions", "settings",
    }
)  # fmt: skip
"""Relations that no step makes; `judged_before` is a `JudgedBefore` or None, `stored_connections` a `StoredConnections` or None."""
_GIVEN_WHOLE = GIVEN_RELATIONS - {"requests", "new_requests", "judged_before", "stored_connections"}
"""Those that a run reads whole."""


@dataclass(frozen=True)
class Step:
    """One step, which makes one relation.

    Attributes:
        name: the name of the relation.
        needs: the names of the relations that `make` is called with.
        make: returns the relation.
        lasting_rules: the rules with stored findings that stay after retention has deleted the rows from which they
            were made.
        listed_in: the relation that lists this one if it may have rows; None if it is made in any case.
    """

    name: str
    needs: tuple[str, ...]
    make: Callable[[Mapping[str, Any]], DataFrame]
    lasting_rules: tuple[str, ...] = ()
    listed_in: str | None = None

    @property
    def write_mode(self) -> str | None:
        """How its table is written; None for a relation that is only cached for the run."""
        spec = table_specs().get(self.name)
        return None if spec is None else spec.write_mode

    @property
    def is_of_whole_tables(self) -> bool:
        """Whether the step reads full tables, and not only the rows that a run recomputes.

        A relation without a table is made of full tables if it needs only derived tables, what a run is given whole, and
        relations that are made of full tables.
        """
        return self.write_mode == "overwrite" or (self.write_mode is None and all(map(_is_whole, self.needs)))


def _is_whole(name: str) -> bool:
    """Return whether a step that needs this relation may read all its rows."""
    if name in _GIVEN_WHOLE:
        return True
    spec, step = table_specs().get(name), steps().get(name)
    return spec.derived if spec is not None else step is not None and step.is_of_whole_tables


@lru_cache(maxsize=1)
def steps() -> dict[str, Step]:
    """Return all steps, by the relation that they make.

    Raises:
        UnknownRelationError: a step needs a relation that neither a step makes nor a run starts with.
    """
    by_name = {
        "log_positions": _step("log_positions", _parameters(log_positions), log_positions),
        "judged_requests": _step(
            "judged_requests",
            ("requests", "log_positions", "judged_before"),
            lambda requests, log_positions, judged_before: judged_requests(
                requests, log_positions, concerns(), judged_before
            ),
        ),
        "connections": _step(
            "connections",
            ("judged_requests", "broker_hosts", "settings", "stored_connections"),
            lambda judged_requests, broker_hosts, settings, stored_connections: connections(
                judged_requests, settings, concerns(), broker_hosts, stored_connections
            ),
        ),
        "violations": _violations(),
    }
    for concern in concerns():
        by_name |= {
            name: _step(name, _parameters(make), make, concern.listed.get(name))
            for name, make in concern.transforms.items()
        }
    known = GIVEN_RELATIONS | set(by_name)
    for step in by_name.values():
        if unknown := sorted(set(step.needs) - known):
            raise UnknownRelationError(
                f"{step.name} needs the relation {unknown[0]!r}; known are {', '.join(sorted(known))}"
            )
    return by_name


def _step(name: str, parameters: tuple[str, ...], make: Callable[..., DataFrame], listed_in: str | None = None) -> Step:
    needs = parameters if listed_in is None else (*parameters, listed_in)
    return Step(
        name, needs, lambda relations: make(**{need: relations[need] for need in parameters}), listed_in=listed_in
    )


def _violations() -> Step:
    finders = [finder for concern in concerns() for finder in concern.finders]
    needs = {"judged_requests", "connections", "settings"}
    needs |= {need for finder in finders for need in _parameters(finder.find)}

    def make(relations: Mapping[str, Any]) -> DataFrame:
        given = [(one, {need: relations[need] for need in _parameters(one.find)}) for one in finders]
        findings = [one.find(**found_in) for one, found_in in given if None not in found_in.values()]
        requests, rows, settings = (relations[name] for name in ("judged_requests", "connections", "settings"))
        return violations(requests, rows, findings, settings, concerns())

    lasting = tuple(rule for finder in finders if finder.outlast_retention for rule in finder.rules)
    return Step("violations", tuple(sorted(needs)), make, lasting)


def _parameters(function: Callable[..., DataFrame]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


@lru_cache(maxsize=1)
def lists() -> frozenset[str]:
    """Return the relations that list which others may have rows."""
    return frozenset(step.listed_in for step in steps().values() if step.listed_in is not None)


@lru_cache(maxsize=1)
def read_by_others() -> frozenset[str]:
    """Return the relations that other steps read, which are worth caching for the run."""
    return frozenset(need for step in steps().values() for need in step.needs if need not in GIVEN_RELATIONS)


def needed(wanted: Iterable[str]) -> dict[str, set[str]]:
    """Return the wanted steps and all steps that they need, each with the steps that it needs itself."""
    needs: dict[str, set[str]] = {}
    waiting = list(wanted)
    while waiting:
        name = waiting.pop()
        if name not in needs:
            needs[name] = set(steps()[name].needs) - GIVEN_RELATIONS
            waiting += needs[name]
    return needs
