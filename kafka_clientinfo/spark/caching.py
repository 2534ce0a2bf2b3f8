"""Caches relations that a run reads more than once, in memory or on disk; `warehouse.staging` does so in tables.

`staging.cache` takes the first way that the session allows:

session                | way                            | why
-----------------------|--------------------------------|-----------------------------------------------------
on one machine         | local checkpoint               | nothing can be lost
on a cluster           | persisted in memory and on     | Spark computes lost rows again if an executor is lost;
                       | disk, and read as an RDD       | it can't do that for a local checkpoint
on serverless compute, | staged: written to a table     | none of these is allowed there, or an RDD can't be
or on a cluster by     | beside those of the warehouse  | reached
Spark Connect          |                                |

In all three ways the plan ends at the cached rows. If later steps were planned together with the steps that made the rows,
their plans would grow by the number of readings at every step, to millions of nodes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from weakref import WeakKeyDictionary

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from .features import conf_value, is_one_process

_PERSISTED: WeakKeyDictionary[DataFrame, DataFrame] = WeakKeyDictionary()
"""The persisted rows of each relation that reads them as an RDD."""
_REFUSALS = ("NOT_SUPPORTED", "not supported", "NOT_IMPLEMENTED")


def cached_in_memory(rows: DataFrame) -> DataFrame | None:
    """Cache rows in memory, so that they are computed once; return None if the session allows no way."""
    with _unless_refused():
        return _checkpoint(rows) if is_on_one_machine(rows.sparkSession) else _as_rdd(rows)
    return None


def is_on_one_machine(spark: SparkSession) -> bool:
    """Return whether the session is on one machine, where cached rows are never computed again."""
    return is_one_process(conf_value(spark, "spark.master"))


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


def _as_rdd(rows: DataFrame) -> DataFrame:
    """Persist rows and return a relation that reads them as an RDD, so that its plan ends there."""
    session = rows.sparkSession
    session_in_jvm = session._jsparkSession  # before rows are persisted: Spark Connect has none
    persisted = rows.persist(StorageLevel.MEMORY_AND_DISK)
    java = persisted.select("*")._jdf  # planned now, so that it reads the persisted rows
    relation = DataFrame(
        session_in_jvm.internalCreateDataFrame(java.queryExecution().toRdd(), java.schema(), False), session
    )
    _PERSISTED[relation] = persisted
    return relation


def release(*relations: DataFrame) -> None:
    """Release cached relations; Spark releases checkpoints itself when nothing refers to them."""
    for rows in relations:
        with _unless_refused():
            _PERSISTED.pop(rows, rows).unpersist()


@contextmanager
def _unless_refused() -> Iterator[None]:
    """Ignore the error of a session that does not allow the block."""
    try:
        yield
    except Exception as error:
        if not any(sign in str(error) for sign in _REFUSALS):
            raise
