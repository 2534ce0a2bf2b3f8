"""How clients negotiate API versions: what ApiVersions requests show (KIP-35, KIP-511), and the rules on them.

Severities and advice of the rules are in schemas/rules/api_versions.toml.
"""

from collections.abc import Mapping

from ...config.settings import Settings
from ...connections.boundaries import is_masked
from ...connections.concern import Aggregates, Columns, LookBack, RequestRule, is_api_versions, is_api_versions_success
from ...connections.engine import Column, F
from ...connections.judged import range_of, requests_where
from ...connections.look_backs import UNLESS_PAUSED, came_after, first_up_to_now, last_before
from ...connections.table import is_client, is_watched, only_of_clients
from ...connections.texts import body_text
from ...protocol import FIRST_VERSION_WITH_SOFTWARE, ApiKey, ErrorCode

_UNSUPPORTED, _INVALID = int(ErrorCode.UNSUPPORTED_VERSION), int(ErrorCode.INVALID_REQUEST)


def reads() -> Columns:
    """Read the error code in a response to ApiVersions; null if the response can't be read."""
    return {"answered_error": F.when(is_api_versions(), body_text("response", "errorCode"))}


def earlier() -> Mapping[str, LookBack]:
    """Take the results of the connection's earlier ApiVersions requests."""
    refused = F.col("error_code") == _UNSUPPORTED
    invalid = F.col("error_code") == _INVALID
    was_judged = is_api_versions() & F.col("error_code").isNotNull()
    return {
        "last_api_versions_error": last_before(F.col("error_code"), was_judged),
        "knows_refusal": last_before(F.col("logged_at"), is_api_versions() & refused, came_after),
        "knows_invalid_request": first_up_to_now(F.when(is_api_versions() & invalid, F.col("logged_at")), came_after),
        "offered_max": last_before(
            F.when(~_refuses_what_it_offers(), offered()["maxVersion"]), is_api_versions() & refused
        ),
    }


def predicates() -> Columns:
    """Judge what a client does after a response that refuses its ApiVersions request (KIP-511)."""
    falls_back = F.col("last_api_versions_error") == _UNSUPPORTED
    return {
        "went_on_after_invalid_request": F.col("knows_invalid_request"),
        "knows_refusal": F.col("knows_refusal"),
        "offered_max": F.col("offered_max"),
        "falls_below_offer": is_api_versions_success()
        & falls_back
        & loses_name(F.col("api_version"), F.col("offered_max")),
        "refuses_without_offer": _refuses_without_offer(),
        "refuses_what_it_offers": _refuses_what_it_offers(),
    }


def _refuses_without_offer() -> Column:
    refused = is_api_versions() & (F.col("error_code") == _UNSUPPORTED)
    return refused & F.col("answered_error").isNotNull() & offered()["maxVersion"].isNull()


def _refuses_what_it_offers() -> Column:
    refused = is_api_versions() & (F.col("error_code") == _UNSUPPORTED)
    is_offered = F.col("api_version").between(offered()["minVersion"], offered()["maxVersion"])
    return refused & F.coalesce(is_offered, F.lit(False))


def loses_name(version: Column, highest: Column) -> Column:
    """Return whether a fallback goes to v0, or below the versions with a software name, although more was offered."""
    return ((version == 0) & (highest > 0)) | (
        (version < FIRST_VERSION_WITH_SOFTWARE) & (highest >= FIRST_VERSION_WITH_SOFTWARE)
    )


def offered() -> Column:
    """Return the range that a response to ApiVersions offers for ApiVersions itself; see `range_of`."""
    return range_of(F.col("api_ranges"), F.lit(int(ApiKey.API_VERSIONS)))


def aggregates() -> Aggregates:
    """Collect a connection's ApiVersions requests in order, and those that decide its outcome.

    The latter are aggregates of their own and aren't searched in the list, because a client can make it any length.
    """
    offer = offered()
    attempt = F.struct(
        "seq",
        F.col("api_version").alias("version"),
        "error_code",
        offer["minVersion"].alias("offered_min"),
        offer["maxVersion"].alias("offered_max"),
    )
    # seq is the first field of an attempt, so min and max are the first one and the last.
    is_accepted = is_api_versions_success()
    is_refused = is_api_versions() & (F.col("error_code") != int(ErrorCode.NONE))
    return {
        "attempts": F.sort_array(F.collect_list(F.when(is_api_versions(), attempt))),
        "accepted_attempts": requests_where(is_accepted),
        "first_accepted": F.min(F.when(is_accepted, attempt)),
        "last_refused": F.max(F.when(is_refused & F.col("answer_seq").isNull(), attempt)),
        "ignored_known_offer": F.bool_or(F.col("falls_below_offer") & F.col("knows_refusal")),
    }


def columns(settings: Settings) -> Columns:
    """Return the columns of the group api_versions of the table `connections`."""
    outcome = _outcome()
    fell_back = outcome == "fell_back"
    judged = {
        "api_versions_outcome": outcome,
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
    is_unknown = is_masked() & (F.size("attempts") > 0)
    return (
        F.when(is_unknown, "not_observed")
        .when(F.size("attempts") == 0, none)
        .when(F.col("accepted_attempts") > 0, success)
        .otherwise(failure)
    )


def _fallback_kind() -> Column:
    """Return how a client falls back after UNSUPPORTED_VERSION; KIP-511 asks for the highest version on offer."""
    to, highest = F.col("first_accepted.version"), F.col("last_refused.offered_max")
    refused, lowest = F.col("last_refused.version"), F.col("last_refused.offered_min")
    return (
        F.when(refused.between(lowest, highest), "other")  # no client can choose from an offer that contradicts itself
        .when(highest.isNotNull() & (to == highest), "to_highest_offered")
        .when((to == 0) & (highest > 0), "to_zero_although_more_was_offered")
        .when((to == 0) & highest.isNull(), "to_zero_nothing_offered")
        .when(loses_name(to, highest), "to_lower_than_offered")
        .otherwise("other")
    )


REQUEST_RULES = {
    "went_on_after_invalid_request": RequestRule(
        "went_on_after_invalid_request",
        "{api_name} v{api_version} after INVALID_REQUEST" + UNLESS_PAUSED,
        takes_several=True,
    ),
    "fallback_ignores_offer": RequestRule(
        "falls_below_offer",
        "ApiVersions v{api_version} although v{offered_max} was offered" + UNLESS_PAUSED,
        binds=lambda: F.col("ignored_known_offer"),
        takes_several=True,
    ),
    "refused_without_range": RequestRule(
        "refuses_without_offer",
        "ApiVersions v{api_version} was answered with UNSUPPORTED_VERSION and no range",
        lambda: is_client() & knows_software(),
    ),
    "refused_although_offered": RequestRule(
        "refuses_what_it_offers",
        "ApiVersions v{api_version} was answered with UNSUPPORTED_VERSION and a range that holds v{api_version}",
    ),
}
