"""The Delta tables of one warehouse: created as declared, appended to once, replaced by connection."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..errors import WarehouseError
from ..tables import CONNECTION_KEY, TableSpec, table_spec, table_specs
from .fence import CLAIM, Fence, last_said, rows_written
from .layout import VERSION, Layout, layout_of, sql_name, sql_text
from .lock import local_folder
from .migration import migrate
from .retention import finish

_TOMBSTONE = "__gone"
_TOUCHED = "__touched"
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
        if "`" in self.root or "${" in self.root:  # Delta parses a path as SQL, where Spark replaces variables
            raise WarehouseError(f"the warehouse {self.root} has a backquote or ${{ in its path; choose another folder")
        self.fence = Fence(spark, self.path)

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

    def read_snapshot(self, name: str) -> DataFrame:
        """The table as it is now, whatever is written to it later."""
        last = DeltaTable.forPath(self.spark, self.path(name)).history(1).select("version").first()
        assert last is not None
        return self.spark.read.format("delta").option("versionAsOf", last[0]).load(self.path(name))

    def ensure(self, names: Iterable[str] | None = None) -> None:
        """Create the tables that are missing, and bring those of an older release to what this one declares.

        Raises:
            WarehouseError: when a table does not fit, and what to do; no table is changed then.
        """
        found = migrate(self.spark, self.path, names if names is not None else table_specs(), self._create)
        files = found.get("ingested_files")
        if files is not None:
            finish(self, files.properties)

    def layout(self, name: str) -> Layout | None:
        """What the table is, beside what it is declared to be; None where it does not exist."""
        return layout_of(self.spark, self.path(name))

    def properties(self, name: str) -> dict[str, str]:
        """All properties of the table."""
        return dict(self._detail(name)["properties"])

    def _detail(self, name: str) -> Mapping[str, Any]:
        row = DeltaTable.forPath(self.spark, self.path(name)).detail().first()
        assert row is not None
        return row.asDict()

    def _create(self, spec: TableSpec, replaces: bool) -> None:
        create = DeltaTable.replace if replaces else DeltaTable.createIfNotExists
        builder = create(self.spark).location(self.path(spec.name)).comment(spec.comment)
        for column in spec.columns:
            builder = builder.addColumn(column.name, column.type, nullable=not column.required, comment=column.comment)
        for name, expression in spec.checks:
            builder = builder.property(f"delta.constraints.{name}", expression)
        builder = builder.property("delta.enableDeletionVectors", "false")
        builder = builder.property(VERSION, str(spec.version))
        builder.clusterBy(*spec.cluster_by).execute()

    def count(self, name: str) -> int:
        """Rows in the table."""
        return self.read(name).count()

    def set_properties(self, name: str, properties: Mapping[str, str]) -> None:
        """Set properties of the table."""
        pairs = ", ".join(f"{sql_text(key)} = {sql_text(value)}" for key, value in properties.items())
        self.spark.sql(f"ALTER TABLE {sql_name(self.path(name))} SET TBLPROPERTIES ({pairs})")

    def append(self, name: str, rows: DataFrame, batch_id: str, expected: int | None = None) -> None:
        """Append rows in the declared columns and types; `batch_id` is kept in the table's history.

        Raises:
            WarehouseError: not as many rows were written as expected.
        """
        self._write(name, rows, "append", batch_id)
        written = None if expected is None else rows_written(self.spark, self.path(name), batch_id)
        if written is not None and written != expected:
            raise WarehouseError(
                f"{expected} rows were read for {self.path(name)} and {written} written: Spark read again what it had "
                "lost, and the log has changed since; run again, which deletes these rows first"
            )

    def overwrite(self, name: str, rows: DataFrame, batch_id: str) -> None:
        """Replace the whole table, in one commit."""
        self._write(name, rows, "overwrite", batch_id)

    def _write(self, name: str, rows: DataFrame, mode: str, batch_id: str) -> None:
        writer = shaped(rows, table_spec(name)).write.format("delta").mode(mode)
        writer.option("userMetadata", batch_id).options(**self.fence.options(name)).save(self.path(name))

    def last_batch(self, name: str) -> str | None:
        """The batch id of the table's last append; None where its history tells of none."""
        return last_said(self.spark, self.path(name), lambda said: not said.startswith(CLAIM))

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
            with self.fence.command(name):
                merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    def replace_connections(
        self, name: str, rows: DataFrame, touched: DataFrame, since: datetime | None, batch_id: str
    ) -> None:
        """Replace the rows of connections by those that were derived anew, in one commit.

        Rows without a session (violations of groups, or from server.log) are replaced too. A small table is written
        anew, which costs a fraction of a merge; what a run pays for that is bounded by `SMALL_TABLE_BYTES`.

        Args:
            name: a table whose rows belong to connections.
            rows: the new rows, and all without a session.
            touched: connection strings, without repetition: cluster, broker, connection_id, and kept_until, the newest
                opened_at whose rows stay (null: none stay).
            since: no row to be replaced opened before; None where that is not known.
            batch_id: kept in the table's history.
        """
        spec = table_spec(name)
        detail = self._detail(name)
        if int(detail["numFiles"]) == 0:  # not appended to: an overtaken run may just have filled it
            self.overwrite(name, rows, batch_id)
        elif int(detail["sizeInBytes"]) < SMALL_TABLE_BYTES:
            of_sessions = self.read(name).where(F.col("opened_at").isNotNull())
            kept = _with_touched(of_sessions, touched, "left").where(F.col(_TOUCHED).isNull() | ~_is_replaced())
            self.overwrite(name, kept.select(*spec.column_names).unionByName(shaped(rows, spec)), batch_id)
        else:
            self._merge_connections(spec, rows, touched, since)

    def _merge_connections(self, spec: TableSpec, rows: DataFrame, touched: DataFrame, since: datetime | None) -> None:
        table = DeltaTable.forPath(self.spark, self.path(spec.name))
        # A bound that Delta can compare with each file's statistics keeps the merge from reading the whole table.
        recent = "true" if since is None else f"opened_at >= timestamp '{since:%Y-%m-%d %H:%M:%S.%f}'"
        same = _same_key(spec) if since is None else f"(t.opened_at IS NULL OR t.{recent}) AND {_same_key(spec)}"
        new = shaped(rows, spec).withColumn(_TOMBSTONE, F.lit(False))
        stored = table.toDF()
        of_sessions = _with_touched(stored.where("opened_at IS NOT NULL").where(recent), touched, "inner")
        old = of_sessions.where(_is_replaced()).select(*stored.columns)
        old = old.unionByName(stored.where("opened_at IS NULL"))
        gone = old.join(new, on=_null_safe(old, new, spec.key), how="left_anti").withColumn(_TOMBSTONE, F.lit(True))
        values: dict[str, str | Column] = {column: f"s.{column}" for column in spec.column_names}
        merge = (
            table.alias("t")
            .merge(new.unionByName(gone).alias("s"), same)
            .whenMatchedDelete(f"s.{_TOMBSTONE}")
            .whenMatchedUpdate(set=values)
            .whenNotMatchedInsert(condition=f"NOT s.{_TOMBSTONE}", values=values)
        )
        with self.fence.command(spec.name):
            merge.execute()

    def fold(self, name: str, stored: DataFrame, rows: DataFrame, batch_id: str) -> None:
        """Write the table as rows folded into those that stand, in one commit.

        Args:
            name: a table that declares how its columns fold.
            stored: a snapshot of it.
            rows: what that has not counted in yet.
            batch_id: kept in the table's history.
        """
        spec = table_spec(name)
        folds = dict(spec.folds)
        both = stored.unionByName(shaped(rows, spec))
        # What is no fold follows from the key.
        others = [column for column in spec.column_names if column not in spec.key]
        folded = both.groupBy(*spec.key).agg(*(F.expr(f"{folds.get(c, 'max')}(`{c}`)").alias(c) for c in others))
        self.overwrite(name, folded, batch_id)

    def delete(self, name: str, condition: Column) -> None:
        """Delete rows."""
        with self.fence.command(name):
            DeltaTable.forPath(self.spark, self.path(name)).delete(condition)


def shaped(rows: DataFrame, spec: TableSpec) -> DataFrame:
    """The declared columns, in order and with their types: a `select` is the contract of every table."""
    return rows.select(*(F.col(column.name).cast(column.type).alias(column.name) for column in spec.columns))


def _with_touched(rows: DataFrame, touched: DataFrame, how: str) -> DataFrame:
    marked = touched.select(*CONNECTION_KEY, "kept_until", F.lit(True).alias(_TOUCHED))
    return rows.join(marked, on=list(CONNECTION_KEY), how=how)


def _is_replaced() -> Column:
    return F.col("kept_until").isNull() | (F.col("opened_at") > F.col("kept_until"))


def _same_key(spec: TableSpec) -> str:
    return " AND ".join(f"t.{column} <=> s.{column}" for column in spec.key)


def _null_safe(left: DataFrame, right: DataFrame, key: Iterable[str]) -> Column:
    condition = F.lit(True)
    for column in key:
        condition = condition & left[column].eqNullSafe(right[column])
    return condition
