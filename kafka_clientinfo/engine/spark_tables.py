"""Answers questions about a warehouse by Spark, wherever its tables lie."""

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from ..errors import WarehouseError
from . import sql
from .answers import Parameters, Rows, TableSize, names_in
from .layout import Layout, layout_of
from .sizing import REQUEST_BYTES, sized, utc
from .state import State, read_state
from .warehouse import Warehouse

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SparkTables:
    """The tables of a warehouse, read by a session.

    Args:
        spark: a session with Delta.
        root: folder or URI of the Delta tables, or catalog.schema.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        """Read nothing yet."""
        self._lake = Warehouse(spark, root)
        self._spark = spark
        self.root = self._lake.root

    def exists(self, name: str) -> bool:
        """Whether the table has been made."""
        return self._lake.exists(name)

    def state(self) -> State | None:
        """What the warehouse knows of itself, None where there is no warehouse; raises as `state_of` does."""
        return read_state(self._spark, self._lake.address)

    def layout(self, name: str) -> Layout:
        """The columns, constraints and properties of a table that exists."""
        found = layout_of(self._spark, self._lake.table(name))
        if found is None:
            raise WarehouseError(f"{self._lake.address.place(name)} is missing; `kafka-clientinfo build` makes it anew")
        return found

    def size(self, name: str) -> TableSize:
        """How large a table is that exists."""
        found = sql.detail(self._spark, self._lake.table(name))
        files, size = (0, 0) if found is None else (int(found["numFiles"]), int(found["sizeInBytes"]))
        return TableSize(self._lake.count(name), files, size)

    def query(self, statement: str, parameters: Parameters | None = None) -> Rows:
        """Answer SQL that names tables and parameters in braces; see `answers`.

        Raises:
            WarehouseError: when a table is not one of this release.
            pyspark.errors.AnalysisException: when the statement is wrong.
        """
        tables = {name: self._relation(name) for name in names_in(statement, self._lake.specs)}
        given = {name: (parameters or {})[name] for name in names_in(statement, parameters or {})}
        text = statement.format_map(tables | {name: _literal(value) for name, value in given.items()})
        with utc(self._spark), sized(self._spark, self._lake.state.rows.get("requests", 0) * REQUEST_BYTES):
            found = self._spark.sql(text)
            places = [f"c{place}" for place in range(len(found.columns))]
            times = {place for place, field in zip(places, found.schema, strict=True) if _is_time(field.dataType)}
            # Spark would hand times over in the driver's own zone, where an hour of the year has two meanings.
            shown = (F.unix_micros(F.col(p).cast("timestamp")).alias(p) if p in times else F.col(p) for p in places)
            rows = found.toDF(*places).select(*shown).collect()
        is_time = [place in times for place in places]
        return Rows(tuple(found.columns), [tuple(map(_value, row, is_time)) for row in rows])

    def _relation(self, name: str) -> str:
        self._lake.read(name)  # refuses one that is not of this release
        if self._lake.exists(name):
            return self._lake.table(name)
        return f"({sql.no_rows(self._lake.spec(name))})"


def _literal(value: str | int) -> str:
    """A value in SQL; a text by its bytes, in which no character can end it, whatever the session takes for an escape.

    Not left to `spark.sql(…, args)`: in a session whose SQL Delta parses, parameters stay unbound.
    """
    return str(value) if isinstance(value, int) else f"CAST(X'{value.encode().hex()}' AS STRING)"


def _is_time(kind: Any) -> bool:
    return kind.typeName() in ("timestamp", "timestamp_ntz")


def _value(value: Any, is_time: bool = False) -> Any:
    if is_time and value is not None:
        return _EPOCH + timedelta(microseconds=value)
    if isinstance(value, Row):
        value = value.asDict()
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, dict):
        return {key: _value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_value(item) for item in value]
    return bytes(value) if isinstance(value, bytearray) else value
