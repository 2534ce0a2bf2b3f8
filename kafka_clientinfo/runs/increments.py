"""Chooses what a build recomputes: for every connection id with new requests, its newest connection and what follows.

A connection id is used again and again. New requests can continue its newest connection or begin another; the
connections before are over, and nothing that comes later in the log changes them. So a build reads the requests of such
a connection id from the first one of its newest connection on, and replaces the rows of these connections only: its
work is in proportion to what is new, not to the history. What is recomputed, by what is new:

    what is new                             | connection ids            | requests of these ids
    ----------------------------------------|---------------------------|---------------------------------------------
    nothing was built, or other settings,   | all                       | all
    or another release                      |                           |
    requests                                | those of the new requests | from the first record of the newest
                                            |                           | connection, or of an earlier one that
                                            |                           | overlaps it; if there is none, from the time
                                            |                           | of the first new request on
    requests at DEBUG, from a broker that   | also those that opened    | the same
    writes others at INFO: both may belong  | shortly before            |
    to one period of the log                |                           |
    a late file: in its broker's order it   | all of its broker, as it  | all
    comes before one that was built, or     | may move boundaries       |
    the two may have changed places         |                           |
    a late report of a broker's start,      | all of its broker, as its | all
    before a request that was built         | connections end there     |
    evidence that a log leaves out          | all of its broker         | all
    requests, or that it does not           |                           |
    a host that proves to be a broker's     | those from it that bear a | all
                                            | broker's name             |

Retention (`maintain`) has deleted requests of connections that ended before an instant. Their rows cannot be computed
again, so they stay in each of these cases, and what is recomputed comes after them.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..spark.arrow_rows import collect
from ..spark.caching import release
from ..tables.spec import CONNECTION_ID_KEY, FILE_ORDER
from ..warehouse.staging import Staging, cache

_KEY = list(CONNECTION_ID_KEY)
_BOUNDS = (
    ("unchanged_until", "timestamp"),
    ("unchanged_connections", "int"),
    ("unchanged_last_request_at", "timestamp"),
    ("from_file", "string"),
    ("from_offset", "bigint"),
    ("since", "timestamp"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OVERLAP_SECONDS = 60
"""Timestamps of neighbours step back by less than a second: connections that open this close count as overlapping."""


@dataclass(frozen=True)
class Stored:
    """What a warehouse holds before a build.

    Attributes:
        requests: the table `requests`, up to what is committed in the ledger.
        connections: a snapshot of the table `connections`.
        files: the files that have requests, as `connections.coverage.in_order` returns them.
        reports: what brokers log about themselves that affects connections, as `connections.coverage.reports` returns
            it.
        retained_from: instant before which connections' requests may have been deleted; None if none were.
        staging: for `cache`.
        of_brokers: cluster, broker and connection_id of connections that new requests show to be brokers'; None if there
            are none.
    """

    requests: DataFrame
    connections: DataFrame
    files: DataFrame
    reports: DataFrame
    retained_from: datetime | None
    staging: Staging
    of_brokers: DataFrame | None = None


@dataclass(frozen=True)
class Increment:
    """What a build recomputes.

    Attributes:
        touched: one row per connection id: cluster, broker, connection_id, and: unchanged_until, the newest opened_at of the
            rows that stay (null: none stay); unchanged_connections, their number; unchanged_last_request_at, the time of their
            latest request; from_file and from_offset, the log position of the first request to recompute (null: all
            requests of the id); since, a time before which none of these requests was logged (null: unknown). Cached
            for the run; release it afterwards. None if every row of every connection id is recomputed.
        requests: the requests to recompute, with unchanged_connections and unchanged_last_request_at.
        since: no connection that is recomputed opened before it; None if that is not known.
    """

    touched: DataFrame | None
    requests: DataFrame
    since: datetime | None


def everything(requests: DataFrame) -> Increment:
    """Recompute all connection ids, if retention has deleted nothing: this needs no join and no shuffle."""
    nothing = F.lit(None).cast("timestamp").alias("unchanged_last_request_at")
    return Increment(None, requests.select("*", F.lit(0).alias("unchanged_connections"), nothing), None)


def everything_retained(stored: Stored) -> Increment:
    """Recompute all connection ids, if retention has deleted requests."""
    return _increment(_after_the_deleted(stored.requests.select(*_KEY).distinct(), stored), stored)


def since(stored: Stored, built_until: datetime, coverage_gap_ms: int) -> Increment:
    """Return what to recompute for the connection ids with requests that no build has seen.

    Args:
        stored: the warehouse.
        built_until: time of ingestion up to which everything is built.
        coverage_gap_ms: a longer silence counts as a gap of the log.
    """
    is_new = F.col("ingested_at") > F.lit(built_until)
    by_id_and_file = stored.requests.where(is_new).groupBy(*_KEY, "file_id")
    debug_since = F.min(F.when(F.col("log_level") != "INFO", F.col("logged_at"))).alias("debug_since")
    new = cache(
        by_id_and_file.agg(F.min("logged_at").alias("since"), debug_since, F.count("*").alias("requests")),
        stored.staging,
    )
    try:
        ids = new.select(*_KEY, "since").unionByName(_unsettled(new, stored, coverage_gap_ms))
        touched = _from_the_newest(ids.groupBy(*_KEY).agg(F.min("since").alias("since")), stored)
        if late := _brokers_with_late_news(stored, new, built_until):
            # One list, as Spark Connect refuses deeply nested expressions.
            is_late = F.struct("cluster", "broker").isin(
                [F.struct(F.lit(cluster), F.lit(broker)) for cluster, broker in late]
            )
            late_ids = stored.requests.where(is_late).select(*_KEY).distinct()
            touched = touched.where(~is_late).unionByName(_after_the_deleted(late_ids, stored))
        if stored.of_brokers is not None:
            others = touched.join(stored.of_brokers, on=_KEY, how="left_anti")
            touched = others.unionByName(_after_the_deleted(stored.of_brokers, stored))
        return _increment(touched, stored)
    finally:
        release(new)


def _unsettled(new: DataFrame, stored: Stored, coverage_gap_ms: int) -> DataFrame:
    """Return stored connections that new requests at DEBUG may affect, with the time when each opened.

    A connection may have begun with a request at INFO after the broker's last request at DEBUG. Only the next request
    at DEBUG settles which period of the log that request belongs to (`connections.coverage`). If a clock was set
    back, the broker counts as late.
    """
    gap = F.make_dt_interval(secs=F.lit(coverage_gap_ms / 1000 + _OVERLAP_SECONDS))
    writes_info = stored.files.where(F.col("info_requests") > 0).select("cluster", "broker").distinct()
    next_at_debug = new.groupBy("cluster", "broker").agg(F.min("debug_since").alias("debug_since"))
    brokers = next_at_debug.join(writes_info, on=["cluster", "broker"], how="inner")
    opened = stored.connections.join(F.broadcast(brokers), on=["cluster", "broker"], how="inner")
    return opened.where(F.col("opened_at") >= F.col("debug_since") - gap).select(
        *_KEY, F.col("opened_at").alias("since")
    )


def _increment(touched: DataFrame, stored: Stored) -> Increment:
    touched = cache(touched, stored.staging)
    first = F.min(F.unix_micros("since"))
    row = touched.agg(first.alias("first"), F.bool_or(F.col("since").isNull()).alias("unknown")).first()
    begin = None
    if row is not None and row["first"] is not None and not row["unknown"]:
        begin = _EPOCH + timedelta(microseconds=row["first"])
    # Delta compares this bound with the statistics of each file, so it does not read old files.
    requests = stored.requests if begin is None else stored.requests.where(F.col("logged_at") >= F.lit(begin))
    return Increment(touched, _requests_to_recompute(requests, touched, stored.files), begin)


def _requests_to_recompute(requests: DataFrame, touched: DataFrame, files: DataFrame) -> DataFrame:
    order = files.select("file_id", F.struct(*FILE_ORDER).alias("file_order"))
    first_files = order.select(F.col("file_id").alias("from_file"), F.col("file_order").alias("from_order"))
    bounds = touched.join(F.broadcast(first_files), on="from_file", how="left").select(
        *_KEY,
        "unchanged_connections",
        "unchanged_last_request_at",
        F.col("since").alias("of_id_since"),
        F.struct(F.col("from_order").alias("file_order"), F.col("from_offset").alias("byte_offset")).alias("begin"),
    )
    joined = requests.join(bounds, on=_KEY, how="inner").join(F.broadcast(order), on="file_id", how="inner")
    is_after = F.struct("file_order", "byte_offset") >= F.col("begin")
    # No stored connection is open: take only the requests from the first new one on.
    is_later = F.col("of_id_since").isNull() | (F.col("logged_at") >= F.col("of_id_since"))
    wanted = F.when(F.col("begin.file_order").isNull(), is_later).otherwise(is_after)
    return joined.where(wanted).select(*requests.columns, "unchanged_connections", "unchanged_last_request_at")


def _bounds(*values: Column) -> list[Column]:
    return [value.cast(kind).alias(name) for value, (name, kind) in zip(values, _BOUNDS, strict=True)]


def _from_the_newest(ids: DataFrame, stored: Stored) -> DataFrame:
    """Return where to recompute from, per connection id with new requests."""
    marked = _with_recomputed(_with_open(ids, stored), stored)
    first = F.when(F.col("is_recomputed"), F.struct("session_no", "file_id", "byte_offset", "opened_at"))
    bounds = marked.groupBy(*_KEY).agg(
        F.max(F.when(~F.col("is_recomputed"), F.col("opened_at"))).alias("unchanged_until"),
        F.sum((~F.col("is_recomputed")).cast("int")).alias("unchanged_connections"),
        F.max(F.when(~F.col("is_recomputed"), F.col("last_request_at"))).alias("unchanged_last_request_at"),
        F.min(first).alias("first"),
    )
    begin = bounds.select("*", F.col("first.file_id").alias("from_file"))
    earliest = begin.join(F.broadcast(_earliest_after(stored.files)), on="from_file", how="left")
    return ids.join(earliest, on=_KEY, how="left").select(
        *_KEY,
        *_bounds(
            F.col("unchanged_until"),
            F.coalesce("unchanged_connections", F.lit(0)),
            F.col("unchanged_last_request_at"),
            F.col("from_file"),
            F.col("first.byte_offset"),
            F.least(F.col("first.opened_at") - F.col("step_back"), "later_files_since", "since"),
        ),
    )


def _earliest_after(files: DataFrame) -> DataFrame:
    """Return lower bounds for the times of later requests, as a clock may be set back while a connection is open.

    Returns:
        Per from_file: step_back, the most by which a later request of the same file can be earlier; and
        later_files_since, before which no request of a later file was logged (null for a broker's last file).
    """
    step_back = F.make_dt_interval(secs=F.col("step_back_ms") / 1000)
    # In reverse order: for a frame that ends at the last row, Spark would read the rows again for every row.
    later = Window.partitionBy("cluster", "broker").orderBy(F.desc("file_no"))
    return files.withColumn("step_back", step_back).select(
        F.col("file_id").alias("from_file"),
        "step_back",
        F.min(F.col("first_logged_at") - F.col("step_back"))
        .over(later.rowsBetween(Window.unboundedPreceding, -1))
        .alias("later_files_since"),
    )


def _with_open(ids: DataFrame, stored: Stored) -> DataFrame:
    """Return the stored connections of these ids; is_open says whether new requests may belong to them.

    The newest one may go on, however long it was silent: only the new requests show whether its broker closed it.
    """
    columns = ("session_no", "opened_at", "last_request_at", "file_id", "byte_offset")
    connections = stored.connections.select(*_KEY, *columns).join(ids, on=_KEY, how="inner")
    overlap = F.expr(f"INTERVAL {_OVERLAP_SECONDS} SECONDS")
    of_id = Window.partitionBy(*_KEY)
    is_last = F.col("session_no") == F.max("session_no").over(of_id)
    is_newest = is_last | (F.col("opened_at") >= F.max("opened_at").over(of_id) - overlap)
    # A build that failed may have stored connections of the new requests: those, and the one before them, are as new.
    has_new = F.col("last_request_at") >= F.col("since") - overlap
    return connections.withColumn("is_open", (is_newest | has_new) & ~_is_deleted(stored))


def _with_recomputed(connections: DataFrame, stored: Stored) -> DataFrame:
    """Mark the connections that are recomputed: the open ones, all later ones, and earlier ones that overlap these.

    Rows stay up to one instant, unchanged_until, so everything that is recomputed must have opened after it.
    """
    of_id = Window.partitionBy(*_KEY)
    open_from = F.min(F.when(F.col("is_open"), F.col("session_no"))).over(of_id)
    cuts = connections.withColumns({"open_from": open_from, "is_cut": _opens_after_all_before(_is_deleted(stored))})
    last_cut = F.max(F.when(F.col("is_cut") & (F.col("session_no") <= F.col("open_from")), F.col("session_no")))
    first = F.coalesce(last_cut.over(of_id), F.col("open_from"))
    return cuts.withColumn("is_recomputed", F.coalesce(F.col("session_no") >= first, F.lit(False)))


def _opens_after_all_before(is_deleted: Column) -> Column:
    """Return whether this and all later connections of the id opened after the earlier ones and have their requests."""
    of_id = Window.partitionBy(*_KEY)
    earlier = F.max("opened_at").over(of_id.orderBy("session_no").rowsBetween(Window.unboundedPreceding, -1))
    # In reverse order: for a frame that ends at the last row, Spark would read the rows again for every row.
    from_here = of_id.orderBy(F.desc("session_no")).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (earlier.isNull() | (earlier < F.min("opened_at").over(from_here))) & ~F.max(is_deleted).over(from_here)


def _is_deleted(stored: Stored) -> Column:
    """Return whether retention may have deleted a connection's requests."""
    if stored.retained_from is None:
        return F.lit(False)
    return F.col("last_request_at") < F.lit(stored.retained_from)


def _deleted(stored: Stored) -> DataFrame:
    """Return, per connection id, how many connections lost requests to retention, and the newest opened_at of these."""
    return (
        stored.connections.where(_is_deleted(stored))
        .groupBy(*_KEY)
        .agg(
            F.max("opened_at").alias("unchanged_until"),
            F.count("*").alias("unchanged_connections"),
            F.max("last_request_at").alias("unchanged_last_request_at"),
        )
    )


def _after_the_deleted(ids: DataFrame, stored: Stored) -> DataFrame:
    """Recompute all that is left of these connection ids; rows of connections that lost requests to retention stay."""
    joined = ids.join(_deleted(stored), on=_KEY, how="left")
    nothing = F.lit(None)
    number = F.coalesce("unchanged_connections", F.lit(0))
    return joined.select(
        *_KEY, *_bounds(F.col("unchanged_until"), number, F.col("unchanged_last_request_at"), nothing, nothing, nothing)
    )


def _brokers_with_late_news(stored: Stored, new: DataFrame, built_until: datetime) -> list[tuple[Any, Any]]:
    """Return brokers with late files, or with late reports that affect requests which were built before."""
    until = F.lit(built_until)
    reports = (
        stored.reports.where(F.col("ingested_at") > until)
        .groupBy("cluster", "broker")
        .agg(F.min("since").alias("since"))
    )
    nothing = F.lit(None).cast("timestamp").alias("since")
    rows = collect(_with_late_files(stored, new).select("cluster", "broker", nothing).unionByName(reports))
    late = {(cluster, broker) for cluster, broker, since in rows if since is None}
    first = {(cluster, broker): since for cluster, broker, since in rows if since is not None}
    if first:
        of_brokers = reduce(
            or_,
            (
                (F.col("cluster") == cluster) & (F.col("broker") == broker) & (F.col("logged_at") > F.lit(since))
                for (cluster, broker), since in first.items()
            ),
        )
        was_built = stored.requests.where((F.col("ingested_at") <= until) & of_brokers)
        late |= {tuple(row) for row in collect(was_built.select("cluster", "broker").distinct())}
    return sorted(late)


def _with_late_files(stored: Stored, new: DataFrame) -> DataFrame:
    """Return brokers with a new or grown file that comes before a file that was built, if only in part.

    Growth can also move a file after one that followed it: of files that begin at one instant, the one that ends first
    comes first. A broker that writes requests at INFO is late too if its clock was set back (see `_unsettled`).
    """
    of_file = new.groupBy("file_id").agg(F.sum("requests").alias("new"))
    files = stored.files.where("requests > 0").join(F.broadcast(of_file), on="file_id", how="left")
    file_order = F.struct(*FILE_ORDER)
    was_built = F.col("requests") > F.coalesce("new", F.lit(0))
    # The earliest position that the file can have had at the last build: how far it reached then is not known.
    as_built = F.struct(F.col("first_logged_at"), F.col("first_logged_at").alias("last_logged_at"), F.col("file_id"))
    of_broker = Window.partitionBy("cluster", "broker")
    before = of_broker.orderBy("file_no").rowsBetween(Window.unboundedPreceding, -1)
    built_order = F.when(was_built, file_order)
    ordered = files.select(
        "cluster",
        "broker",
        "new",
        file_order.alias("file_order"),
        "info_requests",
        _is_set_back(F.max("last_logged_at").over(before)).alias("is_set_back"),
        F.when(was_built, as_built).otherwise(file_order).alias("order_before"),
        F.max(built_order).over(of_broker).alias("latest"),
        F.max(built_order).over(before).alias("built_before"),
    )
    is_late = (F.col("latest") > F.col("file_order")) | (F.col("built_before") > F.col("order_before"))
    has_new = F.coalesce(F.col("new") > 0, F.lit(False))
    brokers = ordered.groupBy("cluster", "broker").agg(
        F.bool_or(has_new).alias("has_new"),
        F.bool_or(has_new & F.coalesce(is_late, F.lit(False))).alias("is_late"),
        F.bool_or("is_set_back").alias("is_set_back"),
        F.max("info_requests").alias("info_requests"),
    )
    is_unsure = F.col("is_set_back") & F.coalesce(F.col("info_requests") > 0, F.lit(False))
    late = brokers.where(F.col("has_new") & (F.col("is_late") | is_unsure))
    return late.select("cluster", "broker")


def _is_set_back(latest_before: Column) -> Column:
    """Return whether times in a file, or since its broker's earlier ones, go back further than neighbours' do."""
    below = F.unix_micros(latest_before) - F.unix_micros("first_logged_at")
    most = _OVERLAP_SECONDS * 1000
    return (F.col("step_back_ms") > most) | F.coalesce(below > most * 1000, F.lit(False))
