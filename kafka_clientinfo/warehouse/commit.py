"""Writes frames to Delta tables, and counts the rows written without another query."""

import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from .address import Address
from .ddl import history

_COMMIT_FILE = re.compile(r"\d{20}\.json")
_OBSERVED_WITHIN_SECONDS = 10.0


def write(
    rows: DataFrame, address: Address, name: str, mode: str, options: Mapping[str, str], where: str | None = None
) -> int | None:
    """Write rows to a table that exists and has their columns, in one commit: `append` or `overwrite`.

    The writer's options are `userMetadata` and, in a claim, `txnVersion`. An overwrite replaces the rows for which the
    condition `where` is true, or all; the new rows must meet it too.

    Returns:
        The number of rows written; None if it is not known, or if Delta skipped the commit.
    """
    table, observation = address.table(name), Observation(f"kafka_clientinfo_{uuid4().hex}")
    is_observed = "txnVersion" not in options  # a commit that Delta skips writes nothing to observe
    if is_observed:
        rows = rows.observe(observation, F.count(F.lit(1)).alias("rows"))
    if not address.is_schema:  # a write by name plans the rows twice: for Spark's command, and for Delta's in it
        # An overwrite of a path without a condition drops the table's clustering.
        chosen = {} if mode == "append" else {"replaceWhere": where or "true"}
        rows.write.format("delta").mode(mode).options(**options, **chosen).save(address.location(name))
    elif mode == "append":
        rows.writeTo(table).options(**options).append()
    else:
        rows.writeTo(table).options(**options).overwrite(F.lit(True) if where is None else F.expr(where))
    number = _observed_rows(observation) if is_observed else None
    return _rows_of_last_commit(rows.sparkSession, table, options["userMetadata"]) if number is None else number


def _observed_rows(observation: Observation) -> int | None:
    """Return the observed number; None if Spark reports none in time. A thread calls `get`, which could wait for ever."""
    results: list[int] = []

    def wait() -> None:
        with suppress(Exception):  # if the JVM is gone, the command itself reports it
            results.append(int(observation.get["rows"]))

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(_OBSERVED_WITHIN_SECONDS)
    return results[0] if results else None


def _rows_of_last_commit(spark: SparkSession, table: str, metadata: str) -> int | None:
    """Return the rows that a table's newest commit wrote; None if that commit has another `userMetadata`."""
    commits = history(spark, table, 1)
    if not commits or commits[0]["userMetadata"] != metadata:
        return None
    number = dict(commits[0]["operationMetrics"] or {}).get("numOutputRows")
    return None if number is None else int(number)


def latest_version(spark: SparkSession, table: str, folder: Path | None) -> int:
    """Return the newest version of a table; with `folder`, where no other run writes, read it from the names of files."""
    files = (folder / "_delta_log").glob("*.json") if folder is not None else ()
    versions = [int(file.stem) for file in files if _COMMIT_FILE.fullmatch(file.name)]
    return max(versions) if versions else int(history(spark, table, 1)[0]["version"])
