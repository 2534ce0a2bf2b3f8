"""Reads a plan with Spark, which gives each split to `worker` in one of its Python processes."""

from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from threading import Thread
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from ..connections.texts import looked_up
from ..spark.arrow_rows import collect_by_name
from .arrow_schema import SCHEMA
from .planned import Plan
from .reading_progress import TaskCounter
from .split_statistics import Statistics, counted
from .worker import PLACEHOLDER, read_splits

_STANDS_FOR = "__stands_for"


def start_worker(spark: SparkSession) -> None:
    """Have a session read nothing in the background: starting its first Python process takes a second."""

    def read(_: Iterable[pa.RecordBatch]) -> Iterable[Any]:
        return read_splits((), "UTC")

    def start() -> None:
        with suppress(Exception):  # the same failure occurs where logs are read, and is reported there
            spark.range(0, 1, 1, 1).mapInArrow(read, from_arrow_schema(SCHEMA)).collect()

    Thread(target=start, daemon=True).start()


def parse_logs(
    spark: SparkSession, plan: Plan, zone: str = "UTC", progress_folder: str = "", reads_topics: bool = True
) -> DataFrame:
    """Read and parse the planned bytes, lazily, as rows with the struct columns of `SCHEMA`, of which one is not null."""
    bins = plan.splits

    def read(batches: Iterable[pa.RecordBatch]) -> Iterable[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                with closing(TaskCounter(progress_folder, number)) as counter:
                    yield from read_splits(bins[number], zone, counter.add, reads_topics)

    # One row per task and one task per row: a shuffle by hash could put two rows into one task.
    numbers = spark.range(0, len(bins), 1, max(1, len(bins)))
    return numbers.mapInArrow(read, from_arrow_schema(SCHEMA))


def statistics_of(parsed: DataFrame) -> list[dict[str, Any]]:
    """Read and parse everything; return the statistics of the splits that count, as `FILE_TYPE` has them."""
    return counted(collect_by_name(parsed.where("file IS NOT NULL").select("file.*")))


def readable_rows(parsed: DataFrame, statistics: Sequence[Statistics]) -> DataFrame:
    """Return the parsed rows that the statistics count; after a file's read error only one placeholder."""
    ends = {split["file_id"]: split["end_offset"] for split in statistics if split["error"] is not None}
    if not ends:
        return parsed
    columns = ("request", "rejected", "failed", "mention")
    file_id = F.coalesce(*(F.col(f"{name}.file_id") for name in columns))
    offset = F.coalesce(*(F.col(f"{name}.byte_offset") for name in columns))
    end = looked_up(ends, file_id)
    # Another split that begins at this offset may have read well, or have failed too.
    placeholders = parsed.where((offset == end) & (F.col("rejected.reason") == PLACEHOLDER)).withColumn(
        _STANDS_FOR, file_id
    )
    return parsed.where(~F.coalesce(offset >= end, F.lit(False))).unionByName(
        placeholders.dropDuplicates([_STANDS_FOR]).drop(_STANDS_FOR)
    )
