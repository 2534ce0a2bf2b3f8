"""The table `judged_requests`: what a later run needs to know of the connections that may go on.

It holds the judged requests of each connection id's last connection, and the id's state (see `connections.judged`). Its
columns are those that the concerns' rules make of a request, so it is not declared in schemas/tables: the build that
derives everything makes the table, and others replace rows of it. Another release or other settings make it anew.

A build writes it before all derived tables. So if its last batch is not the last one that was built, a build was
interrupted, and any derived table may hold rows of it.
"""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..connections.boundaries import STATE
from ..connections.texts import of_other_keys, of_same_keys
from ..spark.session_conf import may_set, set_for
from ..tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY
from ..tables.types import sql_time
from . import ddl
from .address import Address
from .claims import Claims
from .commit import snapshot, write
from .replacement import REPLACE, merge, with_tombstones
from .stores import remove_half_made, unless_not_made
from .table_log import is_made

JUDGED = "judged_requests"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_LAST_BUILD = "kafka_clientinfo.last_build"
_LEAVES_ROWS = frozenset(
    {"OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "UPGRADE PROTOCOL", "REORG"}
)
"""Operations, as Delta's history names them, that leave a table's rows as they are."""
_KEY = (*CONNECTION_KEY, "seq")
_UNTIL = ", until "
"""Separates the two parts of a batch id."""


class Build(NamedTuple):
    """The build that wrote the table: its release and settings, and the time of ingestion up to which it built."""

    made_with: str
    until: str


class JudgedTable:
    """The table of one warehouse.

    Args:
        spark: a session with Delta.
        address: the address of the warehouse.
        claims: the claims of the run.
        folder: the table's folder if it is on this machine and no other run writes there.
    """

    def __init__(self, spark: SparkSession, address: Address, claims: Claims, folder: Path | None) -> None:
        self.spark, self.address, self._claims, self._folder = spark, address, claims, folder
        self._table = address.table(JUDGED)

    def read(self) -> DataFrame | None:
        """Return the table as it is now, so that later writes do not change the result; None if it does not exist."""
        if self._folder is not None and not is_made(self._folder):
            return None

        def load() -> DataFrame | None:
            # Delta says of a missing path that it is no table when asked for a history, as of a folder of other files.
            if self._folder is None and ddl.detail(self.spark, self._table) is None:
                return None
            return snapshot(self.spark, self._table, self._folder)

        return unless_not_made(self.address, JUDGED, load)

    def last_build(self) -> Build | None:
        """Return the build that wrote the table last; None if there is no table, or somebody else has changed its rows."""
        exists = self.read() is not None if self._folder is None else is_made(self._folder)
        if not exists:
            return None
        for commit in ddl.commits(self.spark, self._table, self._folder):
            if _UNTIL in (commit["userMetadata"] or ""):
                return Build(*commit["userMetadata"].rsplit(_UNTIL, 1))
            if commit["operation"] not in _LEAVES_ROWS:
                return None
        return None

    def overwrite(self, rows: DataFrame, build: Build) -> None:
        """Write the whole table, in one commit; make it if it does not exist."""
        if self._folder is not None and self._folder.exists() and not is_made(self._folder):
            remove_half_made(self.address.location(JUDGED))
        properties = {ddl.DELETION_VECTORS: "false", ddl.STATISTICS: ",".join(_KEY)}
        options = {"userMetadata": _UNTIL.join(build), **self._claims.options(JUDGED)}
        if not self.address.is_schema:
            writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
            writer.options(**options, **properties).save(self.address.location(JUDGED))
            return
        by_name = rows.writeTo(self._table).using("delta").options(**options)
        for key, value in properties.items():
            by_name = by_name.tableProperty(key, value)
        by_name.createOrReplace()

    def append(self, rows: DataFrame, build: Build) -> None:
        """Add the rows of connection ids of which there are none, in one commit."""
        options = {"userMetadata": _UNTIL.join(build), **self._claims.options(JUDGED)}
        write(rows, self.address, JUDGED, "append", options)

    def replace(self, rows: DataFrame, build: Build) -> None:
        """Replace the rows of all connection ids that `rows` holds, in one commit."""
        stored = self.spark.read.table(self._table)
        if self._is_written_whole(build):
            others = of_other_keys(stored, rows, CONNECTION_ID_KEY)
            self.overwrite(others.unionByName(rows).coalesce(1), build)
            return
        gone = of_other_keys(of_same_keys(stored, rows, CONNECTION_ID_KEY), rows, _KEY)
        self._merge(with_tombstones(rows, gone), merge(self._table, "{view}", rows.columns, _KEY, REPLACE), build)

    def _is_written_whole(self, build: Build) -> bool:
        """Return whether to overwrite the table: if it is small, or if a MERGE cannot record its build."""
        return ddl.is_small(self.spark, self._table) or not may_set(self.spark, _METADATA, _UNTIL.join(build))

    def _merge(self, source: DataFrame, statement: str, build: Build) -> None:
        with (
            ddl.named_view(self.spark, source) as view,
            self._claims.command(JUDGED),
            set_for(self.spark, {_METADATA: _UNTIL.join(build)}),  # a MERGE takes no writer's options
        ):
            row = self.spark.sql(statement.replace("{view}", view)).first()
            if row is None or not row["num_affected_rows"]:  # Delta makes no commit of it
                ddl.set_properties(self.spark, self._table, {_LAST_BUILD: _UNTIL.join(build)})

    def forget(self, before: datetime) -> None:
        """Delete the rows of connection ids without a request at an instant or later; a run does not read these."""
        build = self.last_build()
        if build is not None:
            self._delete(F.col(f"{STATE}.heard_until") < F.lit(before), build)

    def forget_cluster(self, cluster: str, before: datetime | None, after: datetime | None) -> None:
        """Delete the rows of a cluster; `before` and `after` are the times up to which all tables were and are built."""
        build = self.last_build()
        if build is None:
            return
        if before is not None and after is not None and build.until == sql_time(before):
            build = build._replace(until=sql_time(after))
        self._delete(F.col("cluster") == F.lit(cluster), build)

    def _delete(self, condition: Column, build: Build) -> None:
        """Delete the rows of connection ids that meet a condition, which holds for all rows of an id or for none."""
        stored = self.spark.read.table(self._table)
        old = stored.where(condition).select(*CONNECTION_ID_KEY)
        if self._is_written_whole(build):
            self.overwrite(of_other_keys(stored, old, CONNECTION_ID_KEY).coalesce(1), build)
            return
        same = ddl.same_key(CONNECTION_ID_KEY)
        self._merge(old, f"MERGE INTO {self._table} AS t USING {{view}} AS s ON {same} WHEN MATCHED THEN DELETE", build)
