"""Retention: what is older than so many days leaves the tables that grow with the log; what was derived of it stays.

One instant decides for the whole warehouse. A request leaves if it was logged before the instant and does not belong
to a connection that was still heard of at the instant or later, so a connection's requests leave together or not at
all. What was derived stays for ever, and a build keeps the rows of connections that ended before the instant, as
their requests are gone. That holds only if none of them is there: records that come late, for connections that ended
before the instant, are deleted before a build sees them.

The rule reads nothing that deleting changes, so a run that is killed is ended by the next: the instant is written to
ingested_files first, then what will be deleted is counted into the table `retention`, then it is deleted, then the
mark that this is under way is taken away.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from ..errors import WarehouseError
from ..tables import CONNECTION_KEY, table_spec, table_specs
from .migration import BUILT_UNTIL, RETAINED_FROM, RETAINED_TABLES

if TYPE_CHECKING:
    from .warehouse import Warehouse

DELETING = "kafka_clientinfo.deleting"
"""Property of ingested_files: when the deletion began that is under way, and from what; empty where none is."""
_OF = " of "
SOURCES = ("requests", "rejected_records", "failed_requests")
"""Tables that retention deletes from."""

_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


def retain(lake: "Warehouse", days: int, now: datetime) -> dict[str, int]:
    """Delete what ended more than so many days ago.

    Args:
        lake: a warehouse whose build is up to date.
        days: how long requests are kept after the end of their connection.
        now: the present, with its zone.

    Returns:
        Rows deleted per table.

    Raises:
        WarehouseError: when there are requests that no build has seen.
    """
    files = lake.properties("ingested_files")
    newest = lake.read("ingested_files").agg(F.max("ingested_at").cast("string")).first()
    if newest is not None and newest[0] != files.get(BUILT_UNTIL):
        raise WarehouseError(
            f"{lake.root} holds requests that no build has seen; run `kafka-clientinfo build` first, as retention "
            "deletes only what the other tables know"
        )
    instant = max((now - timedelta(days=days)).astimezone(UTC).strftime(_FORMAT), files.get(RETAINED_FROM, ""))
    return _remove(lake, instant, now)


def remove_late(lake: "Warehouse", now: datetime) -> int:
    """Delete requests that came too late: no build has seen them, and retention has deleted what they belong to.

    Returns:
        How many; 0 where retention has never deleted anything.
    """
    properties = lake.properties("ingested_files")
    instant, until = properties.get(RETAINED_FROM), properties.get(BUILT_UNTIL) or None
    if instant is None:
        return 0
    is_new = F.lit(True) if until is None else F.col("ingested_at") > F.lit(until).cast("timestamp")
    early = F.col("first_logged_at") < F.lit(instant).cast("timestamp")
    if lake.read("ingested_files").where(is_new & early).limit(1).count() == 0:
        return 0
    return _remove(lake, instant, now, ("requests",))["requests"]


def finish(lake: "Warehouse", properties: Mapping[str, str]) -> None:
    """End what a run began that was killed while it deleted; `properties` are those of ingested_files."""
    began, instant = properties.get(DELETING), properties.get(RETAINED_FROM)
    if not began or instant is None:
        return
    moment, _, of = began.partition(_OF)
    counted = lake.read("retention").where(F.col("deleted_at") == F.lit(moment).cast("timestamp")).limit(1).count()
    sources = tuple(of.split(",")) if of else SOURCES
    _remove(lake, instant, datetime.fromisoformat(moment), sources, counted=bool(counted))


def with_kept_failures(lake: "Warehouse", rows: DataFrame) -> DataFrame:
    """Rows of `violations`, and those that stand and were derived of failed_requests that are deleted."""
    instant = lake.properties("ingested_files").get(RETAINED_FROM)
    if instant is None:
        return rows
    key = list(table_spec("violations").key)
    of_failures = F.col("opened_at").isNull() & F.col("connection_id").isNotNull()
    gone = of_failures & (F.col("last_at") < F.lit(instant).cast("timestamp"))
    stored = lake.read_snapshot("violations").where(gone).select(*rows.columns)
    derived = rows.where(F.col("opened_at").isNull()).select(*(F.col(name).alias(f"new_{name}") for name in key))
    same = [F.col(name).eqNullSafe(F.col(f"new_{name}")) for name in key]
    return rows.unionByName(stored.join(derived, on=same, how="left_anti"))


def _remove(
    lake: "Warehouse", instant: str, now: datetime, sources: tuple[str, ...] = SOURCES, counted: bool = False
) -> dict[str, int]:
    began = now.astimezone(UTC).strftime(_FORMAT)
    doomed = {name: keys.persist() for name, keys in _doomed(lake, instant).items() if name in sources}
    try:
        found = {name: keys.count() for name, keys in doomed.items()}
        if any(found.values()):
            derived = ",".join(
                name for name, spec in table_specs().items() if spec.replaced in ("connections", "folded")
            )
            mark = {RETAINED_FROM: instant, RETAINED_TABLES: derived, DELETING: f"{began}{_OF}{','.join(sources)}"}
            lake.set_properties("ingested_files", mark)
            if not counted:
                _count(lake, doomed, began)
            for name in (name for name, number in found.items() if number):
                _delete(lake, name, doomed[name], instant)
        if any(found.values()) or counted:
            lake.set_properties("ingested_files", {DELETING: ""})
    finally:
        for keys in doomed.values():
            keys.unpersist()
    return found


def _doomed(lake: "Warehouse", instant: str) -> dict[str, DataFrame]:
    """Per table the keys, file_id and byte_offset, of the rows that leave."""
    at = F.lit(instant).cast("timestamp")
    old_files = lake.read("ingested_files").where(F.coalesce("last_logged_at", "ingested_at") < at).select("file_id")
    failed = lake.read("failed_requests")
    connection = list(CONNECTION_KEY)
    old_failures = failed.groupBy(*connection).agg(F.max("logged_at").alias("last")).where(F.col("last") < at)
    of = {
        "requests": _old_requests(lake, instant),
        "rejected_records": lake.read("rejected_records").join(old_files, on="file_id", how="left_semi"),
        "failed_requests": failed.join(old_failures, on=connection, how="left_semi"),
    }
    return {name: rows.select("file_id", "byte_offset") for name, rows in of.items()}


def _old_requests(lake: "Warehouse", instant: str) -> DataFrame:
    """Requests logged before the instant, but for those of connections that were heard of at it or later."""
    at = F.lit(instant).cast("timestamp")
    place = F.struct("first_logged_at", "last_logged_at", "file_id").alias("place")
    places = F.broadcast(lake.read("ingested_files").select("file_id", place))
    sessions = lake.read("connection_sessions").join(places, on="file_id", how="inner")
    of_string = Window.partitionBy(*CONNECTION_KEY).orderBy("session_no")
    begin = F.struct("place", "byte_offset")
    live = (
        sessions.withColumns({"begin": begin, "next_begin": F.lead(begin).over(of_string)})
        .where(F.col("last_request_at") >= at)
        .select(*(F.col(name).alias(f"its_{name}") for name in CONNECTION_KEY), "begin", "next_begin")
    )
    old = lake.read("requests").where(F.col("logged_at") < at).join(places, on="file_id", how="inner")
    stands = F.struct("place", "byte_offset")
    same = reduce(lambda one, name: one & (F.col(name) == F.col(f"its_{name}")), CONNECTION_KEY, F.lit(True))
    inside = (stands >= F.col("begin")) & (F.col("next_begin").isNull() | (stands < F.col("next_begin")))
    return old.join(live, on=same & inside, how="left_anti")


def _count(lake: "Warehouse", doomed: Mapping[str, DataFrame], began: str) -> None:
    """Add what will be deleted to the table `retention`, in one commit."""
    counts = [
        keys.groupBy("file_id").agg(F.count("*").alias("n")).select(F.lit(name).alias("source"), "file_id", "n")
        for name, keys in doomed.items()
    ]
    new = reduce(DataFrame.unionAll, counts)
    stored = lake.read("retention").select("source", "file_id", "rows_deleted")
    total = F.col("n") + F.coalesce("rows_deleted", F.lit(0))
    rows = new.join(stored, on=["source", "file_id"], how="left").select(
        "source", "file_id", total.alias("rows_deleted"), F.lit(began).cast("timestamp").alias("deleted_at")
    )
    lake.upsert("retention", rows, began)


def _delete(lake: "Warehouse", name: str, keys: DataFrame, instant: str) -> None:
    same = "t.file_id = s.file_id AND t.byte_offset = s.byte_offset"
    if name != "rejected_records":  # lets Delta pass over files by their statistics
        same += f" AND t.logged_at < timestamp '{instant}'"
    target = DeltaTable.forPath(lake.spark, lake.path(name)).alias("t")
    target.merge(keys.alias("s"), same).whenMatchedDelete().execute()
