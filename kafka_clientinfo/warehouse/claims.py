"""Numbers the runs of a warehouse, and keeps concurrent runs apart where no lock can.

Each run has a number, one above all before it; docs/explanation/architecture.md ("A run is all or nothing") says what bears it.
On a folder of this machine the lock of `locks` lets one run at a time begin. Elsewhere (object stores, catalogs, Spark Connect)
a run claims its number by an empty commit to `runs`, under Delta's `txnAppId` and `txnVersion`: Delta keeps the highest version
per application and table, and refuses a commit under one that is not higher, in the same atomic step that orders commits. With
a lock there are no versions, which cost a job per table.

SQL takes no writer's options: the session's conf gives a MERGE or DELETE its version and name. Where it may not be set
(serverless compute), the run makes an empty commit to the table before the command, which bears both.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql import SparkSession

from ..errors import WarehouseError
from ..spark.features import at_once
from ..spark.session_conf import may_set, set_for
from ..tables.spec import RUNS
from . import ddl
from .address import Address

if TYPE_CHECKING:
    from pyspark.sql import Row

_APPLICATION = "kafka_clientinfo"
"""Delta's `txnAppId` of all commits of runs that are not alone."""
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
"""The entry of the session's conf that names its commits."""
_STEP = 1_000_000
"""Versions per run: more than its commits to one table."""
_CLAIM = re.compile(r"claim of run (\d+) by (\w+)")
_RUN = re.compile(r"run (\d+)")
_CONFLICT = re.compile(r"\(?(?:\[DELTA_CONCURRENT|[\w.]*Concurrent\w*Exception)")
"""The beginning of Delta's error for a commit that another writer got ahead of; later in it may be texts of clients."""


def first_unended(commits: "Iterable[Row | Mapping[str, Any]]", last: int) -> int | None:
    """Return the first version, among commits as `ddl.commits` yields them, of a run after the `last` one that ended, if any."""
    first = None
    for commit in commits:
        named = _RUN.fullmatch(commit["userMetadata"] or "")  # else no run made it, or only to claim its number
        if named is not None and int(named[1]) <= last:
            break
        first = first if named is None else int(commit["version"])
    return first


class Claims:
    """The number of one run, and its right to commit.

    Attributes:
        is_alone: whether the lock keeps other runs out, as warehouse and session are on this machine.
        has_unended: whether the run before this one has claimed a number and not ended.
        is_claimed: whether this run has claimed its number, or need not, as it is alone.
        is_named: whether the session's conf names all commits (`named`).
    """

    def __init__(self, spark: SparkSession, address: Address) -> None:
        self.spark, self.address = spark, address
        self.is_alone = ddl.log_folder(spark, address, RUNS) is not None
        self.number, self.has_unended, self.is_named = 0, False, False
        self.is_claimed = self.is_alone
        self._token = uuid4().hex
        self._commits: Counter[str] = Counter()
        self._one_command = threading.Lock()

    @property
    def label(self) -> str:
        return f"run {self.number}"

    def newest(self) -> tuple[int, str]:
        def ask() -> tuple[int, str] | None:
            commits = ddl.commits(self.spark, self.address, RUNS)
            claims = (_CLAIM.fullmatch(commit["userMetadata"] or "") for commit in commits)
            return next(((int(claim[1]), claim[2]) for claim in claims if claim is not None), None)

        return (None if self.is_alone else ddl.unless_missing(self.address, RUNS, ask)) or (0, "")

    def begin(self, last: int, claimed: int) -> None:
        """Choose the number after that of the last run that ended, and after the newest that was claimed.

        That must be read before `last`, so that a run which ends in between counts as ended.
        """
        self.number, self.has_unended = max(last, claimed) + 1, claimed > last

    def claim(self, tables: Callable[[], Iterable[str]]) -> None:
        """Claim the number in `runs`; if the run before has not ended, keep it from committing to the tables. Raises as `check`."""
        if not self.is_claimed:
            self._commit_nothing(RUNS)
            self.check()
            if self.has_unended:
                at_once(self._commit_nothing, tables())
            self.is_claimed = True

    def check(self) -> None:
        if not self.is_alone and self.newest() != (self.number, self._token):
            raise self._overtaken()

    def check_ended(self) -> None:
        """Raise WarehouseError if the row that this run has appended to `runs` is not there: Delta skips that of an overtaken run."""
        end, commits = f"end of {self.label}", ddl.commits(self.spark, self.address, RUNS)
        if not self.is_alone and all(one["userMetadata"] != end for one in commits):
            raise self._overtaken()

    def fence(self, tables: Iterable[str]) -> None:
        """Make commits to these tables fail that a killed run's JVM may have under way: Delta refuses one if properties have changed."""
        fence = f"SET TBLPROPERTIES {ddl.properties_list({'kafka_clientinfo.fence': self._token})}"
        at_once(lambda name: self.spark.sql(f"ALTER TABLE {self.address.table(name)} {fence}"), tables)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name all commits in the block by the session's conf, if it lets that be set."""
        self.is_named = may_set(self.spark, _METADATA, self.label)
        with set_for(self.spark, {_METADATA: self.label} if self.is_named else {}):
            yield

    def options(self, name: str) -> Mapping[str, str]:
        return {"userMetadata": self.label, **self._version(name)}

    def end(self) -> Mapping[str, str]:
        return {**self.options(RUNS), "userMetadata": f"end of {self.label}"}

    @contextmanager
    def command(self, name: str) -> Iterator[None]:
        """Give the MERGE or DELETE in the block name and version; where it needs a version, only one such block runs at a time."""
        version = self._version(name)
        if self.is_named and not version:  # nothing to set, so that several may run at once
            yield
            return
        conf = {f"spark.databricks.delta.write.{key}": value for key, value in version.items()}
        with self._one_command:
            if not self.is_named:
                self._commit_nothing(name, {"userMetadata": self.label, **version})
                conf = {}
                self.check()
            with set_for(self.spark, conf):
                yield

    def _version(self, name: str) -> dict[str, str]:
        if self.is_alone:
            return {}
        self._commits[name] += 1
        return {"txnAppId": _APPLICATION, "txnVersion": str(self.number * _STEP + self._commits[name])}

    def _commit_nothing(self, name: str, options: Mapping[str, str] | None = None) -> None:
        name_of_claim = f"claim of run {self.number} by {self._token}"
        claim = {"txnAppId": _APPLICATION, "txnVersion": str(self.number * _STEP), "userMetadata": name_of_claim}
        table = self.address.table(name)
        with self.conflicts_named():
            self.spark.read.table(table).where("false").writeTo(table).options(**(options or claim)).append()

    @contextmanager
    def conflicts_named(self) -> Iterator[None]:
        """Raise WarehouseError in the place of Delta's error for a commit that another run got ahead of."""
        try:
            yield
        except Exception as error:  # Spark Connect has no class for it
            if not self.is_alone and any(map(_CONFLICT.match, (type(error).__name__, str(error)))):
                raise self._overtaken() from error
            raise

    def _overtaken(self) -> WarehouseError:
        return WarehouseError(
            f"another run has written to {self.address.root} meanwhile; run again, one after the other"
        )
