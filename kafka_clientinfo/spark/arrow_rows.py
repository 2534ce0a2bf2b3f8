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

from ..tables.arrow_types import arrow_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SECONDS = "decimal(20,6)"
"""The type to which times are cast before they are collected: seconds, to the microsecond."""
_TIME = re.compile(r"\btimestamp(?:_ntz|_ltz)?\b")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def relation_of(spark: "SparkSession", rows: Sequence[Sequence[Any]], ddl: str) -> "DataFrame":
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


def collect_by_name(rows: "DataFrame") -> list[dict[str, Any]]:
    """Collect the rows of a relation as `collect` does, each as a dict by the names of the columns."""
    names = rows.columns
    return [dict(zip(names, row, strict=True)) for row in collect(rows)]


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
