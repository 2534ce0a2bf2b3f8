"""The table `client_activity_parts`: requests, times and errors of a client by API and bucket of time.

Its histogram says how many requests took how long, in buckets that add up, four to a power of ten: a bound is at most 1.8
times the one before. docs/howto/activity.md says what that makes of a percentile.
"""

from functools import reduce

from ...config.settings import Settings
from ...connections.engine import Column, DataFrame, F
from ...connections.texts import unnamed_connection
from ...logs.generations.fields import Times
from ...protocol import UNKNOWN

BOUNDS = (*(float(f"{mantissa}e{power}") for power in range(-1, 6) for mantissa in (1, 1.8, 3.2, 5.6)), 1e6)
"""Upper bounds of the buckets of `latency` in milliseconds, which belong to them."""
NAMES = (*(f"up_to_{bound:g}".replace(".", "_").replace("e+06", "000000") for bound in BOUNDS), "above")
"""The buckets' names: fields of the column, up_to_0_1 to up_to_1000000, and above."""

_CLIENT = ("cluster", "broker", "principal", "client_id", "client_software_name", "client_software_version", "listener")
_KEY = (*_CLIENT, "api_name", "bucket", "connection_id")
TIMES = Times._fields
_COUNTS = [f"n{number}" for number in range(len(NAMES))]
_MINUTE = 60


def transform(new_requests: DataFrame, settings: Settings) -> DataFrame:
    """Return one row per client, API and bucket; a null is a value of a key."""
    by_part = _parts(new_requests, settings.bucket_minutes).groupBy(*_KEY, "minute", "code").agg(
        F.count("is_answered").alias("requests"),
        F.max("is_answered").alias("is_answered"),
        *(F.sum((F.col("slot") == number).cast("bigint")).alias(name) for number, name in enumerate(_COUNTS)),
        *(_exact_sum(F.col(name)).alias(f"{name}_sum") for name in TIMES),
        *(F.max(name).alias(f"{name}_max") for name in TIMES),
        F.sum((F.col("quota_delay_ms") > 0).cast("bigint")).alias("throttled"),
        _exact_sum(F.col("quota_delay_ms")).alias("throttled_ms"),
        F.sum("number").alias("number"),
        F.max("ingested_at").alias("ingested_at"),
    )  # fmt: skip
    is_answered = F.max("is_answered") == 1
    return by_part.groupBy(*_KEY).agg(
        F.sum("requests").alias("requests"),
        _map_of("minute", "requests").alias("requests_by_minute"),
        F.when(is_answered, _map_of("code", "number")).alias("errors"),
        F.when(is_answered, F.coalesce(F.sum("number"), F.lit(0))).alias("error_count"),
        F.struct(*(F.sum(count).alias(name) for count, name in zip(_COUNTS, NAMES, strict=True))).alias("latency"),
        *(_exact_sum(F.col(f"{name}_sum")).alias(f"{name}_sum") for name in TIMES),
        *(F.max(f"{name}_max").alias(f"{name}_max") for name in TIMES),
        F.sum("throttled").alias("throttled"),
        _exact_sum(F.col("throttled_ms")).alias("throttled_ms"),
        F.max("ingested_at").alias("ingested_at"),
    )


def _parts(new_requests: DataFrame, minutes: int) -> DataFrame:
    """Return one row per request, with its minute, and one per error code in its response, with code and number.

    Both come from one look at the requests, which are many. Columns of the other kind are null. A bucket has so many
    `minutes`; buckets are counted from the epoch.
    """
    known = {name: F.coalesce(name, F.lit(UNKNOWN)) for name in ("client_software_name", "client_software_version")}
    bucket = _bucket_number(minutes * _MINUTE)
    minute = _bucket_number(_MINUTE) - bucket * minutes
    of_itself = F.struct(F.lit(None).cast("int").alias("key"), F.lit(None).cast("bigint").alias("value"))
    parts = F.concat(F.array(of_itself), F.coalesce(F.map_entries("errors"), F.array()))
    exploded = (
        new_requests.where(~F.col("is_forwarded") & ~F.col("is_duplicate"))
        .withColumns(known)
        .select(*_CLIENT, unnamed_connection().alias("connection_id"), "api_name", "logged_at", "errors", *TIMES, "log_generation", "ingested_at", F.explode(parts).alias("part"))
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
        "connection_id",
        "api_name",
        F.timestamp_seconds(bucket * (minutes * _MINUTE)).alias("bucket"),
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


def _bucket_number(seconds: int) -> Column:
    # Arithmetic with seconds is exact for every length of a bucket and raises no ANSI errors, as dates might.
    return F.floor(F.unix_seconds("logged_at") / seconds).cast("bigint")


def _slot(milliseconds: Column) -> Column:
    first, *others = enumerate(BOUNDS)
    begin = F.when(milliseconds <= first[1], first[0])
    return reduce(lambda cases, case: cases.when(milliseconds <= case[1], case[0]), others, begin).otherwise(
        len(BOUNDS)
    )


def _exact_sum(milliseconds: Column) -> Column:
    """Add up times in milliseconds, to the microsecond; null if there are none.

    A sum of doubles would depend on the order.
    """
    micros = F.floor(milliseconds * 1000 + 0.5).cast("bigint")
    return F.sum(micros) / 1000


def _map_of(key: str, value: str) -> Column:
    """Aggregate a group's rows with a key to a map; a key occurs once."""
    entry = F.struct(key, F.col(value).cast("bigint"))
    return F.map_from_entries(F.array_sort(F.collect_list(F.when(F.col(key).isNotNull(), entry))))
