"""The versions that clients use, judged by what real brokers of each release accept; a relation for `upgrade_impact`.

A log shows the versions that a client uses, but not all that it knows. So each use is judged by what limited it:

    limited by  | evidence                                        | at a release without the version
    ------------|-------------------------------------------------|---------------------------------------------
    the client  | the broker offers more, or it never negotiates  | it breaks, because it knows no newer one
    the broker  | it negotiates (KIP-35) and uses the highest one | it may well know a newer one, and use that
"""

from ...connections.boundaries import has_header_v3
from ...connections.engine import Column, DataFrame, F, SparkSession, Window
from ...connections.facts import is_client
from ...connections.offers import of_processes
from ...connections.starts import life_at, starts_of_brokers
from ...connections.texts import number_of_texts, sorted_texts
from ...releases.broker_releases import api_traits, judgements, releases
from ...spark.arrow_rows import relation_of
from ...tables.spec import CLIENT, CONNECTION_KEY

_USE = ("api_key", "api_version", "by_broker", "never_negotiates")
_NEGOTIATED = ("negotiated", "fell_back", "negotiated_after_invalid_request")


def transform(
    connections: DataFrame, api_usage: DataFrame, broker_api_versions: DataFrame, ingested_files: DataFrame
) -> DataFrame:
    """Return one row per client, API and version, with the known releases that refuse or deprecate it.

    Returns:
        The columns of the table `upgrade_impact`, except those on what to upgrade to.
    """
    starts = starts_of_brokers(ingested_files)
    by_process = _with_process(api_usage, starts)
    used = _used(connections, by_process)
    return _judged(_aggregated(_limited(used, _brokers(by_process, of_processes(broker_api_versions, starts)))))


def _with_process(api_usage: DataFrame, starts: DataFrame) -> DataFrame:
    """Add process, which distinguishes a broker's processes, because an earlier one may have had another release."""
    joined = api_usage.join(F.broadcast(starts), on=["cluster", "broker"], how="left")
    return joined.select(*api_usage.columns, life_at("starts", F.col("first_at"))["begin"].alias("process"))


def _used(connections: DataFrame, api_usage: DataFrame) -> DataFrame:
    """Join usage with its clients. `negotiates` covers all connections of a client, as one answer may serve several."""
    negotiated = F.col("api_versions_outcome").isin(*_NEGOTIATED)
    same_client = Window.partitionBy("cluster", "principal", "client_id")
    clients = connections.where(is_client()).select(
        *CONNECTION_KEY,
        *CLIENT[1:],
        "remote_host",
        (F.col("api_versions_outcome") == "not_sent").alias("not_sent"),
        F.bool_or(negotiated).over(same_client).alias("negotiates"),
    )
    return clients.join(api_usage, on=list(CONNECTION_KEY), how="inner")


def _brokers(api_usage: DataFrame, broker_api_versions: DataFrame) -> DataFrame:
    """Return, per broker process and API, broker_max and highest_taken.

    They are the highest version that the broker offered (on several listeners, the lowest of these) and the highest
    that any client used.
    """
    key = ("cluster", "broker", "process", "api_key")
    offered = broker_api_versions.groupBy(*key).agg(F.min("max_version").alias("broker_max"))
    taken = api_usage.groupBy(*key).agg(F.max("api_version").alias("highest_taken"))
    return taken.join(offered, on=list(key), how="left")


def _limited(used: DataFrame, brokers: DataFrame) -> DataFrame:
    """Add `limit`, whether the client or the broker limited the version; null if the log does not show it."""
    joined = used.join(F.broadcast(brokers), on=["cluster", "broker", "process", "api_key"], how="left")
    version = F.col("api_version")
    never_negotiates = F.col("not_sent") & ~F.col("negotiates")
    limit = (
        F.when(never_negotiates, "client")
        .when(F.col("advertised_max").isNotNull(), _who(version == F.col("advertised_max")))
        # A deprecated version has had newer ones for a long time, so the client could have used one.
        .when(F.col("deprecated"), "client")
        .when(F.col("broker_max").isNotNull(), _who(version >= F.col("broker_max")))
        # No range is logged (before 1.0, or hidden by SASL), but a higher version of another client shows what works.
        .when(version < F.col("highest_taken"), "client")
        .when(F.col("negotiates"), "broker")
    )
    return joined.withColumns({"never_negotiates": never_negotiates, "limit": limit})


def _who(at_the_top: Column) -> Column:
    return F.when(at_the_top, "broker").otherwise("client")


def _aggregated(limited: DataFrame) -> DataFrame:
    by_broker_only = F.bool_and(F.coalesce(F.col("limit") == "broker", F.lit(False)))
    return limited.groupBy(*CLIENT, "api_key", "api_version").agg(
        F.max("api_name").alias("api_name"),
        F.sum("requests").alias("requests"),
        F.count_distinct(*CONNECTION_KEY).alias("connections"),
        number_of_texts("remote_host").alias("hosts"),
        sorted_texts(F.col("remote_host")).alias("host_list"),
        F.min("first_at").alias("first_seen"),
        F.max("last_at").alias("last_seen"),
        F.when(F.bool_or(F.col("limit") == "client"), "client")
        .when(by_broker_only, "broker")
        .otherwise("unknown")
        .alias("limited_by"),
        F.bool_or("never_negotiates").alias("never_negotiates"),
        F.bool_and("info_only").alias("info_only"),
        F.bool_or(has_header_v3()).alias("header_v3"),
    )


def _judged(used: DataFrame) -> DataFrame:
    """Add the releases that refuse, deprecate or can't be judged for the version, as maps; all others accept it.

    No known release reads header v3 (KIP-1313). It has an id at the position of header v2's tags, so a broker that
    reads it as header v2 closes the connection, even on ApiVersions, unless the id happens to look like tags.
    """
    by_broker = F.col("limited_by") == "broker"
    judgements = F.broadcast(_judgements(used.sparkSession))
    joined = used.withColumn("by_broker", by_broker).join(judgements, on=list(_USE), how="left")
    # Versions above all known ones have no row among the judgements.
    nothing = F.create_map()
    answered = F.col("api_key").isin(*api_traits().always_answered)
    undecided = F.coalesce("undecided_by", F.when(answered, nothing).otherwise(_by_all("newer_than_known")))
    has_v3 = F.col("header_v3")
    return joined.select(
        *used.columns,
        F.when(has_v3, nothing).otherwise(F.coalesce("refused_by", nothing)).alias("refused_by"),
        F.when(has_v3, nothing).otherwise(F.coalesce("deprecated_by", nothing)).alias("deprecated_by"),
        F.when(has_v3, _by_all("header_v3")).otherwise(undecided).alias("undecided_by"),
    )


def _by_all(reason: str) -> Column:
    return F.create_map(*(F.lit(part) for name in releases() for part in (name, reason)))


def _judgements(spark: SparkSession) -> DataFrame:
    maps = ", ".join(f"{name} map<string,string>" for name in ("refused_by", "deprecated_by", "undecided_by"))
    return relation_of(
        spark, judgements(), f"api_key int, api_version int, by_broker boolean, never_negotiates boolean, {maps}"
    )
