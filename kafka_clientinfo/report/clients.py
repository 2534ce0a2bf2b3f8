"""The inventory of clients: a table of all clients, and details of the first ones.

Details are a client's connections, violations, uses that are not fine at the target, and open connections over time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..config.rules import MAY_BE_CLIENTS, SEVERITY_ORDER
from ..questions.filters import Scope
from ..questions.impact import verdict_rank, verdict_reason
from ..questions.presenter import FEW_HOSTS, IN_WORDS, REFUSED_ALREADY, explained, identity, software
from ..questions.queries import hash_of, same
from ..questions.refused import Refusals
from ..questions.topics import topics_of_clients
from ..releases.broker_releases import ACCEPTED, FINE, WORST_FIRST
from ..tables.spec import CLIENT, CONNECTION_KEY
from .over_time import Buckets
from .table import TEXT, cell, declared, select

OwnersOfClients = Mapping[tuple[Any, ...], Sequence[str]]
"""Names and contacts of owners by the values of `CLIENT`; clients without a known owner are missing."""
TOPICS = 50
FINE_AS_FAR_AS_SEEN = f"{IN_WORDS[ACCEPTED]} as far as seen"
"""The verdict on clients that a release accepts, on hosts of which requests of unknown clients are refused already."""
_DETAIL = ("hosts", "brokers", "listeners", "security_protocols", "groups")


@dataclass(frozen=True, slots=True)
class Limits:
    """The size of the inventory: clients, clients with details, and connections in the details of each."""

    clients: int = 5_000
    detailed: int = 2_000
    connections: int = 10

    def halved(self) -> "Limits":
        return Limits(max(self.clients // 2, 1), self.detailed // 2, self.connections)


_VIOLATIONS = (
    f"{{violations}} AS v JOIN {{connections}} AS c ON {same('c', 'v', CONNECTION_KEY)} WHERE c.role = 'client' "
    f"AND v.{MAY_BE_CLIENTS}"
)
"""SQL for violations `v` with their connections `c`: those of clients' connections that may blame the client."""


class Inventory:
    """The clients in scope: first those that would break, then by the severity of their violations and by connections."""

    def __init__(
        self, scope: Scope, target: str, limits: Limits, buckets: Buckets, owners: OwnersOfClients, refused: Refusals
    ) -> None:
        self._scope, self._target, self._limits, self._buckets = scope, f"'{target}'", limits, buckets
        self._owners, self._refused = owners, refused
        self.topics = topics_of_clients(scope, TOPICS)
        self.rows_by_client: dict[tuple[Any, ...], int] = {}
        self.table, self.connections = declared("clients"), declared("connections_of_client").columns
        self.details: list[dict[str, Any]] = []
        self._detailed: dict[str, dict[str, Any]] = {}
        self._read_table()
        if self._detailed:
            self._add_connections()
            self._add_violations()
            self._add_uses()
            self._add_timelines()

    def cut(self, limits: Limits) -> None:
        del self.table.rows[limits.clients :], self.details[limits.detailed :]

    def _read_table(self) -> None:
        rows = self._scope.query(self._ranked())
        for hashed, worst, broken, connections, hosts, last, total, requests, first, apis, *more in rows:
            client, lists = tuple(more[: len(CLIENT)]), more[len(CLIENT) :]
            self.rows_by_client[client] = len(self.table.rows)
            cluster, principal, own_id, *of_software = client
            self.table.add(
                identity(own_id), principal, software(*of_software), self._verdict(worst, client, lists[0]), broken, connections,
                requests, hosts, list(lists[0] or ())[:FEW_HOSTS], last, cluster,
            )  # fmt: skip
            self.table.total = total
            if len(self.details) < self._limits.detailed:
                self._detailed[hashed] = _facts(lists, apis) | {"seen": [cell(first, "time"), cell(last, "time")]}
                for fact, texts in (("owners", self._owners.get(client)), ("topics", self.topics.get(client))):
                    if texts:
                        self._detailed[hashed]["facts"][fact] = cell(texts, "texts")
                self.details.append(self._detailed[hashed])

    def _verdict(self, worst: int, client: tuple[Any, ...], hosts: Sequence[str] | None) -> str:
        if worst == FINE and client in self._refused.clients:
            return IN_WORDS[REFUSED_ALREADY]
        is_sure = worst != FINE or not self._refused.may_be_of(client[0], hosts or ())
        return IN_WORDS[WORST_FIRST[worst]] if is_sure else FINE_AS_FAR_AS_SEEN

    def _ranked(self) -> str:
        names, broken = ", ".join(CLIENT), ", ".join(f"c.{name}" for name in CLIENT)
        ours = ", ".join(f"w.{name}" for name in CLIENT)
        lists = ", ".join(f"i.{name} AS {name}_list" for name in _DETAIL)
        return f"""
            SELECT {hash_of("w")} AS hashed, coalesce(u.worst, {FINE}) AS worst, coalesce(b.broken, 0) AS broken,
                   w.connections, w.hosts, unix_micros(w.last_seen) AS last, w.total, i.requests,
                   unix_micros(i.first_seen) AS first, i.apis, {ours}, {lists}
            FROM (SELECT *, count(*) OVER () AS total FROM {{who_connects}} AS a) AS w
            LEFT JOIN (SELECT {names}, min({verdict_rank(self._target)}) AS worst FROM {{upgrade_impact}}
                       GROUP BY {names}) AS u ON {same("w", "u")}
            LEFT JOIN (SELECT {broken}, count(*) AS broken, min({SEVERITY_ORDER}) AS gravest
                       FROM {_VIOLATIONS} GROUP BY {broken}) AS b ON {same("w", "b")}
            LEFT JOIN {{client_inventory}} AS i ON {same("w", "i")}
            ORDER BY CASE WHEN u.worst = 0 THEN 0 ELSE 1 END, coalesce(b.gravest, 9), w.connections DESC, {ours}
            LIMIT {self._limits.clients}"""

    def _of_detailed(self, columns: str, rows: str, more: str) -> str:
        hashed = hash_of("t")
        wanted = ", ".join(f"'{name}'" for name in self._detailed)
        return f"SELECT {hashed} AS hashed, {columns} FROM {rows} AS t WHERE {hashed} IN ({wanted}) {more}"

    def _add(self, name: str, statement: str, as_shown: Callable[..., list[Any]]) -> None:
        for hashed, *row in self._scope.query(statement):
            self._detailed[hashed].setdefault(name, []).append(as_shown(*row))

    def _add_connections(self) -> None:
        newest = (
            f"row_number() OVER (PARTITION BY {hash_of('t')} ORDER BY t.last_request_at DESC, broker, connection_id)"
        )
        numbered = self._of_detailed(
            f"{select(self.connections)}, {newest} AS newest", "{connections}", "AND role = 'client'"
        )
        statement = (
            f"SELECT * FROM ({numbered}) AS n WHERE newest <= {self._limits.connections} ORDER BY hashed, newest"
        )
        kinds = [column.kind for column in self.connections]
        self._add("connections", statement, lambda *row: list(map(cell, row[:-1], kinds)))

    def _add_violations(self) -> None:
        joined = f"(SELECT c.*, v.severity, v.blames, v.rule, v.occurrences, v.message FROM {_VIOLATIONS})"
        columns = "severity, blames, rule, count(*), CAST(sum(occurrences) AS BIGINT), min(message)"
        more = f"GROUP BY 1, 2, 3, 4 ORDER BY hashed, {SEVERITY_ORDER}, rule, blames"
        statement = self._of_detailed(columns, joined, more)
        self._add("violations", statement, lambda *row: [*row[:-1], cell(row[-1], "text")])

    def _add_uses(self) -> None:
        rank = verdict_rank(self._target)
        columns = f"{rank} AS rank, api_name, api_version, requests, {verdict_reason(self._target)}"
        more = f"AND {rank} < {FINE} ORDER BY hashed, rank, requests DESC, api_name, api_version"

        def as_shown(rank: int, api: str, version: int, requests: int, why: str) -> list[Any]:
            return [IN_WORDS[WORST_FIRST[rank]], f"{api} v{version}", requests, explained(why)]

        self._add("uses", self._of_detailed(columns, "{upgrade_impact}", more), as_shown)

    def _add_timelines(self) -> None:
        opened, last = self._buckets.of("opened_at"), self._buckets.of("last_request_at")
        columns = f"{opened} AS opened, {last} AS last, count(*)"
        more = "AND role = 'client' GROUP BY 1, 2, 3"
        rows = self._scope.query(self._of_detailed(columns, "{connections}", more))
        for hashed, numbers in self._buckets.sums(rows).items():
            self._detailed[hashed]["open"] = numbers


def _facts(lists: list[Any], apis: Any) -> dict[str, Any]:
    facts = {name: cell(list(values or ()), "texts") for name, values in zip(_DETAIL, lists, strict=True)}
    ranges = [(api["api_name"], f"v{api['min_version']}", f"v{api['max_version']}") for api in apis or ()]
    named = [f"{name} {low}" if low == high else f"{name} {low}–{high}" for name, low, high in ranges]
    return {
        "facts": {name: values for name, values in facts.items() if values} | ({"apis": named[:TEXT]} if named else {})
    }
