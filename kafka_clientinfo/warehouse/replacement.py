"""The rows of a large table after rows of it were replaced or deleted, as a MERGE; small tables are written whole.

Rows of replaced connections that the new rows do not have are deleted by tombstones.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..tables.spec import TableSpec

_TOMBSTONE = "__gone"
REPLACE = (
    f"WHEN MATCHED AND s.`{_TOMBSTONE}` THEN DELETE WHEN MATCHED THEN UPDATE SET {{values}} "
    f"WHEN NOT MATCHED AND NOT s.`{_TOMBSTONE}` THEN INSERT ({{columns}}) VALUES ({{new}})"
)
"""What a MERGE does with the rows of `changes`."""
DELETE = "WHEN MATCHED THEN DELETE"


def of_same_keys(rows: DataFrame, others: DataFrame, key: Iterable[str]) -> DataFrame:
    """Return the rows with a key that some of `others` have; null is a value of a key."""
    return _by_keys(rows, others, key, "left_semi")


def of_other_keys(rows: DataFrame, others: DataFrame, key: Iterable[str]) -> DataFrame:
    """Return the rows with a key that none of `others` has; null is a value of a key."""
    return _by_keys(rows, others, key, "left_anti")


def _by_keys(rows: DataFrame, others: DataFrame, key: Iterable[str], how: str) -> DataFrame:
    # Renamed, because both relations may come from one table.
    keys = others.select(*(F.col(name).alias(f"its_{name}") for name in key))
    same = reduce(and_, (F.col(name).eqNullSafe(F.col(f"its_{name}")) for name in key))
    return rows.join(keys, on=same, how=how)


def shaped(rows: DataFrame, spec: TableSpec, without: str = "") -> DataFrame:
    """Select the declared columns, in order and with their types: as texts, since columns would take seven calls of the JVM each."""
    columns = (one for one in spec.columns if one.name != without)
    return rows.selectExpr(*(f"CAST(`{one.name}` AS {one.type}) AS `{one.name}`" for one in columns))


def commented(rows: DataFrame, spec: TableSpec) -> DataFrame:
    """Give the declared columns their comments, which a table takes over that is made with these rows."""
    return rows.select(
        *(F.col(column.name).alias(column.name, metadata={"comment": column.comment}) for column in spec.columns)
    )


def changes(stored: DataFrame, new: DataFrame, replaced: DataFrame, by: Sequence[str], key: Sequence[str]) -> DataFrame:
    """Return the new rows, and as tombstones those stored rows that have values `by` of a replaced row, and no new row's key."""
    gone = of_other_keys(of_same_keys(stored, replaced, by), new, key)
    return new.withColumn(_TOMBSTONE, F.lit(False)).unionByName(gone.withColumn(_TOMBSTONE, F.lit(True)))


def merge(table: str, source: str, names: Iterable[str], key: Iterable[str], clauses: str, bound: str = "true") -> str:
    """Return the MERGE of a view of rows with these columns into a table, by `REPLACE` or `DELETE`; null is a value of a key.

    All rows of the table `t` that it changes meet `bound`, which Delta compares with each file's statistics.
    """
    columns = [f"`{name}`" for name in names if name != _TOMBSTONE]
    same = " AND ".join(f"t.`{column}` <=> s.`{column}`" for column in key)
    actions = clauses.format(
        values=", ".join(f"t.{column} = s.{column}" for column in columns),
        columns=", ".join(columns),
        new=", ".join(f"s.{column}" for column in columns),
    )
    return f"MERGE INTO {table} AS t USING {source} AS s ON {bound} AND {same} {actions}"
