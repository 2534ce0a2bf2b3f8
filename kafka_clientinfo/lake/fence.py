"""Of runs that overlap on one warehouse, one commits: also where the storage has no locks, such as an object store.

Before a run writes, it claims the warehouse: it commits nothing to `ingested_files`, under a number one above the
table's version that it had seen, and then to each table that it reads into. Delta keeps the highest number per
application and table (`txnAppId`, `txnVersion`) and passes over a commit whose number is not above it, in the same
atomic step that orders commits. From that follows:

- Of two runs that have seen the same version, one claims; the other is told to run again.
- A run that is overtaken, such as one that its scheduler took for dead, commits nothing more to a table that the later
  run has claimed or written: each commit of a run is numbered from its claim. It cannot commit `ingested_files`, which
  is claimed first, so none of its rows count, and the later run deletes them.
- A commit that is tried again is made once.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import uuid4

from delta.exceptions import DeltaConcurrentModificationException
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from ..errors import WarehouseError
from .session_conf import set_for

APPLICATION = "kafka_clientinfo"
"""Delta's `txnAppId` of all numbered commits."""
CLAIM = "claim "
"""How the `userMetadata` of a claim's commits begin."""
_FIRST = "ingested_files"
_STEP = 1_000_000
"""Numbers of one claim: more than a run commits to a table."""
_RECENT = 20
_AT_ONCE = 3


class Fence:
    """The number of a run, and what follows from it.

    Args:
        spark: a session with Delta.
        path: where a table lies, by name.
    """

    def __init__(self, spark: SparkSession, path: Callable[[str], str]) -> None:
        """Claim nothing yet."""
        self.spark, self.path = spark, path
        self.claimed: int | None = None
        self._token = CLAIM + uuid4().hex
        self._commits: Counter[str] = Counter()
        self._one_command = threading.Lock()

    def version(self) -> int:
        """The version of `ingested_files`: what is read of it afterwards is as new, or newer."""
        return _history(self.spark, self.path(_FIRST), 1)[0][0]

    def claim(self, seen: int, names: Iterable[str] = ()) -> None:
        """Refuse what other runs still have under way, from here on.

        Args:
            seen: `version` before anything was read that this run goes by.
            names: other tables that this run adds rows to.

        Raises:
            WarehouseError: another run has claimed or written since `seen`.
        """
        number = (seen + 1) * _STEP
        self._commit_nothing(_FIRST, number)
        if (seen + 1, self._token) not in _history(self.spark, self.path(_FIRST), _RECENT):
            raise self._overtaken()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda name: self._commit_nothing(name, number), names))
        self.claimed = number

    def check(self) -> None:
        """Make sure that what this run has committed since its claim stands.

        Raises:
            WarehouseError: another run has claimed the warehouse since.
        """
        if self.claimed is None:
            return
        if last_said(self.spark, self.path(_FIRST), lambda said: said.startswith(CLAIM)) != self._token:
            raise self._overtaken()

    def options(self, name: str) -> Mapping[str, str]:
        """A writer's options for this run's next commit to a table; none without a claim."""
        if self.claimed is None:
            return {}
        self._commits[name] += 1
        return {"txnAppId": APPLICATION, "txnVersion": str(self.claimed + self._commits[name])}

    @contextmanager
    def command(self, name: str) -> Iterator[None]:
        """The same for a MERGE or DELETE in here, which takes no options: one at a time, as the session is told."""
        with self._one_command:
            conf = {f"spark.databricks.delta.write.{key}": value for key, value in self.options(name).items()}
            with set_for(self.spark, conf):
                yield

    def _commit_nothing(self, name: str, number: int) -> None:
        rows = self.spark.read.format("delta").load(self.path(name))
        nothing = rows.where("false").write.format("delta").mode("append")
        numbered = nothing.option("txnAppId", APPLICATION).option("txnVersion", number)
        try:
            numbered.option("userMetadata", self._token).save(self.path(name))
        except DeltaConcurrentModificationException as error:
            raise self._overtaken() from error

    def _overtaken(self) -> WarehouseError:
        root = self.path(_FIRST).rpartition("/")[0]
        return WarehouseError(f"another run has written to {root} meanwhile; run again, one after the other")


def last_said(spark: SparkSession, path: str, wanted: Callable[[str], bool]) -> str | None:
    """The `userMetadata` of a table's newest commit that has the wanted one; None where its history has none."""
    for limit in (_RECENT, None):  # a history is long, and what is asked for stands at its end
        found = [said for _, said in _history(spark, path, limit) if said is not None and wanted(said)]
        if found:
            return found[0]
    return None


def rows_written(spark: SparkSession, path: str, said: str) -> int | None:
    """How many rows a table's newest commit has written; None where that is not the one with this `userMetadata`."""
    row = DeltaTable.forPath(spark, path).history(1).select("userMetadata", "operationMetrics").first()
    if row is None or row["userMetadata"] != said:
        return None
    number = row["operationMetrics"].get("numOutputRows")
    return None if number is None else int(number)


def _history(spark: SparkSession, path: str, limit: int | None) -> list[tuple[int, str | None]]:
    """Version and `userMetadata` of a table's commits, the newest first."""
    commits = DeltaTable.forPath(spark, path).history(limit).select("version", "userMetadata")
    return sorted(((int(row[0]), row[1]) for row in commits.collect()), reverse=True, key=lambda commit: commit[0])
