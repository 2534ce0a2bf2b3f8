"""Caches relations that a run reads more than once as tables, for sessions that may cache none, as on serverless compute.

Staged tables are in `_staged/RUN/NUMBER` below the warehouse; in a schema they are called `_staged_RUN_NUMBER`. A run
removes its own when it ends. Leftovers of a killed run are removed by the next run that stages, or by `maintain`. Below a
URI they stay, as no session without a cache shows a store's file system.
"""

import re
from contextlib import suppress
from itertools import count
from shutil import rmtree

from pyspark.sql import DataFrame, SparkSession

from ..spark.features import checkpointed
from .address import Address
from .ddl import write_anew

STAGED = "_staged"


class Staging:
    """The staged relations of one run, as tables beside those of the warehouse.

    If they are on this machine and `private`, only their owner may read them: rows hold raw bytes of logs.

    Attributes:
        run: the run's number; a run before it has ended, or is kept from committing.
    """

    def __init__(self, spark: SparkSession, address: Address, private: bool = True) -> None:
        self.spark, self.address, self.private, self.run = spark, address, private, 0
        self._numbers = count()
        self._is_used = False

    def keep(self, rows: DataFrame) -> DataFrame:
        """Write rows to a new table and return the relation that reads it; call it under a lock or a claim."""
        number = next(self._numbers)
        if not self._is_used:
            self._is_used = True
            if self.private and self.address.folder is not None:
                (self.address.folder / STAGED).mkdir(mode=0o700, parents=True, exist_ok=True)
            self.remove_until(self.run)
        between = "_" if self.address.is_schema else "/"
        name = between.join((STAGED, str(self.run), str(number)))
        write_anew(rows, self.address, name, {}, {})
        return self.spark.read.table(self.address.table(name))

    def remove_until(self, run: int) -> None:
        """Remove tables of runs up to a number. Best effort: leftovers only take room."""
        with suppress(Exception):
            if (folder := self.address.folder) is not None:
                for path in (folder / STAGED).iterdir():
                    if path.name.isdecimal() and int(path.name) <= run:
                        rmtree(path)
            elif self.address.is_schema:
                for row in self.spark.sql(f"SHOW TABLES IN {self.address.schema} LIKE '{STAGED}*'").collect():
                    number = re.fullmatch(rf"{STAGED}_(\d+)_\d+", row["tableName"])
                    if number is not None and int(number[1]) <= run:
                        self.spark.sql(f"DROP TABLE IF EXISTS {self.address.table(row['tableName'])}")

    def close(self) -> None:
        """Remove this run's tables."""
        if self._is_used:
            self.remove_until(self.run)


def cache(rows: DataFrame, staging: Staging) -> DataFrame:
    """Cache rows for the run, at once: on the session's machines, unless it allows no way."""
    cached = checkpointed(rows)
    return staging.keep(rows) if cached is None else cached
