"""Caches relations that a run reads more than once as tables, for sessions that may cache none, as on serverless compute.

Staged tables are in `_staged/RUN/NAME` below the warehouse; in a schema they are called `_staged_RUN_NAME`. A run
that stages removes them when it ends, also those of runs before it that were killed. Below a
URI they stay, as no session without a cache shows a store's file system.
"""

import re
from contextlib import suppress
from shutil import rmtree
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from ..spark.features import checkpointed
from .address import Address
from .ddl import write_anew

STAGED = "_staged"


class Staging:
    """The staged relations of one run, as tables beside those of the warehouse; on this machine only their owner may read them."""

    def __init__(self, spark: SparkSession, address: Address) -> None:
        self.spark, self.address, self.run = spark, address, 0
        self._is_used = False

    def keep(self, rows: DataFrame) -> DataFrame:
        """Write rows to a new table and return the relation that reads it; call it under a lock or a claim."""
        if self.address.folder is not None:
            (self.address.folder / STAGED).mkdir(mode=0o700, parents=True, exist_ok=True)
        self._is_used = True
        name = ("_" if self.address.is_schema else "/").join((STAGED, str(self.run), uuid4().hex))
        write_anew(rows, self.address, name, {}, {})
        return self.spark.read.table(self.address.table(name))

    def close(self) -> None:
        """Remove the tables of runs up to this one, if it has staged any. Best effort: leftovers only take room."""
        if not self._is_used:
            return
        with suppress(Exception):
            if (folder := self.address.folder) is not None:
                for path in (folder / STAGED).iterdir():
                    if path.name.isdecimal() and int(path.name) <= self.run:
                        rmtree(path)
            elif self.address.is_schema:
                for row in self.spark.sql(f"SHOW TABLES IN {self.address.schema} LIKE '{STAGED}*'").collect():
                    number = re.fullmatch(rf"{STAGED}_(\d+)_\w+", row["tableName"])
                    if number is not None and int(number[1]) <= self.run:
                        self.spark.sql(f"DROP TABLE IF EXISTS {self.address.table(row['tableName'])}")


def cache(rows: DataFrame, staging: Staging) -> DataFrame:
    """Cache rows for the run, at once: on the session's machines, unless it allows no way."""
    cached = checkpointed(rows)
    return staging.keep(rows) if cached is None else cached
