"""What clients do wrong with ApiVersions; the words beside it are in schemas/rules/api_versions.toml."""

from pyspark.sql import functions as F

from ...connections import RequestRule, request_name, sentence

REQUEST_RULES = {
    "went_on_after_invalid_request": RequestRule(
        "went_on_after_invalid_request", lambda: sentence(request_name(), " after INVALID_REQUEST")
    ),
    "fallback_ignores_offer": RequestRule(
        "falls_below_offer",
        lambda: sentence(
            "ApiVersions v", F.col("api_version").cast("string"),
            " although v", F.col("offered_max").cast("string"), " was offered",
        ),
    ),
}  # fmt: skip
