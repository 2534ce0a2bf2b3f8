"""The table `client_connections`: how many connections each software holds open over time, which is KIP-511's gauge.

A connection counts as open from its first record to its last one, because the log does not show its end. So all counts
are lower bounds: a connection may have been open before, if its start is not observed, and after, until the client or
connections.max.idle.ms closed it. A connection makes two events; their running sums give the gauge, and buckets
between events are filled in.
"""

from ...config.settings import Settings
from ...connections.buckets import bucket_number, bucket_start
from ...connections.engine import Column, DataFrame, F, Window

MAX_FILLED = 2000
"""The number of consecutive buckets without an event that are filled; a longer gap is cut there (is_cut)."""

_GROUP = ("cluster", "broker", "listener", "client_software_name", "client_software_version", "role")


def transform(connections: DataFrame, settings: Settings) -> DataFrame:
    """Return one row per software, listener, broker and bucket in which a connection was open."""
    seconds = settings.bucket_minutes * 60
    counted = _by_bucket(_events(connections), seconds)
    return _filled(counted, seconds)


def _events(connections: DataFrame) -> DataFrame:
    """Return two events per connection, with the number of open connections after each; openings come first."""
    event = F.explode(
        F.array(
            F.struct(F.col("opened_at").alias("at"), F.lit(0).alias("is_close")),
            F.struct(F.col("last_request_at").alias("at"), F.lit(1).alias("is_close")),
        )
    )
    start_unseen = (F.col("start") == "before_log").alias("start_unseen")
    events = connections.select(*_GROUP, start_unseen, event.alias("event")).select(
        *_GROUP, "start_unseen", "event.at", "event.is_close"
    )
    # The default frame includes all events of the same time and kind.
    in_time = Window.partitionBy(*_GROUP).orderBy("at", "is_close")
    return events.withColumn("open_now", F.sum(1 - 2 * F.col("is_close")).over(in_time))


def _by_bucket(events: DataFrame, seconds: int) -> DataFrame:
    opens = F.col("is_close") == 0
    return events.groupBy(*_GROUP, bucket_number("at", seconds).alias("number")).agg(
        F.sum(opens.cast("int")).alias("opened"),
        F.sum((~opens).cast("int")).alias("closed"),
        F.sum((opens & F.col("start_unseen")).cast("int")).alias("start_unseen"),
        F.max("open_now").alias("highest"),
        F.max_by("open_now", F.struct("at", "is_close")).alias("open_at_end"),
    )


def _filled(counted: DataFrame, seconds: int) -> DataFrame:
    """Add the buckets without events in which connections stay open, and return the table's columns.

    After a bucket with events at most `MAX_FILLED` are added.
    """
    in_time = Window.partitionBy(*_GROUP).orderBy("number")
    next_number = F.lead("number").over(in_time)
    last_number = F.least(next_number - 1, F.col("number") + MAX_FILLED)
    stays = F.col("open_at_end") > 0
    runs = counted.withColumns(
        {
            "open_before": F.coalesce(F.lag("open_at_end").over(in_time), F.lit(0)),
            "last_number": F.when(stays, last_number).otherwise(F.col("number")),
            "is_cut": F.coalesce(stays & (next_number - 1 > F.col("number") + MAX_FILLED), F.lit(False)),
        }
    ).withColumn("bucket_number", F.explode(F.sequence("number", "last_number")))
    own = F.col("bucket_number") == F.col("number")

    def here(name: str) -> Column:
        return F.when(own, F.col(name)).otherwise(0)

    before = F.when(own, F.col("open_before")).otherwise(F.col("open_at_end"))
    return runs.select(
        *_GROUP,
        bucket_start(F.col("bucket_number"), seconds).alias("bucket"),
        (before + here("opened")).alias("open"),
        F.greatest(here("highest"), before).alias("open_max"),
        "open_at_end",
        *(here(name).alias(name) for name in ("opened", "closed", "start_unseen")),
        (F.col("is_cut") & (F.col("bucket_number") == F.col("last_number"))).alias("is_cut"),
    )
