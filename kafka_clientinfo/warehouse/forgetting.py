"""Removes all rows of a cluster: of logs that were read under a wrong name, or that must not be kept.

No row of a derived table depends on another cluster, so that the other rows stay as they are.
"""

from datetime import UTC, datetime, timedelta

from pyspark.sql import functions as F

from ..tables.dialects import spark_literal
from .state import FIRST_UNREAD, LEDGER, SOURCES, counted_rows, no_logs_of
from .warehouse import Warehouse

_OF_FILES = "rejected_records"
"""The table of logs without a column `cluster`: its rows name their file only."""


def remove_cluster(tables: Warehouse, cluster: str) -> dict[str, int]:
    """Delete all rows of a cluster from an open warehouse.

    Returns:
        Rows deleted per table.

    Raises:
        ConfigError: no log of this cluster was read.
    """
    tables.claim()
    known = [row["cluster"] for row in tables.read(LEDGER).select("cluster").distinct().orderBy("cluster").collect()]
    if cluster not in known:
        raise no_logs_of(cluster, tables.root, known)
    gone = _deleted_by_retention(tables, cluster)
    tables.note(deleted={name: number - gone.get(name, 0) for name, number in tables.state.deleted.items()})
    of_cluster = f"cluster = {spark_literal(cluster)}"
    deleted = {}
    of_logs = [name for name, spec in tables.specs.items() if spec.write_mode not in ("reference", "run")]
    for name in sorted(of_logs, key=lambda name: name == LEDGER):
        if name == _OF_FILES:
            files = tables.read(LEDGER).where(of_cluster).select("file_id")
            deleted[name] = tables.delete_rows(name, files)
        else:
            deleted[name] = tables.delete(name, of_cluster)
    tables.judged.forget_cluster(cluster)
    tables.note(built_until=_built_until(tables), rows=tables.rows())
    return {name: deleted[name] for name in of_logs}


def _built_until(tables: Warehouse) -> datetime | None:
    """Return the time of ingestion up to which everything that is left is built; None if nothing is left, or built."""
    ((micros,),) = tables.read(LEDGER).agg(F.unix_micros(F.max("ingested_at"))).collect()
    until = tables.state.built_until
    if micros is None or until is None:
        return None
    return min(until, datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros))


def _deleted_by_retention(tables: Warehouse, cluster: str) -> dict[str, int]:
    """Return how many rows of the cluster's files retention has deleted, for each table from which it has deleted any."""
    files = tables.read(LEDGER).where(F.col("cluster") == F.lit(cluster))
    counts = [counted_rows(row.asDict()) for row in files.collect()]
    gone = {}
    for name in set(SOURCES) & set(tables.state.deleted):
        first_unread = files.select("file_id", F.expr(FIRST_UNREAD[name]).alias("first"))
        stored = tables.read(name).join(first_unread, on="file_id", how="inner").where("byte_offset < first").count()
        gone[name] = max(0, sum(count[name] for count in counts) - stored)
    return gone
