"""Who would break at each release: the versions that clients use, against what real brokers of that release took.

A log shows the versions that were used, never those that a client knows. A client that negotiates (KIP-35) and
uses an old version because today's broker offers nothing newer may well know a newer one; one that uses an old
version although the broker offers more does not (or is told not to), and breaks where the old one is gone. So each
use of a version is first judged by what limited it: the client, or the broker.
"""

from dataclasses import astuple

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from ..tables import SESSION_KEY
from ..tables.broker_releases import api_traits, facts, releases
from .columns import sorted_texts

_CLIENT = ("cluster", "principal", "client_id", "client_software_name", "client_software_version")
_FACTS = (
    "target string, api_key int, api_version int, verdict string, reason string, "
    "advertised boolean, accepted boolean, refused_from string"
)
_NEGOTIATED = ("negotiated", "fell_back", "negotiated_after_invalid_request")


def transform(connection_sessions: DataFrame, api_usage: DataFrame, broker_api_versions: DataFrame) -> DataFrame:
    """One row per target release, client, API and version; clients' own connections only."""
    used = _used(connection_sessions, api_usage)
    return _judged(_folded(_limited(used, _brokers(api_usage, broker_api_versions))))


def _used(connection_sessions: DataFrame, api_usage: DataFrame) -> DataFrame:
    """What client sessions used. A client may ask once and apply the answer on its later connections too."""
    negotiated = F.col("api_versions_outcome").isin(*_NEGOTIATED)
    same_client = Window.partitionBy("cluster", "principal", "client_id")
    clients = connection_sessions.where(F.col("role") == "client").select(
        *SESSION_KEY,
        *_CLIENT[1:],
        "remote_host",
        (F.col("api_versions_outcome") == "not_sent").alias("not_sent"),
        F.bool_or(negotiated).over(same_client).alias("asks"),
    )
    return clients.join(api_usage, on=list(SESSION_KEY), how="inner")


def _brokers(api_usage: DataFrame, broker_api_versions: DataFrame) -> DataFrame:
    """Per broker and API: the highest version that it offered (the lowest such, if that changed) or anybody used."""
    key = ("cluster", "broker", "api_key")
    offered = broker_api_versions.groupBy(*key).agg(F.min("max_version").alias("broker_max"))
    taken = api_usage.groupBy(*key).agg(F.max("api_version").alias("highest_taken"))
    return taken.join(offered, on=list(key), how="left")


def _limited(used: DataFrame, brokers: DataFrame) -> DataFrame:
    """`limit`: whether client or broker kept the version from being higher; null where the log does not tell."""
    joined = used.join(F.broadcast(brokers), on=["cluster", "broker", "api_key"], how="left")
    version = F.col("api_version")
    fixed = F.col("not_sent") & ~F.col("asks")
    limit = (
        F.when(fixed, "client")
        .when(F.col("advertised_max").isNotNull(), _who(version == F.col("advertised_max")))
        # A broker marks versions as deprecated that its clients have long had successors for.
        .when(F.col("deprecated"), "client")
        .when(F.col("broker_max").isNotNull(), _who(version >= F.col("broker_max")))
        # No range is logged (before 1.0, or hidden by SASL): that others used a higher version shows that it is taken.
        .when(version < F.col("highest_taken"), "client")
        .when(F.col("asks"), "broker")
    )
    return joined.withColumns({"fixed": fixed, "limit": limit})


def _who(at_the_top: Column) -> Column:
    return F.when(at_the_top, "broker").otherwise("client")


def _folded(limited: DataFrame) -> DataFrame:
    by_broker_only = F.bool_and(F.coalesce(F.col("limit") == "broker", F.lit(False)))
    return limited.groupBy(*_CLIENT, "api_key", "api_version").agg(
        F.max("api_name").alias("api_name"),
        F.sum("requests").alias("requests"),
        F.count_distinct(*SESSION_KEY).alias("connections"),
        F.count_distinct("remote_host").alias("hosts"),
        sorted_texts(F.col("remote_host")).alias("host_list"),
        F.min("first_at").alias("first_seen"),
        F.max("last_at").alias("last_seen"),
        F.when(F.bool_or(F.col("limit") == "client"), "client")
        .when(by_broker_only, "broker")
        .otherwise("unknown")
        .alias("limited_by"),
        F.bool_or("fixed").alias("fixed"),
        F.bool_and("info_only").alias("info_only"),
    )


def _judged(folded: DataFrame) -> DataFrame:
    every = F.explode(F.array(*(F.lit(name) for name in releases()))).alias("target")
    wanted = folded.select(every, "*")
    known = wanted.join(F.broadcast(_facts(folded.sparkSession)), on=["target", "api_key", "api_version"], how="left")
    # Versions above all known ones have no fact of their own.
    answered = F.col("api_key").isin(*api_traits().always_answered)
    held_back = F.col("reason").isin("below_range", "refused_although_advertised") & (F.col("limited_by") == "broker")
    goes_down = (F.col("reason") == "above_range") & ~F.col("fixed")
    undecided = F.when(F.col("reason").isNull() & ~answered, "newer_than_known")
    undecided = undecided.when(held_back, "held_back_by_broker").when(goes_down, "negotiates_down")
    return known.select(
        "target",
        *folded.columns,
        F.when(undecided.isNotNull(), "unknown").otherwise(F.coalesce("verdict", F.lit("ok"))).alias("verdict"),
        F.coalesce(undecided, "reason", F.lit("always_answered")).alias("reason"),
        "refused_from",
        "advertised",
        "accepted",
    )


def _facts(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([astuple(fact) for fact in facts()], _FACTS)
