"""Keeps a warehouse small and fast over months: retention, compaction and vacuum, one table after the other.

Every run commits a few small files to each table, and the files that it replaced stay. Compaction (OPTIMIZE, which also
clusters) merges small files into large ones; vacuum deletes files that no table has used for a number of hours. From
4.1 on, Delta reads these hours only from the table's property, so they are written there.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import PathLike
from typing import Any

from pyspark.sql import Row, SparkSession

from ..config.settings import Settings
from ..errors import ConfigError
from ..spark.arrow_rows import collect_by_name
from ..spark.features import conf_value
from ..spark.session_conf import REQUEST_BYTES, set_where_allowed, sized
from ..tables.dialects import spark_literal
from . import ddl
from .address import address_of, root_of
from .judged_table import JUDGED
from .retention import retain, retain_connections
from .stages import Stages
from .state import LEDGER, counted_rows, no_logs_of, read_state, require_state, time_text
from .warehouse import Warehouse, opened

SAFE_HOURS = 168
"""Delta's default: it keeps replaced files for these hours, as a reader may still read them."""

_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
_KEPT_FOR = "delta.deletedFileRetentionDuration"
_OF_FILES = "rejected_records"
"""The table of logs without a column `cluster`: its rows name their file only."""
# Vacuum lists folders in 10,000 tasks by default; a table here is one folder.
_FEW_TASKS = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "2"}


@dataclass
class MaintenanceReport(Stages):
    """What a run of `maintain` did.

    Attributes:
        retained_from: requests of connections that ended before this instant are deleted; None if all are kept.
        connections_from: connections that ended before this instant are deleted, too; None if all are kept.
        deleted: rows that retention deleted now, per table.
        tables: per table: name, files and bytes before and after, rows_deleted, vacuumed_files and vacuumed_bytes.
        seconds: time per stage.
    """

    command = "maintain"
    retained_from: str | None = None
    connections_from: str | None = None
    deleted: dict[str, int] = field(default_factory=dict)
    tables: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def maintain(
    spark: SparkSession, warehouse: str | PathLike[str], settings: Settings | None = None
) -> MaintenanceReport:
    """Delete what is older than `retention_days`, compact and cluster the tables, and delete unused files.

    Args:
        spark: a session with Delta.
        warehouse: folder or URI of the Delta tables, or catalog.schema.
        settings: `retention_days` (0 keeps everything), `keep_connections_days`, `vacuum_hours` and `lock_wait_seconds` are used.

    Raises:
        ConfigError: `vacuum_hours` is less than Delta considers safe.
        WarehouseError: when there is no warehouse, it does not fit this release, or requests are not built yet.
    """
    settings, report = settings or Settings(), MaintenanceReport()
    _check_hours(spark, settings.vacuum_hours)
    with opened(spark, _existing(spark, warehouse), settings, report) as tables:
        with sized(spark, tables.state.rows.get("requests", 0) * REQUEST_BYTES):
            for name in tables.specs:
                tables.relation(name)  # refuses one that somebody altered
            details = {name: ddl.detail(tables.spark, tables.address, name) for name in (*tables.specs, JUDGED)}
            before = {name: detail for name, detail in details.items() if detail is not None}
            if settings.retention_days:
                with report.stage("retention"):
                    report.deleted = retain(tables, settings.retention_days, datetime.now(UTC))
                    if settings.keep_connections_days:
                        report.deleted |= retain_connections(tables, settings.keep_connections_days, datetime.now(UTC))
            # Before files are deleted: what is not committed is taken back to files that are there.
            tables.commit(report, settings.fingerprint())
            for name, detail in before.items():
                with report.stage(name):
                    done = _tidy(tables, name, detail, settings.vacuum_hours)
                    report.tables.append({"name": name, "rows_deleted": report.deleted.get(name, 0), **done})
        report.retained_from = time_text(tables.state.retained_from)
        report.connections_from = time_text(tables.state.connections_from)
    return report


@dataclass
class ForgetReport(Stages):
    """What `forget` did.

    Attributes:
        cluster: the cluster.
        deleted: rows that were deleted, per table.
        seconds: time per stage.
    """

    command = "forget"
    cluster: str = ""
    deleted: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def forget(
    spark: SparkSession, warehouse: str | PathLike[str], cluster: str, settings: Settings | None = None
) -> ForgetReport:
    """Delete all rows of a cluster; a later run reads its logs again, under any name.

    Args:
        spark: a session with Delta.
        warehouse: folder or URI of the Delta tables, or catalog.schema.
        cluster: the cluster's name in the tables.
        settings: `lock_wait_seconds` is used.

    Raises:
        ConfigError: no log of this cluster was read.
        WarehouseError: when there is no warehouse, or it does not fit this release.
    """
    settings, report = settings or Settings(), ForgetReport(cluster)
    with opened(spark, _existing(spark, warehouse), settings, report) as tables, report.stage("delete"):
        report.deleted = remove_cluster(tables, cluster)
        for name in settings.stored_views:
            if ddl.detail(tables.spark, tables.address, name) is not None:
                tables.spark.sql(f"DELETE FROM {tables.address.table(name)} WHERE cluster = {spark_literal(cluster)}")
    return report


def _existing(spark: SparkSession, warehouse: str | PathLike[str]) -> str:
    root = root_of(warehouse)
    require_state(read_state(spark, address_of(root)), root)
    return root


def remove_cluster(tables: Warehouse, cluster: str) -> dict[str, int]:
    """Delete all rows of a cluster; return their number per table. Raises ConfigError if no log of this cluster was read.

    No row of a derived table depends on another cluster, so that the other rows stay as they are.
    """
    tables.claim()
    known = [row["cluster"] for row in tables.read(LEDGER).select("cluster").distinct().orderBy("cluster").collect()]
    if cluster not in known:
        raise no_logs_of(cluster, tables.root, known)
    of_cluster = f"cluster = {spark_literal(cluster)}"
    deleted = {}
    of_logs = [name for name, spec in tables.specs.items() if spec.write_mode not in ("reference", "run")]
    for name in sorted(of_logs, key=lambda name: name == LEDGER):
        if name == _OF_FILES:
            files = tables.read(LEDGER).where(of_cluster).select("file_id")
            deleted[name] = tables.delete_rows(name, files)
        else:
            deleted[name] = tables.delete(name, of_cluster)
    if (judged := tables.judged.read()) is not None:
        tables.judged.delete(judged.where(of_cluster))
    left, rows, until = collect_by_name(tables.read(LEDGER)), tables.rows(), tables.state.built_until
    newest = max((row["ingested_at"] for row in left), default=None)
    counts = [counted_rows(row) for row in left]
    tables.note(
        rows=rows,
        deleted={name: sum(count[name] for count in counts) - rows[name] for name in tables.state.deleted},
        built_until=None if newest is None or until is None else min(until, newest),
    )
    return {name: deleted[name] for name in of_logs}


def _check_hours(spark: SparkSession, hours: int) -> None:
    if hours < SAFE_HOURS and (conf_value(spark, _CHECK) or "").lower() != "false":
        raise ConfigError(
            f"vacuum_hours is {hours}: a reader or a run that began earlier may still need files that were replaced "
            f"since; give {SAFE_HOURS} or more, or, if nothing else works on the warehouse, set {_CHECK} to false"
        )


def _tidy(tables: Warehouse, name: str, before: Row, hours: int) -> dict[str, int]:
    spark, table = tables.spark, tables.address.table(name)
    if int(before["numFiles"]) > 1:
        spark.sql(f"OPTIMIZE {table}")
    wanted = f"interval {hours} hours"
    if dict(before["properties"]).get(_KEPT_FOR, f"interval {SAFE_HOURS} hours") != wanted:
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES {ddl.properties_list({_KEPT_FOR: wanted})}")
    with set_where_allowed(spark, _FEW_TASKS):
        spark.sql(f"VACUUM {table}")
    after = ddl.detail(spark, tables.address, name) or before
    metrics = {row["operation"]: dict(row["operationMetrics"] or {}) for row in ddl.history(spark, table, 2)}
    return {
        "files_before": int(before["numFiles"]),
        "files_after": int(after["numFiles"]),
        "bytes_before": int(before["sizeInBytes"]),
        "bytes_after": int(after["sizeInBytes"]),
        "vacuumed_files": int(metrics.get("VACUUM END", {}).get("numDeletedFiles", 0)),
        "vacuumed_bytes": int(metrics.get("VACUUM START", {}).get("sizeOfDataToDelete", 0)),
    }
