"""Chooses Spark's conf by the bytes that a run has planned, in a session of the run's own.

A small run spends its time on planning, compiling and starting tasks, not on rows: it plans once, and has as few tasks as
possible. The smallest interpret all expressions; others compile projections, and large runs whole stages. Interpreted
projections are slow per row, above all Delta's statistics of many columns (500,000 rows of 36 columns: 8.7 s compiled, 88 s
interpreted).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import partial

from pyspark.sql import SparkSession

from .features import conf_value, cores

_INTERPRETED_BYTES = 32 << 20
"""Bytes up to which a run interprets.

Measured on two cores, in CPU seconds of a first run, interpreted and compiled: 28,500 requests 45 and 61, 60,000 requests 57
and 60.
"""
SMALL_BYTES = 64 << 20
"""Bytes up to which a run is small: it has one partition, and writes each table as one file.

So many are planned per partition of a larger run: a task may hold it in memory whole, as twice these bytes of a heap of 2 GB.
"""
REQUEST_BYTES = 600
"""Bytes per request in steps on stored requests; their windows and counts do not need all columns."""
_MOST_PARTITIONS = 200
_BROADCAST_BYTES = str(10 << 20)
_HASHED_GROUPS = 4096
"""Groups, of some kilobytes each, up to which a task gathers values by hash. Above it Spark sorts all rows; its default is 128."""


def conf_of(planned_bytes: int, cores: int) -> dict[str, str]:
    """Return entries for the session's conf, by the bytes of log to read or that stored requests came from."""
    is_small, is_interpreted = planned_bytes <= SMALL_BYTES, planned_bytes <= _INTERPRETED_BYTES
    partitions = 1 if is_small else min(max(2, cores, -(-planned_bytes // SMALL_BYTES)), _MOST_PARTITIONS)
    is_large = str(not is_small).lower()
    return {
        "spark.sql.codegen.wholeStage": is_large,
        "spark.sql.codegen.factoryMode": "NO_CODEGEN" if is_interpreted else "FALLBACK",
        # Interpreted, a shared expression costs more to look up than to evaluate again.
        "spark.sql.subexpressionElimination.enabled": str(not is_interpreted).lower(),
        # The steps' joins and filters state all conditions themselves; to infer more of them only takes planning.
        "spark.sql.constraintPropagation.enabled": "false",
        "spark.sql.shuffle.partitions": str(partitions),
        # Adaptive planning pays if the sizes of joins are not known beforehand. Before a stage has run, Spark estimates
        # rows that Python made at a few bytes, and would broadcast millions of them.
        "spark.sql.adaptive.enabled": is_large,
        "spark.sql.adaptive.autoBroadcastJoinThreshold": _BROADCAST_BYTES,
        "spark.sql.autoBroadcastJoinThreshold": _BROADCAST_BYTES if is_small else "-1",
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": str(_HASHED_GROUPS),
        "spark.databricks.delta.snapshotPartitions": "1" if is_small else "4",
        # Else each commit runs a job to list all files in its checksum.
        "spark.databricks.delta.allFilesInCrc.enabled": "false",
    }


def own_session(spark: SparkSession) -> SparkSession:
    """Return a session with the caller's conf, catalog and views, of which the caller's other threads see nothing.

    It is the caller's own where there is no other: a session of Spark Connect is that of one client. Its entries are put
    back then, when a run ends.
    """
    with suppress(Exception):
        return SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    return spark


@contextmanager
def sized(spark: SparkSession, planned_bytes: int) -> Iterator[None]:
    """Set up the session for work on so many bytes, with UTC as its zone; restore the caller's conf afterwards."""
    conf = conf_of(planned_bytes, 1 if planned_bytes <= SMALL_BYTES else cores(spark))
    with set_for(spark, {"spark.sql.session.timeZone": "UTC"}), set_where_allowed(spark, conf):
        yield


@contextmanager
def set_for(spark: SparkSession, conf: Mapping[str, str], must: bool = True) -> Iterator[None]:
    """Set these entries; restore the caller's values after the block.

    If the session refuses one, its error is raised, or the entry is left alone if it is not a `must`.
    """
    before: dict[str, str | None] = {}
    try:
        for key, value in conf.items():
            earlier = conf_value(spark, key)
            with nullcontext() if must else suppress(Exception):
                spark.conf.set(key, value)
                before[key] = earlier
        yield
    finally:
        for key, earlier in before.items():
            if earlier is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, earlier)


set_where_allowed = partial(set_for, must=False)
"""Sets those of the entries that the session allows: serverless compute refuses most."""


def may_set(spark: SparkSession, key: str, value: str) -> bool:
    """Return whether the session lets an entry be set.

    `isModifiable` can't say: entries that the session's Spark does not know, such as Delta's, count as not modifiable.
    """
    with suppress(Exception), set_for(spark, {key: value}):
        return True
    return False
