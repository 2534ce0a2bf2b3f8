"""Floods of requests: a relation, not a table.

A flood is far more requests of one API in each of several minutes in a row than the client sends in the median of its
minutes; or so many that no client needs them, whatever the median:

    looks the same                               | is no flood because
    ---------------------------------------------|------------------------------------------------------------------
    many processes or hosts have one client id   | limits are per connection that uses the API at that time
    all clients ask again after a broker restarts | that is over within a minute or two
    clients retry by their defaults               | the limits are above that
    a job, a script or an exporter comes at times | its median is that of the minutes in which it sends at all
    the log's level was set to DEBUG              | only minutes count in which the log holds every request
    several clients share a connection (a proxy)  | requests with another client id than the connection's first one
                                                  | belong to no connection, so nobody is accused of them

Brokers and forwarding connections are left out with all that has their client id.
"""

from ...config.settings import Settings
from ...connections.engine import Column, DataFrame, F
from ...connections.texts import joined_by
from ...tables.spec import CONNECTION_KEY
from .minutes import IDENTITY, SOFTWARE, begin_of, lasting, minute_of, of_same_key
from .whole_periods import covered

FLOODING = (
    "METADATA", "OFFSET_COMMIT", "FIND_COORDINATOR", "API_VERSIONS", "OFFSET_FETCH", "LIST_OFFSETS", "INIT_PRODUCER_ID",
    "JOIN_GROUP", "HEARTBEAT", "DESCRIBE_CLUSTER", "DESCRIBE_CONFIGS", "DESCRIBE_GROUPS", "LIST_GROUPS",
)  # fmt: skip
"""APIs that clients need now and then; how often they produce and fetch is what they are there for."""
_USER = (*IDENTITY, "api_name")
_KEY = (*_USER, *SOFTWARE)


def transform(
    client_activity: DataFrame,
    connections: DataFrame,
    api_usage: DataFrame,
    whole_periods: DataFrame,
    settings: Settings,
) -> DataFrame:
    """Return one row per client, API, listener and broker with a flood.

    Returns:
        The client's columns and api_name; requests, their number in the minutes of the flood; minutes; most, the
        requests in the fullest minute, and users, the most connections that shared a minute; median; first_at and
        last_at; and busiest, the connection with the most requests of the API, with its connection_id, opened_at,
        log_generation and remote_host.
    """
    limits = settings.policy.activity
    counted = client_activity.where(F.col("api_name").isin(*FLOODING))
    may_flood = counted.where(F.col("requests") >= limits.requests_per_minute)
    minutes = _covered(_by_minute(of_same_key(counted, may_flood, _KEY)), whole_periods)
    normal = minutes.groupBy(*_KEY).agg(_median("requests").alias("median"))
    requests, is_far_above = F.col("requests"), F.col("requests") >= F.col("median") * limits.times_median
    limit = F.when(is_far_above, limits.requests_per_minute).otherwise(limits.requests_per_minute_always)
    high = joined_by(minutes, normal, _KEY).withColumn("limit", limit).where(requests >= F.col("limit"))
    used = _with_users(high, connections, api_usage)
    is_flood = F.col("are_clients") & (requests >= F.col("limit") * F.col("users"))
    floods = lasting(used.where(is_flood), _KEY, limits.minutes)
    return floods.groupBy(*_KEY).agg(
        F.sum("requests").alias("requests"),
        F.count("*").alias("minutes"),
        F.max("requests").alias("most"),
        F.max("users").alias("users"),
        F.max("median").alias("median"),
        begin_of(F.min("minute")).alias("first_at"),
        begin_of(F.max("minute") + 1).alias("last_at"),
        F.max_by("busiest", "order").alias("busiest"),
    )


def _by_minute(counted: DataFrame) -> DataFrame:
    entry = F.explode(F.map_entries("requests_by_minute")).alias("entry")
    exploded = counted.select(*_KEY, minute_of("bucket").alias("begin"), entry)
    return exploded.select(*_KEY, (F.col("begin") + F.col("entry.key")).alias("minute"), F.col("entry.value").alias("requests"))  # fmt: skip


def _covered(minutes: DataFrame, whole_periods: DataFrame) -> DataFrame:
    """Keep the minutes in which the log holds every request from the beginning to the end."""
    is_covered = (begin_of(F.col("minute")) >= F.col("whole_from")) & (
        begin_of(F.col("minute") + 1) <= F.col("whole_until")
    )
    return covered(minutes, whole_periods, is_covered)


def _median(name: str) -> Column:
    """Aggregate the lower median of a column without nulls."""
    values = F.array_sort(F.collect_list(name))
    return F.get(values, F.floor((F.size(values) - 1) / 2).cast("int"))


def _with_users(high: DataFrame, connections: DataFrame, api_usage: DataFrame) -> DataFrame:
    """Add the connections of the client that used the API in a minute: users, are_clients, busiest and its order.

    A connection uses an API from its first such request to its last. The software is left out, as records state another
    one before the handshake has ended.
    """
    own = of_same_key(connections, high, IDENTITY).select(
        *CONNECTION_KEY, *(name for name in IDENTITY if name not in CONNECTION_KEY), "role", "remote_host",
        "log_generation",
    )  # fmt: skip
    of_api = api_usage.where(F.col("api_name").isin(*FLOODING)).select(
        *CONNECTION_KEY, "api_name", F.col("requests").alias("sent"), "first_at", "last_at"
    )
    uses = (
        own.join(of_api, on=list(CONNECTION_KEY), how="inner")
        .groupBy(*CONNECTION_KEY, *(name for name in IDENTITY if name not in CONNECTION_KEY), "api_name", "role", "remote_host", "log_generation")
        .agg(F.sum("sent").alias("sent"), F.min("first_at").alias("first_at"), F.max("last_at").alias("last_at"))
        .select(
            *_USER,
            (F.col("role") == "client").alias("is_client"),
            F.struct("connection_id", "opened_at", "log_generation", "remote_host").alias("connection"),
            F.struct("sent", "opened_at", "opened_seq", "connection_id").alias("order"),
            minute_of("first_at").alias("from_minute"),
            minute_of("last_at").alias("to_minute"),
        )
    )  # fmt: skip
    beside = joined_by(high, uses, _USER)
    is_used = F.col("minute").between(F.col("from_minute"), F.col("to_minute"))
    return (
        beside.where(is_used)
        .groupBy(*high.columns)
        .agg(
            F.count("*").alias("users"),
            F.bool_and("is_client").alias("are_clients"),
            F.max_by("connection", "order").alias("busiest"),
            F.max("order").alias("order"),
        )
    )
