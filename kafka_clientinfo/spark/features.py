"""What a session offers besides DataFrames and SQL. Every question is best effort: serverless compute refuses most."""

import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from inspect import signature
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_AT_ONCE = 3
_MOST_CORES = 10_000
_REFUSALS = ("NOT_SUPPORTED", "not supported", "NOT_IMPLEMENTED")


def conf_value(spark: "SparkSession", key: str) -> str | None:
    with suppress(Exception):
        return spark.conf.get(key, None)
    return None


def is_one_process(master: str | None) -> bool:
    """Return whether a master runs driver and executors in one process; `local-cluster[2,1,1024]` starts processes."""
    return re.fullmatch(r"local(\[.*\])?", master or "") is not None


def given_conf(spark: "SparkSession") -> dict[str, str]:
    with suppress(Exception):
        return {row["key"]: row["value"] for row in spark.sql("SET").collect()}
    return {}


def cores(spark: "SparkSession") -> int:
    from pyspark.sql import functions as F

    if (stated := conf_value(spark, "spark.default.parallelism")) is not None:
        return int(stated)
    partitions = spark.range(_MOST_CORES).select(F.spark_partition_id().alias("partition"))
    return int(partitions.agg(F.max("partition")).collect()[0][0]) + 1


def is_on_one_machine(spark: "SparkSession") -> bool:
    return is_one_process(conf_value(spark, "spark.master"))


def checkpointed(rows: "DataFrame") -> "DataFrame | None":
    """Cache rows in memory; return None if the session does not allow it.

    On a cluster each row is on two executors, so that one may be lost; with Spark 3.5 it is on one, and its loss ends the run.

    The plan ends at the cached rows: planned together with the steps that made them, later steps would have plans of millions
    of nodes. Spark frees a checkpoint when nothing refers to it any more.

    If the session's serializer is Kryo, rows are cached as compressed bytes: a sixth of the memory, and less garbage to
    collect. Java's serializer is too slow for that, and a checkpoint of Spark 3.5 takes no storage level.
    """
    from pyspark import StorageLevel

    is_kryo = (conf_value(rows.sparkSession, "spark.serializer") or "").endswith(".KryoSerializer")
    copies = 1 if is_on_one_machine(rows.sparkSession) else 2
    try:
        if "storageLevel" in signature(rows.localCheckpoint).parameters:
            # What is serialized is compressed, too, if spark.rdd.compress says so.
            level = StorageLevel(
                useDisk=True, useMemory=True, useOffHeap=False, deserialized=not is_kryo, replication=copies
            )
            return rows.localCheckpoint(storageLevel=level)
        return rows.localCheckpoint()
    except Exception as error:
        if any(sign in str(error) for sign in _REFUSALS):
            return None
        raise


def at_once(ask: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Call `ask` for each item, a few calls at a time, as most of the time is waiting; return the results in order."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(ask, items))
