"""Filters that the data source applies to its batches, so that Spark does not get the other rows."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

COLUMNS = ("logged_at", "api_key", "api_name", "api_version", "connection_id", "client_id", "cluster", "broker")
_COMPARED = {
    EqualTo: pc.equal,
    GreaterThan: pc.greater,
    GreaterThanOrEqual: pc.greater_equal,
    LessThan: pc.less,
    LessThanOrEqual: pc.less_equal,
}


def supported(filters: Iterable[Filter], schema: pa.Schema) -> Iterator[Filter]:
    """Yield the filters that `filtered` applies: on `COLUMNS`, by comparison with a value or some."""
    for one in filters:
        path: tuple[str, ...] = getattr(one, "attribute", ())
        is_compared = type(one) in _COMPARED or isinstance(one, (In, IsNotNull))
        if is_compared and path[1:] == () and set(path) <= set(COLUMNS) & set(schema.names):
            yield one


def filtered(batch: pa.RecordBatch, filters: Iterable[Filter]) -> pa.RecordBatch:
    """Return the rows for which all filters hold; a comparison with null holds for none."""
    for one in filters:
        batch = batch.filter(_mask(one, batch.column(one.attribute[0])), null_selection_behavior="drop")  # type: ignore[attr-defined]
    return batch


def _mask(one: Filter, column: pa.Array) -> pa.Array:
    if isinstance(one, IsNotNull):
        return pc.is_valid(column)
    if isinstance(one, In):
        return pc.is_in(column, value_set=pa.array([value for value in one.value if value is not None], column.type))
    return _COMPARED[type(one)](column, pa.scalar(one.value, column.type))  # type: ignore[attr-defined]
