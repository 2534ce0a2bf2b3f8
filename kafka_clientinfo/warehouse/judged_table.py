"""The table `judged_requests`: what a later run needs to know of the connections that may go on.

It holds the judged requests of each connection id's last connection, and the id's state (see `connections.judged`). Its
columns are those that the concerns' rules make of a request, so it is not declared in schemas/tables: the build that
derives everything makes the table, and others replace rows of it. Another release or other settings make it anew.
"""

from pyspark.sql import DataFrame, SparkSession

from ..tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY
from . import ddl
from .address import Address
from .claims import Claims
from .replacement import REPLACE, changes, merge, of_other_keys
from .table_log import clear, is_made

JUDGED = "judged_requests"
_KEY = (*CONNECTION_KEY, "seq")


class JudgedTable:
    """The table of one warehouse, for one run."""

    def __init__(self, spark: SparkSession, address: Address, claims: Claims) -> None:
        self.spark, self.address, self._claims = spark, address, claims
        self._table = address.table(JUDGED)
        self._folder = ddl.log_folder(spark, address, JUDGED)

    def exists(self) -> bool:
        """Return whether a build has made the table."""
        folder = self._folder
        return ddl.detail(self.spark, self.address, JUDGED) is not None if folder is None else is_made(folder)

    def read(self) -> DataFrame | None:
        """Return the table as it is now, so that later writes do not change the result; None if it does not exist."""
        return ddl.snapshot(self.spark, self.address, JUDGED) if self.exists() else None

    def overwrite(self, rows: DataFrame) -> None:
        """Write the whole table, in one commit; make it if it does not exist."""
        if self._folder is not None:
            clear(self._folder)
        properties = {ddl.STATISTICS: ",".join(_KEY)}
        ddl.write_anew(rows, self.address, JUDGED, properties, self._claims.options(JUDGED))

    def append(self, rows: DataFrame) -> None:
        """Add the rows of connection ids of which there are none, in one commit."""
        ddl.write(rows, self.address, JUDGED, None, self._claims.options(JUDGED))

    def replace(self, rows: DataFrame) -> None:
        """Replace the rows of all connection ids that `rows` holds, in one commit."""
        self._replace(rows, rows)

    def _replace(self, ids: DataFrame, rows: DataFrame) -> None:
        """Put rows in the place of all rows of some connection ids."""
        stored = self.spark.read.table(self._table)
        if ddl.is_small(self.spark, self.address, JUDGED):
            self.overwrite(of_other_keys(stored, ids, CONNECTION_ID_KEY).unionByName(rows).coalesce(1))
            return
        changed = changes(stored, rows, ids, CONNECTION_ID_KEY, _KEY)
        with ddl.named_view(self.spark, changed) as view, self._claims.command(JUDGED):
            self.spark.sql(merge(self._table, view, rows.columns, _KEY, REPLACE))

    def delete(self, ids: DataFrame) -> None:
        """Delete the rows of some connection ids."""
        if (stored := self.read()) is not None:
            self._replace(ids, stored.where("false"))
