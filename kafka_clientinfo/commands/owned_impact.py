"""Divides the verdict on a release among the owners of clients.

`upgrade_impact` has one row per client, API and version; here each is divided among the hosts that the client connects
from (`api_usage` by connection), as these may have different owners. Requests and times are then those of the hosts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..filters import Scope
from ..impact import FINE, judged
from ..owners import Owner
from ..tables.broker_releases import VERDICTS, WORST_FIRST
from ..tables.spec import CLIENT
from .output import Table
from .ownership import ENDPOINT, SAME_CONNECTION, Ownership, grouped, named

USE = (*CLIENT, "api_name", "api_version")
"""Columns that name a client's use of a version."""
_KEY = ", ".join(ENDPOINT)
_API = ("api_key", "api_version")


@dataclass
class OwnerImpact:
    """What a release means for one owner's clients.

    Attributes:
        clients: by worst verdict; a client counts for each owner of its hosts.
        uses: what is not ok, one per client, API and version: the columns of `USE`, all_hosts (a set), requests,
            first_seen, last_seen, verdict, reason, refused_from, library (null where it is not known), and for this
            release upgrade_to and upgrade_over (null where nothing is known); the gravest first.
    """

    clients: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VERDICTS, 0))
    uses: list[dict[str, Any]] = field(default_factory=list)


def owned_impact(scope: Scope, target: str, ownership: Ownership) -> dict[Owner | None, OwnerImpact]:
    """The verdict on a release for each owner, and for clients without one."""
    tables, filters = scope.tables, scope.filters
    same = " AND ".join(f"u.{name} IS NOT DISTINCT FROM j.{name}" for name in (*CLIENT, *_API))
    of_connection = ", ".join((*(f"c.{name}" for name in ENDPOINT), *(f"t.{name}" for name in _API)))
    uses = (
        f"uses AS (SELECT {of_connection}, CAST(sum(t.requests) AS BIGINT) AS requests, min(t.first_at) AS first_seen, "
        "max(t.last_at) AS last_seen FROM {api_usage} AS t "
        f"JOIN {{connections}} AS c ON {SAME_CONNECTION} WHERE c.role = 'client' GROUP BY {of_connection}), "
        f"chosen AS (SELECT * FROM uses WHERE {filters.where()}) "
    )
    endpoints = tables.query(f"WITH {uses}SELECT DISTINCT {_KEY} FROM chosen", filters.parameters).dicts()
    bad = tables.query(
        f"{judged(target)}, {uses}SELECT u.*, j.api_name, j.place, j.reason, j.refused_from, j.library, "
        "j.upgrade_to, j.upgrade_over "
        f"FROM chosen AS u JOIN (SELECT * FROM judged WHERE place < {FINE}) AS j ON {same} "
        f"ORDER BY place, requests DESC, {', '.join(f'u.{name}' for name in (*ENDPOINT, *_API))}",
        filters.parameters,
    ).dicts()
    owners = {tuple(row.values()): ownership.of(row) for row in endpoints}
    gravest = {(owner, endpoint[: len(CLIENT)]): FINE for endpoint, owner in owners.items()}
    found = {owner: OwnerImpact() for owner in owners.values()}
    for row in bad:
        endpoint = tuple(row[name] for name in ENDPOINT)
        client = (owners[endpoint], endpoint[: len(CLIENT)])
        gravest[client] = min(gravest[client], row["place"])
        row["owner"], row["verdict"] = owners[endpoint], WORST_FIRST[row["place"]]
    for (owner, *_), same_use in grouped(bad, ("owner", *USE)).items():
        found[owner].uses.append(
            same_use[0]
            | {
                "all_hosts": {row["remote_host"] or "unknown" for row in same_use},
                "requests": sum(row["requests"] for row in same_use),
                "first_seen": min(row["first_seen"] for row in same_use),
                "last_seen": max(row["last_seen"] for row in same_use),
            }
        )
    for (owner, _), place in gravest.items():
        found[owner].clients[WORST_FIRST[place]] += 1
    return found


def owners_table(found: Mapping[Owner | None, OwnerImpact], target: str, limit: int = 0) -> Table:
    """Clients by owner and verdict, the owner of most that break first."""
    columns = (
        "owner", "contact", "would_break", "not_with_later", "cannot_be_judged", "fine", "breaking_requests",
        "first_seen", "last_seen",
    )  # fmt: skip
    lines = []
    for owner, part in found.items():
        breaking = [use for use in part.uses if use["verdict"] == WORST_FIRST[0]]
        lines.append(
            (
                *named(owner),
                *(part.clients[verdict] for verdict in WORST_FIRST),
                sum(use["requests"] for use in breaking),
                min((use["first_seen"] for use in breaking), default=None),
                max((use["last_seen"] for use in breaking), default=None),
            )
        )
    lines.sort(key=lambda line: (-line[2], -line[3], -line[4], line[0] or ""))
    return Table("by_owner", f"Clients by owner, Kafka {target}", columns, lines).first(limit)


def owners_of_uses(found: Mapping[Owner | None, OwnerImpact]) -> dict[tuple[Any, ...], list[str]]:
    """Names of the owners of each use."""
    names: dict[tuple[Any, ...], set[str]] = {}
    for owner, part in found.items():
        for use in part.uses if owner else ():
            names.setdefault(tuple(use[name] for name in USE), set()).add(owner.name if owner else "")
    return {use: sorted(of_use) for use, of_use in names.items()}
