"""Who would break at each release: the versions that clients use, against what real brokers of that release took.

A log shows the versions that were used, never those that a client knows. A client that negotiates (KIP-35) and
uses an old version because today's broker offers nothing newer may well know a newer one; one that uses an old
version although the broker offers more does not (or is told not to), and breaks where the old one is gone. So each
use of a version is first judged by what limited it: the client, or the broker.
"""

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from ...connections import is_client, sorted_texts
from ...tables import CONNECTION_KEY
from ...tables.broker_releases import api_traits, facts, releases

_CLIENT = ("cluster", "principal", "client_id", "client_software_name", "client_software_version")
_RELEASES = "array<struct<target:string,verdict:string,reason:string,refused_from:string>>"
_FACTS = f"api_key int, api_version int, releases {_RELEASES}"
_NEGOTIATED = ("negotiated", "fell_back", "negotiated_after_invalid_request")


def transform(connections: DataFrame, api_usage: DataFrame, broker_api_versions: DataFrame) -> DataFrame:
    """Makes one row per client, API and version, with what every known release makes of it; clients' connections only."""
    used = _used(connections, api_usage)
    return _judged(_aggregated(_limited(used, _brokers(api_usage, broker_api_versions))))


def _used(connections: DataFrame, api_usage: DataFrame) -> DataFrame:
    """Adds clients to what they used. A client may ask once and apply the answer on its later connections too."""
    negotiated = F.col("api_versions_outcome").isin(*_NEGOTIATED)
    same_client = Window.partitionBy("cluster", "principal", "client_id")
    clients = connections.where(is_client()).select(
        *CONNECTION_KEY,
        *_CLIENT[1:],
        "remote_host",
        (F.col("api_versions_outcome") == "not_sent").alias("not_sent"),
        F.bool_or(negotiated).over(same_client).alias("asks"),
    )
    return clients.join(api_usage, on=list(CONNECTION_KEY), how="inner")


def _brokers(api_usage: DataFrame, broker_api_versions: DataFrame) -> DataFrame:
    """Takes, per broker and API, the highest version that it offered (the lowest such, if that changed) or anybody used."""
    key = ("cluster", "broker", "api_key")
    offered = broker_api_versions.groupBy(*key).agg(F.min("max_version").alias("broker_max"))
    taken = api_usage.groupBy(*key).agg(F.max("api_version").alias("highest_taken"))
    return taken.join(offered, on=list(key), how="left")


def _limited(used: DataFrame, brokers: DataFrame) -> DataFrame:
    """Adds `limit`: whether client or broker kept the version from being higher; null where the log does not tell."""
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


def _aggregated(limited: DataFrame) -> DataFrame:
    by_broker_only = F.bool_and(F.coalesce(F.col("limit") == "broker", F.lit(False)))
    return limited.groupBy(*_CLIENT, "api_key", "api_version").agg(
        F.max("api_name").alias("api_name"),
        F.sum("requests").alias("requests"),
        F.count_distinct(*CONNECTION_KEY).alias("connections"),
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


def _judged(used: DataFrame) -> DataFrame:
    """Adds what every release makes of the version, as three maps; a release in none of them takes it."""
    known = used.join(F.broadcast(_facts(used.sparkSession)), on=["api_key", "api_version"], how="left")
    # Versions above all known ones have no facts of their own.
    every = F.array(*(F.struct(F.lit(name).alias("target")) for name in releases()))
    unknown = F.transform(
        every, lambda release: F.struct(release["target"], F.lit("unknown"), F.lit("newer_than_known"), _no_text())
    )
    answered = F.col("api_key").isin(*api_traits().always_answered)
    undecided = F.when(answered, F.array().cast(_RELEASES)).otherwise(unknown.cast(_RELEASES))
    verdicts = F.transform(F.coalesce("releases", undecided), _with_limit)
    return known.select(
        *used.columns,
        _by_release(verdicts, "removed", "reason").alias("refused_by"),
        _by_release(verdicts, "deprecated", "refused_from").alias("deprecated_by"),
        _by_release(verdicts, "unknown", "reason").alias("undecided_by"),
    )


def _no_text() -> Column:
    return F.lit(None).cast("string")


def _with_limit(release: Column) -> Column:
    """Takes back a refusal where the log does not show that the client could not do otherwise."""
    reason = release["reason"]
    held_back = reason.isin("below_range", "refused_although_advertised") & (F.col("limited_by") == "broker")
    goes_down = (reason == "above_range") & ~F.col("fixed")
    other = F.when(held_back, "held_back_by_broker").when(goes_down, "negotiates_down")
    return F.struct(
        release["target"].alias("target"),
        F.when(other.isNotNull(), "unknown").otherwise(release["verdict"]).alias("verdict"),
        F.coalesce(other, reason).alias("reason"),
        release["refused_from"].alias("refused_from"),
    )


def _by_release(verdicts: Column, verdict: str, value: str) -> Column:
    """Makes the map from releases with a verdict to their reasons."""
    chosen = F.filter(verdicts, lambda release: release["verdict"] == verdict)
    return F.map_from_entries(F.transform(chosen, lambda release: F.struct(release["target"], release[value])))


def _facts(spark: SparkSession) -> DataFrame:
    """Makes one row per API and version: what every release makes of it, oldest first; those that take it are left out."""
    by_version: dict[tuple[int, int], list[tuple[str, str, str, str | None]]] = {}
    for fact in facts():
        releases_of = by_version.setdefault((fact.api_key, fact.api_version), [])
        if fact.verdict != "ok":
            releases_of.insert(0, (fact.target, fact.verdict, fact.reason, fact.refused_from))
    return spark.createDataFrame([(*key, found) for key, found in sorted(by_version.items())], _FACTS)
