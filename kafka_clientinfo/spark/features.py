"""What a session offers besides DataFrames and SQL. Every question is best effort: serverless compute refuses most."""

import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_AT_ONCE = 3
_MOST_CORES = 10_000


def conf_value(spark: "SparkSession", key: str, default: str | None = None) -> str | None:
    """Return an entry of the session's conf; the default if there is none, or if the session refuses to show it."""
    try:
        return spark.conf.get(key, default)
    except Exception:
        return default


def is_one_process(master: str | None) -> bool:
    """Return whether a master runs driver and executors in one process; `local-cluster[2,1,1024]` starts processes."""
    return re.fullmatch(r"local(\[.*\])?", master or "") is not None


def given_conf(spark: "SparkSession") -> dict[str, str]:
    """Return all entries of the session's conf that it shows."""
    with suppress(Exception):
        return {row["key"]: row["value"] for row in spark.sql("SET").collect()}
    return {}


def cores(spark: "SparkSession") -> int:
    """Return how many tasks run at once: as the conf says, else as many as a range has partitions."""
    from pyspark.sql import functions as F

    if (stated := conf_value(spark, "spark.default.parallelism")) is not None:
        return int(stated)

    partitions = spark.range(_MOST_CORES).select(F.spark_partition_id().alias("partition"))
    return int(partitions.agg(F.max("partition")).collect()[0][0]) + 1


def at_once(ask: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Call `ask` for each item, a few calls at a time, as most of the time is waiting; return the results in order."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(ask, items))


def keep_quiet() -> None:
    """Keep pyspark from printing the errors that the command reports, as JSON."""
    with suppress(ImportError):  # Spark 3.5 has no such loggers
        from pyspark.logger import PySparkLogger

        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            PySparkLogger.getLogger(name).disabled = True
