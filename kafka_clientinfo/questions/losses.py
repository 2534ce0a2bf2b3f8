"""The topics and groups that lose a client at a release of Kafka; losses.sql says which connections lose them, and how that is known."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from ..logs.apis import TOPIC_OPERATIONS
from ..releases.broker_releases import REFUSED, WORST_FIRST
from ..tables.spec import CLIENT, CONNECTION_KEY
from .filters import Scope
from .impact import uses_at
from .queries import Rows, filled, grouped, same
from .topics import BY_CLIENT, TOPIC

_CLIENT = ", ".join(CLIENT)
_OPERATIONS = "CASE u.api_key {} END".format(
    " ".join(f"WHEN {key} THEN '{operation}'" for key, operation in sorted(TOPIC_OPERATIONS.items()))
)
_USE = (*CLIENT, "api_key", "api_version")
_VERDICTS = filled(
    (files(__package__) / "losses.sql").read_text("utf-8"),
    client=_CLIENT,
    connection=", ".join(CONNECTION_KEY),
    refused=str(WORST_FIRST.index(REFUSED)),
    same_client=same("c", "u"),
    same_use=same("r", "u", _USE),
    same_connection=same("o", "g", CONNECTION_KEY),
    operation_of_api=_OPERATIONS,
    topic_name=TOPIC,
)
_LOST_TOPICS = filled(
    (files(__package__) / "lost_topics.sql").read_text("utf-8"),
    client=_CLIENT,
    by_client=BY_CLIENT,
    same_topic=same("l", "c", (*CLIENT, "topic")),
)
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
    return scope.query(f"{uses_at(target)}, {_VERDICTS}, {_LOST_TOPICS}")


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
