"""What brokers refuse already: requests on which they closed the connection, as only their server.log shows.

A refused request names its client if the request log has earlier requests of the same connection. Of the others only
the host is known: any of its clients may have sent them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..tables.spec import CLIENT
from .filters import Filters, Scope
from .queries import grouped

NO_VERSION = "('request_version_refused', 'advertised_version_refused', 'version_refused_without_offer')"
"""SQL for the rules of `violations` about requests with a version that a broker does not take."""
_KIND = ("cluster", "broker", "remote_host", "api_name", "api_version")
_SENDER = ("broker", "remote_host", "is_known", *CLIENT)
_MOST_NAMED = 20


@dataclass
class Refusals:
    """The requests that brokers have refused within the last day of their logs.

    Attributes:
        kinds: rows of the view `refused_requests`, most requests first. If filters choose clients, only the requests count
            that are certainly theirs, or name no client and are from their hosts.
        senders: requests, first_at and last_at by broker, remote_host, `CLIENT` and is_known; if that is false, the client is
            not known, and only cluster, broker and host are.
    """

    kinds: list[dict[str, Any]] = field(default_factory=list)
    senders: list[dict[str, Any]] = field(default_factory=list)

    @cached_property
    def clients(self) -> set[tuple[Any, ...]]:
        return {tuple(row[name] for name in CLIENT) for row in self.senders if row["is_known"]}

    @cached_property
    def hosts(self) -> set[tuple[str, str | None]]:
        return {(row["cluster"], row["remote_host"]) for row in self.senders if not row["is_known"]}

    def may_be_of(self, cluster: str, hosts: Iterable[str]) -> bool:
        return any((cluster, host) in self.hosts for host in (None, *hosts))


def refusals(scope: Scope) -> Refusals:
    """Return what brokers have refused within the last day of their logs, of the clients in scope or from their hosts.

    A broker closes the connection of a request with a version that it does not take, and no request log has that
    request. So clients that are refused may look fine, by what else they send.
    """
    filters = scope.filters
    times = Filters(filters.since, filters.until, filters.cluster).where("first_at", "last_at")
    kinds = scope.tables.query(
        f"SELECT {', '.join(_KIND)}, requests, first_at, last_at, client_ids, named_requests, named_clients "
        "FROM {refused_requests} AS r "
        "LEFT JOIN (SELECT cluster AS its_cluster, max(last_logged_at) AS logged_until FROM {ingested_files} GROUP BY cluster) AS f "
        f"ON r.cluster = f.its_cluster WHERE (f.logged_until IS NULL OR r.last_at >= f.logged_until - INTERVAL '1' DAY) AND {times} "
        f"ORDER BY requests DESC, {', '.join(_KIND)}",
        filters.parameters,
    ).dicts()
    if not kinds:
        return Refusals()
    parts = grouped(_parts(scope), _KIND)
    found = Refusals([_with_parts(kind, own) for kind in kinds if (own := parts.get(_values(kind, _KIND)))])
    of_kinds = [part for kind in found.kinds for part in parts[_values(kind, _KIND)]]
    for sender, own in grouped(of_kinds, _SENDER).items():
        found.senders.append(dict(zip(_SENDER, sender, strict=True)) | _sums(own))
    return found


def _parts(scope: Scope) -> list[dict[str, Any]]:
    """Return the refused requests by kind and client; of those without one, only what is from hosts of clients in scope."""
    chosen = Filters(principal=scope.filters.principal, client=scope.filters.client)
    of_client = {"cluster": "cluster"} | {name: f"client.{name}" for name in CLIENT[1:]}
    columns = ", ".join(f"{sql} AS {name}" for name, sql in of_client.items() if sql != name)
    where = "true"
    if chosen != Filters():
        hosts = f"SELECT c.remote_host FROM {{connections}} AS c WHERE role = 'client' AND {chosen.where()}"
        where = f"(is_known AND {chosen.where()}) OR (NOT is_known AND remote_host IN ({hosts}))"
    return scope.tables.query(
        f"WITH refused AS (SELECT {', '.join(_KIND)}, logged_at, is_client_known AS is_known, {columns} "
        f"FROM {{refusals}} AS r WHERE rule IN {NO_VERSION}) "
        f"SELECT {', '.join(_KIND)}, is_known, {', '.join(CLIENT[1:])}, count(*) AS requests, "
        f"min(logged_at) AS first_at, max(logged_at) AS last_at FROM refused WHERE {where} "
        f"GROUP BY {', '.join(_KIND)}, is_known, {', '.join(CLIENT[1:])} "
        f"ORDER BY requests DESC, {', '.join(_KIND)}, {', '.join(CLIENT[1:])}",
        scope.filters.parameters,
    ).dicts()


def _with_parts(kind: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    known = [part for part in parts if part["is_known"]]
    columns = (*CLIENT[1:], "requests")
    return {
        **kind,
        **_sums(parts),
        "named_requests": sum(part["requests"] for part in known),
        "named_clients": [dict(zip(columns, _values(part, columns), strict=True)) for part in known[:_MOST_NAMED]],
    }


def _sums(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "requests": sum(part["requests"] for part in parts),
        "first_at": min(part["first_at"] for part in parts).replace(microsecond=0),
        "last_at": max(part["last_at"] for part in parts).replace(microsecond=0),
    }


def _values(row: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)
