"""The starts of brokers, each of which ends all connections of the process before.

    evidence                                     | function
    ---------------------------------------------|-------------------
    the broker's own log reports that it started | `broker_starts`
    the first requests of a log file             | `_shown_by_files`
    requests inside a log file                   | `shown_restarts`

A broker's own log reports first that the process was launched, and then, when it serves its listeners, that it has
started. All connections are newer than the launch. A process that is launched and never starts ends no connections:
it failed, or somebody launched a second one by mistake. A broker that was killed logs no shutdown.
"""

from ..logs.broker_events import RESTARTED
from ..tables.spec import FILE_ORDER
from .engine import Column, DataFrame, F, Window

SECOND = 1_000_000
"""One second in microseconds, the unit of differences between times."""
_BROKER = ("cluster", "broker")
_FIRST, _LAST = "1970-01-01", "9999-01-01"


def broker_events(ingested_files: DataFrame) -> DataFrame:
    """Return one row per event that a broker logged: cluster, broker, file_id, at, kind, value and ingested_at."""
    event = F.explode("broker_events").alias("event")
    fields = (F.col(f"event.{name}").alias(name) for name in ("at", "kind", "value", "ingested_at"))
    return ingested_files.select(*_BROKER, "file_id", event).select(*_BROKER, "file_id", *fields)


def broker_starts(ingested_files: DataFrame) -> DataFrame:
    """Find the starts that brokers report in their own logs.

    If one broker name stands for several nodes, their logs show starts, but not which connections these end.

    Args:
        ingested_files: the table `ingested_files`; broker_events is used.

    Returns:
        One row per start: cluster, broker; since, a time after which every request is of this process or a later one;
        is_certain, false if several nodes log under the broker's name; and ingested_at, the run in which the row got
        these values.
    """
    # The same events may be read twice, if a broker logs to a file and to a console.
    events = (
        broker_events(ingested_files)
        .where(F.col("kind").isin("launched", "started", "stopped"))
        .groupBy(*_BROKER, "at", "kind")
        .agg(F.max("value").alias("value"), F.min("ingested_at").alias("ingested_at"))
    )
    is_start = F.col("kind") == "started"
    before = Window.partitionBy(*_BROKER).orderBy("at", "kind").rowsBetween(Window.unboundedPreceding, -1)
    starts_before = F.coalesce(F.sum(is_start.cast("int")).over(before), F.lit(0))
    # Events up to a start, and the start, are one group; the last launch or stop in it bounds the process.
    starts = (
        events.withColumn("starts_before", starts_before)
        .groupBy(*_BROKER, "starts_before")
        .agg(
            F.max(F.when(~is_start, F.col("at"))).alias("begin"),
            F.max(F.when(is_start, F.col("at"))).alias("serves"),
            F.max(F.when(is_start, F.col("value"))).alias("node"),
            F.max("ingested_at").alias("ingested_at"),
        )
        .where(F.col("serves").isNotNull())
    )
    of_broker = Window.partitionBy(*_BROKER)
    is_certain = F.coalesce(F.min("node").over(of_broker) == F.max("node").over(of_broker), F.lit(True))
    shown = starts.withColumns({"is_certain": is_certain, "newest": F.max("ingested_at").over(of_broker)})
    return shown.select(
        *_BROKER,
        F.coalesce("begin", "serves").alias("since"),
        "is_certain",
        F.when(F.col("is_certain"), F.col("ingested_at")).otherwise(F.col("newest")).alias("ingested_at"),
    )


def starts_of_brokers(ingested_files: DataFrame) -> DataFrame:
    """Return the certain starts of each broker: cluster, broker and starts, their times in order.

    They come from the brokers' own logs, from the first requests of files, and from requests inside files.
    """
    reported = broker_starts(ingested_files).where(F.col("is_certain")).select(*_BROKER, "since")
    shown = shown_restarts(ingested_files).where(F.col("is_certain")).select(*_BROKER, "since")
    starts = reported.unionByName(_shown_by_files(ingested_files)).unionByName(shown)
    return starts.groupBy(*_BROKER).agg(F.array_sort(F.collect_list("since")).alias("starts"))


def _shown_by_files(ingested_files: DataFrame) -> DataFrame:
    """Find the later files of a broker that begin with its start, as a container writes a new file at each start.

    A broker logs no requests while it starts. If an earlier file of that broker name goes on until less than a second
    before the start, or beyond it, that file is another broker's, and the start doesn't count.
    """
    before = Window.partitionBy(*_BROKER).orderBy(*FILE_ORDER).rowsBetween(Window.unboundedPreceding, -1)
    files = ingested_files.where(F.col("first_logged_at").isNotNull())
    follow = files.withColumn("silent_since", F.max("last_logged_at").over(before))
    silence = F.unix_micros("first_logged_at") - F.unix_micros("silent_since")
    just_before = F.col("first_logged_at") - F.make_dt_interval(secs=F.lit(0.000001))
    return follow.where(F.col("covers_broker_start") & (silence > SECOND)).select(*_BROKER, just_before.alias("since"))


def shown_restarts(ingested_files: DataFrame) -> DataFrame:
    """Find the restarts that requests inside a file show, without a report of the broker.

    A restart is not certain if another file of that broker name has requests before and after it: that file may be
    another broker's, which kept running.

    Returns:
        The same columns as `broker_starts`.
    """
    shown = (
        broker_events(ingested_files)
        .where(F.col("kind") == RESTARTED)
        .select(*_BROKER, "file_id", F.col("at").alias("since"), F.col("ingested_at").alias("shown_at"))
    )
    others = ingested_files.where(F.col("first_logged_at").isNotNull()).select(
        *_BROKER, F.col("file_id").alias("other"), "first_logged_at", "last_logged_at", "ingested_at"
    )
    spans = (
        (F.col("other") != F.col("file_id"))
        & (F.col("first_logged_at") < F.col("since"))
        & (F.col("last_logged_at") > F.col("since"))
    )
    compared = shown.join(others, on=list(_BROKER), how="left").withColumn("spans", F.coalesce(spans, F.lit(False)))
    return (
        compared.groupBy(*_BROKER, "file_id", "since")
        .agg(
            (~F.bool_or("spans")).alias("is_certain"),
            F.greatest(F.max("shown_at"), F.max(F.when(F.col("spans"), F.col("ingested_at")))).alias("ingested_at"),
        )
        .select(*_BROKER, "since", "is_certain", "ingested_at")
    )


def number_before(starts: Column, at: Column) -> Column:
    """Count the starts before a time, in an array that may be null."""
    return F.coalesce(F.size(F.filter(starts, lambda start: start < at)), F.lit(0))
