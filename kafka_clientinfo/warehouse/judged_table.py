"""The table `judged_requests`: what a later run needs to know of the connections that may go on.

It holds the judged requests of each connection id's last connection, and the id's state (see `connections.judged`). Its
columns are those that the concerns' rules make of a request, so it is not declared in schemas/tables: the build that
derives everything makes the table, and others replace rows of it. Another release or other settings make it anew.
"""

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from ..tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY
from . import ddl
from .replacement import REPLACE, changes, of_other_keys
from .table_log import clear

if TYPE_CHECKING:
    from .warehouse import Warehouse

JUDGED = "judged_requests"
_KEY = (*CONNECTION_KEY, "seq")


class JudgedTable:
    def __init__(self, lake: "Warehouse") -> None:
        self._lake = lake

    def read(self) -> DataFrame | None:
        return ddl.snapshot(self._lake.spark, self._lake.address, JUDGED) if self._lake.exists(JUDGED) else None

    def overwrite(self, rows: DataFrame) -> None:
        """Write the whole table, in one commit; make it if it does not exist."""
        self._lake.claim()
        if (folder := self._lake.folder(JUDGED)) is not None:
            clear(folder)
        properties = {ddl.STATISTICS: ",".join(_KEY)}
        ddl.write_anew(rows, self._lake.address, JUDGED, properties, self._lake.claims.options(JUDGED))

    def append(self, rows: DataFrame) -> None:
        self._lake.claim()
        ddl.write(rows, self._lake.address, JUDGED, None, self._lake.claims.options(JUDGED))

    def replace(self, rows: DataFrame, ids: DataFrame | None = None) -> None:
        """Replace the rows of some connection ids, by default all that `rows` holds, in one commit."""
        ids, stored = rows if ids is None else ids, self._lake.spark.read.table(self._lake.address.table(JUDGED))
        if self._lake.is_small(JUDGED):
            self.overwrite(of_other_keys(stored, ids, CONNECTION_ID_KEY).unionByName(rows).coalesce(1))
        else:
            self._lake.merge(JUDGED, changes(stored, rows, ids, CONNECTION_ID_KEY, _KEY), _KEY, REPLACE)

    def delete(self, ids: DataFrame) -> None:
        if (stored := self.read()) is not None:
            self.replace(stored.where("false"), ids)
