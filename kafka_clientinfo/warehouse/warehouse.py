"""The Delta tables of one warehouse, and the ways to write them.

A run opens the warehouse once, before it reads, and takes back what runs left that did not end. Each of its writes is one
commit; they count once it has appended its row to `runs`, which is its last.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from platform import node
from threading import Lock
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .. import __version__
from ..config.settings import Settings
from ..errors import WarehouseError
from ..spark.arrow_rows import relation_of
from ..spark.features import at_once
from ..spark.session_conf import own_session, sized
from ..tables.spec import CONNECTION_KEY, RUN, RUNS, TableSpec
from ..tables.types import sql_time
from . import ddl, replacement
from .claims import Claims
from .creation import close_folder, make_schema, make_table
from .judged_table import JUDGED, JudgedTable
from .locks import exclusive
from .reading import Reader
from .repair import mend, migrate, refuse_damaged, take_back
from .stages import Stages
from .staging import Staging
from .state import State, read_state
from .table_log import clear


class Warehouse(Reader):
    """Delta tables, one per declared table, in a folder or in a schema of a catalog, which a run writes.

    If it is `private` and on this machine, only the owner may read tables with raw bytes of logs. `after_kill` says whether the
    run before was killed; `has_written`, whether this one has written what does not count yet; and `one_file`, whether each write
    makes one file, for runs of few bytes, as each task costs 50–100 ms.
    """

    def __init__(
        self,
        spark: SparkSession,
        root: str | Path,
        specs: Mapping[str, TableSpec] | None = None,
        private: bool = True,
        after_kill: bool = False,
    ) -> None:
        super().__init__(spark, root, specs)
        self.one_file = self.has_written = False
        self._private, self._after_kill = private, after_kill
        self.staging = Staging(spark, self.address)
        self.claims = Claims(spark, self.address)
        self.judged = JudgedTable(self)
        self._claiming = Lock()
        self._rows: dict[str, int | None] = {}  # per table that this run has written; None if not known
        self._written: dict[str, int] = {}

    def open(self) -> State:
        """Read the state and choose the run's number, once per run; raise WarehouseError as `read_state`, `relation` and `refuse_damaged`."""
        refuse_damaged(self)
        if self.address.is_schema:
            make_schema(self.spark, self.address)
        claimed, _ = self.claims.newest()
        state = read_state(self.spark, self.address)
        if state is None and self.address.is_schema:
            at_once(self.relation, self.specs)  # raises if there are tables of others
        self._state = state or self._new_state
        self.claims.begin(self._state.run, claimed)
        self.staging.run = self.claims.number
        if self._after_kill and self.exists(RUNS):
            self.claims.fence([RUNS, *self._tables_to_fence()])
        return self._state

    def mend(self) -> None:
        """Take back what runs left that did not end, and bring the tables to the declarations of this release.

        Raises WarehouseError if something that can't be derived again is missing, or can't be brought back.
        """
        if self.exists(RUNS):
            take_back(self)
        if self.state != self._new_state:
            migrate(self)
            mend(self)

    def note(self, **changes: Any) -> None:
        """Change the state; `commit` stores it."""
        before, self._state = self.state, replace(self.state, **changes)
        self.has_written |= before != self._state

    def claim(self) -> None:
        """Keep other runs from committing, by a claim in `runs`; raise WarehouseError if another has claimed the warehouse since."""
        with self._claiming:
            self.has_written = True
            self._make(RUNS)  # the first of all tables: those beside it are this package's
            self.claims.claim(self._tables_to_fence)

    def _tables_to_fence(self) -> list[str]:
        self.create_missing(self.specs)  # else a run that has not ended could still make them
        return [*(name for name in self.specs if name != RUNS), *([JUDGED] if self.exists(JUDGED) else [])]

    def commit(self, report: Stages, settings: str, error: str | None = None) -> None:
        """Append this run's row to `runs`, by which all counts that it wrote; `error` is why it could not do more.

        Raises WarehouseError if another run has claimed the warehouse.
        """
        self.claim()
        number = self.claims.number
        row = (
            number, report.command, report.began, datetime.now(UTC), *report.amounts,
            self._written, report.seconds, __version__, settings, node(), error, self.state.as_json,
        )  # fmt: skip
        rows = relation_of(self.spark, [row], self.spec(RUNS).ddl).coalesce(1)
        ddl.write(rows, self.address, RUNS, None, self.claims.end())
        self.claims.check_ended()
        self._state = replace(self.state, run=number)
        self.has_written = False

    def rows(self, count: Callable[[str], int] | None = None) -> dict[str, int]:
        """Return rows per table but `runs` after this run's writes; unknown numbers are counted, by `count` if given.

        That of a table to which runs append is unknown if this run has not written it, as one that could not build stores none.
        """
        last_counts = {name: self.state.rows.get(name) for name, spec in self.specs.items() if spec.derived}
        counts = {name: {**last_counts, **self._rows}.get(name) for name in self.specs if name != RUNS}
        unknown = [name for name, number in counts.items() if number is None]
        counts |= dict(zip(unknown, at_once(count or (lambda name: self.read(name).count()), unknown), strict=True))
        return {name: number for name, number in counts.items() if number is not None}

    def create_missing(self, names: Iterable[str]) -> None:
        """Make tables that do not exist, empty and as declared."""
        at_once(self._make, names)

    def make_anew(self, name: str) -> None:
        """Make a table as declared, without rows, in the place of one that an earlier release declared otherwise."""
        with self.claims.command(name):
            self._make(name, replace=True)

    def append(self, name: str, rows: DataFrame, expected: int | None = None) -> None:
        """Append rows in the declared columns and types; raise WarehouseError if fewer or more than expected were written."""
        existed = self.exists(name)
        written = self._write(name, rows)
        if expected is not None and written is not None and written != expected:
            raise WarehouseError(
                f"{expected} rows were read for {self.address.location(name)} and {written} written: Spark read again what it had "
                "lost, and the log has changed since; run again, which takes these rows back first"
            )
        before = self._rows.get(name) if existed else 0
        self._rows[name] = None if written is None or before is None else before + written

    def overwrite(self, name: str, rows: DataFrame, where: str = "true") -> None:
        """Replace the rows that meet a condition in SQL, by default all, in one commit; the new rows meet it, too."""
        written = self._write(name, rows, where)
        self._rows[name] = written if where == "true" else None

    def replace_connections(
        self, name: str, rows: DataFrame, replaced: DataFrame | None, earliest: datetime | None
    ) -> None:
        """Replace the rows of connections by the recomputed ones, in one commit; `replaced` are the keys of all, None means all rows.

        A small table is written whole, which costs a fraction of a merge. For a large one, `earliest` is a time before
        which no replaced connection opened, or None.
        """
        spec = self.spec(name)
        if replaced is None or self._rows.get(name) == 0 or not self.exists(name):
            self.overwrite(name, rows)
            return
        stored, new = self.read(name), replacement.shaped(rows, spec)
        if self.is_small(name):
            self.overwrite(name, replacement.of_other_keys(stored, replaced, CONNECTION_KEY).unionByName(new))
            return
        bound = "true" if earliest is None else f"t.opened_at >= timestamp '{sql_time(earliest)}'"
        changes = replacement.changes(stored.alias("t").where(bound), new, replaced, CONNECTION_KEY, spec.key)
        self.merge(name, changes, spec.key, replacement.REPLACE, bound)

    def delete(self, name: str, condition: str) -> int:
        """Delete the rows that meet a condition in SQL; return their number."""
        return self.command(name, f"DELETE FROM {self.address.table(name)} WHERE {condition}")

    def delete_rows(self, name: str, keys: DataFrame, bound: str = "true") -> int:
        """Delete rows by the values of some columns, each combination at most once in `keys`; return their number.

        They all meet `bound`, a condition in SQL on `t` that lets Delta skip files.
        """
        return self.merge(name, keys, keys.columns, replacement.DELETE, bound)

    def merge(self, name: str, rows: DataFrame, key: Sequence[str], clauses: str, bound: str = "true") -> int:
        """Change a table by a MERGE of rows, in one commit, as `replacement.merge` says; return the number of rows that changed."""
        with ddl.named_view(self.spark, rows) as view:
            table = self.address.table(name)
            return self.command(name, replacement.merge(table, view, rows.columns, key, clauses, bound))

    def is_small(self, name: str) -> bool:
        """Return whether a table is so small, or missing, that it is written whole: by its rows if their number is known."""
        rows = self._rows.get(name, self.state.rows.get(name))
        if rows is not None:
            return rows * len(self.spec(name).columns) * ddl.BYTES_PER_VALUE < ddl.SMALL_TABLE_BYTES
        stored = ddl.detail(self.spark, self.address, name)
        return stored is None or int(stored["sizeInBytes"]) < ddl.SMALL_TABLE_BYTES

    def _make(self, name: str, rows: DataFrame | None = None, replace: bool = False) -> bool:
        """Make a table in one commit, with its first rows if there are any; return whether it did not exist, or was to be replaced."""
        spec = self.spec(name)
        if self._private:
            close_folder(self.address, spec)
        if self.exists(name) and not replace:
            return False
        folder = self.folder(name)  # on this machine; no other run makes it
        if folder is not None and clear(folder):
            replace = True
        if rows is None and not replace:
            make_table(self.spark, self.address, spec)
        else:
            first = self.spark.sql(ddl.no_rows(spec)) if rows is None else rows
            with ddl.named_view(self.spark, replacement.commented(first, spec)) as view:
                make_table(self.spark, self.address, spec, view, replace)
        if folder is not None:
            label = self.claims.label if self.claims.is_named else None
            self._rows[name] = 0 if rows is None else ddl.written_rows(self.spark, self.address, name, label)
        self._existing.add(name)
        return True

    def _write(self, name: str, rows: DataFrame, where: str | None = None) -> int | None:
        """Append rows, or replace those that meet a condition, in one commit; return the number of new rows if it is known."""
        self.claim()
        spec = self.spec(name)
        if spec.by_run and RUN not in rows.columns:
            rows = rows.withColumn(RUN, F.lit(self.claims.number))
        shaped = replacement.shaped(rows, spec)
        shaped = shaped.coalesce(1) if self.one_file else shaped
        # The statement that makes a table with its first rows can't name its commit itself; if it is killed, it leaves files
        # without a commit.
        with_rows = self.claims.is_named and self.folder(name) is not None
        if self._make(name, shaped if with_rows else None) and with_rows:
            written = self._rows.get(name)
        else:
            if self._rows.get(name) == 0:
                where = None  # nothing is there to replace, so Delta need not look
            ddl.write(shaped, self.address, name, where, self.claims.options(name))
            written = ddl.written_rows(self.spark, self.address, name, self.claims.label)
        self._written[name] = self._written.get(name, 0) + (written or 0)
        return written

    def command(self, name: str, statement: str) -> int:
        """Run a MERGE or DELETE; return the number of rows that it affected, none if there is no table."""
        self.claim()
        if not self.exists(name):
            return 0
        with self.claims.command(name):
            row = self.spark.sql(statement).first()
        self._rows[name] = None
        affected = 0 if row is None else int(row["num_affected_rows"])
        if name in self.specs:
            self._written[name] = self._written.get(name, 0) + affected
        return affected


@contextmanager
def opened(spark: SparkSession, root: str, settings: Settings, report: Stages) -> Iterator[Warehouse]:
    """Hold a warehouse for a run, in a session of its own, so that nobody else sees what it sets; commit if the block ends well.

    Raises WarehouseError as `exclusive`, `Warehouse.open` and `Warehouse.commit` do.
    """
    spark = own_session(spark)
    with exclusive(root, settings.lock_wait_seconds) as after_kill:
        tables = Warehouse(spark, root, private=settings.private_raw_bytes, after_kill=after_kill)
        with closing(tables.staging), ExitStack() as named:
            with sized(spark, 0), report.stage("prepare"):  # little work, until the amount is known
                tables.open()
                named.enter_context(tables.claims.named())
                tables.mend()
            with tables.claims.conflicts_named():
                yield tables
                if tables.has_written:
                    with sized(spark, 0):
                        tables.commit(report, settings.fingerprint())
