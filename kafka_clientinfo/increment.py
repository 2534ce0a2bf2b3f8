"""What a build derives anew: of every connection string with new requests, its newest connections and what follows.

A string is used again and again. New requests can continue its newest connection or begin another; the ones before
are over, and nothing that comes later in the log changes them. So a build reads the requests of a touched string
from the beginning of its newest connection on, and replaces the rows of these connections only: its work follows
what is new, not the history. Three things ask for more:

- A late file stands in its broker's order before one that was built. It may move seams and show beginnings: all
  strings of its broker are derived from all their requests.
- Other settings, or another release: everything is derived anew.
- Retention (`maintain`) has deleted requests of connections that ended before an instant. Their rows cannot be
  derived again and are kept as they are.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from .tables import CONNECTION_KEY

KEPT = StorageLevel.MEMORY_AND_DISK
_KEY = list(CONNECTION_KEY)
_TOUCHED = ("kept_until", "kept_sessions", "from_file", "from_offset", "since")
_PLACE = ("first_logged_at", "last_logged_at", "file_id")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OVERLAP_SECONDS = 60
"""Timestamps of neighbours step back by less than a second: connections that open this close are taken together."""
_STEP_BACK_SECONDS = 2 * 3600
"""A clock may be set back while a connection is open, as by an hour in autumn: its later requests are found all the same."""


@dataclass(frozen=True)
class Stored:
    """What a warehouse holds before a build.

    Attributes:
        requests: the table `requests`, as far as its ingestion is committed.
        sessions: the table `connection_sessions`.
        files: the table `ingested_files`.
        retained_from: instant before which connections' requests may have been deleted; None where none were.
    """

    requests: DataFrame
    sessions: DataFrame
    files: DataFrame
    retained_from: str | None


@dataclass(frozen=True)
class Increment:
    """What a build derives.

    Attributes:
        touched: per connection string cluster, broker, connection_id, and: kept_until, the newest opened_at whose rows
            stay (null: none stay); kept_sessions, their number; from_file and from_offset, where the first request to
            derive from stands (null: all requests of the string); since, a time before which none of these requests
            was logged (null: unknown). Persisted.
        requests: these requests, with kept_sessions.
        since: no connection that is derived opened before; None where that is not known.
    """

    touched: DataFrame
    requests: DataFrame
    since: datetime | None


def everything(stored: Stored) -> Increment:
    """All connection strings."""
    strings = stored.requests.select(*_KEY).distinct()
    if stored.retained_from is None:
        return Increment(strings.select(*_KEY, *_from_the_start()).persist(KEPT), stored.requests, None)
    return _increment(_behind_the_deleted(strings, stored), stored)


def since(stored: Stored, built_until: str, max_idle_ms: int) -> Increment:
    """The connection strings with requests that no build has seen.

    Args:
        stored: the warehouse.
        built_until: time of ingestion up to which everything is built.
        max_idle_ms: `connections.max.idle.ms`: a connection that was idle for longer is over.
    """
    is_new = F.col("ingested_at") > F.lit(built_until).cast("timestamp")
    strings = (
        stored.requests.where(is_new)
        .groupBy(*_KEY)
        .agg(F.min("started_at").alias("new_from"), F.min("logged_at").alias("since"))
    )
    on_time = _from_the_newest(strings, stored, max_idle_ms)
    late = _late_brokers(stored, is_new)
    if not late:
        return _increment(on_time, stored)
    of_late = reduce(or_, ((F.col("cluster") == cluster) & (F.col("broker") == broker) for cluster, broker in late))
    again = stored.requests.where(of_late).select(*_KEY).distinct()
    if stored.retained_from is not None:
        again = again.join(_deleted(stored), on=_KEY, how="left_anti")
    whole = again.select(*_KEY, *_from_the_start())
    return _increment(on_time.join(whole, on=_KEY, how="left_anti").unionByName(whole), stored)


def _increment(touched: DataFrame, stored: Stored) -> Increment:
    touched = touched.persist(KEPT)
    first = F.min(F.unix_micros("since"))
    row = touched.agg(first.alias("first"), F.bool_or(F.col("since").isNull()).alias("unknown")).first()
    begin = None
    if row is not None and row["first"] is not None and not row["unknown"]:
        begin = _EPOCH + timedelta(microseconds=row["first"], seconds=-_STEP_BACK_SECONDS)
    requests = stored.requests if begin is None else stored.requests.where(F.col("logged_at") >= F.lit(begin))
    return Increment(touched, _from_where_it_says(requests, touched, stored.files), begin)


def _from_where_it_says(requests: DataFrame, touched: DataFrame, files: DataFrame) -> DataFrame:
    places = files.select("file_id", F.struct(*_PLACE).alias("place"))
    begins = places.select(F.col("file_id").alias("from_file"), F.col("place").alias("from_place"))
    bounds = touched.join(F.broadcast(begins), on="from_file", how="left").select(
        *_KEY,
        "kept_sessions",
        F.col("since").alias("of_string_since"),
        F.struct(F.col("from_place").alias("place"), F.col("from_offset").alias("byte_offset")).alias("begin"),
    )
    joined = requests.join(bounds, on=_KEY, how="inner").join(F.broadcast(places), on="file_id", how="inner")
    is_behind = F.struct("place", "byte_offset") >= F.col("begin")
    # Without a place, all connections that are known are over: what is older than the new requests is theirs.
    is_later = F.col("of_string_since").isNull() | (F.col("logged_at") >= F.col("of_string_since"))
    wanted = F.when(F.col("begin.place").isNull(), is_later).otherwise(is_behind)
    return joined.where(wanted).select(*requests.columns, "kept_sessions")


def _from_the_start() -> list[Column]:
    return _values(F.lit(None), F.lit(0), F.lit(None), F.lit(None), F.lit(None))


def _values(*values: Column) -> list[Column]:
    types = ("timestamp", "int", "string", "bigint", "timestamp")
    return [value.cast(kind).alias(name) for value, kind, name in zip(values, types, _TOUCHED, strict=True)]


def _from_the_newest(strings: DataFrame, stored: Stored, max_idle_ms: int) -> DataFrame:
    sessions = stored.sessions.select(
        *_KEY, "session_no", "opened_at", "last_request_at", "file_id", "byte_offset"
    ).join(strings, on=_KEY, how="inner")
    overlap = F.expr(f"INTERVAL {_OVERLAP_SECONDS} SECONDS")
    of_string = Window.partitionBy(*_KEY)
    is_last = F.col("session_no") == F.max("session_no").over(of_string)
    is_newest = is_last | (F.col("opened_at") >= F.max("opened_at").over(of_string) - overlap)
    is_over = F.unix_micros("new_from") - F.unix_micros("last_request_at") > max_idle_ms * 1000
    if stored.retained_from is not None:
        is_over = is_over | _is_deleted(stored)
    # A build that broke may have stored connections of the new requests: those, and the one before them, are as new.
    has_new = F.col("last_request_at") >= F.col("since") - overlap
    if stored.retained_from is not None:
        has_new = has_new & ~_is_deleted(stored)
    open_ones = sessions.withColumn("is_open", (is_newest & ~is_over) | has_new)
    open_from = F.min(F.when(F.col("is_open"), F.col("session_no"))).over(of_string)
    # Rows stay up to an instant, kept_until: what is derived must have opened behind it.
    is_border = _is_behind_all_before(F.lit(False) if stored.retained_from is None else _is_deleted(stored))
    borders = open_ones.withColumns({"open_from": open_from, "is_border": is_border})
    border = F.max(F.when(F.col("is_border") & (F.col("session_no") <= open_from), F.col("session_no"))).over(of_string)
    from_no = F.coalesce(border, open_from)
    split = borders.withColumn("is_derived", F.coalesce(F.col("session_no") >= from_no, F.lit(False)))
    begin = F.when(F.col("is_derived"), F.struct("session_no", "file_id", "byte_offset", "opened_at"))
    known = split.groupBy(*_KEY).agg(
        F.max(F.when(~F.col("is_derived"), F.col("opened_at"))).alias("kept_until"),
        F.sum((~F.col("is_derived")).cast("int")).alias("kept_sessions"),
        F.min(begin).alias("begin"),
    )
    joined = strings.join(known, on=_KEY, how="left")
    return joined.select(
        *_KEY,
        *_values(
            F.col("kept_until"),
            F.coalesce("kept_sessions", F.lit(0)),
            F.col("begin.file_id"),
            F.col("begin.byte_offset"),
            F.least("begin.opened_at", "since"),
        ),
    )


def _is_behind_all_before(is_deleted: Column) -> Column:
    """Whether this connection and the later ones of its string opened after all earlier ones, and are there as a whole."""
    in_order = Window.partitionBy(*_KEY).orderBy("session_no")
    earlier = F.max("opened_at").over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    on = in_order.rowsBetween(0, Window.unboundedFollowing)
    return (earlier.isNull() | (earlier < F.min("opened_at").over(on))) & ~F.max(is_deleted).over(on)


def _is_deleted(stored: Stored) -> Column:
    return F.col("last_request_at") < F.lit(stored.retained_from).cast("timestamp")


def _deleted(stored: Stored) -> DataFrame:
    """Strings some of whose connections have lost their requests: how many, and when the newest of these opened."""
    return (
        stored.sessions.where(_is_deleted(stored))
        .groupBy(*_KEY)
        .agg(F.max("opened_at").alias("kept_until"), F.count("*").alias("kept_sessions"))
    )


def _behind_the_deleted(strings: DataFrame, stored: Stored) -> DataFrame:
    joined = strings.join(_deleted(stored), on=_KEY, how="left")
    nothing = F.lit(None)
    kept = F.coalesce("kept_sessions", F.lit(0))
    return joined.select(*_KEY, *_values(F.col("kept_until"), kept, nothing, nothing, nothing))


def _late_brokers(stored: Stored, is_new: Column) -> list[tuple[Any, Any]]:
    """Brokers of files that are new, or have grown, and stand before one that was built, if only in part."""
    new = stored.requests.where(is_new).groupBy("file_id").agg(F.count("*").alias("new"))
    files = stored.files.where("requests > 0").join(F.broadcast(new), on="file_id", how="left")
    place, has_new = F.struct(*_PLACE), F.col("new") > 0
    was_built = F.col("requests") > F.coalesce("new", F.lit(0))
    ends = files.groupBy("cluster", "broker").agg(
        F.min(F.when(has_new, place)).alias("earliest"), F.max(F.when(was_built, place)).alias("latest")
    )
    return [(row["cluster"], row["broker"]) for row in ends.where("latest > earliest").collect()]
