"""What a session offers besides DataFrames and SQL. Every question is best effort: only a classic session has a JVM.

Spark Connect has no `sparkContext`; serverless compute also refuses to read or set most entries of the conf. No other
module that a run uses asks a session for any of this.
"""

import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_AT_ONCE = 3
_MOST_CORES = 10_000
_FEW_CORES = 8
"""The number of cores that is assumed if the session reports none."""


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
    """Return the conf that the session began with; for a Spark Connect session, all entries that it shows."""
    with suppress(Exception):
        return dict(spark.sparkContext.getConf().getAll())
    with suppress(Exception):
        return dict(spark.conf.getAll)
    return {}


def jvm_of(spark: Any) -> Any | None:
    """Return the JVM that the session's driver talks to; None if it runs on a server."""
    return getattr(spark, "_jvm", None)


@lru_cache(maxsize=8)
def cores(spark: "SparkSession") -> int:
    """Return how many tasks run at once.

    For Spark Connect, count the partitions of a range, which by default equal the tasks.
    """
    with suppress(Exception):
        return int(spark.sparkContext.defaultParallelism)
    with suppress(Exception):
        from pyspark.sql import functions as F

        partitions = spark.range(_MOST_CORES).select(F.spark_partition_id().alias("partition"))
        return int(partitions.agg(F.max("partition")).collect()[0][0]) + 1
    return _FEW_CORES


def at_once(ask: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Call `ask` for each item, a few calls at a time, as most of the time is waiting; return the results in order."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(ask, items))


def keep_quiet(spark: "SparkSession") -> None:
    """Keep pyspark from printing errors that the command reports: their JSON, and a traceback if the JVM dies."""
    with suppress(Exception):
        spark.sparkContext._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    with suppress(Exception):  # Spark 3.5 has no such loggers
        from pyspark.logger import PySparkLogger

        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            PySparkLogger.getLogger(name).disabled = True
