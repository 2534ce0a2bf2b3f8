"""The topics and groups that lose a client at a release of Kafka; losses.sql says which connections lose them, and how that is known."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from ..logs.apis import TOPIC_OPERATIONS
from ..tables.spec import CLIENT
from .filters import Scope
from .impact import uses_at
from .queries import Rows, grouped, same
from .topics import BY_CLIENT

_CLIENT = ", ".join(CLIENT)
_OPERATIONS = "CASE u.api_key {} END".format(
    " ".join(f"WHEN {key} THEN '{operation}'" for key, operation in sorted(TOPIC_OPERATIONS.items()))
)
_VERDICTS = (files(__package__) / "losses.sql").read_text("utf-8").replace("{operation_of_api}", _OPERATIONS)
NamesByClient = Mapping[tuple[Any, ...], list[str]]


@dataclass(frozen=True)
class Lost:
    """The topics and groups of clients that break at a release: those that certainly break, and those that may."""

    topics: NamesByClient = field(default_factory=dict)
    groups: NamesByClient = field(default_factory=dict)
    possible_topics: NamesByClient = field(default_factory=dict)
    possible_groups: NamesByClient = field(default_factory=dict)


def losses(scope: Scope, target: str) -> Rows:
    """Return the topics that lose a producer or a consumer at a measured release, or may lose one, the most losses first."""
    produces, consumes = "operation = 'produce'", "operation IN ('fetch', 'commit')"
    of_client = (
        f"SELECT {_CLIENT}, name AS topic, bool_or({produces} AND breaks) AS produce_breaks, bool_or({consumes} AND breaks) AS consume_breaks, "
        f"bool_or({produces} AND may_break) AS produce_may, bool_or({consumes} AND may_break) AS consume_may "
        f"FROM verdicts WHERE operation IN ('produce', 'fetch', 'commit') GROUP BY {_CLIENT}, name HAVING bool_or(breaks OR may_break)"
    )
    return scope.query(
        f"{uses_at(target)}, {_VERDICTS}, lost AS ({of_client}) SELECT c.cluster, c.topic, "
        "count(CASE WHEN l.produce_breaks THEN c.produce_requests END) AS producers_that_break, count(c.produce_requests) AS producers, "
        "count(CASE WHEN l.consume_breaks THEN coalesce(c.fetch_requests, c.commit_requests) END) AS consumers_that_break, "
        "count(coalesce(c.fetch_requests, c.commit_requests)) AS consumers, "
        "CAST(coalesce(sum(CASE WHEN l.produce_breaks THEN c.produce_bytes END), 0) "
        "+ coalesce(sum(CASE WHEN l.consume_breaks THEN c.fetch_bytes END), 0) AS BIGINT) AS bytes, "
        "max(c.last_at) AS last_seen, "
        "count(CASE WHEN l.produce_may AND NOT l.produce_breaks THEN c.produce_requests END) AS producers_that_may_break, "
        "count(CASE WHEN l.consume_may AND NOT l.consume_breaks THEN coalesce(c.fetch_requests, c.commit_requests) END) "
        "AS consumers_that_may_break "
        f"FROM ({BY_CLIENT}) AS c LEFT JOIN lost AS l ON {same('l', 'c', (*CLIENT, 'topic'))} GROUP BY c.cluster, c.topic "
        "HAVING count(CASE WHEN l.topic IS NOT NULL THEN 1 END) > 0 "
        "ORDER BY producers_that_break + consumers_that_break DESC, producers_that_may_break + consumers_that_may_break DESC, "
        "bytes DESC, c.cluster, c.topic"
    )


def groups_of_clients(scope: Scope) -> NamesByClient:
    rows = scope.query(
        f"SELECT DISTINCT {_CLIENT}, group_id AS name FROM {{connection_groups}} AS g "
        "WHERE role = 'client' AND takes_part ORDER BY name"
    ).dicts()
    return {client: [row["name"] for row in own] for client, own in grouped(rows, CLIENT).items()}


def lost_by_client(scope: Scope, target: str) -> Lost:
    rows = scope.query(
        f"{uses_at(target)}, {_VERDICTS} SELECT {_CLIENT}, operation = 'group' AS is_group, name, bool_or(breaks) AS breaks FROM verdicts "
        f"WHERE breaks OR may_break GROUP BY {_CLIENT}, operation = 'group', name ORDER BY name"
    ).dicts()

    def names(breaks: bool, is_group: bool) -> NamesByClient:
        chosen = [row for row in rows if (row["breaks"], row["is_group"]) == (breaks, is_group)]
        return {client: [row["name"] for row in own] for client, own in grouped(chosen, CLIENT).items()}

    return Lost(names(True, False), names(True, True), names(False, False), names(False, True))
