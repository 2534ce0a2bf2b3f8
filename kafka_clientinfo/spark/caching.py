"""Caches relations that a run reads more than once in memory, where the session allows it; else `warehouse.staging` does in tables.

A cluster may lose an executor with its part of a checkpoint, and serverless compute allows none, so only a session on one
machine caches in memory. In both ways the plan ends at the cached rows: if later steps were planned together with the steps
that made the rows, plans would grow by the number of readings at every step, to millions of nodes. Spark frees a checkpoint
when nothing refers to it any more; to unpersist it has no effect.
"""

from inspect import signature

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from .features import conf_value, is_one_process

_REFUSALS = ("NOT_SUPPORTED", "not supported", "NOT_IMPLEMENTED")


def checkpointed(rows: DataFrame) -> DataFrame | None:
    """Cache rows in memory, on a cluster until an executor is lost; return None if the session does not allow it.

    If the session's serializer is Kryo, they are cached as compressed bytes. These take a sixth of the memory, and Java
    collects garbage faster beside a few arrays than beside millions of rows: with 3 GB of log in 5 s instead of 17. Java's
    serializer is too slow for that, and a checkpoint of Spark 3.5 takes no storage level.
    """
    is_kryo = (conf_value(rows.sparkSession, "spark.serializer") or "").endswith(".KryoSerializer")
    try:
        if is_kryo and "storageLevel" in signature(rows.localCheckpoint).parameters:
            # PySpark's levels all serialize, unlike Scala's of the same names; spark.rdd.compress compresses the bytes.
            return rows.localCheckpoint(storageLevel=StorageLevel.MEMORY_AND_DISK)
        return rows.localCheckpoint()
    except Exception as error:
        if any(sign in str(error) for sign in _REFUSALS):
            return None
        raise


def is_on_one_machine(spark: SparkSession) -> bool:
    """Return whether the session is on one machine, where cached rows are never computed again."""
    return is_one_process(conf_value(spark, "spark.master"))
