"""The table `client_activity`: requests, times and errors of a client by API and bucket of time, and its connections.

Its rows are of two kinds:

    rows about  | api_name     | are made of     | a run
    ------------|--------------|-----------------|-----------------------------------------------------
    requests    | the request's| new requests    | adds them to the stored rows
    connections | null         | all connections | makes them again: a connection's software, or whether it
                |              |                 | has ended, may become known later
"""

from functools import reduce

from ...config.settings import Settings
from ...connections.buckets import MINUTE, bucket_number, bucket_start
from ...connections.engine import Column, DataFrame, F, Window
from ...connections.sums import exact_sum, map_of
from ...logs.text_tail import Times
from ...protocol import UNKNOWN
from ...tables.latency import BOUNDS, LATENCY_TYPE, NAMES
from ...tables.spec import CONNECTION_ID_KEY

_CLIENT = ("cluster", "broker", "principal", "client_id", "client_software_name", "client_software_version", "listener")
_KEY = (*_CLIENT, "api_name", "bucket")
TIMES = Times._fields
_COUNTS = [f"n{number}" for number in range(len(NAMES))]
_OF_REQUESTS = (
    {
        "requests_by_minute": "map<int,bigint>",
        "errors": "map<int,bigint>",
        "error_count": "bigint",
        "latency": LATENCY_TYPE,
    }
    | {f"{name}_{kind}": "double" for name in TIMES for kind in ("sum", "max")}
    | {"throttled": "bigint", "throttled_ms": "double", "ingested_at": "timestamp"}
)
"""Columns that are null in rows about connections, with their types."""


def transform(
    new_requests: DataFrame, connections: DataFrame, ingested_files: DataFrame, settings: Settings
) -> DataFrame:
    """Return rows about new requests, which can be merged with others, and all rows about connections."""
    seconds = settings.bucket_minutes * 60
    by_connections = _of_connections(connections, ingested_files, settings)
    return _of_requests(new_requests, seconds).unionByName(by_connections)


def _of_requests(new_requests: DataFrame, seconds: int) -> DataFrame:
    """Return one row per client, API and bucket; a null is a value of a key."""
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
    merged = by_part.groupBy(*_KEY).agg(
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
    return merged.withColumns({name: F.lit(0).cast("bigint") for name in ("connections_opened", "connections_ended")})


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


def _of_connections(connections: DataFrame, ingested_files: DataFrame, settings: Settings) -> DataFrame:
    """Return how many connections of a client were opened and have ended in a bucket, as far as that is known.

    A connection is known to have ended if another one has taken its id, or if the broker still logged requests when it
    would have closed it for being idle.
    """
    seconds = settings.bucket_minutes * 60
    newest = ingested_files.groupBy("cluster", "broker").agg(F.max("last_logged_at").alias("logged_until"))
    of_id = Window.partitionBy(*CONNECTION_ID_KEY).orderBy("session_no")
    idle = F.make_dt_interval(secs=F.lit(settings.max_idle_ms / 1000))
    ends = F.lead("session_no").over(of_id).isNotNull() | (F.col("last_request_at") + idle <= F.col("logged_until"))
    known = connections.join(F.broadcast(newest), on=["cluster", "broker"], how="left").select(
        *_CLIENT,
        F.col("start").isin("observed", "hidden_by_sasl").alias("is_opened"),
        _bucket("opened_at", seconds).alias("opened"),
        ends.alias("is_ended"),
        _bucket("last_request_at", seconds).alias("ended"),
    )
    nothing = F.lit(0).cast("bigint")
    events = [
        known.where(F.col(f"is_{event}")).select(
            *_CLIENT,
            F.col(event).alias("bucket"),
            *(F.lit(int(name == event)).cast("bigint").alias(f"connections_{name}") for name in ("opened", "ended")),
        )
        for event in ("opened", "ended")
    ]
    counted = events[0].unionByName(events[1]).groupBy(*_CLIENT, "bucket")
    rows = counted.agg(*(F.sum(name).alias(name) for name in ("connections_opened", "connections_ended")))
    nulls = {name: F.lit(None).cast(kind) for name, kind in _OF_REQUESTS.items()}
    return rows.withColumns({"api_name": F.lit(None).cast("string"), "requests": nothing, **nulls})
