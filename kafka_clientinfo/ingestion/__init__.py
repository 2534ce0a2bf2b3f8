"""Log files to DataFrames: plan what is new, read it in one Python hop."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from .discovery import find_logs, with_server_logs
from .plan import Plan, PlannedFile, Problem, Split, make_plan
from .split_statistics import (
    file_report,
    file_row,
    readable_rows,
    rotated,
    statistics_of,
    was_read,
    with_instants,
    wrongly_cut,
)
from .storage import StoredFile
from .worker import SCHEMA, read_splits

__all__ = [
    "Plan",
    "PlannedFile",
    "Problem",
    "Split",
    "StoredFile",
    "file_report",
    "file_row",
    "find_logs",
    "make_plan",
    "parse_logs",
    "readable_rows",
    "rotated",
    "statistics_of",
    "was_read",
    "with_instants",
    "with_server_logs",
    "wrongly_cut",
]


def parse_logs(spark: SparkSession, plan: Plan, zone: str = "UTC") -> DataFrame:
    """Read and parse the planned bytes, lazily.

    Args:
        spark: the session.
        plan: what to read.
        zone: IANA name of the zone of the logs' timestamps.

    Returns:
        Rows with the struct columns `request`, `rejected`, `failed` and `file`, of which one is not null.
    """
    bins = plan.splits

    def read(batches: Iterable[pa.RecordBatch]) -> Iterable[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_splits(bins[number], zone)

    # One row per task and one task per row: a shuffle by hash could put two into one task.
    numbers = spark.range(0, len(bins), 1, max(1, len(bins)))
    return numbers.mapInArrow(read, from_arrow_schema(SCHEMA))
