"""Delta's SQL: the only language, beside DataFrame readers and writers, that every Spark session understands.

`DeltaTable` needs a plugin on the server of a Spark Connect session; SQL does not. Every `table` is its name in SQL, as
`Address.table` makes it: delta.`path`, or `catalog`.`schema`.`table`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from ..tables.spec import Column, TableSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_Answer = TypeVar("_Answer")
CHECK = "delta.constraints."
"""How the properties that hold CHECK constraints begin."""
DELETION_VECTORS = "delta.enableDeletionVectors"
"""Property that is false for every table, as other readers can't read deletion vectors."""
_STATISTICS = "delta.dataSkippingStatsColumns"
_MISSING = (
    "PATH_NOT_FOUND",
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_PATH_DOES_NOT_EXIST",
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
)
"""What Spark and Delta call a table that is not there, at a path or by name, or that a catalog knows and that has no commit."""


def literal(text: str) -> str:
    """A text as SQL's literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def properties_list(properties: Mapping[str, str]) -> str:
    """Properties as TBLPROPERTIES takes them, in parentheses."""
    return "({})".format(", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items()))


def create_table(spec: TableSpec, table: str, properties: Mapping[str, str]) -> str:
    """Return the statement that makes a table as declared, with further properties.

    It fails if the table exists: with IF NOT EXISTS, Delta takes a folder that holds anything for a table, and makes none.
    """
    own = {f"{CHECK}{name}": expression for name, expression in spec.checks}
    own |= {DELETION_VECTORS: "false", _STATISTICS: ",".join(spec.statistics)}
    return (
        f"CREATE TABLE {table} ({', '.join(map(_column, spec.columns))}) USING delta "
        f"CLUSTER BY ({', '.join(spec.cluster_by)}) COMMENT {literal(spec.comment)} "
        f"TBLPROPERTIES {properties_list({**own, **properties})}"
    )


def _column(column: Column) -> str:
    required = " NOT NULL" if column.required else ""
    return f"`{column.name}` {column.type}{required} COMMENT {literal(column.comment)}"


def set_properties(spark: "SparkSession", table: str, properties: Mapping[str, str]) -> None:
    """Set properties of a table in one commit."""
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES {properties_list(properties)}")


def properties(spark: "SparkSession", table: str) -> dict[str, str] | None:
    """The properties of a table, without a look at its files; None where there is no table."""
    rows = unless_missing(lambda: spark.sql(f"SHOW TBLPROPERTIES {table}").collect())
    return None if rows is None else {row["key"]: row["value"] for row in rows}


def detail(spark: "SparkSession", table: str) -> "Row | None":
    """What DESCRIBE DETAIL says of a table: properties, numFiles, sizeInBytes, …; None where there is no table."""
    return unless_missing(lambda: spark.sql(f"DESCRIBE DETAIL {table}").first())


def history(spark: "SparkSession", table: str, limit: int | None = None) -> "list[Row]":
    """Version, userMetadata, operation and operationMetrics of a table's commits, the newest first."""
    only = "" if limit is None else f" LIMIT {limit}"
    commits = spark.sql(f"DESCRIBE HISTORY {table}{only}")
    rows = commits.select("version", "userMetadata", "operation", "operationMetrics").collect()
    return sorted(rows, key=lambda row: int(row["version"]), reverse=True)


def unless_missing(ask: Callable[[], _Answer]) -> _Answer | None:
    """What Spark says of a table; None where it says that there is no such table."""
    try:
        return ask()
    except Exception as error:
        if any(sign in str(error) for sign in _MISSING):
            return None
        raise


@contextmanager
def named_view(spark: "SparkSession", rows: "DataFrame") -> Iterator[str]:
    """Give rows a name that SQL can use in here."""
    name = f"kafka_clientinfo_{uuid4().hex}"
    rows.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        spark.catalog.dropTempView(name)


def same_key(key: Iterable[str]) -> str:
    """Condition under which rows of `t` and `s` have one key; null is a value."""
    return " AND ".join(f"t.`{column}` <=> s.`{column}`" for column in key)


def no_rows(spec: TableSpec) -> str:
    """A query of the declared columns without rows, which Spark answers without a job."""
    columns = ", ".join(f"CAST(NULL AS {column.type}) AS `{column.name}`" for column in spec.columns)
    return f"SELECT {columns} WHERE false"
