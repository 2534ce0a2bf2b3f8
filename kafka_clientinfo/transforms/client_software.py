"""Which software each connection runs, by its own word (KIP-511), and why a client is unknown."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..protocol import BROKER_PATTERN_SQL, KIP_PATTERN_SQL
from ..settings import Settings
from ..tables import SESSION_KEY
from .columns import (
    API_VERSIONS,
    INVALID_REQUEST,
    UNKNOWN,
    api_versions_error,
    body_text,
    policy_findings,
    sorted_texts,
)

_FIRST_VERSION_WITH_NAME = 3
_IN_ORDER = Window.partitionBy(*SESSION_KEY).orderBy("seq")


def transform(
    session_requests: DataFrame,
    session_facts: DataFrame,
    api_versions_negotiations: DataFrame,
    settings: Settings,
) -> DataFrame:
    """Per session: name and version at its end, their validity, and what happened to them."""
    told = _told(session_requests)
    joined = session_facts.join(told, on=list(SESSION_KEY), how="left").join(
        api_versions_negotiations.select(*SESSION_KEY, "outcome"), on=list(SESSION_KEY), how="left"
    )
    named = joined.withColumn("name", _at_end("client_software_name", "name")).withColumn(
        "version", _at_end("client_software_version", "version")
    )
    return named.select(
        *SESSION_KEY,
        "name",
        "version",
        "valid_by_kip",
        "valid_by_broker",
        F.coalesce("invalid_texts", F.array().cast("array<string>")).alias("invalid_texts"),
        F.coalesce("resets", F.lit(0)).alias("resets"),
        F.coalesce("changes", F.lit(0)).alias("changes"),
        F.when(F.col("name") == UNKNOWN, _reason_unknown()).alias("reason_unknown"),
        _policy_verdict(settings).alias("policy_verdict"),
    )


def _told(session_requests: DataFrame) -> DataFrame:
    """Fold a session's ApiVersions requests."""
    asked = session_requests.where(F.col("api_key") == API_VERSIONS).select(
        *SESSION_KEY,
        "seq",
        F.col("client_software_name").alias("known_name"),
        F.col("client_software_version").alias("known_version"),
        (F.col("api_version") >= _FIRST_VERSION_WITH_NAME).alias("can_name"),
        api_versions_error().alias("error"),
        body_text("request", "clientSoftwareName").alias("sent_name"),
        body_text("request", "clientSoftwareVersion").alias("sent_version"),
    )
    became = F.when(F.col("error") == 0, F.struct(*_effect()))
    before = F.last(became, ignorenulls=True).over(_IN_ORDER.rowsBetween(Window.unboundedPreceding, -1))
    stepped = asked.withColumn("became", became).withColumn("before", before)
    known = F.when(
        F.col("known_name").isNotNull(),
        F.struct(F.col("known_name").alias("name"), F.col("known_version").alias("version")),
    ).otherwise(F.col("before"))
    stepped = stepped.withColumn("known", known)
    was_known = F.coalesce(F.col("known.name") != UNKNOWN, F.lit(False))
    is_known = F.coalesce(F.col("became.name") != UNKNOWN, F.lit(False))
    # 2.4 takes names and keeps none: there is nothing to lose, and the last word stands.
    lost = was_known & (F.col("error") == 0) & ~F.col("can_name") & F.col("known_name").isNotNull()
    return stepped.groupBy(*SESSION_KEY).agg(
        _all_match(KIP_PATTERN_SQL).alias("valid_by_kip"),
        _all_match(BROKER_PATTERN_SQL).alias("valid_by_broker"),
        F.array_sort(F.array_union(_invalid("sent_name"), _invalid("sent_version"))).alias("invalid_texts"),
        F.sum(lost.cast("int")).alias("resets"),
        F.sum((was_known & is_known & (F.col("known") != F.col("became"))).cast("int")).alias("changes"),
        F.max_by("became", F.when(F.col("error") == 0, F.col("seq"))).alias("became"),
        F.max_by("became", F.when((F.col("error") == 0) & F.col("can_name"), F.col("seq"))).alias("last_word"),
        F.max(F.when(F.col("error") == 0, F.col("seq"))).alias("became_seq"),
        F.max_by("error", "seq").alias("last_error"),
    )


def _effect() -> tuple[Column, Column]:
    """What an accepted ApiVersions request makes the broker know: v3 and later name, v0 to v2 reset."""
    return (
        F.when(F.col("can_name"), F.coalesce("sent_name", F.lit(UNKNOWN))).otherwise(UNKNOWN).alias("name"),
        F.when(F.col("can_name"), F.coalesce("sent_version", F.lit(UNKNOWN))).otherwise(UNKNOWN).alias("version"),
    )


def _all_match(pattern: str) -> Column:
    match = F.col("sent_name").rlike(pattern) & F.coalesce(F.col("sent_version"), F.lit("")).rlike(pattern)
    return F.bool_and(F.when(F.col("sent_name").isNotNull(), match))


def _invalid(name: str) -> Column:
    return sorted_texts(F.when(~F.col(name).rlike(BROKER_PATTERN_SQL), F.col(name)))


def _at_end(logged: str, told: str) -> Column:
    """The broker's knowledge after the last request: what is logged is the knowledge before it."""
    ends_with_it = F.col("last.seq") == F.col("became_seq")
    return F.coalesce(
        F.when(F.col(f"last.{logged}").isNull(), F.col(f"last_word.{told}")),
        F.when(ends_with_it, F.col(f"became.{told}")),
        F.col(f"last.{logged}"),
        F.lit(UNKNOWN),
    )


def _reason_unknown() -> Column:
    return (
        F.when(F.col("resets") > 0, "reset_by_older_version")
        .when(F.col("last_error") == INVALID_REQUEST, "invalid_name")
        .when(F.col("outcome") == "negotiated_after_invalid_request", "invalid_name")
        .when(F.col("outcome") == "rejected_unsupported_version", "version_rejected")
        .when(F.col("outcome").isin("not_sent", "not_observed"), F.col("outcome"))
        .when(F.col("became_seq").isNotNull() & (F.col("became.name") == UNKNOWN), "version_without_name")
        .otherwise("not_logged")
    )


def _policy_verdict(settings: Settings) -> Column:
    """What conf/client_policy.toml says of a client; null for other roles and where it asks nothing."""
    policy = settings.policy
    if not policy.judges:
        return F.lit(None).cast("string")
    findings = policy_findings(policy, F.col("name"), F.col("version"), F.coalesce("client_id", F.lit("")))
    verdict = F.when(F.col("listener").isin(list(policy.exempt_listeners)), "exempt")
    for name, holds in findings.items():
        verdict = verdict.when(holds, name)
    return F.when(F.col("role") == "client", verdict.otherwise("allowed"))
