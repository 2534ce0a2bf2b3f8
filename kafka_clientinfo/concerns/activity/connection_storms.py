"""Storms of short connections: a relation, not a table.

A connection is short if its last request comes soon after its first. One alone proves nothing: it may stay open and
idle, as the one by which a client finds the cluster. A storm is many of them in each of several minutes in a row, of
one client from one host to one broker:

    looks the same                               | is no storm because
    ---------------------------------------------|------------------------------------------------------------------
    all clients reconnect after a broker restarts | that is over within a minute or two
    many processes start, with one proxy or NAT   | a good part of their connections is in use, so not short
    a script that cron starts, a health check     | they make few connections a minute
    a log that begins while connections are open  | their start is not observed; where SASL hides it, connections count
                                                  | only after connections.max.idle.ms
    the log ends, or leaves out requests          | silence counts only in periods that hold every request
    a log that holds handshakes only              | it has no connection that goes on after its handshake

What the connections do names the rule: see `rules.findings_storms`.
"""

from ...config.activity import ActivityLimits
from ...config.settings import Settings
from ...connections.engine import Column, DataFrame, F
from ...connections.facts import is_client
from ...connections.judged import requests_where
from ...connections.texts import joined_by
from ...logs.apis import SASL_APIS
from ...tables.spec import CONNECTION_KEY
from .minutes import IDENTITY, SOFTWARE, lasting, minute_of
from .whole_periods import covered

_CLIENT = (*IDENTITY, *SOFTWARE, "remote_host")
_HANDSHAKE = ("API_VERSIONS", *SASL_APIS)
_LOOKUPS = ("METADATA", "FIND_COORDINATOR", "INIT_PRODUCER_ID", "GET_TELEMETRY_SUBSCRIPTIONS", "PUSH_TELEMETRY")
"""APIs that clients call before they can do what they are there for, or besides it."""
_MOST_IN_HANDSHAKE = 2
"""The requests of a handshake without SASL: a second ApiVersions request follows if the version of the first is refused."""
ALIKE_PERCENT = 90
"""The share of a client's connections that must be alike."""
QUIET_SECONDS = 60
"""How long the log must go on after a connection's last request."""


def transform(connections: DataFrame, api_usage: DataFrame, whole_periods: DataFrame, settings: Settings) -> DataFrame:
    """Return one row per client, host and broker with a storm.

    Returns:
        The client's columns; connections, their number; handshakes and singles, how many of them sent nothing else than
        a handshake, or one request besides it and lookups; single_api, an API of such a request; minutes, and most, the
        connections in the fullest minute; first_at and last_at; and first, the first connection, with its
        connection_id, opened_at and log_generation.
    """
    limits = settings.policy.activity
    opened = connections.where(is_client()).select(
        *CONNECTION_KEY, *(name for name in _CLIENT if name not in CONNECTION_KEY), "last_request_at", "requests",
        "start", "log_generation", minute_of("opened_at").alias("minute"), _is_short(limits).alias("is_short"),
    )  # fmt: skip
    shorts = F.sum(F.col("is_short").cast("int"))
    full = opened.groupBy(*_CLIENT, "minute").agg(shorts.alias("shorts"), F.count("*").alias("all"))
    is_full = F.col("shorts") >= limits.short_connections_per_minute
    busy = full.where(is_full & (F.col("shorts") * 100 >= F.col("all") * ALIKE_PERCENT)).drop("all")
    short = joined_by(opened.where(F.col("is_short")), F.broadcast(busy), (*_CLIENT, "minute"))
    ended = _covered(short.where(F.col("shorts").isNotNull()).drop("shorts", "is_short"), whole_periods)
    by_minute = _with_uses(_where_clients_go_on(ended, connections), api_usage).groupBy(*_CLIENT, "minute").agg(
        F.count("*").alias("connections"),
        F.sum(F.col("is_handshake").cast("int")).alias("handshakes"),
        F.sum(F.col("is_single").cast("int")).alias("singles"),
        F.max(F.when(F.col("is_single"), F.col("work_api"))).alias("single_api"),
        F.min("opened_at").alias("first_at"),
        F.max("last_request_at").alias("last_at"),
        F.min_by(F.struct("connection_id", "opened_at", "log_generation"), F.struct("opened_at", "opened_seq", "connection_id")).alias("first"),
    )  # fmt: skip
    storms = lasting(
        by_minute.where(F.col("connections") >= limits.short_connections_per_minute), _CLIENT, limits.minutes
    )
    return storms.groupBy(*_CLIENT).agg(
        *(F.sum(name).alias(name) for name in ("connections", "handshakes", "singles")),
        F.max("single_api").alias("single_api"),
        F.count("*").alias("minutes"),
        F.max("connections").alias("most"),
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        F.min_by("first", "minute").alias("first"),
    )


def _is_short(limits: ActivityLimits) -> Column:
    lasted = F.unix_micros("last_request_at") - F.unix_micros("opened_at")
    return (F.col("start") != "before_log") & (lasted <= limits.short_seconds * 1_000_000)


def _covered(short: DataFrame, whole_periods: DataFrame) -> DataFrame:
    """Keep the connections of which the log would show earlier and later requests.

    SASL hides where a connection begins. If it was open when the period began, the broker would have closed it before
    max_idle_ms had passed in silence.
    """
    opened, last = F.unix_micros("opened_at"), F.unix_micros("last_request_at")
    began, ended = F.unix_micros("whole_from"), F.unix_micros("whole_until")
    hidden = F.when(F.col("start") == "hidden_by_sasl", F.col("max_idle_ms") * 1000).otherwise(0)
    is_covered = (opened >= began + hidden) & (last + QUIET_SECONDS * 1_000_000 <= ended)
    return covered(short, whole_periods, is_covered)


def _where_clients_go_on(short: DataFrame, connections: DataFrame) -> DataFrame:
    """Keep the connections to brokers with a log that holds more than handshakes: it may have been filtered for them."""
    goes_on = connections.where(is_client() & (F.col("requests") > _MOST_IN_HANDSHAKE))
    return short.join(goes_on.select("cluster", "broker").distinct(), on=["cluster", "broker"], how="left_semi")


def _with_uses(short: DataFrame, api_usage: DataFrame) -> DataFrame:
    """Add whether a connection did nothing but its handshake, or one thing besides that and lookups."""
    is_work = ~F.col("api_name").isin(*_HANDSHAKE, *_LOOKUPS)
    uses = (
        api_usage.join(short.select(*CONNECTION_KEY), on=list(CONNECTION_KEY), how="left_semi")
        .groupBy(*CONNECTION_KEY)
        .agg(
            requests_where(~F.col("api_name").isin(*_HANDSHAKE)).alias("after_handshake"),
            requests_where(is_work).alias("work"),
            F.max(F.when(is_work, F.col("api_name"))).alias("work_api"),
        )
    )
    joined = short.join(uses, on=list(CONNECTION_KEY), how="inner")
    return joined.withColumns({"is_handshake": F.col("after_handshake") == 0, "is_single": F.col("work") == 1})
