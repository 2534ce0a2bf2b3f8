"""Predicates of a request that compare it with the ApiVersions requests before it (KIP-35, KIP-511)."""

from collections.abc import Mapping

from ...connections.boundaries import LookBack, any_before, last_before
from ...connections.concern import Columns
from ...connections.engine import Column, F
from ...connections.judged import is_api_versions_success, range_of
from ...connections.request_columns import is_api_versions
from ...connections.texts import body_text
from ...protocol import FIRST_VERSION_WITH_SOFTWARE, ApiKey, ErrorCode


def reads() -> Columns:
    """Read the error code in a response to ApiVersions; null if the response can't be read."""
    return {"answered_error": F.when(is_api_versions(), body_text("response", "errorCode"))}


def earlier() -> Mapping[str, LookBack]:
    """Take the results of the connection's earlier ApiVersions requests."""
    refused = F.col("error_code") == int(ErrorCode.UNSUPPORTED_VERSION)
    invalid = F.col("error_code") == int(ErrorCode.INVALID_REQUEST)
    was_judged = is_api_versions() & F.col("error_code").isNotNull()
    return {
        "last_api_versions_error": last_before(F.col("error_code"), was_judged),
        "had_invalid_request": any_before(is_api_versions() & invalid),
        "offered_max": last_before(offered()["maxVersion"], is_api_versions() & refused),
    }


def predicates() -> Columns:
    """Judge what a client does after a response that refuses its ApiVersions request (KIP-511)."""
    falls_back = F.col("last_api_versions_error") == int(ErrorCode.UNSUPPORTED_VERSION)
    return {
        "went_on_after_invalid_request": F.col("had_invalid_request"),
        "falls_below_offer": is_api_versions_success()
        & falls_back
        & loses_name(F.col("api_version"), F.col("offered_max")),
        "refuses_without_offer": _refuses_without_offer(),
    }


def _refuses_without_offer() -> Column:
    """Return whether a response with UNSUPPORTED_VERSION lacks the range of ApiVersions."""
    refused = is_api_versions() & (F.col("error_code") == int(ErrorCode.UNSUPPORTED_VERSION))
    return refused & F.col("answered_error").isNotNull() & offered()["maxVersion"].isNull()


def loses_name(version: Column, highest: Column) -> Column:
    """Return whether a fallback goes to v0, or below the versions with a software name, although more was offered."""
    return ((version == 0) & (highest > 0)) | (
        (version < FIRST_VERSION_WITH_SOFTWARE) & (highest >= FIRST_VERSION_WITH_SOFTWARE)
    )


def offered() -> Column:
    """Return the range that a response to ApiVersions offers for ApiVersions itself; see `range_of`."""
    return range_of(F.col("api_ranges"), F.lit(int(ApiKey.API_VERSIONS)))
