"""Delta's SQL and its DataFrame readers and writers: the only interface that every Spark session understands.

`DeltaTable` needs a plugin on the server of a Spark Connect session; SQL does not. Each parameter `table` is a name in
SQL, as `Address.table` makes it: delta.`path`, or `catalog`.`schema`.`table`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from ..tables.dialects import spark_literal
from ..tables.spec import TableSpec
from . import table_log
from .address import Address

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_Answer = TypeVar("_Answer")
SMALL_TABLE_BYTES = 16 << 20
"""Smaller tables are written whole when rows are replaced; larger ones are merged into."""
BYTES_PER_VALUE = 4
CHECK = "delta.constraints."
DELETION_VECTORS = "delta.enableDeletionVectors"
"""Property that is false for every table, as other readers can't read deletion vectors."""
STATISTICS = "delta.dataSkippingStatsColumns"
_RECENT = 20
_MISSING = (
    "PATH_NOT_FOUND",
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_TABLE_ONLY_OPERATION",
    "DELTA_PATH_DOES_NOT_EXIST",
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
)
"""The errors of Spark and Delta for a table that does not exist, or that a catalog lists but that has no commit."""


def properties_list(properties: Mapping[str, str]) -> str:
    return f"({', '.join(f'{spark_literal(key)} = {spark_literal(value)}' for key, value in properties.items())})"


def create_table(spec: TableSpec, table: str, rows: str = "", replace: bool = False) -> str:
    """Return the statement that makes a table as declared, in one commit; it fails if the table exists, unless it may replace it.

    `rows` is the name of a view with the first rows, in the declared columns with their comments; empty for no rows. With
    IF NOT EXISTS, Delta would treat a folder that holds anything as a table.
    """
    own = {f"{CHECK}{name}": expression for name, expression in spec.constraints.items()}
    own |= {DELETION_VECTORS: "false", STATISTICS: ",".join(spec.statistics)}
    columns = ", ".join(f"`{one.name}` {one.type} COMMENT {spark_literal(one.comment)}" for one in spec.columns)
    return (
        f"CREATE {'OR REPLACE ' if replace else ''}TABLE {table}{'' if rows else f' ({columns})'} USING delta "
        f"CLUSTER BY ({', '.join(spec.cluster_by)}) COMMENT {spark_literal(spec.comment)} "
        f"TBLPROPERTIES {properties_list(own)}{f' AS SELECT * FROM {rows}' if rows else ''}"
    )


def write(rows: "DataFrame", address: Address, name: str, where: str | None, options: Mapping[str, str]) -> None:
    """Append rows to a table that exists and has their columns, or replace those that meet a condition, in one commit."""
    from pyspark.sql import functions as F

    # An overwrite of all rows drops the table's clustering, unless this option calls it one of some rows.
    chosen = {} if where is None else {"replaceWhere": where}
    if not address.is_schema:  # a write by name plans the rows twice: for Spark's command, and for Delta's in it
        writer = rows.write.format("delta").mode("append" if where is None else "overwrite")
        writer.options(**options, **chosen).save(address.location(name))
        return
    by_name = rows.writeTo(address.table(name)).options(**options)
    if where is None:
        by_name.append()
    elif where == "true":
        by_name.options(**chosen).overwrite(F.lit(True))
    else:
        by_name.overwrite(F.expr(where))


def write_anew(
    rows: "DataFrame", address: Address, name: str, properties: Mapping[str, str], options: Mapping[str, str]
) -> None:
    """Write a table that is not declared, in one commit, in place of all that it was; make it if it does not exist."""
    properties = {DELETION_VECTORS: "false", **properties}
    if not address.is_schema:
        writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        writer.options(**options, **properties).save(address.location(name))
        return
    by_name = rows.writeTo(address.table(name)).using("delta").options(**options)
    for key, value in properties.items():
        by_name = by_name.tableProperty(key, value)
    by_name.createOrReplace()


def properties(spark: "SparkSession", address: Address, name: str) -> dict[str, str] | None:
    if address.is_schema and not spark.catalog.tableExists(address.table(name)):
        return None  # PySpark prints an error of the statement, even one that is expected
    rows = unless_missing(address, name, lambda: spark.sql(f"SHOW TBLPROPERTIES {address.table(name)}").collect())
    return None if rows is None else {row["key"]: row["value"] for row in rows}


def detail(spark: "SparkSession", address: Address, name: str) -> "Row | None":
    return unless_missing(address, name, lambda: spark.sql(f"DESCRIBE DETAIL {address.table(name)}").first())


def columns(spark: "SparkSession", address: Address, name: str) -> dict[str, str] | None:
    def ask() -> dict[str, str]:
        return {one.name: one.dataType.simpleString() for one in spark.read.table(address.table(name)).schema.fields}

    return unless_missing(address, name, ask)


def history(spark: "SparkSession", table: str, limit: int | None = None) -> "list[Row]":
    only = "" if limit is None else f" LIMIT {limit}"
    rows = spark.sql(f"DESCRIBE HISTORY {table}{only}").collect()  # to select columns would take a job
    return sorted(rows, key=lambda row: int(row["version"]), reverse=True)


def log_folder(spark: "SparkSession", address: Address, name: str) -> Path | None:
    """Return a table's folder if this process can read Delta's log in it, as Spark does: both are on this machine."""
    from pyspark.sql import SparkSession  # a session of Spark Connect is no instance of it

    folder = address.folder
    return folder / name if folder is not None and isinstance(spark, SparkSession) else None


def commits(spark: "SparkSession", address: Address, name: str) -> "Iterator[Row | Mapping[str, Any]]":
    """Yield version, operation, its metrics, and userMetadata of a table's commits, the newest first.

    On this machine they are read in the table's log, as each question to Spark takes a job. A history is long, and the
    wanted commit is mostly near its end, so Spark is asked for the recent ones first, and then for all.
    """
    if (folder := log_folder(spark, address, name)) is not None:
        yield from table_log.commits(folder)
        return
    for limit in (_RECENT, None):
        yield from history(spark, address.table(name), limit)


def written_rows(spark: "SparkSession", address: Address, name: str, metadata: str | None) -> int | None:
    """Return how many rows a table's newest commit wrote; None if it has other `userMetadata`, as Delta made no commit."""
    newest = next(iter(commits(spark, address, name)), None)
    if newest is None or newest["userMetadata"] != metadata:
        return None
    number = dict(newest["operationMetrics"] or {}).get("numOutputRows")
    return None if number is None else int(number)


def snapshot(spark: "SparkSession", address: Address, name: str) -> "DataFrame":
    table, folder = address.table(name), log_folder(spark, address, name)
    files = [] if folder is None else table_log.newest_first(folder)
    version = int(files[0].stem if files else history(spark, table, 1)[0]["version"])
    return spark.sql(f"SELECT * FROM {table} VERSION AS OF {version}")


def unless_missing(address: Address, name: str, ask: Callable[[], _Answer]) -> _Answer | None:
    """Return the result of `ask`; None if there is no such table, or only what a killed run left when it made it."""
    try:
        return ask()
    except Exception as error:
        folder = None if address.folder is None else address.folder / name
        is_half_made = folder is not None and folder.is_dir() and not table_log.is_made(folder)
        if is_half_made or any(sign in str(error) for sign in _MISSING):
            return None
        raise


@contextmanager
def named_view(spark: "SparkSession", rows: "DataFrame") -> Iterator[str]:
    name = f"kafka_clientinfo_{uuid4().hex}"
    rows.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        spark.catalog.dropTempView(name)


def no_rows(spec: TableSpec) -> str:
    columns = ", ".join(f"CAST(NULL AS {column.type}) AS `{column.name}`" for column in spec.columns)
    return f"SELECT {columns} WHERE false"
