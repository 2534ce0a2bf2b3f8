"""The rows of a table after rows of it were replaced; and the same as a MERGE, for tables too large to write anew.

write_mode | a small table                              | a large one
-----------|--------------------------------------------|---------------------------------------------------
upsert     | stored rows of other keys, and the new     | MERGE of the new rows by key
connection | stored rows of connections that stay, and  | MERGE of the new rows, and of tombstones for
           | the new                                    | stored rows of replaced connections that are gone
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..connections.sums import exact_sum
from ..connections.texts import of_other_keys
from ..tables.spec import CONNECTION_ID_KEY, CONNECTION_KEY, TableSpec
from ..tables.types import split_field, split_type, sql_time
from .ddl import same_key

_TOMBSTONE = "__gone"
UPSERT = "WHEN MATCHED THEN UPDATE SET {values} WHEN NOT MATCHED THEN INSERT ({columns}) VALUES ({new})"
"""What a MERGE does with rows to insert or replace."""
REPLACE = (
    f"WHEN MATCHED AND s.`{_TOMBSTONE}` THEN DELETE WHEN MATCHED THEN UPDATE SET {{values}} "
    f"WHEN NOT MATCHED AND NOT s.`{_TOMBSTONE}` THEN INSERT ({{columns}}) VALUES ({{new}})"
)
"""What a MERGE does with the rows of `changes`."""
DELETE = "WHEN MATCHED THEN DELETE"
"""What a MERGE does with rows to delete."""


def shaped(rows: DataFrame, spec: TableSpec) -> DataFrame:
    """Select the declared columns, in order and with their types, as for every write of a table."""
    return rows.select(*(F.col(column.name).cast(column.type).alias(column.name) for column in spec.columns))


def with_replaced(stored: DataFrame, new: DataFrame, recomputed_ids: DataFrame) -> DataFrame:
    """Return the new rows, and the stored rows of connections that stay.

    Args:
        stored: the table; rows without a connection are replaced.
        new: the new rows.
        recomputed_ids: what to replace, in rows of cluster, broker, connection_id, opened_at, opened_seq and
            unchanged_until. A row stands for one connection; or, if opened_at is null, for all connections of the id
            that opened after unchanged_until; or, if that is null too, for all of the id.
    """
    return staying(stored.where("opened_at IS NOT NULL"), recomputed_ids).unionByName(new)


def changes(
    stored: DataFrame, new: DataFrame, recomputed_ids: DataFrame, since: datetime | None, spec: TableSpec
) -> DataFrame:
    """Return the new rows, and the stored rows to delete, marked as tombstones."""
    recent = F.lit(True) if since is None else F.col("opened_at") >= F.lit(since)
    old = replaced(stored.where(F.col("opened_at").isNotNull() & recent), recomputed_ids)
    gone = of_other_keys(old.unionByName(stored.where("opened_at IS NULL")), new, spec.key)
    return with_tombstones(new, gone)


def with_tombstones(new: DataFrame, gone: DataFrame) -> DataFrame:
    """Return new rows, and rows to delete, marked as tombstones."""
    return new.withColumn(_TOMBSTONE, F.lit(False)).unionByName(gone.withColumn(_TOMBSTONE, F.lit(True)))


def _sum_by_key(name: str, _: str) -> Column:
    """Add up a group's maps of numbers by key; null if there are none."""

    def added(total: Column, more: Column) -> Column:
        zero = F.lit(0).cast("bigint")
        return F.map_zip_with(total, more, lambda _, one, other: F.coalesce(one, zero) + F.coalesce(other, zero))

    maps = F.collect_list(name)
    total = F.aggregate(F.slice(maps, 2, F.greatest(F.size(maps) - 1, F.lit(0))), F.get(maps, 0), added)
    return F.map_from_entries(F.array_sort(F.map_entries(total)))


def _sum_by_field(name: str, kind: str) -> Column:
    """Add up a group's structs of numbers field by field; null if there are none."""
    fields = [split_field(part).name for part in split_type(kind)[1]]
    return F.when(F.count(name) > 0, F.struct(*(F.sum(f"{name}.{field}").alias(field) for field in fields)))


AGGREGATES: Mapping[str, Callable[[str, str], Column]] = {
    "min": lambda name, _: F.min(name),
    "max": lambda name, _: F.max(name),
    "sum": lambda name, _: F.sum(name),
    "exact_sum": lambda name, _: exact_sum(F.col(name)),
    "sum_by_key": _sum_by_key,
    "sum_by_field": _sum_by_field,
}
"""The aggregates that tables declare, by name; each is made of a column's name and type."""


def aggregated(stored: DataFrame, new: DataFrame, spec: TableSpec) -> DataFrame:
    """Aggregate stored rows and new ones, which they do not count yet, by key, column by column as declared."""
    functions = dict(spec.aggregates)
    others = [column for column in spec.columns if column.name not in spec.key]
    # A column without a declared aggregate depends on the key alone, so all its values are equal.
    values = [AGGREGATES[functions.get(column.name, "max")](column.name, column.type) for column in others]
    return (
        stored.unionByName(shaped(new, spec))
        .groupBy(*spec.key)
        .agg(*(value.alias(column.name) for value, column in zip(values, others, strict=True)))
        .select(*spec.column_names)
    )


def merge(table: str, source: str, names: Iterable[str], key: Iterable[str], clauses: str, bound: str = "true") -> str:
    """Return the MERGE of a view of rows into a table, by `UPSERT`, `REPLACE` or `DELETE`; `within` makes the bound."""
    columns = [f"`{name}`" for name in names]
    actions = clauses.format(
        values=", ".join(f"t.{column} = s.{column}" for column in columns),
        columns=", ".join(columns),
        new=", ".join(f"s.{column}" for column in columns),
    )
    return f"MERGE INTO {table} AS t USING {source} AS s ON {bound} AND {same_key(key)} {actions}"


def within(since: datetime | None) -> str:
    """Return a bound that Delta compares with each file's statistics, so that a merge does not read the whole table."""
    if since is None:
        return "true"
    return f"(t.opened_at IS NULL OR t.opened_at >= timestamp '{sql_time(since)}')"


def staying(stored: DataFrame, recomputed_ids: DataFrame) -> DataFrame:
    """Return the stored rows of connections that stay, see `with_replaced`."""
    return _replaced(stored, recomputed_ids, "left_anti")


def replaced(stored: DataFrame, recomputed_ids: DataFrame) -> DataFrame:
    """Return the stored rows of connections that are replaced, see `with_replaced`."""
    return _replaced(stored, recomputed_ids, "left_semi")


def _replaced(rows: DataFrame, recomputed_ids: DataFrame, how: str) -> DataFrame:
    names = (*CONNECTION_KEY, "unchanged_until")
    its = {name: F.col(f"its_{name}") for name in names}
    same_id = reduce(and_, (F.col(name) == its[name] for name in CONNECTION_ID_KEY))
    is_later = its["unchanged_until"].isNull() | (F.col("opened_at") > its["unchanged_until"])
    is_one = (F.col("opened_at") == its["opened_at"]) & (F.col("opened_seq") == its["opened_seq"])
    is_recomputed = F.when(its["opened_at"].isNull(), is_later).otherwise(is_one)
    return rows.join(
        recomputed_ids.select(*(F.col(name).alias(f"its_{name}") for name in names)),
        on=same_id & is_recomputed,
        how=how,
    )
