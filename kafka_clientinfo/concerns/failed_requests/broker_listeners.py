"""The listener of each port of a broker, because server.log names only the port; a relation, not a table."""

from ...connections.engine import DataFrame, F
from ...connections.facts import local_port


def transform(connections: DataFrame) -> DataFrame:
    """Return one row per port of a broker that has connections of exactly one listener.

    Returns:
        cluster, broker, port (as text), and the listener's name.
    """
    known = connections.where(F.col("listener").isNotNull()).withColumn("port", local_port()).where(F.col("port") != "")
    of_port = known.groupBy("cluster", "broker", "port").agg(
        F.min("listener").alias("listener"), F.max("listener").alias("last_listener")
    )
    return of_port.where(F.col("listener") == F.col("last_listener")).drop("last_listener")
