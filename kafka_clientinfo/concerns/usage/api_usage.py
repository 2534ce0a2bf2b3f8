"""Which versions each connection used, beside the range advertised on that same connection (KIP-35)."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ...connections.examples import place
from ...connections.facts import processor_text
from ...connections.judged import is_api_versions_success, range_of, requests_where
from ...protocol import ApiKey, ErrorCode
from ...tables.spec import CONNECTION_KEY

_FETCH_OF_3_7 = 16


def transform(judged_requests: DataFrame) -> DataFrame:
    """Makes one row per connection, API, version and header version.

    Returns:
        The columns of the table, first_request (its place), and of the requests that came after an answer of
        ApiVersions: the same as requests_after_answer, first_request_after_answer, first_at_after_answer, last_at_after_answer.
    """
    after_answer = F.col("was_answered")
    used = judged_requests.groupBy(*CONNECTION_KEY, "api_key", "api_version", "header_version").agg(
        # One name per key. Where no aggregate gathers, Spark sorts all requests for those that are texts or structs.
        F.array_max(F.collect_set("api_name")).alias("api_name"),
        F.sum("requests").alias("requests"),
        requests_where(F.col("error_code") != int(ErrorCode.NONE)).alias("errors"),
        F.min("earliest_at").alias("first_at"),
        F.max("latest_at").alias("last_at"),
        F.bool_or("api_version_deprecated").alias("marked"),
        F.bool_and(F.col("log_level") == "INFO").alias("info_only"),
        F.min(F.struct("seq", place().alias("place"))).alias("first_request"),
        requests_where(after_answer).alias("requests_after_answer"),
        F.min(F.when(after_answer, F.struct("seq", place().alias("place")))).alias("first_request_after_answer"),
        F.min(F.when(after_answer, F.col("earliest_at"))).alias("first_at_after_answer"),
        F.max(F.when(after_answer, F.col("latest_at"))).alias("last_at_after_answer"),
        # KIP-35: an answer is good for its connection only, and the last one counts.
        F.max_by(F.struct("api_ranges"), F.when(_is_answer(), F.col("seq"))).alias("answer"),
        F.max(F.when(_is_answer(), F.col("seq"))).alias("answer_seq"),
    )
    of_connection = Window.partitionBy(*CONNECTION_KEY)
    answer = F.max_by("answer", "answer_seq").over(of_connection)
    offered = used.withColumn("advertised", answer["api_ranges"]).withColumn(
        "offered", range_of(F.col("advertised"), F.col("api_key"))
    )
    return offered.select(
        *(name for name in used.columns if name not in ("answer", "answer_seq", "marked")),
        _deprecated().alias("deprecated"),
        F.max("api_version").over(Window.partitionBy(*CONNECTION_KEY, "api_key")).alias("highest_used"),
        F.col("offered.minVersion").alias("advertised_min"),
        F.col("offered.maxVersion").alias("advertised_max"),
        _within().alias("within_advertised"),
        F.when(_within(), F.col("api_version") == F.col("offered.maxVersion")).alias("highest_mutual"),
    )


def _deprecated() -> Column:
    """Tells whether the broker marks the version as deprecated; null where it may be one that marks none.

    Brokers mark versions from 3.7 on, and write nothing beside the others. 3.7 is told by Fetch v16, which its answer
    offers, and 4.0 by connection ids that end in two numbers.
    """
    fetch = range_of(F.col("advertised"), F.lit(int(ApiKey.FETCH)))
    marks = (fetch["maxVersion"] >= _FETCH_OF_3_7) | (processor_text() != "")
    return F.when(F.col("marked") | marks, F.col("marked"))


def _is_answer() -> Column:
    return is_api_versions_success() & F.col("has_response")


def _within() -> Column:
    """Tells whether a version was offered; null where no answer is known, false for an API that the answer lacks."""
    inside = F.col("api_version").between(F.col("offered.minVersion"), F.col("offered.maxVersion"))
    return F.when(F.size(F.col("advertised.apiKey")) > 0, F.coalesce(inside, F.lit(False)))
