"""Answers questions about a warehouse with Spark, wherever its tables are stored."""

from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession

from ..spark.arrow_rows import collect
from ..spark.failures import failure_message
from ..spark.session_conf import REQUEST_BYTES, sized
from ..tables.views import is_view, query_of
from ..warehouse import ddl
from ..warehouse.creation import store_view
from ..warehouse.reading import Reader
from ..warehouse.state import State, read_state
from ..warehouse.table_layout import TableLayout, layout_of
from ..warehouse.warehouse import Warehouse
from .queries import Parameters, Rows, TableSize, bind


class SparkTables:
    """The tables of a warehouse, read by a session with Delta: a `StoredTables`."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._lake = Reader(spark, root)
        self._spark = spark
        self.root = self._lake.root

    def exists(self, name: str) -> bool:
        return is_view(name) or self._lake.exists(name)

    def state(self) -> State | None:
        return read_state(self._spark, self._lake.address)

    def layout(self, name: str) -> TableLayout | None:
        return layout_of(self._spark, self._lake.address, name)

    def size(self, name: str) -> TableSize:
        detail = ddl.detail(self._spark, self._lake.address, name)
        files, size = (0, 0) if detail is None else (int(detail["numFiles"]), int(detail["sizeInBytes"]))
        return TableSize(self._lake.read(name).count(), files, size)

    def query(self, statement: str, parameters: Parameters | None = None) -> Rows:
        text, _ = bind(statement, parameters, self._lake.relation, lambda _, value: _literal(value))
        with sized(self._spark, self._lake.state.rows.get("requests", 0) * REQUEST_BYTES):
            rows = self._spark.sql(text)
            return Rows(tuple(rows.columns), collect(rows))

    def relation(self, name: str) -> DataFrame:
        return self._spark.sql(bind(query_of(name), None, self._lake.relation)[0])


def store_views(lake: Warehouse, names: Iterable[str]) -> dict[str, str]:
    """Store views as Delta tables beside the others, whole; return per view that could not be stored, the reason."""
    failed = {}
    for name in names:
        try:
            rows = SparkTables(lake.spark, lake.root).relation(name)
            store_view(lake.address, name, rows.coalesce(1) if lake.one_file else rows)
        except Exception as error:
            failed[name] = failure_message(error, lake.root)
    return failed


def _literal(value: str | int) -> str:
    """Return SQL for a value; for a text its bytes, so that no character ends it, whatever escapes the session uses.

    `spark.sql(…, args)` does not work here: in a session whose SQL Delta parses, parameters stay unbound.
    """
    return str(value) if isinstance(value, int) else f"CAST(X'{value.encode().hex()}' AS STRING)"
