"""The table `broker_api_version_parts`: the ranges that brokers advertised in successful ApiVersions responses (KIP-35)."""

from ...connections.concern import API_RANGES, is_api_versions_success
from ...connections.engine import DataFrame, F
from ...connections.texts import looked_up
from ...protocol import api_names

_BROKER = ("cluster", "broker", "listener")
_TIMES = ("first", "last", "n", "ingested_at")
_RANGE = {"api_key": "apiKey", "min_version": "minVersion", "max_version": "maxVersion"}


def transform(new_requests: DataFrame) -> DataFrame:
    """Return one row per distinct range; an upgraded broker has two, with different times.

    A broker gives thousands of equal responses, so they are grouped before they are parsed.
    """
    is_counted = ~F.col("is_duplicate") & is_api_versions_success() & F.col("response").isNotNull()
    answers = (
        new_requests.where(is_counted)
        .groupBy(*_BROKER, "response")
        .agg(
            F.min("logged_at").alias("first"),
            F.max("logged_at").alias("last"),
            F.count("*").alias("n"),
            F.max("ingested_at").alias("ingested_at"),
        )
    )
    ranges = answers.select(*_BROKER, *_TIMES, F.explode(F.from_json("response", API_RANGES)["apiKeys"]).alias("offer"))
    fields = (F.col(f"offer.{field}").alias(name) for name, field in _RANGE.items())
    advertised = ranges.select(*_BROKER, *_TIMES, *fields)
    complete = F.col("api_key").isNotNull() & F.col("min_version").isNotNull() & F.col("max_version").isNotNull()
    return (
        advertised.where(complete)
        .groupBy(*_BROKER, *_RANGE)
        .agg(
            F.min("first").alias("first_seen"),
            F.max("last").alias("last_seen"),
            F.sum("n").alias("answers"),
            F.max("ingested_at").alias("ingested_at"),
        )
        .withColumn("api_name", looked_up(api_names(), F.col("api_key")))
    )
