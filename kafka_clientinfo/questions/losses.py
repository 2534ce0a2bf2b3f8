"""The topics and groups that lose a client at a release of Kafka: those of connections that sent a request which it refuses.

Only some connections of a client may break, as many programs may have its id. The log's topics are summed up by client,
broker, operation and day: a connection may have used the topic if it sent such requests to that broker in that time.

    of the connections that may have sent the first, or the last, request for the topic | the client's use of the topic
    ------------------------------------------------------------------------------------|------------------------------
    all sent a refused request                                                          | breaks
    not all did, and one of them, or of those in between, sent a refused request        | may break
    none did, nor any in between                                                        | does not break

A consumer fetches on another connection than that of its group: a group may break with any of its client and host.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..logs.apis import TOPIC_OPERATIONS
from ..releases.broker_releases import REFUSED, WORST_FIRST
from ..tables.spec import CLIENT, CONNECTION_KEY
from .filters import Scope
from .impact import uses_at
from .queries import Rows, grouped, same
from .topics import BY_CLIENT, TOPIC

_CLIENT = ", ".join(CLIENT)
_LANE = f"lane, {_CLIENT}, operation"
_USE = ("api_key", "api_version")
_CONNECTION = ", ".join(CONNECTION_KEY)
_OPERATIONS = "CASE api_key {} END".format(
    " ".join(f"WHEN {key} THEN '{operation}'" for key, operation in sorted(TOPIC_OPERATIONS.items()))
)
_COUNTS = ("begun", "begun_that_break", "ended", "ended_that_break")
_VERDICTS = f"""
refused_uses AS (
  SELECT DISTINCT {_CLIENT}, {", ".join(_USE)} FROM uses_at WHERE rank = {WORST_FIRST.index(REFUSED)}
),
breaking_clients AS (
  SELECT DISTINCT {_CLIENT} FROM refused_uses
),
sent AS (
  SELECT {", ".join(f"u.{name}" for name in dict.fromkeys((*CONNECTION_KEY, *CLIENT)))}, u.remote_host, u.first_at, u.last_at,
         {_OPERATIONS.replace("api_key", "u.api_key")} AS operation, r.api_key IS NOT NULL AS is_refused
  FROM {{api_usage}} AS u
  JOIN breaking_clients AS c ON {same("c", "u")}
  LEFT JOIN refused_uses AS r ON {same("r", "u", (*CLIENT, *_USE))}
  WHERE u.role = 'client'
),
connections_of_them AS (
  SELECT *, bool_or(is_refused) OVER (PARTITION BY {_CONNECTION}) AS breaks FROM sent
),
carriers AS (
  SELECT broker AS lane, {_CLIENT}, operation, min(first_at) AS first_at, max(last_at) AS last_at, breaks
  FROM connections_of_them
  WHERE operation IS NOT NULL
  GROUP BY {_CONNECTION}, {", ".join(CLIENT[1:])}, operation, breaks
  UNION ALL
  SELECT coalesce(remote_host, ''), {_CLIENT}, 'group', min(first_at), max(last_at), breaks
  FROM connections_of_them
  GROUP BY {_CONNECTION}, {", ".join(CLIENT[1:])}, remote_host, breaks
),
uses AS (
  SELECT u.broker AS lane, {", ".join(f"u.{name}" for name in CLIENT)}, u.operation, {TOPIC} AS name, u.first_at, u.last_at,
         false AS breaks
  FROM {{topic_usage}} AS u
  JOIN breaking_clients AS c ON {same("c", "u")}
  WHERE {TOPIC} IS NOT NULL AND u.operation <> 'replicate'
  UNION ALL
  SELECT coalesce(g.remote_host, ''), {", ".join(f"g.{name}" for name in CLIENT)}, 'group', g.group_id, o.first_at, o.last_at, o.breaks
  FROM {{connection_groups}} AS g
  JOIN (
    SELECT {_CONNECTION}, breaks, min(first_at) AS first_at, max(last_at) AS last_at
    FROM connections_of_them
    GROUP BY {_CONNECTION}, breaks
  ) AS o ON {same("o", "g", CONNECTION_KEY)}
  WHERE g.takes_part
),
-- In order of time: connections begin before what is sent in the same instant, and end after it.
events AS (
  SELECT {_LANE}, first_at AS happened_at, 0 AS place, 1 AS begun, CASE WHEN breaks THEN 1 ELSE 0 END AS begun_that_break,
         0 AS ended, 0 AS ended_that_break,
         CAST(NULL AS STRING) AS name, CAST(NULL AS TIMESTAMP) AS first_at, CAST(NULL AS TIMESTAMP) AS last_at, false AS is_first,
         false AS breaks
  FROM carriers
  UNION ALL SELECT {_LANE}, last_at, 2, 0, 0, 1, CASE WHEN breaks THEN 1 ELSE 0 END, NULL, NULL, NULL, false, false FROM carriers
  UNION ALL SELECT {_LANE}, first_at, 1, 0, 0, 0, 0, name, first_at, last_at, true, breaks FROM uses
  UNION ALL SELECT {_LANE}, last_at, 1, 0, 0, 0, 0, name, first_at, last_at, false, breaks FROM uses
),
counted AS (
  SELECT {_LANE}, name, first_at, last_at, is_first, breaks, place, {", ".join(f"sum({one}) OVER so_far AS {one}" for one in _COUNTS)}
  FROM events
  WINDOW so_far AS (PARTITION BY {_LANE} ORDER BY happened_at, place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
-- How many connections there were at the first request and at the last one, and at any time from the one to the other.
counts_of_uses AS (
  SELECT {_CLIENT}, operation, name, bool_or(breaks) AS breaks,
         max(CASE WHEN is_first THEN begun - ended END) AS at_first,
         max(CASE WHEN is_first THEN begun_that_break - ended_that_break END) AS broken_at_first,
         max(CASE WHEN NOT is_first THEN begun - ended END) AS at_last,
         max(CASE WHEN NOT is_first THEN begun_that_break - ended_that_break END) AS broken_at_last,
         max(CASE WHEN NOT is_first THEN begun END) - max(CASE WHEN is_first THEN ended END) AS overlapping,
         max(CASE WHEN NOT is_first THEN begun_that_break END) - max(CASE WHEN is_first THEN ended_that_break END) AS broken_overlapping
  FROM counted
  WHERE place = 1
  GROUP BY {_LANE}, name, first_at, last_at
),
verdicts AS (
  SELECT {_CLIENT}, operation, name,
         bool_or(breaks OR (at_first > 0 AND at_first = broken_at_first) OR (at_last > 0 AND at_last = broken_at_last)) AS breaks,
         -- If no connection is known to have sent it, as after a change of the software's name, the client is what is known.
         bool_or(broken_overlapping > 0 OR overlapping = 0) AS may_break
  FROM counts_of_uses
  GROUP BY {_CLIENT}, operation, name
)"""
NamesByClient = Mapping[tuple[Any, ...], list[str]]


@dataclass(frozen=True)
class Lost:
    """The topics and groups of clients that break at a release: those that certainly break, and those that may."""

    topics: NamesByClient = field(default_factory=dict)
    groups: NamesByClient = field(default_factory=dict)
    possible_topics: NamesByClient = field(default_factory=dict)
    possible_groups: NamesByClient = field(default_factory=dict)


def losses(scope: Scope, target: str) -> Rows:
    """Return the topics that lose a producer or a consumer at a measured release, or may lose one, the most losses first."""
    produces, consumes = "operation = 'produce'", "operation IN ('fetch', 'commit')"
    of_client = (
        f"SELECT {_CLIENT}, name AS topic, bool_or({produces} AND breaks) AS produce_breaks, bool_or({consumes} AND breaks) AS consume_breaks, "
        f"bool_or({produces} AND may_break) AS produce_may, bool_or({consumes} AND may_break) AS consume_may "
        f"FROM verdicts WHERE operation IN ('produce', 'fetch', 'commit') GROUP BY {_CLIENT}, name HAVING bool_or(breaks OR may_break)"
    )
    return scope.query(
        f"{uses_at(target)}, {_VERDICTS}, lost AS ({of_client}) SELECT c.cluster, c.topic, "
        "count(CASE WHEN l.produce_breaks THEN c.produce_requests END) AS producers_that_break, count(c.produce_requests) AS producers, "
        "count(CASE WHEN l.consume_breaks THEN coalesce(c.fetch_requests, c.commit_requests) END) AS consumers_that_break, "
        "count(coalesce(c.fetch_requests, c.commit_requests)) AS consumers, "
        "CAST(coalesce(sum(CASE WHEN l.produce_breaks THEN c.produce_bytes END), 0) "
        "+ coalesce(sum(CASE WHEN l.consume_breaks THEN c.fetch_bytes END), 0) AS BIGINT) AS bytes, "
        "max(c.last_at) AS last_seen, "
        "count(CASE WHEN l.produce_may AND NOT l.produce_breaks THEN c.produce_requests END) AS producers_that_may_break, "
        "count(CASE WHEN l.consume_may AND NOT l.consume_breaks THEN coalesce(c.fetch_requests, c.commit_requests) END) "
        "AS consumers_that_may_break "
        f"FROM ({BY_CLIENT}) AS c LEFT JOIN lost AS l ON {same('l', 'c', (*CLIENT, 'topic'))} GROUP BY c.cluster, c.topic "
        "HAVING count(CASE WHEN l.topic IS NOT NULL THEN 1 END) > 0 "
        "ORDER BY producers_that_break + consumers_that_break DESC, producers_that_may_break + consumers_that_may_break DESC, "
        "bytes DESC, c.cluster, c.topic"
    )


def groups_of_clients(scope: Scope) -> NamesByClient:
    rows = scope.query(
        f"SELECT DISTINCT {_CLIENT}, group_id AS name FROM {{connection_groups}} AS g "
        "WHERE role = 'client' AND takes_part ORDER BY name"
    ).dicts()
    return {client: [row["name"] for row in own] for client, own in grouped(rows, CLIENT).items()}


def lost_by_client(scope: Scope, target: str) -> Lost:
    rows = scope.query(
        f"{uses_at(target)}, {_VERDICTS} SELECT {_CLIENT}, operation = 'group' AS is_group, name, bool_or(breaks) AS breaks FROM verdicts "
        f"WHERE breaks OR may_break GROUP BY {_CLIENT}, operation = 'group', name ORDER BY name"
    ).dicts()

    def names(breaks: bool, is_group: bool) -> NamesByClient:
        chosen = [row for row in rows if (row["breaks"], row["is_group"]) == (breaks, is_group)]
        return {client: [row["name"] for row in own] for client, own in grouped(chosen, CLIENT).items()}

    return Lost(names(True, False), names(True, True), names(False, False), names(False, True))
