"""Caches relations that a run reads more than once.

`kept` takes the first way that the session allows:

session                | way                            | why
-----------------------|--------------------------------|-----------------------------------------------------
on one machine         | local checkpoint               | the plan ends there: Spark plans later steps without
                       |                                | the steps that made these rows
on a cluster           | persisted in memory and on     | Spark computes lost rows again if an executor is lost;
                       | disk                           | it can't do that for a local checkpoint
on serverless compute  | staged: written to a table     | neither is allowed there
                       | beside those of the warehouse  |

Staged tables are in `_staged/RUN/NUMBER` below the warehouse; in a schema they are called `_staged_RUN_NUMBER`. A run
removes its own when it ends. Leftovers of a killed run are removed by the next run that stages, or by `maintain`.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from inspect import signature
from itertools import count
from uuid import uuid4

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from ..address import Address
from .abilities import conf_value
from .stores import folder_names, remove_folder

STAGED = "_staged"
_BEGAN = "%Y%m%d%H%M%S"
_REFUSALS = ("NOT_SUPPORTED", "not supported", "NOT_IMPLEMENTED")


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


def kept(rows: DataFrame, staging: Staging) -> DataFrame:
    """Cache rows for the run: persisted rows are computed at first use, checkpointed or staged ones at once."""
    cached = kept_in_memory(rows)
    return staging.keep(rows) if cached is None else cached


def kept_in_memory(rows: DataFrame) -> DataFrame | None:
    """Cache rows in memory, so that they are computed once; return None on serverless compute."""
    with _unless_refused():
        if is_on_one_machine(rows.sparkSession):
            return _checkpoint(rows)
    with _unless_refused():
        return rows.persist(StorageLevel.MEMORY_AND_DISK)
    return None


def is_on_one_machine(spark: SparkSession) -> bool:
    """Return whether the session is on one machine, where cached rows are never computed again."""
    return (conf_value(spark, "spark.master") or "").startswith("local")


def _checkpoint(rows: DataFrame) -> DataFrame:
    """Checkpoint rows: as compressed bytes if the session's serializer is Kryo, else as objects.

    Bytes take a sixth of the memory, and Java collects garbage faster beside a few arrays than beside millions of rows:
    with 3 GB of log in 5 s instead of 17. Java's serializer is too slow for that, and a checkpoint of Spark 3.5 takes
    no storage level.
    """
    is_kryo = (conf_value(rows.sparkSession, "spark.serializer") or "").endswith(".KryoSerializer")
    if is_kryo and "storageLevel" in signature(rows.localCheckpoint).parameters:
        # PySpark's levels all serialize, unlike Scala's of the same names; spark.rdd.compress compresses the bytes.
        return rows.localCheckpoint(storageLevel=StorageLevel.MEMORY_AND_DISK)
    return rows.localCheckpoint()


def release(*relations: DataFrame) -> None:
    """Release cached relations; Spark releases checkpoints itself when nothing refers to them."""
    for rows in relations:
        with _unless_refused():
            rows.unpersist()


@contextmanager
def _unless_refused() -> Iterator[None]:
    """Ignore the error of a session that does not allow the block."""
    try:
        yield
    except Exception as error:
        if not any(sign in str(error) for sign in _REFUSALS):
            raise
