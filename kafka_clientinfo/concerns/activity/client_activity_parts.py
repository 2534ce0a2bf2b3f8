"""The table `client_activity_parts`: requests, times and errors of a client by API and bucket of time."""

from functools import reduce

from ...config.settings import Settings
from ...connections.buckets import MINUTE, bucket_number, bucket_start
from ...connections.engine import Column, DataFrame, F
from ...connections.sums import exact_sum, map_of
from ...logs.generations.fields import Times
from ...protocol import UNKNOWN
from ...tables.latency import BOUNDS, NAMES

_CLIENT = ("cluster", "broker", "principal", "client_id", "client_software_name", "client_software_version", "listener")
_KEY = (*_CLIENT, "api_name", "bucket")
TIMES = Times._fields
_COUNTS = [f"n{number}" for number in range(len(NAMES))]


def transform(new_requests: DataFrame, settings: Settings) -> DataFrame:
    """Return one row per client, API and bucket; a null is a value of a key."""
    seconds = settings.bucket_minutes * 60
    by_part = _parts(new_requests, seconds).groupBy(*_KEY, "minute", "code").agg(
        F.count("is_answered").alias("requests"),
        F.max("is_answered").alias("is_answered"),
        *(F.sum((F.col("slot") == number).cast("bigint")).alias(name) for number, name in enumerate(_COUNTS)),
        *(exact_sum(F.col(name)).alias(f"{name}_sum") for name in TIMES),
        *(F.max(name).alias(f"{name}_max") for name in TIMES),
        F.sum((F.col("quota_delay_ms") > 0).cast("bigint")).alias("throttled"),
        exact_sum(F.col("quota_delay_ms")).alias("throttled_ms"),
        F.sum("number").alias("number"),
        F.max("ingested_at").alias("ingested_at"),
    )  # fmt: skip
    is_answered = F.max("is_answered") == 1
    return by_part.groupBy(*_KEY).agg(
        F.sum("requests").alias("requests"),
        map_of("minute", "requests").alias("requests_by_minute"),
        F.when(is_answered, map_of("code", "number")).alias("errors"),
        F.when(is_answered, F.coalesce(F.sum("number"), F.lit(0))).alias("error_count"),
        F.struct(*(F.sum(count).alias(name) for count, name in zip(_COUNTS, NAMES, strict=True))).alias("latency"),
        *(exact_sum(F.col(f"{name}_sum")).alias(f"{name}_sum") for name in TIMES),
        *(F.max(f"{name}_max").alias(f"{name}_max") for name in TIMES),
        F.sum("throttled").alias("throttled"),
        exact_sum(F.col("throttled_ms")).alias("throttled_ms"),
        F.max("ingested_at").alias("ingested_at"),
    )


def _parts(new_requests: DataFrame, seconds: int) -> DataFrame:
    """Return one row per request, with its minute, and one per error code in its response, with code and number.

    Both come from one look at the requests, which are many. Columns of the other kind are null.
    """
    known = {name: F.coalesce(name, F.lit(UNKNOWN)) for name in ("client_software_name", "client_software_version")}
    minute = bucket_number("logged_at", MINUTE) - bucket_number("logged_at", seconds) * (seconds // MINUTE)
    of_itself = F.struct(F.lit(None).cast("int").alias("key"), F.lit(None).cast("bigint").alias("value"))
    parts = F.concat(F.array(of_itself), F.coalesce(F.map_entries("errors"), F.array()))
    exploded = (
        new_requests.where(~F.col("is_forwarded") & ~F.col("is_duplicate"))
        .withColumns(known)
        .select(*_CLIENT, "api_name", "logged_at", "errors", *TIMES, "log_generation", "ingested_at", F.explode(parts).alias("part"))
    )  # fmt: skip
    of_request = {
        "minute": minute.cast("int"),
        "is_answered": F.col("errors").isNotNull().cast("int"),
        "slot": _slot(F.col("total_time_ms")),
        "quota_delay_ms": _quota_delay(),
        **{name: F.col(name) for name in TIMES},
    }
    return exploded.select(
        *_CLIENT,
        "api_name",
        _bucket("logged_at", seconds).alias("bucket"),
        *(F.when(F.col("part.key").isNull(), column).alias(name) for name, column in of_request.items()),
        F.col("part.key").alias("code"),
        F.col("part.value").alias("number"),
        "ingested_at",
    )


def _quota_delay() -> Column:
    """Return for how many milliseconds a quota delayed the request; null if the record does not state it.

    From 0.11 to 2.6 a clock measures a throttle time for every request, also without a quota. The quota's own delay is
    logged from 2.7 on; records in JSON are of 2.8 and later.
    """
    return F.when(F.col("log_generation") == "json", F.col("throttle_time_ms"))


def _bucket(name: str, seconds: int) -> Column:
    """Return the start of the bucket that holds a time."""
    return bucket_start(bucket_number(name, seconds), seconds)


def _slot(milliseconds: Column) -> Column:
    """Return the number of the bucket of `latency` that holds a time."""
    first, *others = enumerate(BOUNDS)
    begin = F.when(milliseconds <= first[1], first[0])
    return reduce(lambda cases, case: cases.when(milliseconds <= case[1], case[0]), others, begin).otherwise(
        len(BOUNDS)
    )
