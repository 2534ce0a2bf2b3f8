"""The table `judged_requests`: what a later run needs to know of the connections that may go on.

It holds the judged requests of each connection id's last connection, and the id's state (see `connections.judged`). Its
columns are those that the concerns' rules make of a request, so it is not declared in schemas/tables: the build that
derives everything makes the table, and others replace rows of it. Another release or other settings make it anew.
"""

from datetime import datetime
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..connections.boundaries import STATE
from ..connections.texts import of_other_keys, of_same_keys
from ..tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY
from . import ddl
from .address import Address
from .claims import Claims
from .commit import snapshot, write
from .replacement import REPLACE, merge, with_tombstones
from .stores import set_aside
from .table_log import is_made

JUDGED = "judged_requests"
_KEY = (*CONNECTION_KEY, "seq")


class JudgedTable:
    """The table of one warehouse; `folder` is where it is if that is on this machine and no other run writes there."""

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

        return ddl.unless_not_made(self.address, JUDGED, load)

    def overwrite(self, rows: DataFrame) -> None:
        """Write the whole table, in one commit; make it if it does not exist."""
        if self._folder is not None and not is_made(self._folder):
            set_aside(self._folder)
        properties = {ddl.DELETION_VECTORS: "false", ddl.STATISTICS: ",".join(_KEY)}
        options = self._claims.options(JUDGED)
        if not self.address.is_schema:
            writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
            writer.options(**options, **properties).save(self.address.location(JUDGED))
            return
        by_name = rows.writeTo(self._table).using("delta").options(**options)
        for key, value in properties.items():
            by_name = by_name.tableProperty(key, value)
        by_name.createOrReplace()

    def append(self, rows: DataFrame) -> None:
        """Add the rows of connection ids of which there are none, in one commit."""
        write(rows, self.address, JUDGED, "append", self._claims.options(JUDGED))

    def replace(self, rows: DataFrame) -> None:
        """Replace the rows of all connection ids that `rows` holds, in one commit."""
        self._replace(rows, rows)

    def _replace(self, ids: DataFrame, rows: DataFrame) -> None:
        """Put rows in the place of all rows of some connection ids."""
        stored = self.spark.read.table(self._table)
        if ddl.is_small(self.spark, self._table):
            self.overwrite(of_other_keys(stored, ids, CONNECTION_ID_KEY).unionByName(rows).coalesce(1))
            return
        gone = of_other_keys(of_same_keys(stored, ids, CONNECTION_ID_KEY), rows, _KEY)
        with ddl.named_view(self.spark, with_tombstones(rows, gone)) as view, self._claims.command(JUDGED):
            self.spark.sql(merge(self._table, view, rows.columns, _KEY, REPLACE))

    def forget(self, before: datetime) -> None:
        """Delete the rows of connection ids without a request at an instant or later; a run does not read these."""
        self._delete(F.col(f"{STATE}.heard_until") < F.lit(before))

    def forget_cluster(self, cluster: str) -> None:
        """Delete the rows of a cluster."""
        self._delete(F.col("cluster") == F.lit(cluster))

    def _delete(self, condition: Column) -> None:
        """Delete the rows of connection ids of which a row meets a condition."""
        if (stored := self.read()) is not None:
            self._replace(stored.where(condition), stored.where("false"))
