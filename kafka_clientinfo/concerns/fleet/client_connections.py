"""KIP-511's gauge over time: how many connections each software name and version holds open.

The log has no record of a connection's end. A connection counts as open from its first record to its last one, so
all counts are lower bounds: it was open before its first record where its start is not observed, and after its last
one until the client or connections.max.idle.ms closed it. Nothing is spread out per connection: each makes two
events, running sums of which give the gauge, and buckets without events are filled in between.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ...settings import Settings

MAX_FILLED = 2000
"""Buckets without an event that are filled in a row; a longer silence under open connections is cut there."""

_GROUP = ("cluster", "broker", "listener", "client_software_name", "client_software_version", "role")


def transform(connections: DataFrame, settings: Settings) -> DataFrame:
    """Makes one row per software, listener, broker and bucket in which a connection was open."""
    seconds = settings.bucket_minutes * 60
    counted = _by_bucket(_events(connections), seconds)
    return _filled(counted, seconds)


def _events(connections: DataFrame) -> DataFrame:
    """Makes two events per connection, with the number of open ones after each; at one instant openings come first."""
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
    # The default frame takes in all events of the same instant and kind, whatever their order.
    in_time = Window.partitionBy(*_GROUP).orderBy("at", "is_close")
    return events.withColumn("open_now", F.sum(1 - 2 * F.col("is_close")).over(in_time))


def _by_bucket(events: DataFrame, seconds: int) -> DataFrame:
    opens = F.col("is_close") == 0
    # Seconds and not date arithmetic: exact for every length of the bucket, and free of ANSI errors.
    number = F.floor(F.unix_seconds("at") / seconds).cast("bigint")
    return events.groupBy(*_GROUP, number.alias("number")).agg(
        F.sum(opens.cast("int")).alias("opened"),
        F.sum((~opens).cast("int")).alias("closed"),
        F.sum((opens & F.col("start_unseen")).cast("int")).alias("start_unseen"),
        F.max("open_now").alias("highest"),
        F.max_by("open_now", F.struct("at", "is_close")).alias("open_at_end"),
    )


def _filled(counted: DataFrame, seconds: int) -> DataFrame:
    """Fills the buckets between two with events: they repeat what was open, up to `MAX_FILLED` of them."""
    in_time = Window.partitionBy(*_GROUP).orderBy("number")
    next_number = F.lead("number").over(in_time)
    until = F.least(next_number - 1, F.col("number") + MAX_FILLED)
    stays = F.col("open_at_end") > 0
    runs = counted.withColumns(
        {
            "open_before": F.coalesce(F.lag("open_at_end").over(in_time), F.lit(0)),
            "until": F.when(stays, until).otherwise(F.col("number")),
            "is_cut": F.coalesce(stays & (next_number - 1 > F.col("number") + MAX_FILLED), F.lit(False)),
        }
    ).withColumn("bucket_number", F.explode(F.sequence("number", "until")))
    own = F.col("bucket_number") == F.col("number")

    def here(name: str) -> Column:
        return F.when(own, F.col(name)).otherwise(0)

    before = F.when(own, F.col("open_before")).otherwise(F.col("open_at_end"))
    return runs.select(
        *_GROUP,
        F.timestamp_seconds(F.col("bucket_number") * seconds).alias("bucket"),
        (before + here("opened")).alias("open"),
        F.greatest(here("highest"), before).alias("open_max"),
        "open_at_end",
        *(here(name).alias(name) for name in ("opened", "closed", "start_unseen")),
        (F.col("is_cut") & (F.col("bucket_number") == F.col("until"))).alias("is_cut"),
    )
