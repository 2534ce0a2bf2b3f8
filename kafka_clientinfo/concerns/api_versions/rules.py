"""The rules on ApiVersions; their severities and advice are in schemas/rules/api_versions.toml."""

from ...connections.concern import RequestRule
from ...connections.facts import is_client
from .facts import knows_software

REQUEST_RULES = {
    "went_on_after_invalid_request": RequestRule(
        "went_on_after_invalid_request", "{api_name} v{api_version} after INVALID_REQUEST", takes_several=True
    ),
    "fallback_ignores_offer": RequestRule(
        "falls_below_offer", "ApiVersions v{api_version} although v{offered_max} was offered", takes_several=True
    ),
    "refused_without_range": RequestRule(
        "refuses_without_offer",
        "ApiVersions v{api_version} was answered with UNSUPPORTED_VERSION and no range",
        lambda: is_client() & knows_software(),
    ),
}
