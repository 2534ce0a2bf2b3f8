"""Completes the fetch sessions that began in an earlier part of a broker's log (KIP-227).

`ingestion.fetch_sessions` follows sessions within one part of a file. The parts of a session are put in order here. As
long as their epochs follow one another without a gap, the topics that one part leaves in the session are asked for by
the fetches of the next:

    the session's parts               | fetches that name none of its topics
    ----------------------------------|-------------------------------------------------------------------------
    from its beginning, without a gap | count for each topic that the session holds
    others                            | count for the topics that a part has shown it to hold, and once more as
                                      | unresolved, without a topic, as it may hold others
"""

from ...connections.engine import Column, DataFrame, F, Window
from ...connections.texts import joined_by

_SESSION = ("cluster", "broker", "session")
_LIFE = (*_SESSION, "life")
_PART = ("file_id", "byte_offset", "session_number")
_WHO = ("principal", "client_id", "client_software_name", "client_software_version", "operation", "day")
_TOPIC = ("topic", "topic_id")
USE = ("cluster", "broker", *_WHO, *_TOPIC, "requests", "first_at", "last_at")
"""The columns of the uses that are returned."""


def uses_by_sessions(topic_mentions: DataFrame, log_positions: DataFrame) -> DataFrame:
    """Return the uses of topics that a session held before a part of the log, and the unresolved fetches."""
    parts = _parts(topic_mentions, log_positions)
    unresolved = parts.where(~F.col("is_start") & ~F.col("is_known") & (F.col("requests") > 0))
    nothing = F.lit(None).cast("string")
    rows = unresolved.withColumns({"topic": nothing, "topic_id": nothing}).select(*USE)
    return rows.unionByName(_uses(parts, topic_mentions))


def _parts(topic_mentions: DataFrame, log_positions: DataFrame) -> DataFrame:
    """Return the parts of sessions in their order; parts between which none is missing have one `life`."""
    files = log_positions.select("file_id", "file_no")
    sessions = topic_mentions.where(F.col("kind") == "session").join(files, on="file_id", how="inner")
    in_order = Window.partitionBy(*_SESSION).orderBy("file_no", "byte_offset", "session_number")
    client = F.struct(*_WHO[:-1])
    is_next = F.lag("last_epoch").over(in_order) + 1 == F.col("first_epoch")
    goes_on = is_next & ~F.lag("is_over").over(in_order) & F.lag(client).over(in_order).eqNullSafe(client)
    begins = F.col("is_start") | F.col("is_cut") | ~F.coalesce(goes_on, F.lit(False))
    numbered = sessions.withColumns({"begins": begins.cast("int"), "part": F.row_number().over(in_order)})
    lives = numbered.withColumn("life", F.sum("begins").over(in_order))
    is_known = F.max(F.col("is_start").cast("int")).over(Window.partitionBy(*_LIFE)) == 1
    return lives.withColumn("is_known", is_known).select(
        *_PART, *_LIFE, "part", "is_start", "is_known", *_WHO, "requests", "first_at", "last_at"
    )


def _uses(parts: DataFrame, topic_mentions: DataFrame) -> DataFrame:
    """Return how many fetches of a part count for topics that the parts before it have left in the session."""
    topics = topic_mentions.where(F.col("kind") == "session_topic").select(
        *_PART, *_TOPIC, F.col("requests").alias("counted"), "partitions"
    )
    shown = topics.join(parts.select(*_PART, *_LIFE, "part"), on=list(_PART), how="inner")
    held = _held(shown)
    later = parts.where(~F.col("is_start")).drop(*_PART)
    is_later = (F.col("part") > F.col("held_since")) & (F.col("part") <= F.coalesce("named_next", "part"))
    rows = held.join(later, on=list(_LIFE), how="inner").where(is_later)
    with_counted = joined_by(rows, shown.select(*_LIFE, "part", *_TOPIC, "counted"), (*_LIFE, "part", *_TOPIC))
    others = F.col("requests") - F.coalesce("counted", F.lit(0))
    is_named = F.coalesce(F.col("named_next") == F.col("part"), F.lit(False))
    by_topic = with_counted.groupBy(*_LIFE, "part", *_WHO, *_TOPIC).agg(
        F.max(F.when(is_named, F.col("uncounted")).otherwise(others)).alias("requests"),
        F.min("first_at").alias("first_at"),
        F.max(F.when(is_named, F.col("uncounted_at")).otherwise(F.col("last_at"))).alias("last_at"),
    )
    return by_topic.where(F.col("requests") > 0).select(*USE)


def _held(shown: DataFrame) -> DataFrame:
    """Return the partitions that a part leaves in its session, each with what the next part that names it says."""
    named = shown.select(*_LIFE, "part", *_TOPIC, F.explode("partitions").alias("named")).select(
        *_LIFE,
        F.col("part").alias("held_since"),
        *_TOPIC,
        *(_field(name) for name in ("partition", "is_held", "uncounted", "uncounted_at")),
    )
    in_order = Window.partitionBy(*_LIFE, *_TOPIC, "partition").orderBy("held_since")
    following = {"named_next": F.lead("held_since").over(in_order)} | {
        name: F.lead(name).over(in_order) for name in ("uncounted", "uncounted_at")
    }
    return named.withColumns(following).where(F.col("is_held"))


def _field(name: str) -> Column:
    return F.col(f"named.{name}").alias(name)
