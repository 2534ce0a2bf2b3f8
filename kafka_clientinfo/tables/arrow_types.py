"""Spark's column types as Arrow's, and rows that Python holds as a table of Arrow."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from .types import split_field, split_fields, split_type

TIMESTAMP = pa.timestamp("us", tz="UTC")
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


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_map(kind):  # pyarrow 14 takes no dicts
        values = [None if value is None else list(value.items()) for value in values]
    return pa.array(values, kind)
