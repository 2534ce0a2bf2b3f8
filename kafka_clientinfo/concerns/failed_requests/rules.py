"""What refused requests show; the words beside it are in schemas/rules/failed_requests.toml."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ...connections import example_without_id, sentence, shown, time_pattern
from ...settings import Settings

_RULES = {
    "unsupported_version": "request_version_refused",
    "unknown_api": "request_unreadable",
    "unreadable_request": "request_unreadable",
    "failed_authentication": "login_failed",
}
_LONGEST_DETAIL = 160


def findings_refused(failed_requests: DataFrame, settings: Settings) -> DataFrame:
    """Finds what server.log tells, by connection id: a refused request belongs to no connection of the request log."""
    rule = F.create_map(*(F.lit(part) for pair in _RULES.items() for part in pair))[F.col("reason")]
    grep = F.concat(time_pattern(F.col("logged_at"), settings.log_zone), F.lit(r"\] (ERROR|INFO) "))
    version = F.concat(F.lit(" v"), F.col("api_version").cast("string"))
    request = F.concat(F.coalesce("api_name", F.lit("a request")), F.coalesce(version, F.lit("")))
    what = F.when(F.col("reason") == "failed_authentication", F.lit("login")).otherwise(request)
    host = F.coalesce("remote_host", F.lit("?"))
    message = sentence(what, " from ", host, ": ", shown(F.col("detail"), _LONGEST_DETAIL))
    place = F.struct("logged_at", "file_id", "byte_offset")
    nothing = {"opened_at": "timestamp", "opened_seq": "int", "group_id": "string"}
    return (
        failed_requests.withColumn("rule", rule)
        .where(F.col("rule").isNotNull())
        .groupBy("rule", "cluster", "broker", "connection_id")
        .agg(
            F.count("*").alias("occurrences"),
            F.min("logged_at").alias("first_at"),
            F.max("logged_at").alias("last_at"),
            F.min_by(example_without_id(F.col("logged_at"), grep), place).alias("example"),
            F.min_by(message, place).alias("message"),
        )
        .withColumns({name: F.lit(None).cast(kind) for name, kind in nothing.items()})
    )
