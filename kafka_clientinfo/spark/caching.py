"""Caches relations that a run reads more than once, in memory or on disk; `warehouse.staging` does so in tables.

`staging.cache` takes the first way that the session allows:

session                | way                            | why
-----------------------|--------------------------------|-----------------------------------------------------
on one machine         | local checkpoint               | the plan ends there: Spark plans later steps without
                       |                                | the steps that made these rows
on a cluster           | persisted in memory and on     | Spark computes lost rows again if an executor is lost;
                       | disk                           | it can't do that for a local checkpoint
on serverless compute  | staged: written to a table     | neither is allowed there
                       | beside those of the warehouse  |
"""

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from .features import conf_value

_REFUSALS = ("NOT_SUPPORTED", "not supported", "NOT_IMPLEMENTED")


def cached_in_memory(rows: DataFrame) -> DataFrame | None:
    """Cache rows in memory, so that they are computed once; return None on serverless compute."""
    with _unless_refused():
        if is_on_one_machine(rows.sparkSession):
            return _checkpoint(rows)
    with _unless_refused():
        return rows.persist(StorageLevel.MEMORY_AND_DISK)
    return None


def is_on_one_machine(spark: SparkSession) -> bool:
    """Return whether the session is on one machine, where cached rows are never computed again."""
    return (conf_value(spark, "spark.master") or "").startswith("local")


def _checkpoint(rows: DataFrame) -> DataFrame:
    """Checkpoint rows: as compressed bytes if the session's serializer is Kryo, else as objects.

    Bytes take a sixth of the memory, and Java collects garbage faster beside a few arrays than beside millions of rows:
    with 3 GB of log in 5 s instead of 17. Java's serializer is too slow for that, and a checkpoint of Spark 3.5 takes
    no storage level.
    """
    is_kryo = (conf_value(rows.sparkSession, "spark.serializer") or "").endswith(".KryoSerializer")
    if is_kryo and "storageLevel" in signature(rows.localCheckpoint).parameters:
        # PySpark's levels all serialize, unlike Scala's of the same names; spark.rdd.compress compresses the bytes.
        return rows.localCheckpoint(storageLevel=StorageLevel.MEMORY_AND_DISK)
    return rows.localCheckpoint()


def release(*relations: DataFrame) -> None:
    """Release cached relations; Spark releases checkpoints itself when nothing refers to them."""
    for rows in relations:
        with _unless_refused():
            rows.unpersist()


@contextmanager
def _unless_refused() -> Iterator[None]:
    """Ignore the error of a session that does not allow the block."""
    try:
        yield
    except Exception as error:
        if not any(sign in str(error) for sign in _REFUSALS):
            raise
