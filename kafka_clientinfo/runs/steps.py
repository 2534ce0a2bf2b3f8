"""The steps of a build: the functions that make relations from requests.

A step makes one relation from others, which it names. The steps are the judged requests, the connections, the findings of
single connections, and the transforms that concerns declare; a transform's parameters name the relations that it needs. A
relation with the name of a declared table is written to it, as its `write_mode` says.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..concerns import concerns
from ..config.settings import Settings
from ..connections.engine import DataFrame
from ..connections.judged import JudgedBefore, judged_requests
from ..connections.table import connections
from ..connections.texts import with_normal_principals
from ..connections.violations import violations
from ..coverage.periods import LOG_POSITIONS, Periods, log_positions
from ..coverage.starts import Broker
from ..releases.broker_releases import kafka_release_versions, kafka_releases
from ..releases.client_libraries import client_library_versions
from ..tables.spec import table_specs

ROWS: Mapping[str, Callable[[], Sequence[tuple[Any, ...]]]] = {
    "client_library_versions": client_library_versions,
    "kafka_release_versions": kafka_release_versions,
    "kafka_releases": kafka_releases,
}


@dataclass(frozen=True)
class Step:
    """One step: `make` returns the relation of this name when it is called with those that it `needs`, by their names."""

    name: str
    needs: tuple[str, ...]
    make: Callable[..., DataFrame]

    @property
    def write_mode(self) -> str | None:
        spec = table_specs().get(self.name)
        return None if spec is None else spec.write_mode

    @property
    def after(self) -> list[str]:
        return [need for need in self.needs if need in steps()]

    def of(self, relations: Mapping[str, Any]) -> DataFrame:
        """Make the relation; steps read requests with principals in their normal form."""
        read = {need: relations[need] for need in self.needs}
        for name in read.keys() & {"requests", "new_requests"}:
            read[name] = with_normal_principals(read[name], relations["settings"].principal_patterns)
        return self.make(**read)


@lru_cache(maxsize=1)
def steps() -> dict[str, Step]:
    def judge(requests: DataFrame, log_positions: DataFrame, judged_before: JudgedBefore | None) -> DataFrame:
        return judged_requests(requests, log_positions, concerns(), judged_before)

    def connect(judged_requests: DataFrame, stored_broker_hosts: DataFrame | None, settings: Settings) -> DataFrame:
        return connections(judged_requests, settings, concerns(), stored_broker_hosts)

    def violate(
        judged_requests: DataFrame, connections: DataFrame, settings: Settings, **others: DataFrame
    ) -> DataFrame:
        relations = {"judged_requests": judged_requests, "connections": connections, "settings": settings, **others}
        findings = [find(**{need: relations[need] for need in _parameters(find)}) for find in finders]
        return violations(judged_requests, connections, findings, settings, concerns())

    finders = [finder for concern in concerns() for finder in concern.finders]
    found_in = {"judged_requests", "connections", "settings"}.union(*map(_parameters, finders))
    made: dict[str, Callable[..., DataFrame]] = {"judged_requests": judge, "connections": connect}
    made |= {name: make for concern in concerns() for name, make in concern.transforms.items()}
    by_name = {name: Step(name, _parameters(make), make) for name, make in made.items()}
    return by_name | {"connection_violations": Step("connection_violations", tuple(sorted(found_in)), violate)}


def _parameters(function: Callable[..., DataFrame]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def read_by_others() -> set[str]:
    """Return the relations that steps read of each other, which are worth keeping for the run."""
    return {need for step in steps().values() for need in step.after}


def given(
    requests: DataFrame, periods: Mapping[Broker, Periods], settings: Settings, relation: Callable[..., DataFrame]
) -> dict[str, Any]:
    """Return what no step makes, to judge all of these requests; `relation` makes a relation of rows and their DDL."""
    return {
        "requests": requests,
        "new_requests": requests,
        "log_positions": relation(log_positions(periods), LOG_POSITIONS),
        "judged_before": None,
        "stored_broker_hosts": None,
        "settings": settings,
    }


def make_all(wanted: Iterable[str], relations: dict[str, Any], keep: Callable[[str, Any], Any]) -> None:
    """Add to relations those of steps, and of all that they need; `keep` gets each and returns what others read of it."""
    for step in (steps()[name] for name in wanted if name not in relations):
        make_all(step.after, relations, keep)
        relations[step.name] = keep(step.name, step.of(relations))
