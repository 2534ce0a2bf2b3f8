"""Caches relations that a run reads more than once as tables, for sessions that may cache neither in memory nor on disk.

Staged tables are in `_staged/RUN/NUMBER` below the warehouse; in a schema they are called `_staged_RUN_NUMBER`. A run
removes its own when it ends. Leftovers of a killed run are removed by the next run that stages, or by `maintain`.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from ..spark.caching import cached_in_memory
from .address import Address
from .stores import folder_names, remove_folder

STAGED = "_staged"
_BEGAN = "%Y%m%d%H%M%S"


class Staging:
    """The staged relations of one run, as tables beside those of the warehouse.

    If they are on this machine and `private`, only their owner may read them: rows hold raw bytes of logs.
    """

    def __init__(self, spark: SparkSession, address: Address, private: bool = True) -> None:
        self.spark, self.address, self.private = spark, address, private
        self.folder = f"{address.root}/{STAGED}"
        self.run = f"{datetime.now(UTC):{_BEGAN}}_{uuid4().hex[:8]}"
        self._numbers = count()
        self._is_used = False

    def keep(self, rows: DataFrame) -> DataFrame:
        """Write rows to a new table and return the relation that reads it; call it under a lock or a claim."""
        number = next(self._numbers)
        if not self._is_used:
            self._is_used = True
            if self.private and self.address.folder is not None:
                (self.address.folder / STAGED).mkdir(mode=0o700, parents=True, exist_ok=True)
            self.remove_leftovers(datetime.now(UTC))
        if self.address.is_schema:
            table = self.address.table(f"{STAGED}_{self.run}_{number}")
            rows.write.format("delta").saveAsTable(table)
            return self.spark.read.table(table)
        path = f"{self.folder}/{self.run}/{number}"
        rows.write.format("delta").save(path)
        return self.spark.read.format("delta").load(path)

    def remove_leftovers(self, before: datetime) -> None:
        """Remove tables of runs that began before an instant. Best effort: leftovers only take room."""
        for run in (
            {name.rpartition("_")[0] for name in self._tables()}
            if self.address.is_schema
            else folder_names(self.folder)
        ):
            with suppress(ValueError):  # a folder that no run made
                began = datetime.strptime(run.partition("_")[0], _BEGAN).replace(tzinfo=UTC)
                if run != self.run and began <= before:
                    self._remove(run)

    @contextmanager
    def removed_after(self) -> Iterator[None]:
        """Remove this run's tables at the end of the block, even if it fails."""
        try:
            yield
        finally:
            if self._is_used:
                self._remove(self.run)

    def _tables(self) -> list[str]:
        """Return RUN_NUMBER of the tables that are staged in the schema."""
        with suppress(Exception):
            rows = self.spark.sql(f"SHOW TABLES IN {self.address.schema} LIKE '{STAGED}*'").collect()
            return [row["tableName"].removeprefix(f"{STAGED}_") for row in rows]
        return []

    def _remove(self, run: str) -> None:
        """Remove the tables of a run."""
        if not self.address.is_schema:
            remove_folder(f"{self.folder}/{run}")
            return
        for name in self._tables():
            with suppress(Exception):
                if name.startswith(f"{run}_"):
                    self.spark.sql(f"DROP TABLE IF EXISTS {self.address.table(f'{STAGED}_{name}')}")


def cache(rows: DataFrame, staging: Staging) -> DataFrame:
    """Cache rows for the run: persisted rows are computed at first use, checkpointed or staged ones at once."""
    cached = cached_in_memory(rows)
    return staging.keep(rows) if cached is None else cached
