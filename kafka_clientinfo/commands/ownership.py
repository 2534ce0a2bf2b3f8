"""Who owns the clients of a warehouse.

Owners are told by rules on principals, client ids, hosts, groups and software. Programs of several owners may share
principal, client id and software, as where nobody logs in; so what has an owner is a client on one host, an endpoint. A
client has the owners of its endpoints. Rules are applied here, to aggregated rows: SQL knows nothing of them.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..filters import Scope
from ..impact import FINE, judged
from ..owners import Owner, Owners, load_owners
from ..rules import SEVERITY_ORDER
from ..tables.broker_releases import VERDICTS, WORST_FIRST
from ..tables.spec import CLIENT, CONNECTION_KEY
from .output import Table

if TYPE_CHECKING:
    from .context import Context

ENDPOINT = (*CLIENT, "remote_host")
SAME_CONNECTION = " AND ".join(f"c.{name} = t.{name}" for name in CONNECTION_KEY)
"""A condition in SQL that a row `t` belongs to a connection `c`."""
GROUP = "CASE WHEN t.connection_id IS NULL THEN t.group_id END"
"""SQL for the group that a violation `t` is about, where it is about no connection."""
WITH_CONNECTION = f"{{violations}} AS t LEFT JOIN {{connections}} AS c ON {SAME_CONNECTION}"
"""SQL for violations `t`, each with its connection `c`; all columns of `c` are null where there is none."""
_KEY = ", ".join(ENDPOINT)
_OF_CONNECTION = ", ".join(f"c.{name}" for name in ENDPOINT)
_RULE = ("severity", "blames", "rule")
_API = ("api_key", "api_version")
USE = (*CLIENT, "api_name", "api_version")
"""Columns that name a client's use of a version."""


def add_owners(parser: argparse.ArgumentParser, by: bool = True) -> None:
    """Declare --owners, and --by where a command aggregates by owner."""
    group = parser.add_argument_group("owners")
    group.add_argument("--owners", metavar="FILE", help="who owns which clients, in TOML; see conf/owners.toml")
    if by:
        group.add_argument("--by", choices=("owner",), help="aggregate by owner")


def given_owners(context: "Context") -> Owners:
    """The owners of --owners, or of the settings; empty where neither names a file.

    Raises:
        ConfigError: the file is wrong, or --by owner is given without one.
    """
    given = context.arguments
    owners = load_owners(context.settings(owners=given.owners).owners)
    if getattr(given, "by", None) and not owners.rules:
        raise ConfigError("--by owner needs owners; name a file with --owners, or with the setting owners")
    return owners


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


class Ownership:
    """The owners of what connects to a warehouse's brokers, by rules."""

    def __init__(self, owners: Owners, scope: Scope) -> None:
        """Read which groups endpoints take part in, where a rule asks for them."""
        self._owners, self._scope = owners, scope
        self._groups: dict[tuple[Any, ...], list[str]] = {}
        if owners.ask_groups:
            found = scope.tables.query(
                f"SELECT DISTINCT {_OF_CONNECTION}, t.group_id FROM {{connection_groups}} AS t "
                f"JOIN {{connections}} AS c ON {SAME_CONNECTION} WHERE t.takes_part AND c.role = 'client'"
            )
            for *endpoint, group_id in found:
                self._groups.setdefault(tuple(endpoint), []).append(group_id)

    def of(self, row: Mapping[str, Any]) -> Owner | None:
        """The owner of an endpoint, from a row with its columns."""
        groups = self._groups.get(tuple(row[name] for name in ENDPOINT), ())
        return self._owners.of(
            row["principal"], row["client_id"], row["remote_host"], groups, row["client_software_name"]
        )

    def of_violation(self, row: Mapping[str, Any]) -> Owner | None:
        """The owner of a violation, from a row with the columns of its connection's endpoint, and group_id.

        That is its connection's owner; where it is about a group and no connection, the owner of the group by its name.
        """
        if row["remote_host"] is None and row["client_software_name"] is None:
            return self._owners.of(groups=[row["group_id"]]) if row["group_id"] is not None else None
        return self.of(row)

    def of_clients(self) -> dict[tuple[Any, ...], list[Owner]]:
        """The owners of every client that has some, by name."""
        found = {}
        for client, endpoints in grouped(_endpoints(Scope(self._scope.tables)), CLIENT).items():
            if owners := {owner for row in endpoints if (owner := self.of(row))}:
                found[client] = sorted(owners, key=lambda one: one.name)
        return found

    def names_of_clients(self) -> dict[tuple[Any, ...], list[str]]:
        """The names of the owners of every client that has some."""
        return {client: [owner.name for owner in owners] for client, owners in self.of_clients().items()}

    def with_owners(self, found: Table) -> Table:
        """A table of clients with one column more: the names of their owners."""
        names = self.names_of_clients()
        places = [found.columns.index(name) for name in CLIENT]
        rows = [(*row, names.get(tuple(row[place] for place in places), [])) for row in found.rows]
        return replace(found, columns=(*found.columns, "owners"), rows=rows)

    def clients(self, title: str = "", limit: int = 0) -> Table:
        """What connects, by owner; a client counts for each owner of its hosts. Figures are of connections that fit."""
        columns = (
            "owner", "contact", "clients", "connections", "requests", "hosts", "first_seen", "last_seen",
        )  # fmt: skip
        lines: list[tuple[Any, ...]] = []
        endpoints = [row | {"owner": self.of(row)} for row in _endpoints(self._scope)]
        for (owner,), rows in grouped(endpoints, ("owner",)).items():
            counts = (_sum(rows, "connections"), _sum(rows, "requests"), len({row["remote_host"] for row in rows}))
            clients = len(grouped(rows, CLIENT))
            lines.append((*named(owner), clients, *counts, *_span(rows, "first_seen", "last_seen")))
        lines.sort(key=lambda line: (-line[columns.index("connections")], line[0] or ""))
        return Table(title, columns, lines, name="owners").first(limit)

    def violations(self, condition: str, parameters: Mapping[str, str], limit: int = 0) -> Table:
        """Violations by owner and rule, errors first; `condition` is SQL that chooses some, with its parameters."""
        columns = ("owner", "contact", *_RULE, "violations", "occurrences", "rejected", "first_at", "last_at")
        kinds = f"{', '.join(f't.{name}' for name in _RULE)}, {_OF_CONNECTION}, {GROUP}"
        rows = self._scope.query(
            f"SELECT {kinds} AS group_id, count(*) AS violations, CAST(sum(t.occurrences) AS BIGINT) AS occurrences, "
            "CAST(sum(t.rejected) AS BIGINT) AS rejected, min(t.first_at) AS first_at, max(t.last_at) AS last_at, "
            f"min({SEVERITY_ORDER}) AS place FROM {WITH_CONNECTION}{condition} GROUP BY {kinds}",
            parameters,
        ).dicts()
        found = [row | {"owner": self.of_violation(row)} for row in rows]
        lines = []
        for (owner, *kind), of_rule in grouped(found, ("owner", *_RULE)).items():
            rejected = None if all(row["rejected"] is None for row in of_rule) else _sum(of_rule, "rejected")
            counts = (_sum(of_rule, "violations"), _sum(of_rule, "occurrences"), rejected)
            line = (*named(owner), *kind, *counts, *_span(of_rule, "first_at", "last_at"))
            lines.append((of_rule[0]["place"], line))
        lines.sort(key=lambda item: (item[0], -item[1][5], item[1][4], item[1][3], item[1][0] or ""))
        return Table("", columns, [line for _, line in lines]).first(limit)

    def impact(self, target: str) -> dict[Owner | None, OwnerImpact]:
        """The verdict on a release for each owner, and for clients without one.

        `upgrade_impact` has one row per client, API and version; here each is divided among the hosts that the client
        connects from (`api_usage` by connection), as these may have different owners. Requests and times are then those
        of the hosts.
        """
        tables, filters = self._scope.tables, self._scope.filters
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
        owners = {tuple(row.values()): self.of(row) for row in endpoints}
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


def _endpoints(scope: Scope) -> list[dict[str, Any]]:
    return scope.query(
        f"SELECT {_KEY}, count(*) AS connections, CAST(sum(requests) AS BIGINT) AS requests, "
        "min(opened_at) AS first_seen, max(last_request_at) AS last_seen FROM {connections} AS c "
        f"WHERE role = 'client' GROUP BY {_KEY}"
    ).dicts()


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
    return Table(f"Clients by owner, Kafka {target}", columns, lines).first(limit)


def owners_of_uses(found: Mapping[Owner | None, OwnerImpact]) -> dict[tuple[Any, ...], list[str]]:
    """Names of the owners of each use."""
    names: dict[tuple[Any, ...], set[str]] = {}
    for owner, part in found.items():
        if owner is not None:
            for use in part.uses:
                names.setdefault(tuple(use[name] for name in USE), set()).add(owner.name)
    return {use: sorted(of_use) for use, of_use in names.items()}


def grouped(rows: Iterable[dict[str, Any]], names: Sequence[str]) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Rows by their values of some columns."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def named(owner: Owner | None) -> tuple[str | None, str | None]:
    """Name and contact, as an answer has them; a contact that is not known is null."""
    return (owner.name, owner.contact or None) if owner else (None, None)


def _sum(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    return sum(row[name] or 0 for row in rows)


def _span(rows: Sequence[Mapping[str, Any]], first: str, last: str) -> tuple[Any, Any]:
    return min(row[first] for row in rows), max(row[last] for row in rows)
