"""The table `broker_hosts`: hosts that sent requests which only brokers and controllers send."""

from ...connections.engine import DataFrame, F
from ...connections.facts import is_of_a_broker


def transform(new_requests: DataFrame) -> DataFrame:
    """Return one row per cluster and host; rows of several batches can be merged."""
    sent = new_requests.where(~F.col("is_duplicate") & F.col("remote_host").isNotNull() & is_of_a_broker())
    return sent.groupBy("cluster", F.col("remote_host").alias("host")).agg(
        F.min("logged_at").alias("first_seen"),
        F.max("logged_at").alias("last_seen"),
        F.count("*").alias("requests"),
        F.max("ingested_at").alias("ingested_at"),
    )
