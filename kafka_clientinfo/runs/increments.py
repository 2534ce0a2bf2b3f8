"""Chooses what a build recomputes: the connections to which new requests belong, and what they may affect.

A connection id is used again and again. New requests go on with its last connection or begin another; the connections
before are over, and nothing that comes later in the log changes what their requests show. `judged_requests` keeps what is
known of the last connection, so a build reads the new requests only: its work is in proportion to what is new, not to the
history. Other connection ids are recomputed whole, from all their requests, by what is new:

    what is new                                        | connection ids
    ---------------------------------------------------|----------------------------------------------------------------
    nothing was built, or other settings, or another   | all
    release; or a build was interrupted                |
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

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..connections.boundaries import STATE
from ..connections.judged import NOTHING, JudgedBefore
from ..connections.reports import Report
from ..connections.starts import Broker, File
from ..connections.table import is_of_a_broker, shown_as_brokers
from ..connections.texts import of_same_keys
from ..spark.arrow_rows import collect, relation_of
from ..tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY
from ..warehouse.staging import Staging, cache
from .late_files import OVERLAP, brokers_at_info, late_brokers

_KEY = list(CONNECTION_ID_KEY)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Stored:
    """What a warehouse holds before a build.

    Attributes:
        requests: the table `requests`, up to what is committed in the ledger.
        connections: a snapshot of the table `connections`.
        files: the rows of the table `ingested_files`.
        reports: what brokers log about themselves that affects connections.
        retained_from: instant before which connections' requests may have been deleted; None if none were.
        staging: for `cache`.
        new_requests: the requests that no build has seen, if they are in memory.
    """

    requests: DataFrame
    connections: DataFrame
    files: Collection[File]
    reports: Iterable[Report]
    retained_from: datetime | None
    staging: Staging
    new_requests: DataFrame | None = None


@dataclass(frozen=True)
class Increment:
    """What a build recomputes.

    Attributes:
        recomputed_ids: the connections to replace, as `replacement.with_replaced` takes them; None replaces all rows.
        requests: the requests to judge, perhaps with `boundaries.UNCHANGED`.
        before: what the last build judged of the connections that go on.
        earliest_recomputed_at: returns a time before which no recomputed connection opened; None if that is not known.
        cached: relations to release after the run.
        states: how many connections go on, 0 if all are new; None if connection ids are recomputed from all requests.
    """

    recomputed_ids: DataFrame | None
    requests: DataFrame
    before: JudgedBefore = NOTHING
    earliest_recomputed_at: Callable[[], datetime | None] = lambda: None
    cached: tuple[DataFrame, ...] = ()
    states: int | None = None


@dataclass
class _News:
    """New facts.

    Attributes:
        requests: per file_id, the number of new requests.
        debug_since: per broker, the time of the first new request at DEBUG.
        reported_since: per broker with new reports, the time from which they may change results.
        shows_a_broker: whether a new request shows by itself that a broker sent it.
        states: the number of connections that go on.
    """

    requests: dict[str, int]
    debug_since: dict[Broker, datetime]
    reported_since: dict[Broker, datetime]
    shows_a_broker: bool
    states: int


def everything(requests: DataFrame) -> Increment:
    """Recompute all connection ids, if retention has deleted nothing: this needs no join and no shuffle."""
    return Increment(None, requests)


def everything_retained(stored: Stored) -> Increment:
    """Recompute all connection ids, if retention has deleted requests."""
    whole = cache(_after_the_deleted([stored.requests.select(*_KEY)], stored), stored.staging)
    return Increment(_whole_ids(whole), _all_requests(whole, stored), cached=(whole,))


def new_since(stored: Stored, judged: DataFrame, built_until: datetime, coverage_gap_ms: int) -> Increment:
    """Return what to recompute for the connection ids with requests that no build has seen.

    Args:
        stored: the warehouse.
        judged: the table `judged_requests`, as the last build has left it.
        built_until: time of ingestion up to which everything is built.
        coverage_gap_ms: a longer silence counts as a gap of the log.
    """
    requests = stored.new_requests
    if requests is None:
        requests = stored.requests.where(F.col("ingested_at") > F.lit(built_until))
    new = cache(
        requests.groupBy(*_KEY, "file_id").agg(
            F.min("logged_at").alias("since"),
            F.min(F.when(F.col("log_level") != "INFO", F.col("logged_at"))).alias("debug_since"),
            F.count("*").alias("requests"),
            F.bool_and("is_duplicate").alias("are_duplicates"),
            F.bool_or(is_of_a_broker()).alias("show_a_broker"),
        ),
        stored.staging,
    )
    ids = new.where(~F.col("are_duplicates")).groupBy(*_KEY).agg(F.min("since").alias("since"))
    keys = cache(_going_on(ids, judged, stored), stored.staging)
    news = _news(new, keys, stored, built_until)
    parts = _recomputed_whole(requests, news, stored, judged, built_until, coverage_gap_ms)
    if stored.retained_from is not None:
        unknown = ids.join(keys, on=_KEY, how="left_anti")
        parts.append(unknown.join(_deleted(stored), on=_KEY, how="left_semi").select(*_KEY))
    whole: DataFrame | None = None
    if parts and not (found := _after_the_deleted(parts, stored)).isEmpty():
        whole = cache(found, stored.staging)
        keys = keys.join(whole, on=_KEY, how="left_anti")
        others = requests.join(whole, on=_KEY, how="left_anti")
        requests = _all_requests(whole, stored).unionByName(others, allowMissingColumns=True)
    cached = [new, keys] if whole is None else [new, keys, whole]
    before = NOTHING
    if news.states:
        known = cache(of_same_keys(judged, keys, CONNECTION_KEY), stored.staging)
        before = JudgedBefore(known.where(F.col(STATE).isNotNull()).select(STATE), known)
        cached.append(known)
    recomputed_ids = keys.withColumn("unchanged_until", F.lit(None).cast("timestamp"))
    return Increment(
        recomputed_ids if whole is None else recomputed_ids.unionByName(_whole_ids(whole)),
        requests,
        before,
        lru_cache(lambda: _earliest(ids, keys) if whole is None else None),
        tuple(cached),
        news.states if whole is None else None,
    )


def _news(new: DataFrame, keys: DataFrame, stored: Stored, built_until: datetime) -> _News:
    """Collect what is new; `new` has a row per connection id and file, `keys` one per connection that goes on."""
    of_file = new.groupBy("cluster", "broker", "file_id").agg(
        F.min("debug_since").alias("since"),
        F.sum("requests").alias("requests"),
        F.bool_or("show_a_broker").alias("show_a_broker"),
    )
    going_on = keys.agg(F.count("*").alias("requests"))
    news = _News({}, {}, {}, False, 0)
    for cluster, broker, file_id, since, requests, shows_a_broker in collect(
        of_file.unionByName(going_on, allowMissingColumns=True)
    ):
        if file_id is None:
            news.states = requests
            continue
        news.requests[file_id] = requests
        news.shows_a_broker |= bool(shows_a_broker)
        if since is not None:
            _note(news.debug_since, (cluster, broker), since)
    for report in stored.reports:
        if report.ingested_at > built_until:
            _note(news.reported_since, report.broker, report.since)
    return news


def _note(earliest: dict[Broker, datetime], broker: Broker, at: datetime) -> None:
    earliest[broker] = min(at, earliest.get(broker, at))


def _recomputed_whole(
    requests: DataFrame, news: _News, stored: Stored, judged: DataFrame, built_until: datetime, coverage_gap_ms: int
) -> list[DataFrame]:
    """Return the connection ids, as relations, that a build recomputes from all requests because of new facts."""
    parts = []
    at_info = brokers_at_info(stored.files)
    if unsettled := {broker: since for broker, since in news.debug_since.items() if broker in at_info}:
        parts.append(_unsettled(unsettled, stored, judged, coverage_gap_ms))
    if late := sorted(late_brokers(stored.files, news.requests) | _reported_late(news, stored, built_until)):
        # One list, as Spark Connect refuses deeply nested expressions.
        is_late = F.struct("cluster", "broker").isin([F.struct(*map(F.lit, broker)) for broker in late])
        parts.append(stored.requests.where(is_late).select(*_KEY))
    if news.shows_a_broker:
        parts.append(shown_as_brokers(stored.connections, requests))
    return parts


def _going_on(ids: DataFrame, judged: DataFrame, stored: Stored) -> DataFrame:
    """Return the key of the last connection of each id, unless retention has deleted its requests.

    Of all connections it reads the key only: the table has many columns.
    """
    keys = judged.select(*CONNECTION_KEY).join(ids.select(*_KEY), on=_KEY, how="left_semi").distinct()
    if stored.retained_from is not None:
        gone = stored.connections.where(F.col("last_request_at") < F.lit(stored.retained_from))
        keys = keys.join(gone.select(*CONNECTION_KEY), on=list(CONNECTION_KEY), how="left_anti")
    return keys


def _whole_ids(whole: DataFrame) -> DataFrame:
    nothing = F.lit(None)
    return whole.select(
        *_KEY,
        nothing.cast("timestamp").alias("opened_at"),
        nothing.cast("int").alias("opened_seq"),
        "unchanged_until",
    )


def _earliest(ids: DataFrame, keys: DataFrame) -> datetime | None:
    """Return a time before which none of these connections opened; None if there are none."""
    times = ids.select(F.unix_micros("since").alias("at")).unionByName(
        keys.select(F.unix_micros("opened_at").alias("at"))
    )
    row = times.agg(F.min("at").alias("first")).first()
    return None if row is None or row["first"] is None else _EPOCH + timedelta(microseconds=row["first"])


def _all_requests(whole: DataFrame, stored: Stored) -> DataFrame:
    """Return all requests of connection ids, with `boundaries.UNCHANGED`."""
    return stored.requests.join(whole.drop("unchanged_until"), on=_KEY, how="inner")


def _unsettled(
    debug_since: Mapping[Broker, datetime], stored: Stored, judged: DataFrame, coverage_gap_ms: int
) -> DataFrame:
    """Return the ids of stored connections that new requests at DEBUG may affect.

    A connection may have begun with a request at INFO after the broker's last request at DEBUG. Only the next request
    at DEBUG settles which period of the log that request belongs to (`connections.coverage`). If a clock was set
    back, the broker counts as late.

    Args:
        debug_since: the time of the first new request at DEBUG, of brokers that also write requests at INFO.
        stored: the warehouse.
        judged: see `new_since`.
        coverage_gap_ms: see `new_since`.
    """
    gap = timedelta(milliseconds=coverage_gap_ms) + OVERLAP
    recent = _of_brokers(stored.connections, debug_since).where(F.col("opened_at") >= F.col("its_time") - F.lit(gap))
    at_debug = judged.where((F.col("seq") == 0) & (F.col("log_level") != "INFO")).select(*CONNECTION_KEY)
    return recent.join(at_debug, on=list(CONNECTION_KEY), how="left_anti").select(*_KEY)


def _after_the_deleted(parts: Iterable[DataFrame], stored: Stored) -> DataFrame:
    """Add to connection ids which of their rows stay: those of connections that lost requests to retention.

    Returns:
        The ids, with unchanged_until, the newest opened_at of the rows that stay (null: none stay), and
        `boundaries.UNCHANGED`.
    """
    ids = reduce(DataFrame.unionByName, parts).distinct()
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


def _reported_late(news: _News, stored: Stored, built_until: datetime) -> set[Broker]:
    """Return brokers with new reports that affect requests which were built before."""
    if not news.reported_since:
        return set()
    earliest = min(news.reported_since.values())  # lets Delta skip files
    built = stored.requests.where(
        (F.col("ingested_at") <= F.lit(built_until)) & (F.col("logged_at") >= F.lit(earliest))
    )
    after = _of_brokers(built, news.reported_since).where(F.col("logged_at") >= F.col("its_time"))
    return {(cluster, broker) for cluster, broker in collect(after.select("cluster", "broker").distinct())}


def _of_brokers(rows: DataFrame, times: Mapping[Broker, datetime]) -> DataFrame:
    """Return the rows of some brokers, each with its broker's time as its_time."""
    ddl = "cluster string, broker string, its_time timestamp"
    brokers = relation_of(rows.sparkSession, [(*broker, time) for broker, time in times.items()], ddl)
    return rows.join(F.broadcast(brokers), on=["cluster", "broker"], how="inner")
