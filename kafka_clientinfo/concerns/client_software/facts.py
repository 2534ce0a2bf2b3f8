"""What a connection's row says of its software: name and version at its end, their validity, and what happened to them."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from ...connections import Columns, is_api_versions, is_client, is_one_of, no_texts, requests_where, sorted_texts
from ...protocol import BROKER_PATTERN_SQL, KIP_PATTERN_SQL, UNKNOWN, ErrorCode
from ...settings import Settings
from .policy import policy_findings
from .predicates import becomes, can_name

AFTER = ("api_versions", "client_id")


def aggregates() -> Columns:
    """Collects what a connection's ApiVersions requests stated, and what they made known."""
    accepted = becomes().isNotNull()
    return {
        # A forwarded request carries the software of the client that it came from.
        "last": F.max(
            F.when(
                ~F.col("is_forwarded"),
                F.struct(F.col("last_seq").alias("seq"), "client_software_name", "client_software_version"),
            )
        ),
        "all_valid_by_kip": _all_match(KIP_PATTERN_SQL),
        "all_valid_by_broker": _all_match(BROKER_PATTERN_SQL),
        "invalid_names": _invalid("sent_software_name"),
        "invalid_versions": _invalid("sent_software_version"),
        "resets": requests_where(F.col("software_is_reset")),
        "changes": requests_where(F.col("software_is_changed")),
        "became": F.max_by(F.struct("seq", becomes().alias("software")), F.when(accepted, F.col("seq"))),
        "last_named": F.max_by(becomes(), F.when(accepted & can_name(), F.col("seq"))),
        "last_api_versions_error": F.max_by("error_code", F.when(is_api_versions(), F.col("seq"))),
        "refused_names": requests_where(
            (F.col("error_code") == int(ErrorCode.INVALID_REQUEST))
            & (F.col("software_name_is_invalid") | F.col("software_version_is_invalid"))
        ),
    }


def columns(settings: Settings) -> Columns:
    """Columns of the group client_software of the table `connections`."""
    name = _at_end("client_software_name", "name")
    version = _at_end("client_software_version", "version")
    return {
        "client_software_name": name,
        "client_software_version": version,
        "software_valid_by_kip": F.col("all_valid_by_kip"),
        "software_valid_by_broker": F.col("all_valid_by_broker"),
        "invalid_software_texts": F.array_sort(
            F.array_union(F.coalesce("invalid_names", no_texts()), F.coalesce("invalid_versions", no_texts()))
        ),
        "software_resets": F.col("resets"),
        "software_changes": F.col("changes"),
        "reason_unknown": F.when(name == UNKNOWN, _reason_unknown()),
        "policy_verdict": _policy_verdict(settings, name, version),
    }


def _all_match(pattern: str) -> Column:
    version = F.coalesce(F.col("sent_software_version"), F.lit(""))
    match = F.col("sent_software_name").rlike(pattern) & version.rlike(pattern)
    return F.bool_and(F.when(F.col("sent_software_name").isNotNull(), match))


def _invalid(name: str) -> Column:
    return sorted_texts(F.when(~F.col(name).rlike(BROKER_PATTERN_SQL), F.col(name)))


def _at_end(logged: str, stated: str) -> Column:
    """Takes what the broker knows after the last request: what a record logs is the knowledge before it."""
    ends_with_it = F.col("last.seq") == F.col("became.seq")
    return F.coalesce(
        F.when(F.col(f"last.{logged}").isNull(), F.col(f"last_named.{stated}")),
        F.when(ends_with_it, F.col(f"became.software.{stated}")),
        F.col(f"last.{logged}"),
        F.lit(UNKNOWN),
    )


def _reason_unknown() -> Column:
    """Tells why the broker knows no name; KIP-1313 answers INVALID_REQUEST too, whatever the name is."""
    outcome = F.col("api_versions_outcome")
    was_invalid = (F.col("last_api_versions_error") == int(ErrorCode.INVALID_REQUEST)) | (
        outcome == "negotiated_after_invalid_request"
    )
    return (
        F.when(F.col("resets") > 0, "reset_by_older_version")
        .when(was_invalid, F.when(F.col("refused_names") > 0, "invalid_name").otherwise("invalid_request"))
        .when(outcome == "rejected_unsupported_version", "version_rejected")
        .when(outcome.isin("not_sent", "not_observed"), outcome)
        .when(F.col("became.software.name") == UNKNOWN, "version_without_name")
        .otherwise("not_logged")
    )


def _policy_verdict(settings: Settings, name: Column, version: Column) -> Column:
    """Gives the first verdict of conf/client_policy.toml that holds; null for other roles and where it asks nothing."""
    policy = settings.policy
    if not policy.judges:
        return F.lit(None).cast("string")
    verdict = F.when(is_one_of(F.col("listener"), policy.exempt_listeners), "exempt")
    for finding, holds in policy_findings(policy, name, version, F.coalesce("client_id", F.lit(""))).items():
        verdict = verdict.when(holds, finding)
    return F.when(is_client(), verdict.otherwise("allowed"))
