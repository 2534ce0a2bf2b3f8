"""The Delta tables of one warehouse: created as declared, appended to once, replaced by connection."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..errors import WarehouseError
from ..tables import CONNECTION_KEY, TableSpec, table_spec, table_specs
from .lock import local_folder

_VERSION_PROPERTY = "kafka_clientinfo.version"
_TOMBSTONE = "__gone"
SMALL_TABLE_BYTES = 16 << 20
"""Tables below are written anew where rows are replaced; larger ones are merged into."""


class Warehouse:
    """A folder of Delta tables, one per declared table.

    Args:
        spark: a session with Delta.
        root: folder or URI; tables are its subfolders.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        """Touch nothing yet."""
        self.spark = spark
        folder = local_folder(str(root))
        self.root = str(root).rstrip("/") if folder is None else str(folder.absolute())

    def path(self, name: str) -> str:
        """Where a table lies."""
        return f"{self.root}/{name}"

    def exists(self, name: str) -> bool:
        """Whether the table has been created."""
        return DeltaTable.isDeltaTable(self.spark, self.path(name))

    def read(self, name: str) -> DataFrame:
        """The table as it is now; empty, with the declared columns, where it does not exist."""
        if not self.exists(name):
            return self.spark.createDataFrame([], table_spec(name).ddl)
        return self.spark.read.format("delta").load(self.path(name))

    def ensure(self, names: Iterable[str] | None = None) -> None:
        """Create the tables that are missing, and check the others' version.

        Raises:
            WarehouseError: when a table was made by another release and does not fit.
        """
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(self._ensure, names if names is not None else table_specs()))

    def _ensure(self, name: str) -> None:
        spec = table_spec(name)
        if self.exists(name):
            self._check_version(spec)
        else:
            self._create(spec)

    def _check_version(self, spec: TableSpec) -> None:
        properties = self._detail(spec.name)["properties"]
        found = properties.get(_VERSION_PROPERTY)
        if found != str(spec.version):
            raise WarehouseError(
                f"{self.path(spec.name)} has table version {found}, this release writes version {spec.version}; "
                "use the release that made it, or build a new warehouse from the logs"
            )

    def _detail(self, name: str) -> Mapping[str, Any]:
        row = DeltaTable.forPath(self.spark, self.path(name)).detail().first()
        assert row is not None
        return row.asDict()

    def _create(self, spec: TableSpec) -> None:
        builder = DeltaTable.createIfNotExists(self.spark).location(self.path(spec.name)).comment(spec.comment)
        for column in spec.columns:
            builder = builder.addColumn(column.name, column.type, nullable=not column.required, comment=column.comment)
        for name, expression in spec.checks:
            builder = builder.property(f"delta.constraints.{name}", expression)
        builder = builder.property("delta.enableDeletionVectors", "false")
        builder = builder.property(_VERSION_PROPERTY, str(spec.version))
        builder.clusterBy(*spec.cluster_by).execute()

    def count(self, name: str) -> int:
        """Rows in the table."""
        return self.read(name).count()

    def property(self, name: str, key: str) -> str | None:
        """A property of the table, None where it is not set."""
        value = self._detail(name)["properties"].get(key)
        return None if value is None else str(value)

    def set_properties(self, name: str, properties: Mapping[str, str]) -> None:
        """Set properties of the table; keys and values are this package's own words."""
        pairs = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        self.spark.sql(f"ALTER TABLE delta.`{self.path(name)}` SET TBLPROPERTIES ({pairs})")

    def append(self, name: str, rows: DataFrame, batch_id: str) -> None:
        """Append rows in the declared columns and types; `batch_id` is kept in the table's history."""
        (
            shaped(rows, table_spec(name))
            .write.format("delta")
            .mode("append")
            .option("userMetadata", batch_id)
            .save(self.path(name))
        )

    def last_batch(self, name: str) -> str | None:
        """The batch id of the table's last append, None before the first."""
        commits = DeltaTable.forPath(self.spark, self.path(name)).history().where("userMetadata IS NOT NULL")
        row = commits.orderBy(F.col("version").desc()).select("userMetadata").first()
        return None if row is None else str(row[0])

    def upsert(self, name: str, rows: DataFrame, batch_id: str) -> None:
        """Insert rows, or replace those with the same key, in one commit."""
        spec = table_spec(name)
        detail = self._detail(name)
        if int(detail["numFiles"]) == 0:
            self.append(name, rows, batch_id)
        elif int(detail["sizeInBytes"]) < SMALL_TABLE_BYTES:
            stored, new = self.read(name), shaped(rows, spec)
            kept = stored.join(new, on=_null_safe(stored, new, spec.key), how="left_anti")
            self.overwrite(name, kept.unionByName(new), batch_id)
        else:
            target = DeltaTable.forPath(self.spark, self.path(name)).alias("t")
            merge = target.merge(shaped(rows, spec).alias("s"), _same_key(spec))
            merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    def replace_connections(self, name: str, rows: DataFrame, touched: DataFrame, batch_id: str) -> None:
        """Replace all rows of the connection strings in `touched` by `rows`, in one commit.

        Rows without a session (violations of groups, or from server.log) are replaced too. A small table is written
        anew, which costs a fraction of a merge; what a run pays for that is bounded by `SMALL_TABLE_BYTES`.

        Args:
            name: a table whose rows belong to connections.
            rows: the new rows, all of these strings and all without a session.
            touched: the connection strings: cluster, broker, connection_id, without repetition.
            batch_id: kept in the table's history.
        """
        detail = self._detail(name)
        if int(detail["numFiles"]) == 0:
            self.append(name, rows, batch_id)
        elif int(detail["sizeInBytes"]) < SMALL_TABLE_BYTES:
            of_sessions = self.read(name).where(F.col("opened_at").isNotNull())
            kept = of_sessions.join(touched, on=list(CONNECTION_KEY), how="left_anti")
            self.overwrite(name, kept.unionByName(shaped(rows, table_spec(name))), batch_id)
        else:
            self._merge_connections(name, rows, touched)

    def _merge_connections(self, name: str, rows: DataFrame, touched: DataFrame) -> None:
        spec = table_spec(name)
        table = DeltaTable.forPath(self.spark, self.path(name))
        new = shaped(rows, spec).withColumn(_TOMBSTONE, F.lit(False))
        stored = table.toDF()
        of_sessions = stored.where(F.col("opened_at").isNotNull())
        old = of_sessions.join(touched, on=list(CONNECTION_KEY), how="left_semi").select(*stored.columns)
        old = old.unionByName(stored.where(F.col("opened_at").isNull()))
        gone = old.join(new, on=_null_safe(old, new, spec.key), how="left_anti").withColumn(_TOMBSTONE, F.lit(True))
        values: dict[str, str | Column] = {column: f"s.{column}" for column in spec.column_names}
        (
            table.alias("t")
            .merge(new.unionByName(gone).alias("s"), _same_key(spec))
            .whenMatchedDelete(f"s.{_TOMBSTONE}")
            .whenMatchedUpdate(set=values)
            .whenNotMatchedInsert(condition=f"NOT s.{_TOMBSTONE}", values=values)
            .execute()
        )

    def overwrite(self, name: str, rows: DataFrame, batch_id: str) -> None:
        """Replace the whole table, in one commit."""
        (
            shaped(rows, table_spec(name))
            .write.format("delta")
            .mode("overwrite")
            .option("userMetadata", batch_id)
            .save(self.path(name))
        )

    def delete(self, name: str, condition: Column) -> None:
        """Delete rows."""
        DeltaTable.forPath(self.spark, self.path(name)).delete(condition)


def shaped(rows: DataFrame, spec: TableSpec) -> DataFrame:
    """The declared columns, in order and with their types: a `select` is the contract of every table."""
    return rows.select(*(F.col(column.name).cast(column.type).alias(column.name) for column in spec.columns))


def _same_key(spec: TableSpec) -> str:
    return " AND ".join(f"t.{column} <=> s.{column}" for column in spec.key)


def _null_safe(left: DataFrame, right: DataFrame, key: Iterable[str]) -> Column:
    condition = F.lit(True)
    for column in key:
        condition = condition & left[column].eqNullSafe(right[column])
    return condition
