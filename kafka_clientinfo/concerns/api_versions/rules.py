"""What clients do wrong with ApiVersions; the words beside it are in schemas/rules/api_versions.toml."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ...connections.concern import RequestRule
from ...connections.examples import example_without_id, time_pattern
from ...connections.texts import request_name, sentence
from ...connections.violations import by_connection_id
from ...settings import Settings

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


def findings_outdated(client_negotiations: DataFrame, settings: Settings) -> DataFrame:
    """Finds connections that ask nothing although another range is advertised than their client learnt, by connection id.

    What a broker advertised at a time may show only later, so these rows are made anew with every run.
    """
    outdated = client_negotiations.select("cluster", F.explode("reused").alias("found")).where(
        F.size("found.changed") > 0
    )
    opened, change = F.col("found.opened_at"), F.get("found.changed", F.lit(0))
    learnt, here = (
        sentence("v", change[side]["low"].cast("string"), " to v", change[side]["high"].cast("string"))
        for side in ("learnt", "advertised")
    )
    message = sentence(
        change["api_name"], " v", change["api_version"].cast("string"), " by what broker ", F.col("found.learnt_from"),
        " offered earlier, ", learnt, ", where ", here, " is offered",
    )  # fmt: skip
    return by_connection_id(
        outdated.select(
            F.lit("versions_learnt_elsewhere").alias("rule"),
            "cluster",
            "found.broker",
            "found.connection_id",
            opened.alias("at"),
            opened.alias("order"),
            example_without_id(opened, time_pattern(opened, settings.log_zone)).alias("example"),
            message.alias("message"),
        )
    )
