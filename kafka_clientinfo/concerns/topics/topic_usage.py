"""The table `topic_usage`: which client produces to, reads, commits or changes which topic, per broker and day."""

from ...connections.engine import Column, DataFrame, F
from ...connections.texts import merged_texts
from ...tables.spec import MOST_GROUPS
from .fetch_sessions import USE, uses_by_sessions
from .known_topics import names_of_ids

_KEY = ("cluster", "broker", "principal", "client_id", "client_software_name", "client_software_version", "operation",
        "topic", "topic_id", "day")  # fmt: skip
_OF_NAMED = {"bytes": "bigint", "errors": "map<int,bigint>", "groups": "array<string>", "more_topics": "bigint"}
"""Columns that only requests have which name the topic, with their types."""


def transform(topic_mentions: DataFrame, log_positions: DataFrame) -> DataFrame:
    """Return one row per client, operation, topic and day; a null is a value of a key.

    Topic ids have the name that any record of the cluster shows, whenever it was logged.
    """
    counted = topic_mentions.where(F.col("kind") == "use")
    by_sessions = uses_by_sessions(topic_mentions, log_positions)
    unsaid = {name: F.lit(None).cast(kind) for name, kind in _OF_NAMED.items()}
    uses = counted.select(*USE, *_OF_NAMED).unionByName(by_sessions.withColumns(unsaid))
    named = uses.join(names_of_ids(topic_mentions), on=["cluster", "topic_id"], how="left")
    return (
        named.withColumn("topic", F.coalesce("topic", "its_name"))
        .groupBy(*_KEY)
        .agg(
            F.sum("requests").alias("requests"),
            F.sum("bytes").alias("bytes"),
            _summed(F.collect_list("errors")).alias("errors"),
            merged_texts(F.col("groups"), MOST_GROUPS).alias("groups"),
            F.max("more_topics").alias("more_topics"),
            F.min("first_at").alias("first_at"),
            F.max("last_at").alias("last_at"),
        )
    )


def _summed(maps: Column) -> Column:
    """Add up maps of code to number; null if there are none."""
    entries = F.flatten(F.transform(maps, F.map_entries))
    codes = F.array_sort(F.array_distinct(F.transform(entries, lambda entry: entry["key"])))

    def with_sum(code: Column) -> Column:
        own = F.transform(F.filter(entries, lambda entry: entry["key"] == code), lambda entry: entry["value"])
        return F.struct(code, F.aggregate(own, F.lit(0).cast("bigint"), lambda total, number: total + number))

    return F.when(F.size(maps) > 0, F.map_from_entries(F.transform(codes, with_sum)))
