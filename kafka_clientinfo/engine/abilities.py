"""What a session can tell and do beside DataFrames and SQL: asked best effort, as only a classic session has a JVM.

Spark Connect has no `sparkContext`; serverless compute refuses most entries of the conf besides, to be read as to be set.
No other module of a run's path asks for any of this.
"""

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
"""Taken for the number where nothing tells it."""


def conf_value(spark: "SparkSession", key: str, default: str | None = None) -> str | None:
    """An entry of the session's conf; the default where there is none, or the session does not tell it."""
    try:
        return spark.conf.get(key, default)
    except Exception:
        return default


def given_conf(spark: "SparkSession") -> dict[str, str]:
    """The conf that the session began with; of a Spark Connect session all that it tells."""
    with suppress(Exception):
        return dict(spark.sparkContext.getConf().getAll())
    with suppress(Exception):
        return dict(spark.conf.getAll)
    return {}


def jvm_of(spark: Any) -> Any | None:
    """The JVM that the session's driver speaks to; None where a server has it."""
    return getattr(spark, "_jvm", None)


@lru_cache(maxsize=8)
def cores(spark: "SparkSession") -> int:
    """How many tasks run at once.

    A Spark Connect session tells it by the partitions of a range, which by default are as many.
    """
    with suppress(Exception):
        return int(spark.sparkContext.defaultParallelism)
    with suppress(Exception):
        from pyspark.sql import functions as F

        places = spark.range(_MOST_CORES).select(F.spark_partition_id().alias("place"))
        return int(places.agg(F.max("place")).collect()[0][0]) + 1
    return _FEW_CORES


def at_once(ask: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Ask a session for something of each item, some at once, as most of the time is waiting; results in order."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(ask, items))


def keep_quiet(spark: "SparkSession") -> None:
    """Let pyspark print nothing of errors that a command tells: no JSON of each, no traceback where the JVM dies."""
    with suppress(Exception):
        spark.sparkContext._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    with suppress(Exception):  # Spark 3.5 has no such loggers
        from pyspark.logger import PySparkLogger

        for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
            PySparkLogger.getLogger(name).disabled = True
