"""The table `api_usage`: the versions that each connection used, and the range advertised on it (KIP-35)."""

from ...connections.concern import is_api_versions_success
from ...connections.engine import Column, DataFrame, F, Window
from ...connections.examples import source
from ...connections.judged import range_of, requests_where
from ...connections.table import processor_text, with_connection_columns
from ...protocol import ApiKey, ErrorCode
from ...tables.spec import CONNECTION_KEY

_FETCH_OF_3_7 = 16


def transform(judged_requests: DataFrame, connections: DataFrame) -> DataFrame:
    """Return one row per connection, API, version and header version.

    Returns:
        The columns of the table; first_request, with its source; and two groups of columns for the rules, which are null
        if there are no such requests:
        - requests_outside, first_request_outside (with low and high, the range on offer), first_at_outside and
          last_at_outside: requests after an ApiVersions response that does not offer their version;
        - the same with _unsupported: requests of an offered version that were answered with UNSUPPORTED_VERSION.
    """
    used = _with_ranges(_by_answer(judged_requests))
    key = (*CONNECTION_KEY, "api_key", "api_version", "header_version")
    is_outside, is_refused = _is_outside(), _is_refused_inside()
    first_outside = F.struct("first_request.seq", "first_request.source", "low", "high")
    first_unsupported = F.struct("first_unsupported.seq", "first_unsupported.source", "low", "high")
    total = used.groupBy(*key).agg(
        F.array_max(F.collect_set("api_name")).alias("api_name"),
        *(F.sum(name).alias(name) for name in ("requests", "errors", "unsupported")),
        F.min("first_at").alias("first_at"),
        F.max("last_at").alias("last_at"),
        F.bool_or("marked").alias("marked"),
        F.bool_and("info_only").alias("info_only"),
        F.min("first_request").alias("first_request"),
        F.first("advertised").alias("advertised"),
        F.sum(F.when(is_outside, F.col("requests"))).alias("requests_outside"),
        F.min(F.when(is_outside, first_outside)).alias("first_request_outside"),
        F.min(F.when(is_outside, F.col("first_at"))).alias("first_at_outside"),
        F.max(F.when(is_outside, F.col("last_at"))).alias("last_at_outside"),
        F.sum(F.when(is_refused, F.col("unsupported"))).alias("requests_unsupported"),
        F.min(F.when(is_refused, first_unsupported)).alias("first_request_unsupported"),
        F.min(F.when(is_refused, F.col("first_unsupported.source.logged_at"))).alias("first_at_unsupported"),
        F.max(F.when(is_refused, F.col("last_unsupported_at"))).alias("last_at_unsupported"),
    )
    offered = total.withColumn("offered", range_of(F.col("advertised"), F.col("api_key")))
    usage = offered.select(
        *(name for name in total.columns if name not in ("advertised", "marked")),
        _deprecated().alias("deprecated"),
        F.max("api_version").over(Window.partitionBy(*CONNECTION_KEY, "api_key")).alias("highest_used"),
        F.col("offered.minVersion").alias("advertised_min"),
        F.col("offered.maxVersion").alias("advertised_max"),
        _within().alias("within_advertised"),
        F.when(_within(), F.col("api_version") == F.col("offered.maxVersion")).alias("highest_mutual"),
    )
    return with_connection_columns(usage, connections)


def _by_answer(judged_requests: DataFrame) -> DataFrame:
    """Count the requests of each version, separately for each ApiVersions response that was the last before them."""
    key = (*CONNECTION_KEY, "api_key", "api_version", "header_version", "answer_seq", "knows_answer")
    unsupported = F.col("error_code") == int(ErrorCode.UNSUPPORTED_VERSION)
    # Many responses have no error code of their own, such as those of Produce, and before 1.0 none is logged.
    is_known = F.bool_or(F.col("error_code").isNotNull())
    return judged_requests.groupBy(*key).agg(
        # Every key has one name. Without a collect in it, Spark aggregates texts and structs by sorting all requests.
        F.array_max(F.collect_set("api_name")).alias("api_name"),
        F.sum("requests").alias("requests"),
        F.when(is_known, requests_where(F.col("error_code") != int(ErrorCode.NONE))).alias("errors"),
        F.when(is_known, requests_where(unsupported)).alias("unsupported"),
        F.min(F.when(unsupported, F.struct("seq", source().alias("source")))).alias("first_unsupported"),
        F.max(F.when(unsupported, F.col("latest_at"))).alias("last_unsupported_at"),
        F.min("earliest_at").alias("first_at"),
        F.max("latest_at").alias("last_at"),
        F.bool_or("api_version_deprecated").alias("marked"),
        F.bool_and(F.col("log_level") == "INFO").alias("info_only"),
        F.min(F.struct("seq", source().alias("source"))).alias("first_request"),
        # Every accepted ApiVersions request begins a new group, so a group has at most one.
        F.max_by(F.struct("api_ranges"), F.when(is_api_versions_success(), F.col("seq"))).alias("answer"),
        F.max(F.when(is_api_versions_success(), F.col("seq"))).alias("own_answer_seq"),
        F.max(F.when(is_api_versions_success() & F.col("has_response"), F.col("seq"))).alias("logged_answer_seq"),
    )


def _with_ranges(used: DataFrame) -> DataFrame:
    """Add what the connection's answers offer.

    Columns: advertised, all ranges in the last logged answer; low and high, the API's range in the last answer before
    the requests; is_answered, whether that answer has ranges. By KIP-35 an answer is valid only on its connection, and
    the last one counts.
    """
    of_connection = Window.partitionBy(*CONNECTION_KEY)
    # The row with an answer comes first, and then the rows of the requests after it.
    answer_seq = F.coalesce("own_answer_seq", "answer_seq", F.lit(-1))
    in_order = of_connection.orderBy(answer_seq, F.col("own_answer_seq").isNull())
    last = F.max_by("answer", "logged_answer_seq").over(of_connection)
    before = F.last("answer", ignorenulls=True).over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    answered = used.withColumns({"advertised": last["api_ranges"], "ranges_before": before["api_ranges"]})
    offered = answered.withColumn("range_before", range_of(F.col("ranges_before"), F.col("api_key")))
    return offered.select(
        *used.columns,
        "advertised",
        (F.size("ranges_before.apiKey") > 0).alias("is_answered"),
        F.col("range_before.minVersion").alias("low"),
        F.col("range_before.maxVersion").alias("high"),
    )


def _is_outside() -> Column:
    """Return whether clients that knew an answer sent requests of a version that it does not offer.

    ApiVersions is exempt: a client may try a version above the range, and the response says which to use (KIP-511).
    """
    return _is_after_answer() & F.col("knows_answer") & F.coalesce("is_answered", F.lit(False)) & ~_is_offered()


def _is_refused_inside() -> Column:
    return (F.col("unsupported") > 0) & _is_after_answer() & _is_offered()


def _is_after_answer() -> Column:
    return F.col("answer_seq").isNotNull() & (F.col("api_key") != int(ApiKey.API_VERSIONS))


def _is_offered() -> Column:
    return F.coalesce(F.col("api_version").between(F.col("low"), F.col("high")), F.lit(False))


def _deprecated() -> Column:
    """Return whether the broker marks the version as deprecated; null if its release may not mark any.

    Brokers mark deprecated versions from 3.7 on, and write nothing for others. A broker is 3.7 or later if it offers
    Fetch v16, and 4.0 or later if connection ids end in two numbers.
    """
    fetch = range_of(F.col("advertised"), F.lit(int(ApiKey.FETCH)))
    marks = (fetch["maxVersion"] >= _FETCH_OF_3_7) | (processor_text() != "")
    return F.when(F.col("marked") | marks, F.col("marked"))


def _within() -> Column:
    """Return whether a version was offered: null if no answer is known, false if the answer lacks the API."""
    inside = F.col("api_version").between(F.col("offered.minVersion"), F.col("offered.maxVersion"))
    return F.when(F.size(F.col("advertised.apiKey")) > 0, F.coalesce(inside, F.lit(False)))
