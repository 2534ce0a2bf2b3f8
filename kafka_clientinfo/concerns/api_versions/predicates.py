"""What holds of one request beside the ApiVersions requests before it (KIP-35, KIP-511)."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from ...connections import Columns, before, is_api_versions, is_api_versions_success
from ...protocol import ApiKey, ErrorCode

FIRST_VERSION_WITH_NAME = 3
"""The first version of ApiVersions that carries a software name (KIP-511)."""


def earlier() -> Columns:
    """Looks at the answers to ApiVersions that the connection has had."""
    error = F.when(is_api_versions(), F.col("error_code"))
    # A struct is there although its offer is null: a refusal that offers nothing takes the one before it back.
    refused = F.when(error == int(ErrorCode.UNSUPPORTED_VERSION), F.struct(offered()["maxVersion"].alias("offer")))
    return {
        "last_api_versions_error": F.last(error, ignorenulls=True).over(before()),
        "had_invalid_request": _any(error == int(ErrorCode.INVALID_REQUEST)),
        "was_answered": _any(is_api_versions_success()),
        "offered_max": F.last(refused, ignorenulls=True).over(before())["offer"],
    }


def predicates() -> Columns:
    """Judges what a client does after an answer that refuses its ApiVersions request (KIP-511)."""
    falls_back = F.col("last_api_versions_error") == int(ErrorCode.UNSUPPORTED_VERSION)
    return {
        "went_on_after_invalid_request": F.col("had_invalid_request"),
        "falls_below_offer": is_api_versions_success()
        & falls_back
        & loses_name(F.col("api_version"), F.col("offered_max")),
    }


def loses_name(version: Column, highest: Column) -> Column:
    """Tells whether a fallback to `version` loses what the highest offered version could say: from v3 on, a software name."""
    return ((version == 0) & (highest > 0)) | (
        (version < FIRST_VERSION_WITH_NAME) & (highest >= FIRST_VERSION_WITH_NAME)
    )


def offered() -> Column:
    """Takes the range of ApiVersions itself out of its answer; null where the answer has none."""
    return F.get(F.filter("api_ranges", lambda item: item["apiKey"] == int(ApiKey.API_VERSIONS)), F.lit(0))


def _any(condition: Column) -> Column:
    return F.coalesce(F.bool_or(F.coalesce(condition, F.lit(False))).over(before()), F.lit(False))
