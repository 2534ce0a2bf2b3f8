"""The table `known_topics`: which topics the logs show to exist, their ids (KIP-516), and since when silence is evidence."""

from ...config.settings import Settings
from ...connections.coverage import newest_periods
from ...connections.engine import DataFrame, F

_TOPIC = ("cluster", "topic", "topic_id")
INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")
"""Topics that brokers write and read without requests."""


def transform(
    topic_mentions: DataFrame, topic_usage: DataFrame, ingested_files: DataFrame, settings: Settings
) -> DataFrame:
    """Return one row per topic and id that brokers have named in their answers."""
    is_deletion = F.col("kind") == "deletion"
    named = topic_mentions.where(F.col("kind").isin("name", "deletion"))
    topics = named.groupBy(*_TOPIC).agg(
        F.sum("requests").alias("requests"),
        F.min("first_at").alias("first_named_at"),
        F.max("last_at").alias("last_named_at"),
        F.max(F.when(is_deletion, F.col("last_at"))).alias("deleted_at"),
    )
    used = topic_usage.where(F.col("operation").isin("produce", "fetch", "commit") & F.col("topic").isNotNull())
    last_used = used.groupBy("cluster", "topic").agg(F.max("last_at").alias("last_used_at"))
    covered = _covered(newest_periods(ingested_files, settings))
    with_use = topics.join(last_used, on=["cluster", "topic"], how="left").join(covered, on="cluster", how="left")
    return with_use.withColumn("is_internal", F.col("topic").isin(*INTERNAL))


def _covered(periods: DataFrame) -> DataFrame:
    """Return the time over which the logs of all brokers of a cluster hold every request; null if there is none.

    A topic's partitions may be on any broker, so that one broker's log says nothing of a topic that it does not name.
    """
    of_cluster = periods.groupBy("cluster").agg(
        F.max("covered_from").alias("covered_from"),
        F.min("covered_until").alias("covered_until"),
        F.bool_and(F.col("covered_from").isNotNull()).alias("are_all"),
        F.count("*").alias("brokers_read"),
    )
    is_covered = F.col("are_all") & (F.col("covered_from") < F.col("covered_until"))
    bounds = (F.when(is_covered, F.col(name)).alias(name) for name in ("covered_from", "covered_until"))
    return of_cluster.select("cluster", "brokers_read", *bounds)


def names_of_ids(topic_mentions: DataFrame) -> DataFrame:
    """Return the name of each topic id that was shown together with one, whenever that was."""
    both = topic_mentions.where(F.col("topic").isNotNull() & F.col("topic_id").isNotNull())
    return both.groupBy("cluster", "topic_id").agg(F.max("topic").alias("its_name"))
