"""Makes relations of rows that Python holds, by way of Arrow, and gives the rows of relations back.

Spark 4 keeps a table of Arrow's in the plan. With a list of rows, every action on the relation would send the rows through
Python workers again.
"""

import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .tables.types import split_field, split_fields, split_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

TIMESTAMP = pa.timestamp("us", tz="UTC")
_SECONDS = "decimal(20,6)"
"""The type as which times are asked for: seconds, to the microsecond."""
_TIME = re.compile(r"\btimestamp(?:_ntz|_ltz)?\b")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SCALARS = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": TIMESTAMP,
    "binary": pa.binary(),
}


def arrow_type(kind: str) -> pa.DataType:
    """Say a type of Spark's in Arrow's words; raises KeyError for one that no table declares."""
    word, parts = split_type(kind)
    if word == "array":
        return pa.list_(arrow_type(parts[0]))
    if word == "map":
        return pa.map_(arrow_type(parts[0]), arrow_type(parts[1]))
    if word == "struct":
        return pa.struct([pa.field(name, arrow_type(of)) for name, of in map(split_field, parts)])
    return _SCALARS[word]


def arrow_table(rows: Sequence[Sequence[Any]], ddl: str) -> pa.Table:
    """Make a table of rows.

    Args:
        rows: a value per column each; structs are tuples or dicts.
        ddl: the columns in Spark's words, `name type, …`; all are nullable.
    """
    fields = [pa.field(name, arrow_type(kind)) for name, kind in split_fields(_nullable(ddl))]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    arrays = [_array(column, field.type) for column, field in zip(columns, fields, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def relation_of(spark: "SparkSession", rows: Sequence[Sequence[Any]], ddl: str) -> "DataFrame":
    """Make a relation of rows; see `arrow_table`."""
    package = type(spark).__module__.partition(".")[0]
    if package != "pyspark":
        return spark.createDataFrame(arrow_table(rows, ddl))
    takes_arrow = not str(sys.modules[package].__version__).startswith("3.")
    return spark.createDataFrame(arrow_table(rows, ddl) if takes_arrow else list(rows), _nullable(ddl))


def collect(found: "DataFrame") -> list[tuple[Any, ...]]:
    """Collect the rows of a relation: times in UTC, structs and maps as dicts, arrays as lists.

    PySpark gives times in this process's own zone, where an hour of the year has two meanings; Spark Connect's client forgets
    which one. So times are asked for as numbers, those inside structs and arrays too.
    """
    from pyspark.sql import functions as F

    places = [f"c{place}" for place in range(len(found.columns))]
    kinds = [field.dataType.simpleString() for field in found.schema]
    times = [_TIME.search(kind) is not None for kind in kinds]
    shown = (
        _seconds(F.col(place), kind).alias(place) if has_time else F.col(place)
        for place, kind, has_time in zip(places, kinds, times, strict=True)
    )
    return [tuple(map(_plain, row, times)) for row in found.toDF(*places).select(*shown).collect()]


def _seconds(column: "Column", kind: str) -> "Column":
    """Cast the times in a column of this type to numbers."""
    column = column.cast("timestamp") if kind == "timestamp_ntz" else column
    return column.cast(_TIME.sub(_SECONDS, kind))


def _plain(value: Any, has_time: bool = False) -> Any:
    if has_time and isinstance(value, Decimal):
        return _EPOCH + timedelta(microseconds=int(value.scaleb(6)))
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, dict):
        return {key: _plain(item, has_time) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, has_time) for item in value]
    return bytes(value) if isinstance(value, bytearray) else value


def _nullable(ddl: str) -> str:
    return ddl.replace(" NOT NULL", "")


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_map(kind):  # pyarrow 14 takes no dicts
        values = [None if value is None else list(value.items()) for value in values]
    return pa.array(values, kind)
