"""The questions about topics: who uses each, and which are unused.

A topic stands under its id if no record shows its name. Fetches of sessions that began before the log, or of which
it lacks fetches, may name no topic; they are left out here, and `unresolved` counts them: no topic is unused before the last.
"""

import tomllib
from datetime import timedelta
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

from ..errors import ConfigError
from ..printable import listed, safe
from ..tables.spec import CLIENT
from ..tables.views import ViewSettings
from .filters import Scope
from .presenter import counted
from .queries import filled, grouped, same
from .trust import brokers_without_logs, of_cluster, unreadable_records

TOPIC = "coalesce(u.topic, u.topic_id)"
"""SQL for the name of a topic in rows `u` of `topic_usage`, or its id; null if a row is about no topic."""
_CLIENT = ", ".join(f"u.{name}" for name in CLIENT)
_TEXT = (files(__package__) / "topics.toml").read_text("utf-8")
_QUERIES = tomllib.loads(filled(_TEXT, topic_name=TOPIC, same_client=same("i", "u")))
BY_CLIENT = _QUERIES["by_client"]
ALL = filled(_QUERIES["all"], by_client=BY_CLIENT)
UNUSED = _QUERIES["unused"]
_NEAR = 3


def clients_of(scope: Scope, topic: str) -> tuple[str, dict[str, str]]:
    names = [name for (name,) in scope.tables.query(
        f"SELECT DISTINCT {TOPIC} FROM {{topic_usage}} AS u WHERE {TOPIC} IS NOT NULL "
        "UNION SELECT DISTINCT topic FROM {known_topics} AS k"
    )]  # fmt: skip
    if topic not in names:
        near = get_close_matches(topic, names, _NEAR)
        advice = f"did you mean {' or '.join(safe(name) for name in near)}?" if near else _known(names)
        raise ConfigError(f"no log of {scope.tables.root} names the topic {topic!r}; {advice}")
    return _QUERIES["clients"], {"topic": topic}


def _known(names: list[str]) -> str:
    return f"they name {listed(sorted(names))}" if names else "they name none, as where the setting topics is false"


def coverage(scope: Scope, least_hours: int | None = None) -> list[str]:
    """Return a sentence per cluster on the time over which its logs would have shown any use of a topic.

    `least_hours` is the setting unused_topic_hours; None for that of the build.
    """
    if least_hours is None:
        state = scope.tables.state()
        least_hours = ViewSettings.stored(None if state is None else state.view_settings).unused_topic_hours
    sentences = []
    unlogged = brokers_without_logs(scope)
    unread = unreadable_records(of_cluster(scope))
    for row in scope.query(_QUERIES["covered"]).dicts():
        name = safe(row["cluster"], 80)
        is_unread = row["covered_from"] is not None and any(
            one["since"] <= row["covered_until"] and row["covered_from"] <= one["until"]
            for (cluster, _), its in unread.items()
            for one in its
            if cluster == row["cluster"]
        )
        that = " that can be read" if is_unread else ""
        if row["covered_from"] is None:
            sentences.append(
                f"Cluster {name}: not all of the logs hold every request over a common time, so that no topic can be said "
                "to be unused."
            )
        else:
            sentences.append(
                f"Cluster {name}: the answer rests on the logs of {counted(len(row['brokers']), 'broker')} ({listed(row['brokers'])}), "
                f"which hold every request{that} from {row['covered_from']:%Y-%m-%d %H:%M:%S} to {row['covered_until']:%Y-%m-%d %H:%M:%S} UTC; "
                "what happened before, or on a broker without a log here, they do not show."
                + (
                    f" That is less than {counted(least_hours, 'hour')} (unused_topic_hours), so that no topic can be said to be unused."
                    if row["covered_until"] - row["covered_from"] < timedelta(hours=least_hours)
                    else ""
                    if row["is_covered_long"] or unlogged is not None
                    else " They show one client id only, as a log that was filtered by it does, so that no topic can be said to be unused."
                )
            )
    if unlogged is not None:
        sentences.append(
            f"No log of these was read, so that no topic of their clusters can be said to be unused: {unlogged}."
        )
    return sentences + [one for one in [unresolved(of_cluster(scope))] if one]


def unresolved(scope: Scope) -> str | None:
    ((fetches, clients),) = scope.query(
        "SELECT CAST(sum(requests) AS BIGINT), count(DISTINCT client_id) FROM {topic_usage} AS u "
        "WHERE topic IS NULL AND topic_id IS NULL AND more_topics IS NULL AND operation = 'fetch'"
    )
    if not fetches:
        return None
    ids = counted(clients, "client id")
    number = f"1 fetch of {ids} belongs" if fetches == 1 else f"{fetches:,} fetches of {ids} belong"
    return (
        f"{number} to fetch sessions that began before the log, or of which it lacks fetches (KIP-227): which topics are "
        "asked for, besides those that are named, is not known, so that no topic counts as unused before the last of them."
    )


def topics_of_clients(scope: Scope, most: int = 0) -> dict[tuple[Any, ...], list[str]]:
    """Return the sorted topics of each client that uses any, by the columns of `CLIENT`; filters do not apply.

    `most` is the largest number of topics of a client; 0 is no limit.
    """
    used = (
        f"SELECT DISTINCT {_CLIENT}, {TOPIC} AS name FROM {{topic_usage}} AS u WHERE {TOPIC} IS NOT NULL "
        "AND operation <> 'replicate'"
    )
    numbered = (
        f"SELECT *, row_number() OVER (PARTITION BY {', '.join(CLIENT)} ORDER BY name) AS number FROM ({used}) AS u"
    )
    few = f" WHERE number <= {most}" if most else ""
    rows = scope.tables.query(f"SELECT {', '.join(CLIENT)}, name FROM ({numbered}) AS n{few} ORDER BY name").dicts()
    return {client: [row["name"] for row in own] for client, own in grouped(rows, CLIENT).items()}
