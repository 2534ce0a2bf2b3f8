"""Caches relations that a run reads more than once as tables, for sessions that would lose cached rows or may not cache any.

A cluster may lose an executor with its part of a checkpoint, and serverless compute allows none, so only a session on one
machine caches in memory.

Staged tables are in `_staged/RUN/NUMBER` below the warehouse; in a schema they are called `_staged_RUN_NUMBER`. A run
removes its own when it ends. Leftovers of a killed run are removed by the next run that stages, or by `maintain`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

from pyspark.sql import DataFrame, SparkSession

from ..spark.features import checkpointed, is_on_one_machine
from .address import Address
from .stores import folder_names, remove_folder

STAGED = "_staged"


class Staging:
    """The staged relations of one run, as tables beside those of the warehouse.

    If they are on this machine and `private`, only their owner may read them: rows hold raw bytes of logs.

    Attributes:
        run: the run's number; a run before it has ended, or is kept from committing.
    """

    def __init__(self, spark: SparkSession, address: Address, private: bool = True) -> None:
        self.spark, self.address, self.private, self.run = spark, address, private, 0
        self.folder = f"{address.root}/{STAGED}"
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
        writer = rows.write.format("delta")
        if self.address.is_schema:
            table = self.address.table(f"{STAGED}_{self.run}_{number}")
            writer.saveAsTable(table)
            return self.spark.read.table(table)
        path = f"{self.folder}/{self.run}/{number}"
        writer.save(path)
        return self.spark.read.format("delta").load(path)

    def remove_until(self, run: int) -> None:
        """Remove tables of runs up to a number. Best effort: leftovers only take room."""
        if not self.address.is_schema:
            for name in folder_names(self.folder):
                if name.isdecimal() and int(name) <= run:
                    remove_folder(f"{self.folder}/{name}")
            return
        with suppress(Exception):
            rows = self.spark.sql(f"SHOW TABLES IN {self.address.schema} LIKE '{STAGED}*'").collect()
            for name in (row["tableName"] for row in rows):
                number = re.fullmatch(rf"{STAGED}_(\d+)_\d+", name)
                if number is not None and int(number[1]) <= run:
                    self.spark.sql(f"DROP TABLE IF EXISTS {self.address.table(name)}")

    @contextmanager
    def removed_after(self) -> Iterator[None]:
        """Remove this run's tables at the end of the block, even if it fails."""
        try:
            yield
        finally:
            if self._is_used:
                self.remove_until(self.run)


def cache(rows: DataFrame, staging: Staging) -> DataFrame:
    """Cache rows for the run, at once: in memory, unless the session would lose some, or allows no way."""
    cached = checkpointed(rows) if is_on_one_machine(rows.sparkSession) else None
    return staging.keep(rows) if cached is None else cached
