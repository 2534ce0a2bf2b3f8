"""Which versions each connection used, beside the range advertised on that same connection (KIP-35)."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..tables import SESSION_KEY
from .columns import API_VERSIONS, API_VERSIONS_ANSWER, api_versions_error, is_api_versions_success


def transform(session_requests: DataFrame) -> DataFrame:
    """One row per session, API, version and header version."""
    error = F.when(F.col("api_key") == API_VERSIONS, api_versions_error()).otherwise(F.col("error_code"))
    used = session_requests.groupBy(*SESSION_KEY, "api_key", "api_version", "header_version").agg(
        F.max("api_name").alias("api_name"),
        F.count("*").alias("requests"),
        F.count_if(error != 0).alias("errors"),
        F.min("logged_at").alias("first_at"),
        F.max("logged_at").alias("last_at"),
        F.bool_or("api_version_deprecated").alias("deprecated"),
        F.bool_and(F.col("log_level") == "INFO").alias("info_only"),
    )
    joined = used.join(_answers(session_requests), on=list(SESSION_KEY), how="left")
    offered = joined.withColumn("offered", F.expr("get(filter(advertised, k -> k.apiKey = api_key), 0)"))
    return offered.select(
        *used.columns,
        F.max("api_version").over(Window.partitionBy(*SESSION_KEY, "api_key")).alias("highest_used"),
        F.col("offered.minVersion").alias("advertised_min"),
        F.col("offered.maxVersion").alias("advertised_max"),
        _within().alias("within_advertised"),
        _highest_mutual().alias("highest_mutual"),
    )


def _answers(session_requests: DataFrame) -> DataFrame:
    """Per session the ranges of its last successful ApiVersions answer; KIP-35: good for that connection only."""
    answered = session_requests.where(is_api_versions_success() & F.col("response").isNotNull())
    last = answered.groupBy(*SESSION_KEY).agg(F.max_by("response", "seq").alias("response"))
    return last.select(*SESSION_KEY, F.from_json("response", API_VERSIONS_ANSWER)["apiKeys"].alias("advertised"))


def _within() -> Column:
    """Null where no answer is known; false for an API that the answer does not have."""
    inside = F.col("api_version").between(F.col("offered.minVersion"), F.col("offered.maxVersion"))
    return F.when(F.size("advertised") > 0, F.coalesce(inside, F.lit(False)))


def _highest_mutual() -> Column:
    return F.when(_within(), F.col("api_version") == F.col("offered.maxVersion"))
