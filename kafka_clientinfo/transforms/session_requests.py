"""Requests with the connection they belong to: where one connection string is used again, the log shows seams.

Every request gets its session's key, its place in the session, and what the first request of the session fixed
(client id, client instance id). All concerns fold this one relation, so the requests are shuffled and sorted once,
by connection string.

A seam lies between two requests of one string, in log order, where the evidence says that a new connection began:
- the correlation id does not rise and the client id is another one (36 true seams and no false alarm were seen over
  the logs of 23 real brokers; a correlation id alone raises 821 false alarms, as clients are free to choose it);
- the software name falls back to unknown, or becomes another one, and no ApiVersions request explains it (KIP-511);
- a handshake begins anew, with a correlation id that starts over, after the client had been working;
- the principal is another one: it is fixed when a connection is authenticated;
- nothing came for longer than connections.max.idle.ms, after which a broker closes a connection.
"""

from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..settings import Settings
from ..tables import CONNECTION_KEY
from .columns import API_VERSIONS, SASL_HANDSHAKE, UNKNOWN, has_instance_id

POSITION = ("file_first_logged_at", "file_last_logged_at", "file_id", "byte_offset")
_BY_STRING = Window.partitionBy(*CONNECTION_KEY).orderBy(*POSITION)
_SESSION = (*CONNECTION_KEY, "session_no")


def transform(requests: DataFrame, ingested_files: DataFrame, settings: Settings) -> DataFrame:
    """One row per request that counts (those logged twice once), with its session.

    Args:
        requests: rows of the table `requests`; of each connection string all, or all from the beginning of one of
            its sessions on, with kept_sessions, the number of sessions before that (0 where it is no column).
        ingested_files: the table `ingested_files`, all files of the brokers that occur.
        settings: `max_idle_ms` and `coverage_gap_ms` are used.

    Returns:
        The columns of `requests` and: session_no, opened_at, opened_seq, seq (0 for the first request),
        cached_client_id, first_header_version, first_v3_seq, first_instance_id, complete_since (from when on the log
        holds every connection's beginning; null where it never does).
    """
    placed = _in_order(requests, ingested_files, settings)
    kept = F.col("kept_sessions") if "kept_sessions" in requests.columns else F.lit(0)
    cut = placed.withColumn("is_seam", _seam(settings)).withColumn(
        "session_no", (F.sum(F.col("is_seam").cast("int")).over(_BY_STRING) + kept).cast("int")
    )
    return _with_key(_with_first_request(cut))


def _in_order(requests: DataFrame, ingested_files: DataFrame, settings: Settings) -> DataFrame:
    files = _files(ingested_files, settings)
    return requests.where(~F.col("is_duplicate")).join(F.broadcast(files), on="file_id", how="inner")


def _files(ingested_files: DataFrame, settings: Settings) -> DataFrame:
    """Per file: its place in its broker's order, and since when the log around it holds all beginnings.

    Where the log covers a broker's start, nothing is older than the file. Elsewhere a connection that has not been
    heard of for connections.max.idle.ms is a new one, provided no file is missing in between.
    """
    order = Window.partitionBy("cluster", "broker").orderBy("first_logged_at", "last_logged_at", "file_id")
    until_previous = F.max("last_logged_at").over(order.rowsBetween(Window.unboundedPreceding, -1))
    gap_seconds = F.unix_micros("first_logged_at") - F.unix_micros(until_previous)
    is_hole = F.coalesce(gap_seconds > settings.coverage_gap_ms * 1000, F.lit(True))
    stretch = Window.partitionBy("cluster", "broker", "stretch").orderBy("first_logged_at", "last_logged_at", "file_id")
    idle = F.expr(f"make_dt_interval(0, 0, 0, {settings.max_idle_ms / 1000})")
    complete = F.when(F.col("covers_broker_start"), F.col("first_logged_at"))
    return (
        ingested_files.where(F.col("first_logged_at").isNotNull())
        .withColumn("stretch", F.sum(is_hole.cast("int")).over(order))
        .select(
            "file_id",
            F.col("first_logged_at").alias("file_first_logged_at"),
            F.col("last_logged_at").alias("file_last_logged_at"),
            F.least(
                F.min(complete).over(stretch),
                F.min("first_logged_at").over(stretch) + idle,
            ).alias("complete_since"),
        )
    )


def _before(name: str) -> Column:
    return F.lag(name).over(_BY_STRING)


def _differs(name: str) -> Column:
    return ~F.coalesce(F.col(name), F.lit("")).eqNullSafe(F.coalesce(_before(name), F.lit("")))


def _seam(settings: Settings) -> Column:
    """Whether a new connection begins with this request; the first of a string always does."""
    forwarded = F.col("is_forwarded") | _before("is_forwarded")
    starts_over = F.col("correlation_id") <= _before("correlation_id")
    evidence = [_other_client(starts_over), _software_lost(), _new_handshake(starts_over), _other_principal()]
    found = ~forwarded & reduce(or_, evidence)
    return _before("api_key").isNull() | _was_idle(settings) | F.coalesce(found, F.lit(False))


def _other_client(starts_over: Column) -> Column:
    # With header v3 a later client id may be null (KIP-1313): that is no other client.
    null_by_kip = F.coalesce(F.col("header_version") >= 3, F.lit(False)) & F.col("client_id").isNull()
    return starts_over & _differs("client_id") & ~null_by_kip


def _software_lost() -> Column:
    known_before = _before("client_software_name") != UNKNOWN
    explained = _before("api_key") == API_VERSIONS
    return known_before & F.col("client_software_name").isNotNull() & _differs("client_software_name") & ~explained


def _new_handshake(starts_over: Column) -> Column:
    """A client that had been working sends ApiVersions with a correlation id that starts over.

    Clients do repeat ApiVersions on a working connection, but then their correlation ids go on. Those that count
    from somewhere else for ApiVersions alone do so at the start, before any other request.
    """
    was_working = ~_before("api_key").isin(API_VERSIONS, SASL_HANDSHAKE)
    at_the_start = F.col("correlation_id").between(0, 3)
    software_unknown = F.coalesce(F.col("client_software_name"), F.lit(UNKNOWN)) == UNKNOWN
    return (F.col("api_key") == API_VERSIONS) & starts_over & was_working & at_the_start & software_unknown


def _other_principal() -> Column:
    return F.col("principal").isNotNull() & _before("principal").isNotNull() & _differs("principal")


def _was_idle(settings: Settings) -> Column:
    idle_micros = F.unix_micros("started_at") - F.unix_micros(_before("logged_at"))
    return idle_micros > settings.max_idle_ms * 1000


def _with_first_request(requests: DataFrame) -> DataFrame:
    ordered = Window.partitionBy(*_SESSION).orderBy(*POSITION)
    whole = ordered.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    numbered = requests.withColumn("seq", F.row_number().over(ordered) - 1)
    return numbered.select(
        "*",
        F.first("logged_at").over(whole).alias("opened_at"),
        F.first("client_id").over(whole).alias("cached_client_id"),
        F.first("header_version").over(whole).alias("first_header_version"),
        F.min(F.when(F.col("header_version") >= 3, F.col("seq"))).over(whole).alias("first_v3_seq"),
        F.first(F.when(has_instance_id(), F.col("client_instance_id")), ignorenulls=True)
        .over(whole)
        .alias("first_instance_id"),
    )


def _with_key(requests: DataFrame) -> DataFrame:
    """Number the sessions of one string that open in the same instant."""
    together = Window.partitionBy(*CONNECTION_KEY, "opened_at").orderBy("session_no")
    return requests.withColumn("opened_seq", (F.dense_rank().over(together) - 1).cast("int")).drop("is_seam")
