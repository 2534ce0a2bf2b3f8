"""Keeps relations that a run reads more than once; the one place that knows how.

session                | kept as                        | why
-----------------------|--------------------------------|-----------------------------------------------------
on one machine         | local checkpoint               | rows stay as they are, and the plan ends there: what is
                       |                                | derived of it is planned without what it was derived of
on a cluster           | persisted in memory and on     | computed again where an executor is lost, which a local
                       | disk                           | checkpoint can't be
neither is allowed     | not at all                     | computed again (serverless)
"""

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from .abilities import conf_value


def kept(rows: DataFrame) -> DataFrame:
    """The same rows, computed once: at once on one machine, else when they are first needed."""
    try:
        return (
            rows.localCheckpoint() if stays_as_kept(rows.sparkSession) else rows.persist(StorageLevel.MEMORY_AND_DISK)
        )
    except Exception as error:
        if _is_refused(error):
            return rows
        raise


def stays_as_kept(spark: SparkSession) -> bool:
    """Whether kept rows are never computed again: on one machine."""
    return (conf_value(spark, "spark.master") or "").startswith("local")


def release(*relations: DataFrame) -> None:
    """Let kept relations go; Spark lets go of checkpoints by itself when nothing refers to them."""
    for rows in relations:
        try:
            rows.unpersist()
        except Exception as error:
            if not _is_refused(error):
                raise


def _is_refused(error: Exception) -> bool:
    return "NOT_SUPPORTED" in str(error) or "not supported" in str(error)
