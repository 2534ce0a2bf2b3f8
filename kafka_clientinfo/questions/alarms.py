"""What the newest run brought that somebody should know: one line each, with the time from which it is new.

Everything is compared by the time of the log: what was logged up to the end of the run before, and what came later.

    kind    | rings once, when
    --------|-----------------------------------------------------------------------------------------------------------
    breaks  | a client sends a request that the target refuses, and sent none before
    unowned | a client comes that has no owner (only if there are rules on owners)
    unknown | a client that named its software comes without a name only
    refused | a broker refuses a version from a host for the first time (`refused_requests`)
    stopped | a broker that logged every request is not in the newest run, and others of its cluster are
    gap     | a broker's log no longer holds every request: its level fell to INFO, or it is filtered
    reader  | a topic that is written was read, and has not been for `unused_topic_hours`, all of which the logs cover

Client ids that differ by a number or a UUID are one client: each start of a batch job would ring otherwise.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ..protocol import UNKNOWN
from ..tables.spec import CLIENT, RUNS
from ..tables.views import ViewSettings
from .filters import Scope
from .presenter import counted, identity, requested, without_numbers
from .queries import grouped

_STILL_COVERED = timedelta(minutes=10)
"""A log that held every request so shortly before the end of the run before held them until then."""
Since = Mapping[str, datetime]
"""Per cluster, the time up to which everything is known."""


class Alarm(NamedTuple):
    """One thing that is new.

    Attributes:
        kind: see the module's table.
        cluster: the cluster that it is about.
        at: when it was first seen.
        text: one line, with texts of clients as they were logged.
    """

    kind: str
    cluster: str
    at: datetime
    text: str


@dataclass(frozen=True)
class Before:
    """What the runs before the newest one had read.

    Attributes:
        until: per cluster, the time up to which the logs of all its brokers were read.
        silent: brokers (cluster, broker) with requests in the run before and none in the newest, though others have some.
    """

    until: Mapping[str, datetime] = field(default_factory=dict)
    silent: frozenset[tuple[str, str]] = frozenset()


def before_newest_run(scope: Scope) -> Before:
    """Return what was known before the newest run that read requests; nothing if there was no such run."""
    runs = [
        run for (run,) in scope.tables.query(f"SELECT run FROM {{{RUNS}}} WHERE requests > 0 ORDER BY run DESC LIMIT 2")
    ]
    if len(runs) < 2:
        return Before()
    rows = scope.tables.query(
        f"SELECT run, cluster, broker, max(logged_at) AS until FROM {{requests}} WHERE run IN ({runs[0]}, {runs[1]}) "
        "GROUP BY run, cluster, broker"
    ).dicts()
    newest = {(row["cluster"], row["broker"]) for row in rows if row["run"] == runs[0]}
    last = {(row["cluster"], row["broker"]): row["until"] for row in rows if row["run"] != runs[0]}
    until: dict[str, datetime] = {}
    # Logs of a cluster come late by different times: an alarm may ring twice, rather than never.
    for (cluster, _), at in last.items():
        until[cluster] = min(at, until.get(cluster, at))
    going_on = {cluster for cluster, _ in newest}
    return Before(until, frozenset(broker for broker in last.keys() - newest if broker[0] in going_on))


def alarms(scope: Scope, before: Before, target: str, unowned: Iterable[tuple[Any, ...]] = ()) -> list[Alarm]:
    """Return what is new, in the order of the module's table.

    Args:
        scope: the warehouse.
        before: what is known; nothing rings of clusters that are not among it.
        target: a measured release of Kafka.
        unowned: clients without an owner, by the columns of `CLIENT`.
    """
    since = before.until
    clients = scope.tables.query(
        f"SELECT {', '.join(CLIENT)}, first_seen, last_seen FROM {{client_inventory}} AS i"
    ).dicts()
    return [
        *_breaking(scope, since, target),
        *_unowned(clients, since, {tuple(client) for client in unowned}),
        *_newly_unknown(clients, since),
        *_refused(scope, since),
        *_logs(scope, before),
        *_readers(scope, since),
    ]


def logs_of_brokers(scope: Scope) -> list[dict[str, Any]]:
    """Return cluster and broker of each log with requests, until when it reaches, covered_until and whole_periods (`log_coverage`)."""
    return scope.tables.query(
        "SELECT f.cluster, f.broker, f.until, l.covered_until, l.whole_periods FROM "
        "(SELECT cluster, broker, max(last_logged_at) AS until FROM {ingested_files} GROUP BY cluster, broker) AS f "
        "LEFT JOIN {log_coverage} AS l ON l.cluster = f.cluster AND l.broker = f.broker WHERE f.until IS NOT NULL "
        "ORDER BY f.cluster, f.broker"
    ).dicts()


def _named(row: Mapping[str, Any]) -> str:
    return f"{identity(row['client_id'])} ({identity(row['principal'])})"


def _programs(
    rows: Iterable[Mapping[str, Any]], since: Since
) -> Iterator[tuple[datetime, Sequence[Mapping[str, Any]]]]:
    """Yield the rows of each program, with the time up to which its cluster is known."""
    programs: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        key = (row["cluster"], row["principal"], without_numbers(row["client_id"]))
        programs.setdefault(key, []).append(row)
    for (cluster, *_), its in programs.items():
        if (known := since.get(cluster)) is not None:
            yield known, its


def _new_programs(
    rows: Iterable[Mapping[str, Any]], since: Since
) -> Iterator[tuple[datetime, Sequence[Mapping[str, Any]]]]:
    """Yield the rows of each program of which all are new, with the time of the first."""
    for known, its in _programs(rows, since):
        if (first := min(row["first_seen"] for row in its)) > known:
            yield first, its


def _breaking(scope: Scope, since: Since, target: str) -> Iterator[Alarm]:
    reason = f"refused_by['{target}']"
    uses = scope.tables.query(
        f"SELECT {', '.join(CLIENT)}, api_name, api_version, host_list, first_seen FROM {{upgrade_impact}} AS i "
        f"WHERE {reason} IS NOT NULL ORDER BY cluster, principal, client_id, api_key, api_version"
    ).dicts()
    for first, its in _new_programs(uses, since):
        requests = list(dict.fromkeys(map(requested, its)))
        hosts = sorted({host for use in its for host in use["host_list"]})
        text = (
            f"{_named(its[0])} would break at Kafka {target}: {_few(requests)}, from {_few(hosts) or 'an unknown host'}"
        )
        yield Alarm("breaks", its[0]["cluster"], first, text)


def _unowned(clients: Iterable[Mapping[str, Any]], since: Since, unowned: set[tuple[Any, ...]]) -> Iterator[Alarm]:
    for first, its in _new_programs(clients, since):
        if all(tuple(row[name] for name in CLIENT) in unowned for row in its):
            yield Alarm("unowned", its[0]["cluster"], first, f"{_named(its[0])} is new, and has no owner")


def _newly_unknown(clients: Sequence[dict[str, Any]], since: Since) -> Iterator[Alarm]:
    for known, its in _programs(clients, since):
        named = [row for row in its if row["client_software_name"] != UNKNOWN]
        unnamed = [row for row in its if row["client_software_name"] == UNKNOWN]
        if (
            named
            and unnamed
            and all(row["first_seen"] > known >= max(one["last_seen"] for one in named) for row in unnamed)
        ):
            names = sorted({row["client_software_name"] for row in named})
            first = min(row["first_seen"] for row in unnamed)
            text = f"{_named(its[0])} named {_few(names)} before, and no longer names its software"
            yield Alarm("unknown", its[0]["cluster"], first, text)


def _refused(scope: Scope, since: Since) -> Iterator[Alarm]:
    rows = scope.tables.query(
        "SELECT cluster, broker, remote_host, api_name, api_version, requests, first_at FROM {refused_requests} AS r "
        "ORDER BY cluster, broker, remote_host, api_name, api_version"
    ).dicts()
    new = (row for row in rows if (known := since.get(row["cluster"])) is not None and row["first_at"] > known)
    for (cluster, broker, host), its in grouped(new, ("cluster", "broker", "remote_host")).items():
        requests = list(map(requested, its))
        number = counted(sum(row["requests"] for row in its), "request")
        text = f"{broker} refuses {_few(requests)} from {host or 'an unknown host'}: {number} so far"
        yield Alarm("refused", cluster, min(row["first_at"] for row in its), text)


def _logs(scope: Scope, before: Before) -> Iterator[Alarm]:
    """Yield the brokers with a log that stopped, or no longer holds every request.

    A broker that logs at INFO may be silent for hours, so only one that logged every request stops.
    """
    for row in logs_of_brokers(scope):
        cluster, broker, until = row["cluster"], row["broker"], row["until"]
        known = before.until.get(cluster)
        whole_until = max((period["whole_until"] for period in row["whole_periods"] or ()), default=None)
        if row["covered_until"] is not None and (cluster, broker) in before.silent:
            text = f"the log of {broker} ends at {until:%Y-%m-%d %H:%M}, and others of the cluster go on"
            yield Alarm("stopped", cluster, until, text)
        elif row["covered_until"] is None and known and whole_until and whole_until >= known - _STILL_COVERED:
            text = (
                f"the log of {broker} held every request until {whole_until:%Y-%m-%d %H:%M}, and no longer does: its level fell "
                "to INFO, or it is filtered"
            )
            yield Alarm("gap", cluster, whole_until, text)


def _readers(scope: Scope, since: Since) -> Iterator[Alarm]:
    state = scope.tables.state()
    silence = timedelta(hours=ViewSettings.stored(None if state is None else state.view_settings).unused_topic_hours)
    rows = scope.tables.query(
        "SELECT u.cluster, u.topic, u.last_read, u.last_written, k.covered_from, k.covered_until FROM "
        "(SELECT cluster, topic, max(CASE WHEN operation IN ('fetch', 'commit') THEN last_at END) AS last_read, "
        "max(CASE WHEN operation = 'produce' THEN last_at END) AS last_written FROM {topic_usage} AS t "
        "WHERE topic IS NOT NULL GROUP BY cluster, topic) AS u "
        "JOIN (SELECT cluster, max(covered_from) AS covered_from, max(covered_until) AS covered_until FROM {known_topics} AS n "
        "GROUP BY cluster) AS k ON k.cluster = u.cluster "
        "WHERE u.last_read IS NOT NULL AND u.last_written > u.last_read AND k.covered_from <= u.last_read "
        "ORDER BY u.cluster, u.topic"
    ).dicts()
    for row in rows:
        known = since.get(row["cluster"])
        if known is not None and known - row["last_read"] < silence <= row["covered_until"] - row["last_read"]:
            text = f"topic {row['topic']} is written, and nobody has read it since {row['last_read']:%Y-%m-%d %H:%M}"
            yield Alarm("reader", row["cluster"], row["last_read"], text)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
