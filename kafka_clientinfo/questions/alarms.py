"""What the newest run brought that somebody should know: one line each, with the time from which it is new.

The rules are in SQL, the part `changes` of the view `what_changed`; only who owns a client is known here alone.
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
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from .filters import Scope
from .presenter import without_numbers

KINDS = ("breaks", "unowned", "unknown", "refused", "stopped", "gap", "reader")
Since = Mapping[str, datetime]
"""Per cluster, the time up to which everything is known."""


class Alarm(NamedTuple):
    """One thing that is new.

    Attributes:
        kind: see the module's table.
        cluster: the cluster that it is about.
        at: when it was first seen; of logs and topics, the last time that all was well.
        text: one line, without control characters.
    """

    kind: str
    cluster: str
    at: datetime
    text: str


def known_before(scope: Scope) -> Since:
    """Return up to when the run before a cluster's newest one had read its logs; nothing of a cluster with one run.

    Logs of a cluster come late by different times: an alarm may ring twice, rather than never.
    """
    rows = scope.tables.query(
        "SELECT cluster, min(read_before) FROM {newest_reads} AS r WHERE read_before IS NOT NULL GROUP BY cluster"
    )
    return dict(rows.rows)


def alarms(
    scope: Scope, since: Since, target: str, owned: Mapping[tuple[Any, ...], Iterable[str]] | None, is_asked: bool
) -> list[Alarm]:
    """Return what is new, in the order of the module's table.

    Args:
        scope: the warehouse.
        since: what is known; nothing rings of clusters that are not among it.
        target: a measured release of Kafka.
        owned: the owners of clients that have any, by the columns of `CLIENT`; None if there are no rules on owners.
        is_asked: whether the time is not that of the run before: then nobody knows which log should have gone on.
    """
    rows = scope.tables.query(
        "SELECT kind, cluster, principal, client_id, first_seen, what, news_from, news_until FROM {changes} AS c "
        "WHERE release IS NULL OR release = {target}",
        {"target": target},
    ).dicts()
    owners: dict[tuple[Any, ...], set[str]] = {}
    for (cluster, principal, own_id, *_), names in (owned or {}).items():
        owners.setdefault((cluster, principal, without_numbers(own_id)), set()).update(names)
    found = []
    for row in rows:
        known, begin = since.get(row["cluster"]), row["news_from"]
        program = (row["cluster"], row["principal"], without_numbers(row["client_id"]))
        is_left_out = {"unowned": owned is None or program in owners, "stopped": is_asked}
        if known is None or known >= row["news_until"] or is_left_out.get(row["kind"]):
            continue
        if begin is None or begin <= known:
            of_owners = sorted(owners.get(program, ())) if row["kind"] in ("breaks", "unknown") else []
            owned_by = f"; owner: {', '.join(of_owners)}" if of_owners else ""
            found.append(Alarm(row["kind"], row["cluster"], row["first_seen"], row["what"] + owned_by))
    return sorted(found, key=lambda alarm: (KINDS.index(alarm.kind), *alarm[1:]))


def logs_of_brokers(scope: Scope) -> list[dict[str, Any]]:
    """Return cluster and broker of each log with requests, until when it reaches, and covered_until (`log_coverage`)."""
    return scope.tables.query(
        "SELECT f.cluster, f.broker, f.until, l.covered_until FROM "
        "(SELECT cluster, broker, max(last_logged_at) AS until FROM {ingested_files} GROUP BY cluster, broker) AS f "
        "LEFT JOIN {log_coverage} AS l ON l.cluster = f.cluster AND l.broker = f.broker WHERE f.until IS NOT NULL "
        "ORDER BY f.cluster, f.broker"
    ).dicts()
