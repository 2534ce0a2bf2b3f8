"""Clients that quotas throttle for much of their time: a relation, not a table.

A record states how long its request was throttled, and not by which quota; the API narrows that down (`QUOTAS`). A
broker that throttles a client does what its quotas ask for, so this is information. A client's time is that of its
connections: many processes with one client id have as much more of it.
"""

from ...config.settings import Settings
from ...connections.engine import Column, DataFrame, F
from ...connections.sums import exact_sum
from ...connections.texts import joined_by
from .minutes import IDENTITY, SOFTWARE, begin_of, minute_of, of_same_key
from .whole_periods import covered

QUOTAS = {
    "producer_byte_rate or request_percentage": ("PRODUCE",),
    "consumer_byte_rate or request_percentage": ("FETCH", "SHARE_FETCH"),
    "controller_mutation_rate or request_percentage": ("CREATE_TOPICS", "CREATE_PARTITIONS", "DELETE_TOPICS"),
    "request_percentage": (),
}
"""The quotas that may throttle an API; the last one is for all other APIs.

The time in a record is the longest of all quotas that apply.
"""
_OF_QUOTAS = tuple(f"quota_{number}" for number in range(len(QUOTAS)))
_KEY = (*IDENTITY, *SOFTWARE)
_HOUR_MINUTES = 60
_MINUTE_MS = 60_000


def transform(
    client_activity: DataFrame, connections: DataFrame, whole_periods: DataFrame, settings: Settings
) -> DataFrame:
    """Return one row per client, listener and broker that was throttled for much of an hour, or of several.

    Returns:
        The client's columns; requests, those that were throttled; throttled_ms, also per quota (quota_0, …);
        connected_ms, the time of its connections in these hours; first_at and last_at; and longest, a connection with
        its connection_id, opened_at, log_generation and remote_host.
    """
    limits = settings.policy.activity
    hours = _covered(_by_hour(client_activity), whole_periods)
    is_long = F.col("throttled_ms") * 100 >= limits.throttled_percent * limits.minutes * _MINUTE_MS
    may_be = hours.where(is_long & (F.col("minutes") >= limits.minutes))
    timed = _with_time(may_be, connections)
    is_much = F.col("throttled_ms") * 100 >= F.col("connected_ms") * limits.throttled_percent
    return (
        timed.where(F.col("are_clients") & is_much)
        .groupBy(*_KEY)
        .agg(
            F.sum("requests").alias("requests"),
            *(exact_sum(F.col(name)).alias(name) for name in ("throttled_ms", *_OF_QUOTAS)),
            F.sum("connected_ms").alias("connected_ms"),
            begin_of(F.min("from_minute")).alias("first_at"),
            begin_of(F.max("to_minute") + 1).alias("last_at"),
            F.max_by("longest", "order").alias("longest"),
        )
    )


def _by_hour(client_activity: DataFrame) -> DataFrame:
    """Add up the throttled time of a client in an hour, and count the minutes in which it sent throttled APIs at least.

    Buckets that are longer than an hour stay whole.
    """
    throttled = client_activity.where(F.coalesce(F.col("throttled") > 0, F.lit(False)))
    minutes = F.map_keys("requests_by_minute")
    begin = minute_of("bucket")
    of_bucket = throttled.groupBy(*_KEY, "bucket").agg(
        F.sum("throttled").alias("requests"),
        exact_sum(F.col("throttled_ms")).alias("throttled_ms"),
        *(
            exact_sum(F.when(_is_of(apis), F.col("throttled_ms"))).alias(name)
            for name, apis in zip(_OF_QUOTAS, QUOTAS.values(), strict=True)
        ),
        F.max(F.size(minutes)).alias("minutes"),
        F.min(begin + F.array_min(minutes)).alias("from_minute"),
        F.max(begin + F.array_max(minutes)).alias("to_minute"),
    )
    hour = F.floor(minute_of("bucket") / _HOUR_MINUTES).alias("hour")
    return of_bucket.groupBy(*_KEY, hour).agg(
        *(F.sum(name).alias(name) for name in ("requests", "minutes")),
        *(exact_sum(F.col(name)).alias(name) for name in ("throttled_ms", *_OF_QUOTAS)),
        F.min("from_minute").alias("from_minute"),
        F.max("to_minute").alias("to_minute"),
    )


def _is_of(apis: tuple[str, ...]) -> Column:
    named = [api for listed in QUOTAS.values() for api in listed]
    return F.col("api_name").isin(*apis) if apis else ~F.col("api_name").isin(*named)


def _covered(hours: DataFrame, whole_periods: DataFrame) -> DataFrame:
    """Keep the hours of which a period that holds every request has all requests of the client."""
    starts_in = begin_of(F.col("from_minute") + 1) > F.col("whole_from")
    ends_in = begin_of(F.col("to_minute")) < F.col("whole_until")
    return covered(hours, whole_periods, starts_in & ends_in)


def _with_time(hours: DataFrame, connections: DataFrame) -> DataFrame:
    """Add how long the client's connections lasted in these minutes: connected_ms, are_clients, longest and its order."""
    own = of_same_key(connections, hours, IDENTITY).select(
        *IDENTITY,
        (F.col("role") == "client").alias("is_client"),
        F.struct("connection_id", "opened_at", "log_generation", "remote_host").alias("connection"),
        F.struct("requests", "opened_at", "opened_seq", "connection_id").alias("order"),
        F.unix_micros("opened_at").alias("from_micros"),
        F.unix_micros("last_request_at").alias("to_micros"),
    )
    begin, end = F.unix_micros(begin_of(F.col("from_minute"))), F.unix_micros(begin_of(F.col("to_minute") + 1))
    lasted = F.least(F.col("to_micros"), end) - F.greatest(F.col("from_micros"), begin)
    beside = joined_by(hours, own, IDENTITY).where((F.col("from_micros") < end) & (F.col("to_micros") >= begin))
    return beside.groupBy(*hours.columns).agg(
        F.floor(F.sum(lasted) / 1000).alias("connected_ms"),
        F.bool_and("is_client").alias("are_clients"),
        F.max_by("connection", "order").alias("longest"),
        F.max("order").alias("order"),
    )
