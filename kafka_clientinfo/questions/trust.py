"""Says how far the logs bear out an answer, and of an empty one, what was asked for.

For answers: how many connections the logs show from the beginning, and what INFO leaves out. For empty ones: what the
warehouse has instead.
"""

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any

from ..logs.connection import MASKED_IDS
from ..printable import few, safe
from .filters import Filters, Scope
from .presenter import counted
from .queries import grouped

FIRST_AT_INFO = "3.9.1"  # the first release of brokers that logs requests of deprecated versions, at INFO
_NAMED = 50
_NAMES = 3
_LONGEST = 60
_SHORT, _PART = timedelta(minutes=1), 20
"""How much of a broker's time may lack requests, as while it starts: this, but no 20th of it or more."""
_NOBODY = "No connection of a client is in what was asked for, so that this is no proof that all is well."


def missing_hours(scope: Scope, within: timedelta = timedelta(days=36_500)) -> str | None:
    """Return a sentence on hours that a broker's log lacks and others of its cluster have; None if there are none.

    Only times count that end so long before the cluster's last request.
    """
    rows = scope.query("SELECT * FROM {missing_hours} AS m ORDER BY until DESC, cluster, broker").dicts()
    texts = [
        f"{names_of([row])} from {row['since']:%Y-%m-%d %H:%M} to {row['until']:%Y-%m-%d %H:%M} UTC"
        for row in rows
        if row["logged_until"] - row["until"] < within and _is_asked(scope, row)
    ]
    if not texts:
        return None
    return (
        f"No log was read of {few(texts, _NAMES, ', of ')}, while those of other brokers were: was that part "
        "of the log delivered? At INFO, a broker may have had none to log."
    )


def _is_asked(scope: Scope, row: Mapping[str, Any]) -> bool:
    begin, end = scope.filters.clipped(row["since"], row["until"])
    return begin <= end


def limits_of_logs(scope: Scope) -> list[str]:
    logs = of_logs(scope)
    sentences = (
        unseen_starts(scope), info_logs(logs), partly_logged(logs), missing_hours(logs), deleted_connections(scope),
    )  # fmt: skip
    found = [sentence for sentence in sentences if sentence is not None]
    return [*found, "By broker: the view what_the_log_shows."] if found and _NOBODY not in found else found


def unseen_starts(scope: Scope) -> str | None:
    ((connections, observed, by_sasl, masked, one_end, before),) = scope.query(
        "SELECT count(*), count(CASE WHEN start = 'observed' THEN 1 END), "
        f"count(CASE WHEN start = 'hidden_by_sasl' THEN 1 END), "
        f"count(CASE WHEN connection_id LIKE '{MASKED_IDS}' AND remote_host IS NULL THEN 1 END), "
        f"count(CASE WHEN connection_id LIKE '{MASKED_IDS}' AND remote_host IS NOT NULL THEN 1 END), "
        "count(CASE WHEN start = 'before_log' THEN 1 END) "
        "FROM {connections} AS c WHERE role = 'client'"
    )
    if not connections:
        return _NOBODY
    if observed == connections:
        return None
    masks = "cannot be told apart, as it masks their addresses (each stands for a client id, software and principal)"
    broker_end = f"{'has' if one_end == 1 else 'have'} the broker's address masked, and their clients and hosts are counted by the client's"
    whole_ids = before - masked - one_end
    were_open = f"{'was' if whole_ids == 1 else 'were'} open before it"
    reasons = (
        (whole_ids, were_open),
        (by_sasl, "began with SASL, which it hides"),
        (masked, masks),
        (one_end, broker_end),
    )
    others = " and ".join(f"{number:,} {reason}" for number, reason in reasons if number)
    return f"The log shows {observed:,} of {connections:,} connections of clients from their beginning; {others}."


def info_logs(scope: Scope) -> str | None:
    brokers = [dict(zip(("cluster", "broker"), broker, strict=True)) for broker in sorted(_at_info(scope))]
    if not brokers:
        return None
    return (
        f"Brokers that log at INFO: {names_of(brokers)}. There only requests with deprecated versions are logged: whoever "
        "is named is certain, but clients that are fine are not counted."
    )


def _at_info(scope: Scope) -> set[tuple[str, str]]:
    statement = "SELECT cluster, broker FROM {api_usage} AS u GROUP BY cluster, broker HAVING bool_and(info_only)"
    return {(cluster, broker) for one in (of_cluster(scope), scope) for cluster, broker in one.query(statement)}


def is_only_info(scope: Scope) -> bool:
    """Return whether all logs are at INFO, or all of the asked time, so that a client that is fine may be in none of them."""
    statement = "SELECT bool_and(info_only) FROM {api_usage} AS u"
    return any(is_only for one in (of_cluster(scope), of_logs(scope)) for (is_only,) in one.query(statement))


def info_clusters(scope: Scope) -> set[str]:
    rows = scope.tables.query("SELECT cluster FROM {api_usage} AS u GROUP BY cluster HAVING bool_and(info_only)")
    return {cluster for (cluster,) in rows}


def partly_logged(scope: Scope) -> str | None:
    """Return sentences on the brokers of which only some of the requests are in the log of the asked time; None if there are none.

    Brokers with all of their log at INFO are those of `info_logs`.
    """
    return " ".join(filter(None, (_incomplete(scope), _unreadable(scope)))) or None


def unreadable_records(scope: Scope) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    rows = scope.query("SELECT * FROM {unreadable_records} AS r ORDER BY cluster, broker, since").dicts()
    return grouped((row for row in rows if _is_asked(scope, row)), ("cluster", "broker"))


def _unreadable(scope: Scope) -> str | None:
    parts = []
    for rows in unreadable_records(scope).values():
        number = sum(row["records"] for row in rows)
        silences = [
            f"{row['since']:%Y-%m-%d %H:%M:%S} to {row['until']:%Y-%m-%d %H:%M:%S}" for row in rows if row["is_silent"]
        ]
        silent = f"; no request from {few(silences, _NAMES, ' and from ')}" if silences else ""
        parts.append(f"{names_of(rows[:1])} ({number:,}{silent})")
    if not parts:
        return None
    return (
        f"Records between requests cannot be read in the logs of {few(parts, _NAMES)}: a part of the log may be missing, "
        "with its clients."
    )


def _incomplete(scope: Scope) -> str | None:
    whole_scope = of_cluster(scope)
    logs = whole_scope.query(
        "SELECT u.cluster, u.broker, u.first_at, u.last_at, l.covered_from, l.whole_periods FROM (SELECT cluster, broker, "
        "min(first_at) AS first_at, max(last_at) AS last_at FROM {api_usage} AS a GROUP BY cluster, broker) AS u "
        "JOIN {log_coverage} AS l ON l.cluster = u.cluster AND l.broker = u.broker "
        "ORDER BY u.cluster, u.broker"
    ).dicts()
    at_info, parts = _at_info(scope), []
    for row in logs:
        if (row["cluster"], row["broker"]) in at_info:
            continue
        begin, end = scope.filters.clipped(row["first_at"], row["last_at"])
        periods = [
            scope.filters.clipped(period["whole_from"], period["whole_until"]) for period in row["whole_periods"] or ()
        ]
        whole = [(since, until) for since, until in periods if since <= until]
        ends, begins = [begin, *(until for _, until in whole)], [*(since for since, _ in whole), end]
        # Old clients, without ApiVersions and names, do not show whether a log is whole: a short one is not said to lack any.
        is_unjudged = not row["whole_periods"] and row["covered_from"] is not None
        part = timedelta.max if is_unjudged else (end - begin) / _PART
        if any(_is_hole(later - earlier, part) for earlier, later in zip(ends, begins, strict=True)):
            when = "at no time complete"
            if whole:
                more = f" and in {counted(len(whole) - 1, 'more period')}" if len(whole) > 1 else ""
                when = f"complete only from {whole[0][0]:%Y-%m-%d %H:%M:%S} to {whole[0][1]:%Y-%m-%d %H:%M:%S}{more}"
            parts.append(f"{names_of([row])} ({when})")
    if not parts:
        return None
    return (
        f"Not every request is in the logs of {few(parts, _NAMES)}: a broker may have been at INFO or down, the log "
        "filtered, or a part of it missing. Clients may be missing, or look fine."
    )


def _is_hole(length: timedelta, part: timedelta) -> bool:
    return length > _SHORT or length >= part > timedelta()


def brokers_without_logs(scope: Scope) -> str | None:
    missing = scope.query(
        "SELECT cluster, broker FROM {brokers_without_logs} AS b ORDER BY cluster, length(broker), broker"
    ).dicts()
    return names_of(missing) or None


def releases_of_brokers(brokers: Sequence[Mapping[str, Any]], is_only_info: bool = False) -> str:
    texts, unknown = [], f"{FIRST_AT_INFO} or later, as they log at INFO" if is_only_info else "unknown"
    for (cluster,), its in grouped(map(dict, brokers), ("cluster",)).items():
        by_release = sorted(
            grouped(its, ("release",)).items(), key=lambda group: (group[0] == (None,), -len(group[1]), group[0])
        )
        (((most,), _), *others) = by_release
        known = [f"{release}." for (release,), _ in by_release if release is not None and " to " not in release]
        mixed = any(not one.startswith(other) and not other.startswith(one) for one, other in combinations(known, 2))
        words = [f"{'mixed: ' if mixed else ''}{safe(most or unknown)}"]
        for (release,), rows in others:
            names = few([safe(row["broker"], _LONGEST) for row in rows], _NAMES)
            words.append(f"{names} {'is' if len(rows) == 1 else 'are'} {safe(release or unknown)}")
        texts.append(f"Release of the brokers of {safe(cluster, _LONGEST)}: {'; '.join(words)}.")
    rest = f" And {len(texts) - _NAMED:,} more clusters: the view broker_releases." if len(texts) > _NAMED else ""
    return " ".join(texts[:_NAMED]) + rest


def todays_release(brokers: Sequence[Mapping[str, Any]]) -> str:
    names = sorted({row["release"] for row in brokers if row["release"] is not None})
    return f" (Kafka {', '.join(map(safe, names[:_NAMES]))}{', …' if len(names) > _NAMES else ''})" if names else ""


def deleted_connections(scope: Scope) -> str | None:
    state = scope.tables.state()
    if state is None or state.connections_from is None:
        return None
    if scope.filters.since is not None and scope.filters.since >= state.connections_from:
        return None
    return f"Connections that ended before {state.connections_from:%Y-%m-%d} UTC are deleted (keep_connections_days)."


def of_logs(scope: Scope) -> Scope:
    """Return the scope without its filters on clients: what a broker logs does not depend on them."""
    filters = scope.filters
    return Scope(scope.tables, Filters(filters.since, filters.until, filters.cluster))


def of_cluster(scope: Scope) -> Scope:
    """Return the scope without its filters but for the cluster: what a broker logs does not depend on the others."""
    return Scope(scope.tables, Filters(cluster=scope.filters.cluster))


def names_of(brokers: Sequence[Mapping[str, Any]]) -> str:
    names = [safe(f"{row['cluster']}/{row['broker']}", 80) for row in brokers[:_NAMED]]
    return ", ".join(names) + (" …" if len(brokers) > _NAMED else "")


def asked(filters: Filters) -> str:
    """Return the filters as options, with times in UTC, such as `--principal User:alice --since 2026-11-21`."""
    given = {name: value for name, value in vars(filters).items() if value is not None}
    return " ".join(f"--{name} {_text(value)}" for name, value in given.items())


def nobody(scope: Scope, subject: str) -> str:
    if not (options := asked(scope.filters)):
        return f"{subject} is in the logs that were read"
    return "; ".join([f"{subject} fits {options}", *instead(scope)])


def instead(scope: Scope) -> list[str]:
    filters = scope.filters
    texts = []
    if (principal := filters.principal) is not None:
        longer = Scope(scope.tables, Filters(cluster=filters.cluster, principal=f"*{principal}*"))
        others = "SELECT count(*) FROM {connections} AS c WHERE role = 'client' AND principal <> {asked}"
        if principal and "*" not in principal and longer.query(others, {"asked": principal}).rows[0][0]:
            texts.append(f"--principal {_text(shlex.quote(f'*{principal}*'))} fits some")
        elif principal and ":" not in principal and not principal.startswith("*"):
            texts.append(f"principals have a type in front: User:{_text(principal)}, or *{_text(principal)}")
        texts += _most_used(scope, "principal", "principals")
    if filters.client is not None:
        texts += _most_used(scope, "client_id", "client ids")
    if filters.since is not None or filters.until is not None:
        times = "SELECT min(opened_at) AS opened, max(last_request_at) AS last FROM {connections} AS c"
        ((opened, last),) = of_cluster(scope).query(times)
        if opened is not None:
            texts.append(f"the warehouse has connections from {opened:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC")
    return texts


def _most_used(scope: Scope, column: str, kind: str) -> list[str]:
    rows = of_cluster(scope).query(
        f"SELECT {column}, count(*) AS number FROM {{connections}} AS c WHERE role = 'client' AND {column} <> '' "
        f"GROUP BY {column} ORDER BY number DESC, {column} LIMIT {_NAMES + 1}"
    )
    names = ", ".join(safe(name, _LONGEST) for name, _ in rows.rows[:_NAMES])
    return [f"the warehouse has the {kind} {names}{', …' if len(rows) > _NAMES else ''}"] if names else []


def _text(value: datetime | str) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S}".removesuffix(":00").removesuffix("T00:00")
    return safe(value, _LONGEST) if value else "''"
