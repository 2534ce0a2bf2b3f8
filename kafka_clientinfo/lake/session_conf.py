"""What a run sets in a session's conf, and puts back: the caller's session stays the caller's."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

_FEW_REQUESTS = 300_000
_LIGHT = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "4",
    "spark.databricks.delta.snapshotPartitions": "1",
}


@contextmanager
def lightly(spark: SparkSession) -> Iterator[Callable[[int], None]]:
    """Where there is little to compute, plan once and compile nothing: that is what a small run's time goes into.

    Yields a function that takes the number of requests to work on, when it is known; few are assumed until then.
    """
    before = {key: spark.conf.get(key, None) for key in _LIGHT}

    def choose(number: int) -> None:
        for key, value in before.items():
            if number < _FEW_REQUESTS:
                spark.conf.set(key, _LIGHT[key])
            elif value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)

    choose(0)
    try:
        yield choose
    finally:
        choose(_FEW_REQUESTS)


@contextmanager
def utc(spark: SparkSession) -> Iterator[None]:
    """Run with the session's zone set to UTC, as all times are; put back what the caller had."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")


@contextmanager
def set_for(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Run with these entries set; put back what the caller had."""
    before = {key: spark.conf.get(key, None) for key in conf}
    for key, value in conf.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, known in before.items():
            if known is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, known)
