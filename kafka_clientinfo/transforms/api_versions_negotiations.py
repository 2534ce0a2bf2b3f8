"""How each connection negotiated its versions: KIP-35's request, KIP-511's fallback."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..tables import SESSION_KEY
from .columns import API_VERSIONS, API_VERSIONS_ANSWER, INVALID_REQUEST, UNSUPPORTED_VERSION, api_versions_error


def transform(session_requests: DataFrame, session_facts: DataFrame) -> DataFrame:
    """Per session: every ApiVersions attempt and the outcome."""
    attempts = _attempts(session_requests)
    sessions = session_facts.select(*SESSION_KEY, "start", "info_only", "log_generation")
    joined = sessions.join(attempts, on=list(SESSION_KEY), how="left").withColumn(
        "tried", F.coalesce("tried", F.from_json(F.lit("[]"), _tried_type()))
    )
    judged = (
        joined.withColumn(
            "first_success", F.expr("array_min(transform(filter(tried, a -> a.error_code = 0), a -> a.seq))")
        )
        .withColumn(
            "before",
            F.expr("filter(tried, a -> a.error_code <> 0 AND (first_success IS NULL OR a.seq < first_success))"),
        )
        .withColumn("refusal", F.expr("get(before, size(before) - 1)"))
        .withColumn("accepted", F.expr("get(filter(tried, a -> a.seq = first_success), 0)"))
        .withColumn("outcome", _outcome())
    )
    fell_back = F.col("outcome") == "fell_back"
    return judged.select(
        *SESSION_KEY,
        F.expr(
            "transform(tried, a -> struct(a.version AS version, a.error_code AS error_code, "
            "a.offered_min AS offered_min, a.offered_max AS offered_max))"
        ).alias("attempts"),
        "outcome",
        F.when(fell_back, F.col("refusal.version")).alias("fallback_from"),
        F.when(fell_back, F.col("accepted.version")).alias("fallback_to"),
        F.when(fell_back, _fallback_kind()).alias("fallback_kind"),
        F.expr("size(filter(tried, a -> a.error_code = 0))").alias("successes"),
        ((F.size("tried") > 0) & (F.col("log_generation") == "api_key_struct")).alias("inferred"),
    )


def _tried_type() -> str:
    return "array<struct<seq:int,version:int,error_code:int,offered_min:int,offered_max:int>>"


def _attempts(session_requests: DataFrame) -> DataFrame:
    answer = F.from_json("response", API_VERSIONS_ANSWER)
    own_range = F.expr("get(filter(answer.apiKeys, k -> k.apiKey = 18), 0)")
    asked = session_requests.where(F.col("api_key") == API_VERSIONS).withColumn("answer", answer)
    return (
        asked.withColumn("offered", own_range)
        .groupBy(*SESSION_KEY)
        .agg(
            F.sort_array(
                F.collect_list(
                    F.struct(
                        "seq",
                        F.col("api_version").alias("version"),
                        F.coalesce(api_versions_error(), F.lit(-1)).alias("error_code"),
                        F.col("offered.minVersion").alias("offered_min"),
                        F.col("offered.maxVersion").alias("offered_max"),
                    )
                )
            ).alias("tried")
        )
    )


def _outcome() -> Column:
    certain = (F.col("start") == "observed") & ~F.col("info_only")
    none = F.when(certain, "not_sent").otherwise("not_observed")
    refused = F.col("refusal.error_code")
    success = (
        F.when(refused == UNSUPPORTED_VERSION, "fell_back")
        .when(refused == INVALID_REQUEST, "negotiated_after_invalid_request")
        .otherwise("negotiated")
    )
    failure = F.when(refused == UNSUPPORTED_VERSION, "rejected_unsupported_version").otherwise(
        "rejected_invalid_request"
    )
    return F.when(F.size("tried") == 0, none).when(F.col("first_success").isNotNull(), success).otherwise(failure)


def _fallback_kind() -> Column:
    """KIP-511: go to the highest version that the answer offers, or to 0 where it offers none."""
    to, offered = F.col("accepted.version"), F.col("refusal.offered_max")
    return (
        F.when(offered.isNotNull() & (to == offered), "to_highest_offered")
        .when((to == 0) & (offered > 0), "to_zero_although_more_was_offered")
        .when((to == 0) & offered.isNull(), "to_zero_nothing_offered")
        .otherwise("other")
    )
