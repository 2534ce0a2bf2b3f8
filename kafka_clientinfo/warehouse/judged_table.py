"""The table `judged_requests`: what a later run needs to know of the connections that may go on.

It holds the judged requests of each connection id's last connection, and the id's state (see `connections.judged`). Its
columns are those that the concerns' rules make of a request, so it is not declared in schemas/tables: the build that
derives everything makes the table, and others replace rows of it. Another release or other settings make it anew.

A build writes it before all derived tables. So if its last batch is not the last one that was built, a build was
interrupted, and any derived table may hold rows of it.
"""

from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ..spark.session_conf import may_set, set_for
from ..tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY
from . import ddl
from .address import Address
from .claims import CLAIM, Claims, last_metadata
from .commit import latest_version
from .replacement import of_other_keys, of_same_keys
from .stores import remove_half_made, unless_not_made
from .table_log import is_made

JUDGED = "judged_requests"
STATE = "state"
"""The column with what later requests need to know of a connection id's earlier ones; null in all rows but one."""
SMALL_BYTES = 16 << 20
"""A smaller table is written whole if rows are replaced; a larger one is merged into."""
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_KEY = (*CONNECTION_KEY, "seq")
_GONE = "__gone"


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

        def load() -> DataFrame:
            version = latest_version(self.spark, self._table, self._folder)
            return self.spark.sql(f"SELECT * FROM {self._table} VERSION AS OF {version}")

        return unless_not_made(self.address, JUDGED, load)

    def last_batch(self) -> str | None:
        """Return the batch id of the last write; None if the history has none."""
        return last_metadata(self.spark, self._table, lambda text: not text.startswith(CLAIM))

    def overwrite(self, rows: DataFrame, batch_id: str) -> None:
        """Write the whole table, in one commit; make it if it does not exist."""
        if self._folder is not None and self._folder.exists() and not is_made(self._folder):
            remove_half_made(self.address.location(JUDGED))
        options = {
            "userMetadata": batch_id,
            "overwriteSchema": "true",
            ddl.DELETION_VECTORS: "false",
            ddl.STATISTICS: ",".join(_KEY),
            **self._claims.options(JUDGED),
        }
        if not self.address.is_schema:
            rows.write.format("delta").mode("overwrite").options(**options).save(self.address.location(JUDGED))
            return
        writer = rows.writeTo(self._table).using("delta").options(**options)
        writer.tableProperty(ddl.DELETION_VECTORS, "false").createOrReplace()

    def replace(self, rows: DataFrame, batch_id: str) -> None:
        """Replace the rows of all connection ids that `rows` holds, in one commit."""
        stored = self._loaded()
        may_merge = may_set(self.spark, _METADATA, batch_id)  # a MERGE takes no writer's options
        if self._is_small() or not may_merge:
            others = of_other_keys(stored, rows, CONNECTION_ID_KEY)
            self.overwrite(others.unionByName(rows).coalesce(1), batch_id)
            return
        own = of_same_keys(stored, rows, CONNECTION_ID_KEY)
        gone = of_other_keys(own, rows, _KEY)
        columns = [f"`{name}`" for name in stored.columns]
        values = ", ".join(f"t.{name} = s.{name}" for name in columns)
        new = ", ".join(f"s.{name}" for name in columns)
        with ddl.named_view(self.spark, _marked(rows, gone=False).unionByName(_marked(gone, gone=True))) as view:
            self._command(
                f"MERGE INTO {self._table} AS t USING {view} AS s ON {ddl.same_key(_KEY)} "
                f"WHEN MATCHED AND s.`{_GONE}` THEN DELETE WHEN MATCHED THEN UPDATE SET {values} "
                f"WHEN NOT MATCHED THEN INSERT ({', '.join(columns)}) VALUES ({new})",
                batch_id,
            )

    def forget(self, before: datetime) -> None:
        """Delete the rows of connection ids without a request at an instant or later; a run does not read these."""
        stored = self.read()
        if stored is None:
            return
        old = stored.where(F.col(f"{STATE}.heard_until") < F.lit(before)).select(*CONNECTION_ID_KEY)
        with ddl.named_view(self.spark, old) as view, self._claims.command(JUDGED):
            same = ddl.same_key(CONNECTION_ID_KEY)
            self.spark.sql(
                f"MERGE INTO {self._table} AS t USING {view} AS s ON {same} WHEN MATCHED THEN DELETE"
            ).first()

    def _command(self, statement: str, batch_id: str) -> None:
        """Run a command on the table, with the batch id in its history."""
        with self._claims.command(JUDGED), set_for(self.spark, {_METADATA: batch_id}):
            self.spark.sql(statement).first()

    def _loaded(self) -> DataFrame:
        return self.spark.read.table(self._table)

    def _is_small(self) -> bool:
        detail = ddl.detail(self.spark, self._table)
        return detail is None or int(detail["sizeInBytes"]) < SMALL_BYTES


def _marked(rows: DataFrame, *, gone: bool) -> DataFrame:
    return rows.withColumn(_GONE, F.lit(gone))
