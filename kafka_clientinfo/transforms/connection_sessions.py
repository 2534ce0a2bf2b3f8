"""The connections themselves, with the answers that everybody asks for first."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..tables import SESSION_KEY


def transform(
    session_requests: DataFrame,
    session_facts: DataFrame,
    api_versions_negotiations: DataFrame,
    client_software: DataFrame,
) -> DataFrame:
    """One row per connection."""
    key = list(SESSION_KEY)
    instance = session_requests.groupBy(*key).agg(F.max("first_instance_id").alias("client_instance_id"))
    outcome = api_versions_negotiations.select(*key, F.col("outcome").alias("api_versions_outcome"))
    software = client_software.select(
        *key, F.col("name").alias("software_name"), F.col("version").alias("software_version")
    )
    joined = session_facts.join(instance, on=key, how="inner").join(outcome, on=key, how="inner")
    return joined.join(software, on=key, how="inner").select(
        *key,
        "session_no",
        "file_id",
        "byte_offset",
        "last_request_at",
        "requests",
        "start",
        "role",
        "remote_host",
        "remote_port",
        "listener",
        "security_protocol",
        "principal",
        "client_id",
        F.col("software_name").alias("client_software_name"),
        F.col("software_version").alias("client_software_version"),
        "client_instance_id",
        "api_versions_outcome",
        "log_generation",
    )
