"""What clients do wrong with ApiVersions; the words beside it are in schemas/rules/api_versions.toml."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ...connections import RequestRule, example_without_id, request_name, sentence, time_pattern
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
        "size(found.changed) > 0"
    )
    opened, change = F.col("found.opened_at"), F.expr("get(found.changed, 0)")
    learnt, here = (
        sentence("v", change[side]["low"].cast("string"), " to v", change[side]["high"].cast("string"))
        for side in ("learnt", "advertised")
    )
    message = sentence(
        change["api_name"], " v", change["api_version"].cast("string"), " by what broker ", F.col("found.learnt_from"),
        " offered earlier, ", learnt, ", where ", here, " is offered",
    )  # fmt: skip
    example = example_without_id(opened, time_pattern(opened, settings.log_zone))
    nothing = {"opened_at": "timestamp", "opened_seq": "int", "group_id": "string"}
    return (
        outdated.groupBy(
            "cluster", F.col("found.broker").alias("broker"), F.col("found.connection_id").alias("connection_id")
        )
        .agg(
            F.count("*").alias("occurrences"),
            F.min(opened).alias("first_at"),
            F.max(opened).alias("last_at"),
            F.min_by(example, opened).alias("example"),
            F.min_by(message, opened).alias("message"),
        )
        .withColumns({name: F.lit(None).cast(kind) for name, kind in nothing.items()})
        .withColumn("rule", F.lit("versions_learnt_elsewhere"))
    )
