"""Keeps relations that a run reads more than once; the one place that knows how.

run                       | kept as                       | why
--------------------------|-------------------------------|---------------------------------------------------
small (`sizing.Size`)     | local checkpoint              | ends the plan: what is derived of it is planned without
|                               | what it was derived of, which costs more than its rows
large                     | persisted in memory and on    | compressed by column; computed again where an executor
| disk                          | is lost
where neither is allowed  | not at all                    | computed again (serverless)
"""

from pyspark import StorageLevel
from pyspark.sql import DataFrame


def kept(rows: DataFrame, is_small: bool = False) -> DataFrame:
    """The same rows, computed once; at once where the run is small."""
    try:
        return rows.localCheckpoint() if is_small else rows.persist(StorageLevel.MEMORY_AND_DISK)
    except Exception as error:
        if _is_refused(error):
            return rows
        raise


def release(*relations: DataFrame) -> None:
    """Let kept relations go; those that were never persisted stay as they are."""
    for rows in relations:
        try:
            rows.unpersist()
        except Exception as error:
            if not _is_refused(error):
                raise


def _is_refused(error: Exception) -> bool:
    return "NOT_SUPPORTED" in str(error) or "not supported" in str(error)
