"""What clients do wrong with versions; the words beside it are in schemas/rules/usage.toml."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ...connections import example, is_client, sentence
from ...protocol import ApiKey
from ...settings import Settings
from ...tables import CONNECTION_KEY


def findings_outside_advertised(api_usage: DataFrame, connections: DataFrame, settings: Settings) -> DataFrame:
    """Finds connections with versions that the broker did not offer; what came before its answer could not know it.

    ApiVersions itself may be tried above the range: the broker's answer tells what to fall back to (KIP-511).
    """
    not_offered = ~F.col("within_advertised") & (F.col("api_key") != int(ApiKey.API_VERSIONS))
    clients = connections.where(is_client()).select(*CONNECTION_KEY)
    used = api_usage.where(not_offered & (F.col("requests_after_answer") > 0))
    low, high = (F.col(name).cast("string") for name in ("advertised_min", "advertised_max"))
    offer = F.coalesce(F.concat(F.lit("v"), low, F.lit(" to v"), high), F.lit("no version"))
    version = F.col("api_version").cast("string")
    message = sentence(F.col("api_name"), " v", version, " although ", offer, " was offered")
    found = (
        used.join(clients, on=list(CONNECTION_KEY), how="left_semi")
        .groupBy(*CONNECTION_KEY)
        .agg(
            F.sum("requests_after_answer").alias("occurrences"),
            F.min("first_at_after_answer").alias("first_at"),
            F.max("last_at_after_answer").alias("last_at"),
            F.min_by(F.struct("first_after_answer.place", message.alias("message")), "first_after_answer.seq").alias(
                "first"
            ),
        )
    )
    return found.withColumn("place", F.col("first.place")).select(
        F.lit("api_version_outside_advertised").alias("rule"),
        *CONNECTION_KEY,
        F.lit(None).cast("string").alias("group_id"),
        "occurrences",
        "first_at",
        "last_at",
        example("place", settings.log_zone).alias("example"),
        F.col("first.message").alias("message"),
    )
