"""Columns of a connection on its ApiVersions requests: every attempt, and the outcome."""

from ...config.settings import Settings
from ...connections.concern import Aggregates, Columns
from ...connections.engine import Column, F
from ...connections.facts import is_watched
from ...connections.judged import is_api_versions_success, requests_where
from ...connections.request_columns import is_api_versions
from ...connections.table import only_of_clients
from ...protocol import FIRST_VERSION_WITH_SOFTWARE, ErrorCode
from .predicates import loses_name, offered

_UNSUPPORTED, _INVALID = int(ErrorCode.UNSUPPORTED_VERSION), int(ErrorCode.INVALID_REQUEST)


def aggregates() -> Aggregates:
    """Collect a connection's ApiVersions requests in order, and those that decide its outcome.

    The latter are aggregates of their own and aren't searched in the list, because a client can make it any length.
    """
    attempt = F.struct(
        "seq",
        F.col("api_version").alias("version"),
        "error_code",
        offered()["minVersion"].alias("offered_min"),
        offered()["maxVersion"].alias("offered_max"),
    )
    # seq is the first field of an attempt, so min and max are the first one and the last.
    is_accepted = is_api_versions_success()
    is_refused = is_api_versions() & (F.col("error_code") != int(ErrorCode.NONE))
    return {
        "attempts": F.sort_array(F.collect_list(F.when(is_api_versions(), attempt))),
        "accepted_attempts": requests_where(is_accepted),
        "first_accepted": F.min(F.when(is_accepted, attempt)),
        "last_refused": F.max(F.when(is_refused & ~F.col("was_answered"), attempt)),
    }


def columns(settings: Settings) -> Columns:
    """Return the columns of the group api_versions of the table `connections`."""
    fell_back = _outcome() == "fell_back"
    judged = {
        "api_versions_outcome": _outcome(),
        "fallback_from": F.when(fell_back, F.col("last_refused.version")),
        "fallback_to": F.when(fell_back, F.col("first_accepted.version")),
        "fallback_kind": F.when(fell_back, _fallback_kind()),
        "api_versions_successes": F.col("accepted_attempts"),
    }
    return {
        "api_versions_attempts": F.transform("attempts", _shown),
        **only_of_clients(judged),
        "api_versions_inferred": (F.size("attempts") > 0) & (F.col("first.log_generation") == "api_key_struct"),
    }


def knows_software() -> Column:
    """Return whether the broker of a connection knows KIP-511, and so must say which versions of ApiVersions it takes.

    Records from 2.5 on, and all in JSON, state the client's software; 2.4 offers the first version that carries it.
    """
    states_software = (F.col("first.log_generation") == "json") | F.col("first.client_software_name").isNotNull()
    offers_version = F.exists(
        "api_versions_attempts", lambda attempt: attempt["offered_max"] >= FIRST_VERSION_WITH_SOFTWARE
    )
    return states_software | F.coalesce(offers_version, F.lit(False))


def _shown(attempt: Column) -> Column:
    names = ("version", "error_code", "offered_min", "offered_max")
    return F.struct(*(attempt[name].alias(name) for name in names))


def _outcome() -> Column:
    """Return the outcome of a connection's ApiVersions requests; of refusals, the last one before a success decides.

    A request without a known error code is neither accepted nor refused.
    """
    certain = (F.col("start") == "observed") & is_watched()
    none = F.when(certain, "not_sent").otherwise("not_observed")
    error = F.col("last_refused.error_code")
    success = (
        F.when(error == _UNSUPPORTED, "fell_back")
        .when(error == _INVALID, "negotiated_after_invalid_request")
        .otherwise("negotiated")
    )
    failure = (
        F.when(error.isNull(), "not_observed")
        .when(error == _UNSUPPORTED, "rejected_unsupported_version")
        .when(error == _INVALID, "rejected_invalid_request")
        .otherwise("rejected_other")
    )
    return F.when(F.size("attempts") == 0, none).when(F.col("accepted_attempts") > 0, success).otherwise(failure)


def _fallback_kind() -> Column:
    """Return how a client falls back after UNSUPPORTED_VERSION; KIP-511 asks for the highest version on offer."""
    to, highest = F.col("first_accepted.version"), F.col("last_refused.offered_max")
    return (
        F.when(highest.isNotNull() & (to == highest), "to_highest_offered")
        .when((to == 0) & (highest > 0), "to_zero_although_more_was_offered")
        .when((to == 0) & highest.isNull(), "to_zero_nothing_offered")
        .when(loses_name(to, highest), "to_lower_than_offered")
        .otherwise("other")
    )
