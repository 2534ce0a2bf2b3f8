"""Converts rows in Python to relations by way of Arrow, and relations back to rows.

Spark 4 stores a table of Arrow in the plan. With a list of rows instead, every action on the relation would send the
rows through Python workers again.
"""

import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..tables.types import split_field, split_fields, split_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TIMESTAMP = pa.timestamp("us", tz="UTC")
_SECONDS = "decimal(20,6)"
"""The type to which times are cast before they are collected: seconds, to the microsecond."""
_TIME = re.compile(r"\btimestamp(?:_ntz|_ltz)?\b")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SCALARS = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": TIMESTAMP,
    "binary": pa.binary(),
}


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type of a Spark type; raises KeyError for one that no table declares."""
    word, parts = split_type(kind)
    if word == "array":
        return pa.list_(arrow_type(parts[0]))
    if word == "map":
        return pa.map_(arrow_type(parts[0]), arrow_type(parts[1]))
    if word == "struct":
        return pa.struct([pa.field(name, arrow_type(of)) for name, of in map(split_field, parts)])
    return _SCALARS[word]


def arrow_table(rows: Sequence[Sequence[Any]], ddl: str) -> pa.Table:
    """Make a table of rows with the columns of Spark's DDL, all nullable; structs are tuples or dicts."""
    fields = [pa.field(name, arrow_type(kind)) for name, kind in split_fields(ddl.replace(" NOT NULL", ""))]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    arrays = [_array(column, field.type) for column, field in zip(columns, fields, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def relation_of(spark: "SparkSession", rows: Sequence[Sequence[Any]], ddl: str) -> "DataFrame":
    """Make a relation of rows; see `arrow_table`."""
    takes_arrow = not str(sys.modules["pyspark"].__version__).startswith("3.")
    return spark.createDataFrame(arrow_table(rows, ddl) if takes_arrow else list(rows), ddl.replace(" NOT NULL", ""))


def collect(rows: "DataFrame") -> list[tuple[Any, ...]]:
    """Collect the rows of a relation: times in UTC, structs and maps as dicts, arrays as lists.

    PySpark returns times in this process's own zone, where one hour of the year has two meanings, and Spark Connect's
    client loses which one. So times are collected as numbers, also those inside structs and arrays.
    """
    from pyspark.sql import functions as F

    names = [f"c{number}" for number in range(len(rows.columns))]
    kinds = [field.dataType.simpleString() for field in rows.schema]
    times = [_TIME.search(kind) is not None for kind in kinds]
    shown = []
    for name, kind, has_time in zip(names, kinds, times, strict=True):
        column = F.col(name).cast("timestamp") if kind == "timestamp_ntz" else F.col(name)
        shown.append(column.cast(_TIME.sub(_SECONDS, kind)).alias(name) if has_time else column)
    return [tuple(map(_plain, row, times)) for row in rows.toDF(*names).select(*shown).collect()]


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


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_map(kind):  # pyarrow 14 takes no dicts
        values = [None if value is None else list(value.items()) for value in values]
    return pa.array(values, kind)
