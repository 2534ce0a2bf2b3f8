"""Claims keep concurrent runs apart where the storage has no locks: only the newest claim may commit.

A run claims the warehouse before it writes: it commits nothing to `ingested_files`, under a number one step above the
version of that table that it saw when it began, and then to every table that runs append to. Delta keeps the highest
number per application and table (`txnAppId`, `txnVersion`) and passes over a commit whose number is not above it, in
the same atomic step that orders commits. So of two runs that saw the same version one claims, and the other is
refused; a run that is overtaken, such as one that its scheduler took for dead, commits nothing more to a table that
the later run has claimed or written; and a commit that is tried again is made once.

Who may commit when:

    state      | since                                        | ingested_files          | other tables
    -----------|----------------------------------------------|-------------------------|--------------------------------
    reading    | the version of ingested_files was noted      | only its claim          | nothing
    holding    | its claim is the next version                | numbered commits        | numbered commits
    overtaken  | another run's claim on ingested_files stands | nothing: passed over    | passed over in tables that the
               |                                              |                         | other run claimed or wrote
    locked     | always, where a real lock is held            | commits without number  | commits without number

SQL takes no writer's options, so the session's conf gives a MERGE or DELETE its number. Where that may not be set
(serverless compute), the run looks at the newest claim before the command instead.

A run that is overtaken may still commit to a table that the later run has not written yet. None of that counts: rows
count once `ingested_files` holds their file, derived tables are written anew by the later run, and the state is
written only after a look at the newest claim.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from uuid import uuid4

from pyspark.sql import SparkSession

from ..address import Address
from ..errors import WarehouseError
from .abilities import at_once
from .sizing import set_for
from .sql import history
from .state import LEDGER

APPLICATION = "kafka_clientinfo"
"""Delta's `txnAppId` of all numbered commits."""
CLAIM = "claim "
"""How the `userMetadata` of a claim's commits begin."""
_STEP = 1_000_000
"""Numbers of one claim: more than a run commits to a table."""
_RECENT = 20
# What Delta calls a commit that another writer was ahead of; Spark Connect has no class for it.
_CONFLICTS = ("Concurrent", "CONCURRENT")


class Claims:
    """The right of one run to commit; where a real lock is held (`locked`), every method does nothing."""

    def __init__(self, spark: SparkSession, address: Address, locked: bool) -> None:
        self.spark, self.address, self.locked = spark, address, locked
        self.number: int | None = None
        self._seen: int | None = None
        self._token = CLAIM + uuid4().hex
        self._commits: Counter[str] = Counter()
        self._one_command = threading.Lock()

    def note_version(self) -> None:
        """Take this before reading: the claim fails if another run has committed since."""
        if not self.locked:
            self._seen = int(history(self.spark, self.address.table(LEDGER), 1)[0]["version"])

    def claim(self, names: Iterable[str]) -> None:
        """Refuse what other runs still have under way, in `ingested_files` and in these tables, which exist.

        Raises:
            WarehouseError: another run has claimed or written since the version was noted.
        """
        if self._seen is None:
            self.note_version()
        assert self._seen is not None
        number = (self._seen + 1) * _STEP
        self._commit_nothing(LEDGER, number)
        commits = history(self.spark, self.address.table(LEDGER), _RECENT)
        if (self._seen + 1, self._token) not in [(row["version"], row["userMetadata"]) for row in commits]:
            raise self._overtaken()
        at_once(lambda name: self._commit_nothing(name, number), names)
        self.number = number

    def check(self) -> None:
        """Make sure that what this run has committed since its claim stands.

        Raises:
            WarehouseError: another run has claimed the warehouse since.
        """
        if self.number is None:
            return
        if last_metadata(self.spark, self.address.table(LEDGER), lambda text: text.startswith(CLAIM)) != self._token:
            raise self._overtaken()

    def options(self, name: str) -> Mapping[str, str]:
        """A writer's options for this run's next commit to a table; none without a claim."""
        if self.number is None:
            return {}
        self._commits[name] += 1
        return {"txnAppId": APPLICATION, "txnVersion": str(self.number + self._commits[name])}

    @contextmanager
    def command(self, name: str) -> Iterator[None]:
        """Number the MERGE or DELETE in here; SQL takes no options, so the session carries them, one at a time."""
        if self.number is None:
            yield
            return
        with self._one_command, ExitStack() as numbered:
            conf = {f"spark.databricks.delta.write.{key}": value for key, value in self.options(name).items()}
            try:
                numbered.enter_context(set_for(self.spark, conf))
            except Exception:  # a session that lets no such entry be set: Delta does not compare the command's number
                self.check()
            yield

    def _commit_nothing(self, name: str, number: int) -> None:
        table = self.address.table(name)
        nothing = self.spark.read.table(table).where("false").writeTo(table)
        numbered = nothing.options(txnAppId=APPLICATION, txnVersion=str(number), userMetadata=self._token)
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


def last_metadata(spark: SparkSession, table: str, wanted: Callable[[str], bool]) -> str | None:
    """The newest `userMetadata` of a table's commits that is wanted; None where its history has none."""
    for limit in (_RECENT, None):  # a history is long, and the wanted commit is mostly near its end
        texts = (row["userMetadata"] for row in history(spark, table, limit))
        if (found := next((text for text in texts if text is not None and wanted(text)), None)) is not None:
            return str(found)
    return None
