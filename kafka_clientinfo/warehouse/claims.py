"""Claims keep concurrent runs apart if the storage has no locks: only the newest claim may commit.

A run claims the warehouse before it writes. To claim, it makes an empty commit to `ingested_files`, numbered one step
above the version of that table that it saw when it began, and then to every table that runs append to. Delta keeps the
highest number per application and table (`txnAppId`, `txnVersion`) and skips a commit with a number that is not higher,
in the same atomic step that orders commits. This has three effects:

- Of two runs that saw the same version, one claims and the other is refused.
- A run that is overtaken, for example because its scheduler took it for dead, commits nothing more to a table that the
  later run has claimed or written.
- A commit that is tried again is made once.

Who may commit when:

    state      | since                                        | ingested_files          | other tables
    -----------|----------------------------------------------|-------------------------|--------------------------------
    reading    | the version of ingested_files was noted      | only its claim          | nothing
    holding    | its claim is the next version                | numbered commits        | numbered commits
    overtaken  | another run's claim on ingested_files stands | nothing: passed over    | passed over in tables that the
               |                                              |                         | other run claimed or wrote
    locked     | always, if a real lock is held               | commits without number  | commits without number

SQL takes no writer's options, so the session's conf gives a MERGE or DELETE its number. If that entry may not be set
(serverless compute), the run checks the newest claim before the command instead.

A run that is overtaken may still commit to a table that the later run has not written yet. These rows have no effect:
rows count only after `ingested_files` holds their file, the later run writes derived tables again, and a run checks the
newest claim before it writes the state.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from ..errors import WarehouseError
from ..spark.features import at_once
from ..spark.session_conf import set_for
from .address import Address
from .ddl import RECENT, commits, history
from .state import LEDGER

APPLICATION = "kafka_clientinfo"
"""Delta's `txnAppId` of all numbered commits."""
CLAIM = "claim "
"""Prefix of the `userMetadata` of a claim's commits."""
_STEP = 1_000_000
"""Numbers per claim: more than the commits of a run to one table."""
# Delta's names for a commit that another writer got ahead of; Spark Connect has no class for it.
_CONFLICTS = ("Concurrent", "CONCURRENT")


class Claims:
    """The right of one run to commit; if a real lock is held (`locked`), every method does nothing."""

    def __init__(self, spark: SparkSession, address: Address, locked: bool) -> None:
        self.spark, self.address, self.locked = spark, address, locked
        self.number: int | None = None
        self._seen: int | None = None
        self._token = CLAIM + uuid4().hex
        self._commits: Counter[str] = Counter()
        self._one_command = threading.Lock()

    def note_version(self) -> None:
        """Note the newest version before this run reads: the claim fails if another run commits after it."""
        if not self.locked:
            self._seen = int(history(self.spark, self.address.table(LEDGER), 1)[0]["version"])

    def claim(self, names: Iterable[str]) -> None:
        """Fence other runs: their later commits to `ingested_files` and to these tables, which exist, fail.

        Raises:
            WarehouseError: another run has claimed or written since the version was noted.
        """
        if self._seen is None:
            self.note_version()
        assert self._seen is not None
        number = (self._seen + 1) * _STEP
        self._commit_nothing(LEDGER, number)
        recent = history(self.spark, self.address.table(LEDGER), RECENT)
        if (self._seen + 1, self._token) not in [(row["version"], row["userMetadata"]) for row in recent]:
            raise self._overtaken()
        at_once(lambda name: self._commit_nothing(name, number), names)
        self.number = number

    def check(self) -> None:
        """Check that no other run has claimed the warehouse, so that this run's commits stand.

        Raises:
            WarehouseError: another run has claimed the warehouse.
        """
        if self.number is None:
            return
        if last_metadata(self.spark, self.address.table(LEDGER), lambda text: text.startswith(CLAIM)) != self._token:
            raise self._overtaken()

    def options(self, name: str) -> Mapping[str, str]:
        """Return the writer's options for this run's next commit to a table; none without a claim."""
        if self.number is None:
            return {}
        self._commits[name] += 1
        return {"txnAppId": APPLICATION, "txnVersion": str(self.number + self._commits[name])}

    @contextmanager
    def command(self, name: str) -> Iterator[None]:
        """Number the MERGE or DELETE in the block through the session's conf; therefore only one block runs at a time.

        If the session refuses the entry, check the claim before the command.
        """
        if self.number is None:
            yield
            return
        with self._one_command, ExitStack() as numbered:
            conf = {f"spark.databricks.delta.write.{key}": value for key, value in self.options(name).items()}
            try:
                numbered.enter_context(set_for(self.spark, conf))
            except Exception:  # the session refuses the entry, so Delta does not check the command's number
                self.check()
            yield

    def _commit_nothing(self, name: str, number: int) -> None:
        """Append no rows under a number, after which Delta refuses commits with lower ones.

        Raises:
            WarehouseError: another writer was faster.
        """
        table = self.address.table(name)
        writer = self.spark.read.table(table).where("false").writeTo(table)
        numbered = writer.options(txnAppId=APPLICATION, txnVersion=str(number), userMetadata=self._token)
        try:
            numbered.append()
        except Exception as error:
            if any(sign in f"{type(error).__name__} {error}" for sign in _CONFLICTS):
                raise self._overtaken() from error
            raise

    def _overtaken(self) -> WarehouseError:
        return WarehouseError(
            f"another run has written to {self.address.root} meanwhile; run again, one after the other"
        )


def last_metadata(
    spark: SparkSession, table: str, wanted: Callable[[str], bool], folder: Path | None = None
) -> str | None:
    """Return the newest `userMetadata` of a table's commits that `wanted` accepts; None if its history has none."""
    texts = (commit["userMetadata"] for commit in commits(spark, table, folder))
    return next((str(text) for text in texts if text is not None and wanted(text)), None)
