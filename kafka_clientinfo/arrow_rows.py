"""Makes relations of rows that Python holds, by way of Arrow, and gives the rows of relations back.

Spark 4 keeps a table of Arrow's in the plan. With a list of rows, every action on the relation would send the rows through
Python workers again.
"""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .tables.types import split_field, split_fields, split_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TIMESTAMP = pa.timestamp("us", tz="UTC")
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
    which one. So a column of times is asked for as a number.
    """
    from pyspark.sql import functions as F

    places = [f"c{place}" for place in range(len(found.columns))]
    times = [field.dataType.typeName() in ("timestamp", "timestamp_ntz") for field in found.schema]
    shown = (
        F.unix_micros(F.col(place).cast("timestamp")).alias(place) if is_time else F.col(place)
        for place, is_time in zip(places, times, strict=True)
    )
    return [tuple(map(_plain, row, times)) for row in found.toDF(*places).select(*shown).collect()]


def _plain(value: Any, is_time: bool = False) -> Any:
    if is_time and value is not None:
        return _EPOCH + timedelta(microseconds=value)
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return bytes(value) if isinstance(value, bytearray) else value


def _nullable(ddl: str) -> str:
    return ddl.replace(" NOT NULL", "")


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_map(kind):  # pyarrow 14 takes no dicts
        values = [None if value is None else list(value.items()) for value in values]
    return pa.array(values, kind)
