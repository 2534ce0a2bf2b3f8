"""Reads the verdict on an upgrade or downgrade: which clients break at a release, and what the log cannot tell."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ..errors import WarehouseError
from ..logs.apis import SASL_APIS
from ..releases.broker_releases import ACCEPTED, FINE, REFUSED, VERDICTS, WORST_FIRST, other_release, release, releases
from ..tables.spec import ADVICE, CLIENT, CONNECTION_KEY
from .filters import Filters, Scope
from .presenter import IN_WORDS, REFUSED_ALREADY, counted, version_numbers
from .probable import add_probable
from .queries import Rows, Tables, grouped, same
from .refused import Refusals, refusals
from .trust import brokers_without_logs, info_logs, is_only_info, names_of, nobody, of_cluster, of_logs, partly_logged

_SAYS_LITTLE = ("METADATA", "API_VERSIONS", *sorted(SASL_APIS))
_TIMES = ("first_seen", "last_seen")
_PROGRAM = ("cluster", "principal", "client_id")
_A_DAY = timedelta(days=1)
"""Without refused requests, after which a client that goes on with others counts as perhaps upgraded."""
_SPANS = 20
"""The number of clusters of which the times are named."""
_ROW = (*CLIENT, "api_name", "api_version", "requests", "connections", "hosts", "host_list", *_TIMES)
MARKS = dict(zip(IN_WORDS, "X!?R.", strict=True))
"""The mark of each verdict in `Impact.matrix`."""


@dataclass
class Doubts:
    """How far the numbers of clients by verdict hold: clients that a release accepts, or refuses, but only by what they sent.

    Attributes:
        clients_refused_already: those with the verdict `REFUSED_ALREADY`: accepted, but brokers refuse other requests of theirs
            already, so that they are not fine. The other numbers are without them.
        barely_seen: those accepted that were seen to ask for metadata and versions only. Other requests of theirs may be in no log
            that was read: a program had just begun, or its log was cut.
        fine_beside_refused: those accepted from hosts with requests that are refused already, and of which the client is not
            known. If the host is not known either, it may be any of the cluster's.
        is_only_info: whether all logs are at INFO, so that others that are fine are not logged.
        maybe_upgraded: those that the release refuses, but only by what they sent before `accepted_since`.
    """

    clients_refused_already: int = 0
    barely_seen: int = 0
    fine_beside_refused: int = 0
    is_only_info: bool = False
    maybe_upgraded: int = 0


@dataclass
class Impact:
    """The effect of a target release on the clients of a warehouse.

    Attributes:
        target: the measured release that is judged, see `release`; None if all releases are asked for.
        breaks: whether a client would break (at the target, or at any release if there is no target), or is refused already.
        brokers: rows of the view `broker_releases`: what the brokers run today.
        refused_already: what brokers refuse already, see `Refusals.kinds`.
        clients: number of clients per worst verdict, for the target; without those of `clients_refused_already`.
        rows: what is not accepted at the target, one row per client, API and version; the worst first, then the most used.
            Columns with `probable_` in front, and candidate_software, are about clients without a name, see `probable.add_probable`.
            connections_of_api: see `add_connections_of_api`. accepted_since: see `add_accepted_since`.
        found: number of such rows per verdict, before a limit applies.
        reasons: the reasons in all of them.
        by_release: number of clients per worst verdict, for every release; `REFUSED_ALREADY` is one of them.
        matrix: per client that is not fine at every release: its columns and `marks`, one character per release.
        matrix_clients: number of such clients, before a limit applies.
        cannot_tell: sentences about what the log, or the reference data, do not show.
        refused_senders: who sent what is refused already, see `Refusals.senders`.
        doubts: how far these numbers of clients hold at the target; without one, `fine_beside_refused` is of all releases.
    """

    target: str | None
    breaks: bool = False
    brokers: list[dict[str, Any]] = field(default_factory=list)
    refused_already: list[dict[str, Any]] = field(default_factory=list)
    clients: dict[str, int] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    found: dict[str, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    by_release: dict[str, dict[str, int]] = field(default_factory=dict)
    matrix: list[dict[str, Any]] = field(default_factory=list)
    matrix_clients: int = 0
    cannot_tell: list[str] = field(default_factory=list)
    refused_senders: list[dict[str, Any]] = field(default_factory=list)
    doubts: Doubts = field(default_factory=Doubts)

    @property
    def refusals(self) -> Refusals:
        """What brokers refuse already, with who sent it."""
        return Refusals(self.refused_already, self.refused_senders)

    def document(self) -> dict[str, Any]:
        """Return what `--json` prints, with the doubts beside the numbers."""
        return {name: value for name, value in vars(self).items() if name != "doubts"} | vars(self.doubts)


def impact(scope: Scope, target: str | None, all_targets: bool = False, waits: bool = False, limit: int = 0) -> Impact:
    """Read the verdicts of a built warehouse: on a release, and with `all_targets` on all of them.

    `waits` says that there are requests which no build has seen. `limit` bounds the rows per verdict and the matrix;
    0 is no limit.

    Raises:
        ConfigError: no release of the target's series was measured.
        WarehouseError: there are no requests by which a client can be judged.
    """
    measured = None if target is None else release(target)
    refused = refusals(scope)
    result = Impact(None if measured is None else measured.name, refused_already=refused.kinds)
    result.refused_senders = refused.senders
    result.brokers = scope.query("SELECT * FROM {broker_releases} AS b ORDER BY cluster, broker").dicts()
    if result.target is not None:
        _for_target(result, scope, result.target, limit)
    if all_targets:
        _for_all(result, scope, limit)
    counted = [result.clients] if measured is not None else list(result.by_release.values())
    result.breaks = bool(result.refused_already) or any(counts.get(REFUSED) for counts in counted)
    result.cannot_tell = _cannot_tell(result, scope, waits)
    if measured is not None and (sentence := other_release(str(target), measured)) is not None:
        result.cannot_tell.insert(0, sentence)
    if not result.refused_already and not any(number for counts in counted for number in counts.values()):
        raise WarehouseError(nobody(scope, f"no client of {scope.tables.root}"))
    return result


def verdict_rank(target: str) -> str:
    """Return SQL for the rank in `WORST_FIRST` of a row of `upgrade_impact` at a target.

    Args:
        target: SQL for the name of the release, such as a quoted text.
    """
    columns = ("refused_by", "deprecated_by", "undecided_by")
    cases = " ".join(f"WHEN {name}[{target}] IS NOT NULL THEN {rank}" for rank, name in enumerate(columns))
    return f"CASE {cases} ELSE {len(columns)} END"


def verdict_reason(target: str) -> str:
    """Return SQL for the reason of a row's verdict at a target, a key of `REASONS`; null if it is accepted.

    The argument is that of `verdict_rank`.
    """
    later = f"CASE WHEN deprecated_by[{target}] IS NOT NULL THEN 'refused_later' END"
    return f"coalesce(refused_by[{target}], {later}, undecided_by[{target}])"


def uses_at(target: str) -> str:
    """Begin a query: `uses_at` is `upgrade_impact` with `rank`, its index in `WORST_FIRST`, and the reason."""
    quoted, columns = f"'{target}'", ", ".join((*_ROW, "api_key", "library"))
    return (
        f"WITH uses_at AS (SELECT {columns}, {verdict_rank(quoted)} AS rank, {verdict_reason(quoted)} AS reason, "
        f"deprecated_by[{quoted}] AS refused_from, {', '.join(f'{name}[{quoted}] AS {name}' for name in ADVICE)} "
        "FROM {upgrade_impact} AS i) "
    )


def clients_by_verdict(scope: Scope, target: str) -> dict[str, int]:
    """Return the number of clients per worst verdict at a measured release."""
    worst = f"SELECT min(rank) AS rank FROM uses_at GROUP BY {', '.join(CLIENT)}"
    counts = scope.query(f"{uses_at(target)}SELECT rank, count(*) AS clients FROM ({worst}) AS worst GROUP BY rank")
    return dict.fromkeys(VERDICTS, 0) | {WORST_FIRST[rank]: number for rank, number in counts}


def doubts(scope: Scope, target: str, refused: Refusals) -> Doubts:
    """Return how many of the clients that a measured release accepts may not be fine."""
    client = ", ".join(CLIENT)
    little = f"bool_and(api_name IN {_SAYS_LITTLE})"
    if not refused.senders:
        seen = f"SELECT {client} FROM uses_at GROUP BY {client} HAVING min(rank) = {FINE} AND {little}"
        ((number,),) = scope.query(f"{uses_at(target)}SELECT count(*) FROM ({seen}) AS s")
        return Doubts(barely_seen=int(number))
    accepted = scope.query(
        f"{uses_at(target)}SELECT {client}, {little}, flatten(collect_list(host_list)) FROM uses_at GROUP BY {client} "
        f"HAVING min(rank) = {FINE}"
    )
    result = Doubts()
    for *own, says_little, listed in accepted:
        if tuple(own) in refused.clients:
            result.clients_refused_already += 1
        else:
            result.barely_seen += says_little
            result.fine_beside_refused += refused.may_be_of(own[0], listed)
    return result


def count_clients(scope: Scope, target: str, refused: Refusals) -> tuple[dict[str, int], Doubts]:
    """Return the number of clients per worst verdict at a measured release, without those refused already, and `Doubts`."""
    clients, limits = clients_by_verdict(scope, target), doubts(scope, target, refused)
    clients[ACCEPTED] -= limits.clients_refused_already
    limits.is_only_info = is_only_info(scope)
    if clients[REFUSED] and (since := accepted_since(scope.tables, target)):
        refusing = scope.query(f"{uses_at(target)}SELECT DISTINCT {', '.join(CLIENT)} FROM uses_at WHERE rank = 0")
        limits.maybe_upgraded = sum(tuple(client[: len(_PROGRAM)]) in since for client in refusing)
    return clients, limits


def _for_target(result: Impact, scope: Scope, target: str, limit: int) -> None:
    rows, client = uses_at(target), ", ".join(CLIENT)
    result.clients, result.doubts = count_clients(scope, target, result.refusals)
    counts = scope.query(
        f"{rows}SELECT rank, reason, count(*) AS number, max(requests) AS most FROM uses_at WHERE rank < {FINE} "
        "GROUP BY rank, reason ORDER BY rank, most DESC, reason"
    )
    for rank, _, number, _ in counts:
        result.found[WORST_FIRST[rank]] = result.found.get(WORST_FIRST[rank], 0) + number
    result.reasons = list(dict.fromkeys(reason for _, reason, _, _ in counts))
    order = f"requests DESC, {client}, api_key, api_version"
    few = f" WHERE number <= {limit}" if limit else ""
    shown = scope.query(
        f"{rows}, numbered AS (SELECT *, row_number() OVER (PARTITION BY rank ORDER BY {order}) AS number "
        f"FROM uses_at WHERE rank < {FINE}) SELECT {', '.join(_ROW)}, rank AS verdict, reason, refused_from, library, "
        f"{', '.join(ADVICE)} FROM numbered{few} ORDER BY rank, {order}"
    )
    for row in shown.dicts():
        seconds = {name: row[name].replace(microsecond=0) for name in _TIMES}
        result.rows.append(row | seconds | {"verdict": WORST_FIRST[row["verdict"]]})
    add_probable(scope.tables, result.rows, target)
    add_connections_of_api(scope.tables, result.rows)
    add_accepted_since(scope.tables, result.rows, target)


def add_connections_of_api(tables: Tables, uses: Sequence[dict[str, Any]]) -> None:
    """Add to uses how many connections of the client sent any version of the API: `connections` of them sent this one.

    Programs of several releases may share what a client is called, so that only some of its connections break.
    """
    client, connection = ", ".join(CLIENT), ", ".join(CONNECTION_KEY)
    numbers = {
        tuple(key): number
        for *key, number in tables.query(
            f"SELECT {client}, api_name, count(DISTINCT ({connection})) FROM {{api_usage}} AS u WHERE role = 'client' "
            f"GROUP BY {client}, api_name HAVING count(DISTINCT api_version) > 1"
        )
    }
    for use in uses:
        key = (*(use[name] for name in CLIENT), use["api_name"])
        use["connections_of_api"] = numbers.get(key, use["connections"])


def accepted_since(tables: Tables, target: str) -> dict[tuple[Any, ...], datetime]:
    """Return since when clients that a measured release refuses use the same APIs in versions that it accepts.

    The clients are by cluster, principal and client id, as another library is another software. Each has sent nothing that is refused
    for a day or more of its cluster's logs, and has used all of these APIs on connections that began later. Another
    program of the same name may be idle for that time, so that a client may be upgraded, not that it is.
    """
    key = ", ".join(f"r.{name}" for name in _PROGRAM)
    ends = dict(tables.query("SELECT cluster, max(last_at) FROM {api_usage} AS u GROUP BY cluster").rows)
    rows = tables.query(
        f"{uses_at(target)}, refused AS (SELECT DISTINCT {', '.join(_PROGRAM)}, api_name, max(last_seen) OVER (PARTITION BY "
        f"{', '.join(_PROGRAM)}) AS until FROM uses_at WHERE rank = 0) "
        f"SELECT {key}, r.until, min(u.opened_at) FROM refused AS r LEFT JOIN (SELECT * FROM {{api_usage}} AS a WHERE role = 'client') "
        f"AS u ON {same('u', 'r', (*_PROGRAM, 'api_name'))} AND u.opened_at > r.until GROUP BY {key}, r.api_name, r.until"
    )
    since: dict[tuple[Any, ...], list[datetime | None]] = {}
    for *client, until, opened in rows:
        is_over = ends[client[0]] - until >= _A_DAY
        since.setdefault(tuple(client), []).append(opened if is_over else None)
    return {
        client: max(times) for client, found in since.items() if len(times := [at for at in found if at]) == len(found)
    }


def add_accepted_since(tables: Tables, uses: Sequence[dict[str, Any]], target: str) -> None:
    """Add `accepted_since` to refused uses, null where the client may still send them; see the function of that name."""
    since = accepted_since(tables, target) if any(use["verdict"] == REFUSED for use in uses) else {}
    for use in uses:
        key = tuple(use[name] for name in _PROGRAM)
        use["accepted_since"] = since.get(key) if use["verdict"] == REFUSED else None


def _for_all(result: Impact, scope: Scope, limit: int) -> None:
    """Judge every client at every release in one query, which returns one mark per release for each client."""
    names, client, refused = list(releases()), ", ".join(CLIENT), result.refusals
    ranks = [verdict_rank(f"'{name}'") for name in names]
    worst = ", ".join(f"min({rank}) AS r{number}" for number, rank in enumerate(ranks))
    text = "".join(MARKS[verdict] for verdict in WORST_FIRST)
    marks = ", ".join(f"substr('{text}', r{number} + 1, 1)" for number in range(len(names)))
    breaks = " + ".join(f"CASE WHEN r{number} = 0 THEN 1 ELSE 0 END" for number in range(len(names)))
    marked_clients = scope.query(
        f"WITH marked AS (SELECT {client}, flatten(collect_list(host_list)) AS listed, {worst} FROM {{upgrade_impact}} AS i GROUP BY {client}) "
        f"SELECT {client}, concat({marks}) AS marks, listed FROM marked ORDER BY {breaks} DESC, {client}"
    )
    rows = []
    for *own, marked, listed in marked_clients:
        if tuple(own) in refused.clients:
            marked = marked.replace(MARKS[ACCEPTED], MARKS[REFUSED_ALREADY])
        elif result.target is None and MARKS[ACCEPTED] in marked:
            result.doubts.fine_beside_refused += refused.may_be_of(own[0], listed)
        rows.append((*own, marked))
    for number, name in enumerate(names):
        counts = Counter(row[-1][number] for row in rows)
        result.by_release[name] = {verdict: counts[MARKS[verdict]] for verdict in (*VERDICTS, REFUSED_ALREADY)}
    not_fine = [row for row in rows if row[-1].strip(MARKS[ACCEPTED])]
    result.matrix = Rows(marked_clients.names[:-1], not_fine[: limit or None]).dicts()
    result.matrix_clients = len(not_fine)


def limits_of_messages(scope: Scope) -> dict[str, list[str]]:
    """Return by cluster over which time and of which brokers the logs are, and whom they may miss: what owners need."""
    limits = {}
    for (cluster,), brokers in grouped(_logged_brokers(of_logs(scope)), ("cluster",)).items():
        own = Scope(scope.tables, Filters(scope.filters.since, scope.filters.until, cluster))
        limits[cluster] = [*_of_which_logs(own, brokers), *filter(None, (info_logs(own), partly_logged(own)))]
    return limits


def _logged_brokers(scope: Scope) -> list[dict[str, Any]]:
    """Return the brokers with requests in the asked time, and the first and last time of theirs in it."""
    rows = scope.query(
        "SELECT cluster, broker, min(first_at) AS first_at, max(last_at) AS last_at "
        "FROM {api_usage} AS u GROUP BY cluster, broker ORDER BY cluster, broker"
    ).dicts()
    for row in rows:
        row["first_at"], row["last_at"] = scope.filters.clipped(row["first_at"], row["last_at"])
    return rows


def _of_which_logs(scope: Scope, brokers: Sequence[dict[str, Any]]) -> list[str]:
    spans = [
        f"from {min(row['first_at'] for row in own):%Y-%m-%d %H:%M} to {max(row['last_at'] for row in own):%Y-%m-%d %H:%M} UTC, "
        f"of {counted(len(own), 'broker')}: {names_of(own)}"
        for own in grouped(brokers, ("cluster",)).values()
    ]
    more = f"; and of {counted(len(spans) - _SPANS, 'more cluster')}" if len(spans) > _SPANS else ""
    sentences = [
        f"The requests are {'; '.join(spans[:_SPANS])}{more}. Clients that did not connect to these in that time are not judged."
    ]
    if (names := brokers_without_logs(scope)) is not None:
        sentences.append(f"No log of these was read, so their clients are not judged: {names}.")
    return sentences


def _cannot_tell(result: Impact, scope: Scope, waits: bool) -> list[str]:
    tables, logs = scope.tables, of_logs(scope)
    brokers = _logged_brokers(logs)
    if not result.refused_already and not _logged_brokers(of_cluster(scope)):
        raise WarehouseError(f"{tables.root} holds no requests, so that nobody can be judged; read logs that have some")
    if not brokers:
        of_time = " of the time that was asked for" if logs != of_cluster(scope) else ""
        return [
            f"The logs hold no request{of_time} that a broker took: nobody can be judged but those that are refused already."
        ]
    sentences = _of_which_logs(logs, brokers)
    if waits:
        sentences.append(
            "There are newer requests that no build has seen: `kafka-clientinfo build` has them judged too."
        )
    if (sentence := info_logs(logs)) is not None:
        sentences.append(
            f"{sentence} What a broker does not call deprecated (such as whatever a downgrade would break) does not show."
        )
    if (sentence := partly_logged(logs)) is not None:
        sentences.append(sentence)
    sentences.append(_refusals_shown(of_cluster(scope)))
    if result.target is None or version_numbers(result.target) >= (4,):
        sentences.append(
            "Only clients are judged, not what the brokers need: from 4.0 on they run in KRaft mode, without ZooKeeper."
        )
    if result.target is not None and not release(result.target).tried:
        sentences.append(f"For {result.target} it is known what a broker advertises; nobody tried each version on one.")
    return sentences


def _refusals_shown(scope: Scope) -> str:
    ((brokers, shown),) = scope.query(
        "SELECT count(*), count(CASE WHEN shows THEN 1 END) FROM (SELECT cluster, broker, "
        "bool_or(path LIKE '%server.log%' AND requests = 0 OR array_contains(map_keys(ignored), 'other_logger')) AS shows "
        "FROM {ingested_files} AS f "
        f"WHERE {Filters(cluster=scope.filters.cluster).where()} GROUP BY cluster, broker) AS b",
        scope.filters.parameters,
    )
    return (
        "Requests that today's brokers refuse with a closed connection are in no request log, but in their server.log, or in the one file "
        f"of all loggers, which was read of {shown:,} of {counted(brokers, 'broker')}; what is refused already counts if it is of the last day of the logs."
    )
