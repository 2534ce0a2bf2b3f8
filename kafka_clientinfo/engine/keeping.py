"""Keeps relations that a run reads more than once; the one place that knows how.

Frames are persisted in memory and on disk. A session that refuses that (serverless) computes them again.
"""

from pyspark import StorageLevel
from pyspark.sql import DataFrame


def kept(rows: DataFrame) -> DataFrame:
    """The same rows, computed once."""
    try:
        return rows.persist(StorageLevel.MEMORY_AND_DISK)
    except Exception as error:
        if "NOT_SUPPORTED" in str(error) or "not supported" in str(error):
            return rows
        raise


def release(*relations: DataFrame) -> None:
    """Let kept relations go; those that were never kept stay as they are."""
    for rows in relations:
        try:
            rows.unpersist()
        except Exception as error:
            if "NOT_SUPPORTED" not in str(error) and "not supported" not in str(error):
                raise
