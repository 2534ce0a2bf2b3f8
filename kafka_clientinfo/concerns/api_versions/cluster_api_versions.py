"""The table `cluster_api_versions`: the ranges that all brokers of a cluster share, and what they allow (KIP-35).

By KIP-35 a client may use a feature if, for each request that it needs, all brokers of interest accept a common
version. These are the brokers that answered ApiVersions on a client listener, each with its newest answer. During a
rolling upgrade the old brokers limit the range, and the row says that brokers differ.
"""

from ...config.settings import Settings
from ...connections.engine import Column, DataFrame, F, Window
from ...connections.texts import is_one_of, looked_up, number_of_texts, with_lists
from ...protocol import api_names
from ...releases.broker_releases import features

_ANSWERING = ("cluster", "broker", "listener")


def transform(broker_api_versions: DataFrame, ingested_files: DataFrame, settings: Settings) -> DataFrame:
    """Return one row per cluster and API that one of its brokers advertises or a declared feature needs."""
    current = _current(broker_api_versions, settings)
    clusters = _clusters(current, ingested_files)
    common = _common(current, clusters)
    return _with_features(common).withColumn("api_name", looked_up(api_names(), F.col("api_key")))


def _current(ranges: DataFrame, settings: Settings) -> DataFrame:
    """Return the newest answer of each broker and listener; all ranges of one answer have its time."""
    newest = F.max("last_seen").over(Window.partitionBy(*_ANSWERING))
    on_controller = is_one_of(F.col("listener"), settings.controller_listeners)
    latest = ranges.where(~on_controller).withColumn("newest", newest).where(F.col("last_seen") == F.col("newest"))
    # Of two answers in the same millisecond, the higher range counts.
    highest = F.max(F.struct("max_version", "min_version")).alias("range")
    grouped = latest.groupBy(*_ANSWERING, "api_key", "newest").agg(highest)
    return grouped.select(*_ANSWERING, "api_key", "newest", "range.min_version", "range.max_version")


def _clusters(current: DataFrame, ingested_files: DataFrame) -> DataFrame:
    """Count, per cluster, the brokers and listeners that answered, and the brokers without an answer in their log."""
    answered = current.groupBy("cluster").agg(
        number_of_texts("broker").alias("brokers"),
        number_of_texts("broker", F.coalesce("listener", F.lit(""))).alias("answering"),
        F.max("newest").alias("as_of"),
    )
    logged = (
        ingested_files.where(F.col("requests") > 0).groupBy("cluster").agg(number_of_texts("broker").alias("logged"))
    )
    silent = F.greatest(F.coalesce("logged", "brokers") - F.col("brokers"), F.lit(0))
    return answered.join(logged, on="cluster", how="left").select(*answered.columns, silent.alias("brokers_silent"))


def _common(current: DataFrame, clusters: DataFrame) -> DataFrame:
    """Return one row per cluster and API: the range that all answering brokers share, and how their ranges differ.

    The range is null if they share none.
    """
    by_api = current.groupBy("cluster", "api_key").agg(
        F.count("*").alias("answers_with_api"),
        number_of_texts("broker").alias("brokers_with_api"),
        F.max("min_version").alias("low"),
        F.min("max_version").alias("high"),
        F.min("min_version").alias("lowest_min"),
        F.max("max_version").alias("highest_max"),
    )
    keys = sorted({key for feature in features().values() for key in feature.needs})
    needed = clusters.select("cluster", F.explode(F.array(*map(F.lit, keys))).alias("api_key"))
    apis = by_api.select("cluster", "api_key").unionByName(needed).distinct()
    joined = apis.join(by_api, on=["cluster", "api_key"], how="left").join(clusters, on="cluster", how="inner")
    everywhere = F.coalesce(F.col("answers_with_api") == F.col("answering"), F.lit(False))
    same = everywhere & (F.col("low") == F.col("lowest_min")) & (F.col("high") == F.col("highest_max"))
    is_shared = everywhere & (F.col("low") <= F.col("high"))
    return joined.select(
        "cluster",
        "api_key",
        F.when(is_shared, F.col("low")).alias("min_version"),
        F.when(is_shared, F.col("high")).alias("max_version"),
        "lowest_min",
        "highest_max",
        "brokers",
        F.coalesce("brokers_with_api", F.lit(0)).alias("brokers_with_api"),
        "brokers_silent",
        (F.col("answers_with_api").isNull() | same).alias("same_everywhere"),
        "as_of",
    )


def _with_features(common: DataFrame) -> DataFrame:
    """Add the features that need the API, whether this API's range allows them, and whether those of all APIs do."""
    needed = common.withColumn("need", F.explode(_needs())).where(F.col("need.api_key") == F.col("api_key"))
    met = needed.withColumn("met", _is_met())
    usable = F.bool_and("met").over(Window.partitionBy("cluster", "need.feature"))
    feature_of_api = F.struct(
        "need.feature", "need.kip", "need.min_version", "need.max_version", "met", usable.alias("usable")
    )
    by_api = met.select("cluster", "api_key", feature_of_api.alias("feature_of_api")).groupBy("cluster", "api_key")
    collected = by_api.agg(F.array_sort(F.collect_list("feature_of_api")).alias("features"))
    return with_lists(common, collected, ("cluster", "api_key"))


def _needs() -> Column:
    needs = (
        {"feature": feature.name, "kip": feature.kip, "api_key": key, "min_version": low, "max_version": high}
        for feature in features().values()
        for key, (low, high) in feature.needs.items()
    )
    return F.array(*(F.struct(*(F.lit(value).alias(name) for name, value in need.items())) for need in needs))


def _is_met() -> Column:
    low = F.greatest("min_version", F.col("need.min_version"))
    high = F.least("max_version", F.col("need.max_version"))
    # greatest and least ignore nulls, but without a common range no version is met.
    return F.col("min_version").isNotNull() & (low <= high)
