"""Writes frames to Delta tables; Delta's log says how many rows a commit wrote, without another query."""

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from . import table_log
from .address import Address
from .ddl import commits, history


def write(rows: DataFrame, address: Address, name: str, mode: str, options: Mapping[str, str]) -> None:
    """Write rows to a table that exists and has their columns, in one commit: `append` or `overwrite`."""
    # An overwrite of all rows drops the table's clustering, unless this option calls it one of some rows.
    chosen = {} if mode == "append" else {"replaceWhere": "true"}
    if not address.is_schema:  # a write by name plans the rows twice: for Spark's command, and for Delta's in it
        rows.write.format("delta").mode(mode).options(**options, **chosen).save(address.location(name))
        return
    by_name = rows.writeTo(address.table(name)).options(**options, **chosen)
    if mode == "append":
        by_name.append()
    else:
        by_name.overwrite(F.lit(True))


def written_rows(spark: SparkSession, address: Address, name: str, metadata: str | None) -> int | None:
    """Return how many rows a table's newest commit wrote; None if it has other `userMetadata`, as Delta made no commit."""
    newest = next(iter(commits(spark, address, name)), None)
    if newest is None or newest["userMetadata"] != metadata:
        return None
    number = dict(newest["operationMetrics"] or {}).get("numOutputRows")
    return None if number is None else int(number)


def snapshot(spark: SparkSession, table: str, folder: Path | None) -> DataFrame:
    """Return a table as it is now; later writes do not change the result. With `folder`, its newest commit is looked up there."""
    files = [] if folder is None else table_log.newest_first(folder)
    version = int(files[0].stem if files else history(spark, table, 1)[0]["version"])
    return spark.sql(f"SELECT * FROM {table} VERSION AS OF {version}")
