"""Chooses what a build recomputes: the connections to which new requests belong, and what they may affect.

A connection id is used again and again. New requests go on with its last connection or begin another; the connections
before are over, and nothing that comes later in the log changes them. `judged_requests` keeps what is known of the last
connection, so a build reads the new requests only: its work is in proportion to what is new, not to the history. Other
connection ids are recomputed whole, from all their requests, by what is new:

    what is new                                        | connection ids
    ---------------------------------------------------|----------------------------------------------------------------
    nothing was built, or other settings, or another   | all
    release                                            |
    a build was interrupted                            | those of the new requests
    requests at DEBUG, from a broker that writes       | those that began at INFO shortly before: both may belong to one
    others at INFO                                     | period of the log
    a late file: in its broker's order it comes before | all of its broker, as it may move boundaries
    one that was built, or the two may have changed    |
    places                                             |
    a late report of a broker's start, before a        | all of its broker, as its connections end there
    request that was built                             |
    evidence that a log leaves out requests, or that   | all of its broker
    it does not                                        |
    a host that proves to be a broker's                | those from it that bear a broker's name

Retention (`maintain`) has deleted requests of connections that ended before an instant. Their rows cannot be computed
again, so they stay in each of these cases, and what is recomputed comes after them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, reduce
from operator import or_
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..connections.boundaries import STATE
from ..connections.judged import NOTHING, JudgedBefore
from ..spark.arrow_rows import collect
from ..tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY, FILE_ORDER
from ..warehouse.replacement import of_same_keys
from ..warehouse.staging import Staging, cache

_KEY = list(CONNECTION_ID_KEY)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OVERLAP_SECONDS = 60
"""Timestamps of neighbours step back by less than a second; a clock that goes back further was set back."""


@dataclass(frozen=True)
class Stored:
    """What a warehouse holds before a build.

    Attributes:
        requests: the table `requests`, up to what is committed in the ledger.
        connections: a snapshot of the table `connections`.
        judged: the table `judged_requests`; None if its rows are not those of the last build.
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
    judged: DataFrame | None
    files: DataFrame
    reports: DataFrame
    retained_from: datetime | None
    staging: Staging
    of_brokers: DataFrame | None = None


@dataclass(frozen=True)
class Increment:
    """What a build recomputes.

    Attributes:
        touched: the connections to replace, as `replacement.with_replaced` takes them; None if every row is replaced.
        requests: the requests to judge, perhaps with `boundaries.UNCHANGED`.
        before: what was judged before of their connections.
        since: returns a time before which no connection that is recomputed opened; None if that is not known.
        cached: relations to release after the run.
        states: how many connections go on; None if connection ids are recomputed from all their requests.
    """

    touched: DataFrame | None
    requests: DataFrame
    before: JudgedBefore = NOTHING
    since: Callable[[], datetime | None] = lambda: None
    cached: tuple[DataFrame, ...] = ()
    states: int | None = None


def everything(requests: DataFrame) -> Increment:
    """Recompute all connection ids, if retention has deleted nothing: this needs no join and no shuffle."""
    return Increment(None, requests)


def everything_retained(stored: Stored) -> Increment:
    """Recompute all connection ids, if retention has deleted requests."""
    whole = cache(_after_the_deleted(stored.requests.select(*_KEY).distinct(), stored), stored.staging)
    return Increment(_touched_whole(whole), _all_requests(whole, stored), cached=(whole,))


def since(stored: Stored, built_until: datetime, coverage_gap_ms: int) -> Increment:
    """Return what to recompute for the connection ids with requests that no build has seen.

    Args:
        stored: the warehouse.
        built_until: time of ingestion up to which everything is built.
        coverage_gap_ms: a longer silence counts as a gap of the log.
    """
    requests = stored.requests.where(F.col("ingested_at") > F.lit(built_until))
    debug_since = F.min(F.when(F.col("log_level") != "INFO", F.col("logged_at"))).alias("debug_since")
    new = cache(
        requests.groupBy(*_KEY, "file_id").agg(
            F.min("logged_at").alias("since"),
            debug_since,
            F.count("*").alias("requests"),
            F.bool_and("is_duplicate").alias("are_duplicates"),
        ),
        stored.staging,
    )
    ids = new.where(~F.col("are_duplicates")).groupBy(*_KEY).agg(F.min("since").alias("since"))
    states = None if stored.judged is None else cache(_states(ids, stored.judged, stored), stored.staging)
    whole = _whole(ids, states, new, stored, built_until, coverage_gap_ms)
    if states is None or stored.judged is None:
        whole = cache(whole, stored.staging)
        return Increment(_touched_whole(whole), _all_requests(whole, stored), cached=(new, whole))
    is_by_new = whole.isEmpty()
    if not is_by_new:
        whole = cache(whole, stored.staging)
        states = states.join(whole, on=_KEY, how="left_anti")
        others = requests.join(whole, on=_KEY, how="left_anti")
        requests = _all_requests(whole, stored).unionByName(others, allowMissingColumns=True)
    keys = states.select(*CONNECTION_KEY)
    judged = of_same_keys(stored.judged, keys, CONNECTION_KEY)
    touched = keys.withColumn("unchanged_until", F.lit(None).cast("timestamp"))
    return Increment(
        touched if is_by_new else touched.unionByName(_touched_whole(whole)),
        requests,
        JudgedBefore(states.select(STATE), judged),
        lru_cache(lambda: _earliest(ids, states) if is_by_new else None),
        (new, states) if is_by_new else (new, whole, states),
        states.count() if is_by_new else None,
    )


def _whole(
    ids: DataFrame,
    states: DataFrame | None,
    new: DataFrame,
    stored: Stored,
    built_until: datetime,
    coverage_gap_ms: int,
) -> DataFrame:
    """Return the connection ids that are recomputed from all their requests, as `_after_the_deleted` does."""
    parts = [_unsettled(new, stored, coverage_gap_ms)]
    if states is None:
        parts.append(ids.select(*_KEY))
    elif stored.retained_from is not None:
        unknown = ids.join(states, on=_KEY, how="left_anti")
        parts.append(unknown.join(_deleted(stored), on=_KEY, how="left_semi").select(*_KEY))
    if late := _brokers_with_late_news(stored, new, built_until):
        # One list, as Spark Connect refuses deeply nested expressions.
        is_late = F.struct("cluster", "broker").isin(
            [F.struct(F.lit(cluster), F.lit(broker)) for cluster, broker in late]
        )
        parts.append(stored.requests.where(is_late).select(*_KEY))
    if stored.of_brokers is not None:
        parts.append(stored.of_brokers)
    return _after_the_deleted(reduce(DataFrame.unionByName, parts).distinct(), stored)


def _states(ids: DataFrame, judged: DataFrame, stored: Stored) -> DataFrame:
    """Return the key and the state of the last connection of each id, unless retention has deleted its requests."""
    states = judged.where(F.col(STATE).isNotNull())
    if stored.retained_from is not None:
        states = states.where(F.col(f"{STATE}.heard_until") >= F.lit(stored.retained_from))
    return states.select(*CONNECTION_KEY, STATE).join(ids.select(*_KEY), on=_KEY, how="left_semi")


def _touched_whole(whole: DataFrame) -> DataFrame:
    nothing = F.lit(None)
    return whole.select(
        *_KEY,
        nothing.cast("timestamp").alias("opened_at"),
        nothing.cast("int").alias("opened_seq"),
        "unchanged_until",
    )


def _earliest(ids: DataFrame, states: DataFrame) -> datetime | None:
    """Return a time before which none of these connections opened; None if there are none."""
    times = ids.select(F.unix_micros("since").alias("at")).unionByName(
        states.select(F.unix_micros("opened_at").alias("at"))
    )
    row = times.agg(F.min("at").alias("first")).first()
    return None if row is None or row["first"] is None else _EPOCH + timedelta(microseconds=row["first"])


def _all_requests(whole: DataFrame, stored: Stored) -> DataFrame:
    """Return all requests of connection ids, with `boundaries.UNCHANGED`."""
    return stored.requests.join(whole.drop("unchanged_until"), on=_KEY, how="inner")


def _unsettled(new: DataFrame, stored: Stored, coverage_gap_ms: int) -> DataFrame:
    """Return the ids of stored connections that new requests at DEBUG may affect.

    A connection may have begun with a request at INFO after the broker's last request at DEBUG. Only the next request
    at DEBUG settles which period of the log that request belongs to (`connections.coverage`). If a clock was set
    back, the broker counts as late.
    """
    gap = F.make_dt_interval(secs=F.lit(coverage_gap_ms / 1000 + _OVERLAP_SECONDS))
    writes_info = stored.files.where(F.col("info_requests") > 0).select("cluster", "broker").distinct()
    next_at_debug = new.groupBy("cluster", "broker").agg(F.min("debug_since").alias("debug_since"))
    brokers = next_at_debug.join(writes_info, on=["cluster", "broker"], how="inner")
    opened = stored.connections.join(F.broadcast(brokers), on=["cluster", "broker"], how="inner")
    recent = opened.where(F.col("opened_at") >= F.col("debug_since") - gap)
    if stored.judged is not None:
        at_debug = stored.judged.where((F.col("seq") == 0) & (F.col("log_level") != "INFO")).select(*CONNECTION_KEY)
        recent = recent.join(at_debug, on=list(CONNECTION_KEY), how="left_anti")
    return recent.select(*_KEY)


def _after_the_deleted(ids: DataFrame, stored: Stored) -> DataFrame:
    """Add what retention has left of these connection ids: rows of connections that lost requests stay.

    Returns:
        The ids, with unchanged_until, the newest opened_at of the rows that stay (null: none stay), and
        `boundaries.UNCHANGED`.
    """
    if stored.retained_from is None:
        none = F.lit(None).cast("timestamp")
        return ids.select(
            "*",
            none.alias("unchanged_until"),
            F.lit(0).alias("unchanged_connections"),
            none.alias("unchanged_last_request_at"),
        )
    joined = ids.join(_deleted(stored), on=_KEY, how="left")
    return joined.withColumn("unchanged_connections", F.coalesce("unchanged_connections", F.lit(0)))


def _deleted(stored: Stored) -> DataFrame:
    """Return, per connection id, its connections that may have lost requests to retention, which stay as they are.

    Returns:
        The id, with the columns that `_after_the_deleted` adds: the newest opened_at of these connections, their number,
        and the time of their latest request.
    """
    return (
        stored.connections.where(F.col("last_request_at") < F.lit(stored.retained_from))
        .groupBy(*_KEY)
        .agg(
            F.max("opened_at").alias("unchanged_until"),
            F.count("*").cast("int").alias("unchanged_connections"),
            F.max("last_request_at").alias("unchanged_last_request_at"),
        )
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
