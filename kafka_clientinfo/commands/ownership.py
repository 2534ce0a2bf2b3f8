"""The owners of the clients of a warehouse, and the tables that commands show by owner.

Rules on principals, client ids, hosts, groups, topics, software and clusters give each endpoint at most one owner.

| word | columns | owners |
|---|---|---|
| client | `CLIENT`: cluster, principal, client id, software | those of its endpoints |
| endpoint | `ENDPOINT`: a client, and one remote host | one or none |
| use | `USE`: a client, and one version of an API | those of the endpoints that use it |

An owner belongs to an endpoint, not to a client, because programs of several owners may share principal, client id and
software (as on listeners without authentication). Python applies the rules to aggregated rows; SQL does not know them.
"""

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..config.owners import Owner, Owners, load_owners
from ..config.rules import SEVERITIES
from ..errors import ConfigError
from ..printable import safe
from ..protocol import UNKNOWN
from ..questions.filters import Scope
from ..questions.impact import add_accepted_since, add_connections_of_api, uses_at
from ..questions.presenter import counted
from ..questions.probable import add_probable
from ..questions.queries import grouped, same
from ..questions.topics import topics_of_clients
from ..releases.broker_releases import FINE, REFUSED, VERDICTS, WORST_FIRST
from ..tables.spec import ADVICE, CLIENT
from .output import Table

if TYPE_CHECKING:
    from .context import Context

ENDPOINT = (*CLIENT, "remote_host")
GROUP = "CASE WHEN t.connection_id IS NULL THEN t.group_id END"
"""SQL for the group of a violation `t` that is about a group; null for a violation that is about a connection."""
_KEY = ", ".join(ENDPOINT)
_RULE = ("severity", "blames", "rule")
_API = ("api_key", "api_version")
USE = (*CLIENT, "api_name", "api_version")


def add_owners(parser: argparse.ArgumentParser, *by: str) -> None:
    """Declare --owners, and --by for commands that aggregate by owner, or by something else too."""
    group = parser.add_argument_group("owners")
    group.add_argument("--owners", metavar="FILE", help="who owns which clients, in TOML; see conf/owners.toml")
    if by:
        group.add_argument("--by", choices=by, help=f"aggregate by {' or by '.join(by)}")


def given_owners(context: "Context") -> Owners:
    arguments = context.arguments
    owners = load_owners(context.settings(owners=arguments.owners).owners)
    if getattr(arguments, "by", None) == "owner" and not owners.rules:
        raise ConfigError("--by owner needs owners; name a file with --owners, or with the setting owners")
    return owners


@dataclass
class OwnerImpact:
    """The verdict on a release for one owner's clients.

    Attributes:
        clients: the number of clients by their worst verdict; a client counts for each owner of its hosts. Those of
            `refused_already` are not among them.
        uses: the uses that are not accepted, the gravest first: the columns of `USE`, all_hosts (a set), requests, first_seen,
            last_seen, verdict, reason, refused_from, library and `ADVICE` (the last ones null if not known), the client's
            connections with it, and what `add_probable`, `add_connections_of_api` and `add_accepted_since` add.
        refused_already: the number of clients that the release accepts by what they sent, and of which other requests are
            refused already.
    """

    clients: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VERDICTS, 0))
    uses: list[dict[str, Any]] = field(default_factory=list)
    hosts: set[tuple[str, str | None]] = field(default_factory=set)
    refused_already: int = 0
    refused_senders: list[dict[str, Any]] = field(default_factory=list)


class Ownership:
    def __init__(self, owners: Owners, scope: Scope) -> None:
        self._owners, self._scope = owners, scope
        self._matched: set[int] = set()
        self._groups: dict[tuple[Any, ...], list[str]] = {}
        self._topics = topics_of_clients(scope) if owners.ask("topics") else {}
        if owners.ask("groups"):
            rows = scope.tables.query(
                f"SELECT DISTINCT {_KEY}, group_id FROM {{connection_groups}} AS t WHERE takes_part AND role = 'client'"
            )
            for *endpoint, group_id in rows:
                self._groups.setdefault(tuple(endpoint), []).append(group_id)

    def of(self, row: Mapping[str, Any]) -> Owner | None:
        """Return the owner of an endpoint; `row` has the columns of `ENDPOINT`."""
        endpoint = tuple(row[name] for name in ENDPOINT)
        place = self._owners.rule_of({
            "principals": [row["principal"]], "client_ids": [row["client_id"]], "hosts": [row["remote_host"]],
            "groups": self._groups.get(endpoint, ()), "topics": self._topics.get(endpoint[: len(CLIENT)], ()),
            "software": [row["client_software_name"]], "clusters": [row["cluster"]],
        })  # fmt: skip
        if place is None:
            return None
        self._matched.add(place)
        return self._owners.rules[place].owner

    def of_violation(self, row: Mapping[str, Any]) -> Owner | None:
        """Return the owner of a violation; `row` has the columns of `ENDPOINT`, and group_id.

        For a violation that is about a group, these columns are null: its owner is that of the group, by the group's id.
        """
        if row["remote_host"] is None and row["client_software_name"] is None:
            return (
                self._owners.of(groups=[row["group_id"]], clusters=[row["cluster"]])
                if row["group_id"] is not None
                else None
            )
        return self.of(row)

    def of_clients(self) -> dict[tuple[Any, ...], list[Owner]]:
        """Return the owners of each client that has any, sorted by name; filters do not apply."""
        by_client = {}
        for client, endpoints in grouped(seen_endpoints(Scope(self._scope.tables)), CLIENT).items():
            if owners := {owner for row in endpoints if (owner := self.of(row))}:
                by_client[client] = sorted(owners, key=lambda owner: owner.name)
        return by_client

    def names_of_clients(self) -> dict[tuple[Any, ...], list[str]]:
        return {client: [owner.name for owner in owners] for client, owners in self.of_clients().items()}

    def idle_rules(self) -> list[str]:
        """Return a note on the rules that fit no client of the warehouse, or only clients of earlier rules."""
        if self._owners.rules:
            self.of_clients()
        idle = [
            f"{place + 1} ({safe(rule.owner.name)})"
            for place, rule in enumerate(self._owners.rules)
            if place not in self._matched
        ]
        return (
            [f"Rules for owners that fit no client, or only those of earlier rules: {', '.join(idle)}."] if idle else []
        )

    def clients(self, title: str = "", limit: int = 0) -> Table:
        """Return clients, connections and requests by owner, first those of nobody; a client counts for each owner of its hosts.

        Only connections that fit the filters count.
        """
        columns = ("owner", "contact", "clients", "connections", "requests", "hosts", "first_seen", "last_seen")
        lines: list[tuple[Any, ...]] = []
        endpoints = [row | {"owner": self.of(row)} for row in seen_endpoints(self._scope)]
        for (owner,), rows in grouped(endpoints, ("owner",)).items():
            counts = (_sum(rows, "connections"), _sum(rows, "requests"), len({row["remote_host"] for row in rows}))
            clients = len(grouped(rows, CLIENT))
            lines.append((*named(owner), clients, *counts, *_span(rows, "first_seen", "last_seen")))
        lines.sort(key=lambda line: (line[0] is not None, -line[columns.index("connections")], line[0] or ""))
        return Table(title, columns, lines, name="owners").first(limit)

    def violations(self, rows: Sequence[Mapping[str, Any]], limit: int) -> Table:
        """Sum up violations by owner and rule, errors first; the rows are those of the command `violations`, by client."""
        columns = ("owner", "contact", *_RULE, "violations", "occurrences", "rejected", "first_at", "last_at")
        with_owner = [{**row, "owner": self.of_violation(row)} for row in rows]
        lines = []
        for (owner, *rule), rule_rows in grouped(with_owner, ("owner", *_RULE)).items():
            rejected = None if all(row["rejected"] is None for row in rule_rows) else _sum(rule_rows, "rejected")
            counts = (_sum(rule_rows, "violations"), _sum(rule_rows, "occurrences"), rejected)
            severity, blames, name = rule
            order = (SEVERITIES.index(severity), -counts[0], name, blames, owner.name if owner else "")
            lines.append((order, (*named(owner), *rule, *counts, *_span(rule_rows, "first_at", "last_at"))))
        lines.sort(key=lambda pair: pair[0])
        return Table("", columns, [line for _, line in lines]).first(limit)

    def impact(self, target: str, refused: Sequence[dict[str, Any]] = ()) -> dict[Owner | None, OwnerImpact]:
        """Return the verdict on a release for each owner; the key None has the clients without one.

        The hosts of a client may have different owners, so that requests and times by host come from `api_usage`, and only the
        verdict from `upgrade_impact`, which has one row per client, API and version. `refused` are `Refusals.senders`.
        """
        tables, filters = self._scope.tables, self._scope.filters
        used = f"{_KEY}, {', '.join(_API)}"
        uses = (
            f"uses AS (SELECT {used}, CAST(sum(requests) AS BIGINT) AS requests, min(first_at) AS first_seen, "
            f"max(last_at) AS last_seen FROM {{api_usage}} AS t WHERE role = 'client' GROUP BY {used}), "
            f"chosen AS (SELECT * FROM uses WHERE {filters.where()}) "
        )
        endpoints = tables.query(f"WITH {uses}SELECT DISTINCT {_KEY} FROM chosen", filters.parameters).dicts()
        not_fine = tables.query(
            f"{uses_at(target)}, {uses}SELECT u.*, j.api_name, j.rank, j.reason, j.refused_from, j.library, j.connections, "
            f"{', '.join(f'j.{name}' for name in ADVICE)} "
            f"FROM chosen AS u JOIN (SELECT * FROM uses_at WHERE rank < {FINE}) AS j ON {same('u', 'j', (*CLIENT, *_API))} "
            f"ORDER BY rank, requests DESC, {', '.join(f'u.{name}' for name in (*ENDPOINT, *_API))}",
            filters.parameters,
        ).dicts()
        owners = {tuple(row.values()): self.of(row) for row in endpoints}
        gravest = {(owner, endpoint[: len(CLIENT)]): FINE for endpoint, owner in owners.items()}
        impacts = {owner: OwnerImpact() for owner in owners.values()}
        for endpoint, owner in owners.items():
            impacts[owner].hosts.add((endpoint[0], endpoint[-1]))
        for row in not_fine:
            endpoint = tuple(row[name] for name in ENDPOINT)
            client = (owners[endpoint], endpoint[: len(CLIENT)])
            gravest[client] = min(gravest[client], row["rank"])
            row["owner"], row["verdict"] = owners[endpoint], WORST_FIRST[row["rank"]]
        add_probable(tables, not_fine, target)
        add_connections_of_api(tables, not_fine)
        add_accepted_since(tables, not_fine, target)
        for (owner, *_), same_use in grouped(not_fine, ("owner", *USE)).items():
            hosts, requests = {row["remote_host"] or UNKNOWN for row in same_use}, _sum(same_use, "requests")
            first, last = _span(same_use, "first_seen", "last_seen")
            sums = {"all_hosts": hosts, "requests": requests, "first_seen": first, "last_seen": last}
            impacts[owner].uses.append(same_use[0] | sums)
        refused_clients = set()
        for sender in refused:
            endpoint = tuple(sender[name] for name in ENDPOINT)
            if sender["is_known"] and endpoint in owners:
                refused_clients.add((owners[endpoint], endpoint[: len(CLIENT)]))
                impacts[owners[endpoint]].refused_senders.append(sender)
        for client, rank in gravest.items():
            if rank == FINE and client in refused_clients:
                impacts[client[0]].refused_already += 1
            else:
                impacts[client[0]].clients[WORST_FIRST[rank]] += 1
        return impacts


def seen_endpoints(scope: Scope) -> list[dict[str, Any]]:
    return scope.query(
        f"SELECT {_KEY}, count(*) AS connections, CAST(sum(requests) AS BIGINT) AS requests, "
        "min(opened_at) AS first_seen, max(last_request_at) AS last_seen FROM {connections} AS c "
        f"WHERE role = 'client' GROUP BY {_KEY}"
    ).dicts()


def owners_table(
    impacts: Mapping[Owner | None, OwnerImpact],
    target: str,
    info_clusters: Collection[str] = (),
    with_idle: bool = True,
) -> Table:
    """Return clients by owner and verdict; the owner with the most clients that break comes first.

    Owners of nothing but clients that are fine are rows only if `with_idle`; else the title has their number.
    In `info_clusters` clients that are fine are not logged, so that there is no number of them in place of 0.
    """
    columns = ("owner", "contact", *WORST_FIRST, "refused_requests", "first_seen", "last_seen", "refused_already")
    lines = []
    for owner, impact in impacts.items():
        breaking = [use for use in impact.uses if use["verdict"] == REFUSED]
        clients: list[int | None] = [impact.clients[verdict] for verdict in WORST_FIRST]
        if not clients[FINE] and impact.hosts and all(cluster in info_clusters for cluster, _ in impact.hosts):
            clients[FINE] = None
        seen = _span(breaking, "first_seen", "last_seen")
        lines.append((*named(owner), *clients, _sum(breaking, "requests"), *seen, impact.refused_already))
    busy = [line for line in lines if with_idle or line[-1] or any(line[2 : 2 + FINE])]
    busy.sort(key=lambda line: (-line[2], -line[3], -line[4], line[0] or ""))
    idle = f" ({counted(len(lines) - len(busy), 'row')} with nothing to do left out)" if len(lines) > len(busy) else ""
    return Table(f"Clients by owner, Kafka {target}{idle}", columns, busy)


def owners_of_uses(impacts: Mapping[Owner | None, OwnerImpact]) -> dict[tuple[Any, ...], list[str]]:
    names_by_use: dict[tuple[Any, ...], set[str]] = {}
    for owner, impact in impacts.items():
        if owner is not None:
            for use in impact.uses:
                names_by_use.setdefault(tuple(use[column] for column in USE), set()).add(owner.name)
    return {use: sorted(names) for use, names in names_by_use.items()}


def named(owner: Owner | None) -> tuple[str | None, str | None]:
    return (owner.name, owner.contact or None) if owner else (None, None)


def _sum(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    return sum(row[name] or 0 for row in rows)


def _span(rows: Sequence[Mapping[str, Any]], first: str, last: str) -> tuple[Any, Any]:
    return min((row[first] for row in rows), default=None), max((row[last] for row in rows), default=None)
