"""The steps of a run, in the order of their inputs.

`ingest` reads new bytes into requests, rejected_records and ingested_files; `build` derives every other table from
requests. Each step can be run alone and again: ingest commits ingested_files last and first removes what a broken
run left behind; build works from a watermark that it moves last.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from . import __version__
from .derivation import AT_ONCE, Derivation
from .increment import KEPT
from .ingestion import (
    Plan,
    PlannedFile,
    Problem,
    accounts_of,
    file_report,
    file_row,
    find_logs,
    make_plan,
    parse_logs,
    readable_rows,
    rotated,
    was_read,
    with_instants,
    with_server_logs,
)
from .lake import BUILT_UNTIL, RETAINED_FROM, Warehouse, exclusive, lightly, remove_late, utc
from .settings import Settings
from .tables import table_specs

Progress = Callable[[str], None]
_BUILT_WITH = "kafka_clientinfo.built_with"
_READ_INTO = ("requests", "rejected_records", "failed_requests")
"""Tables of rows that count once ingested_files tells of them."""


@dataclass
class RunReport:
    """What a run did.

    Attributes:
        files: per file read: path, broker, what it held and what waits.
        unchanged: files without new bytes.
        problems: files passed over, with reasons.
        too_late: requests that were not kept, as retention had deleted the connections that they belong to.
        tables: rows per table after the run.
        seconds: time per stage.
    """

    files: list[dict[str, Any]] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    too_late: int = 0
    tables: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str, progress: Progress | None) -> Iterator[None]:
        """Time a stage and say that it begins."""
        if progress is not None:
            progress(name)
        started = time.monotonic()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - started, 3)


def run(
    spark: SparkSession,
    logs: Sequence[str],
    warehouse: str,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> RunReport:
    """Ingest log files and build all tables.

    Args:
        spark: a session with Delta.
        logs: files, folders or globs.
        warehouse: folder or URI of the Delta tables.
        settings: defaults when None.
        progress: called with the name of each stage as it begins.

    Raises:
        InputError: when `logs` name nothing.
        WarehouseError: when the warehouse does not fit this release, cannot be written, or another run is at work on it.
    """
    settings = settings or Settings()
    with exclusive(warehouse, settings.lock_wait_seconds, progress, spark):
        lake = Warehouse(spark, warehouse)
        report = _ingest(spark, logs, lake, settings, progress)
        return _build(spark, lake, settings, progress, report)


def ingest(
    spark: SparkSession,
    logs: Sequence[str],
    warehouse: str,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> RunReport:
    """Read what is new in the log files into requests, rejected_records and ingested_files; see `run`."""
    settings = settings or Settings()
    with exclusive(warehouse, settings.lock_wait_seconds, progress, spark):
        return _ingest(spark, logs, Warehouse(spark, warehouse), settings, progress)


def build(
    spark: SparkSession,
    warehouse: str,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> RunReport:
    """Derive all other tables for the connection strings that have new requests; see `run`."""
    settings = settings or Settings()
    with exclusive(warehouse, settings.lock_wait_seconds, progress, spark):
        return _build(spark, Warehouse(spark, warehouse), settings, progress, RunReport())


def _ingest(
    spark: SparkSession, logs: Sequence[str], lake: Warehouse, settings: Settings, progress: Progress | None
) -> RunReport:
    report = RunReport()
    paths = find_logs(logs)
    if settings.server_logs:
        paths = with_server_logs(paths)
    with utc(spark), lightly(spark):
        with report.stage("prepare", progress):
            lake.ensure()
        with report.stage("plan", progress):
            seen = lake.fence.version()
            known = {row["file_id"]: with_instants(row) for row in lake.read("ingested_files").collect()}
            plan = make_plan(paths, known, settings, _tasks(spark))
        report.unchanged, report.problems = list(plan.unchanged), list(plan.problems)
        if plan.files:
            with report.stage("recover", progress):
                lake.fence.claim(seen, _READ_INTO)
                _remove_leftovers(lake, known)
                _remove_marks(lake, plan)
            _read(spark, lake, plan, settings, report, progress)
        elif plan.packed:
            with report.stage("ingested_files", progress):
                lake.fence.claim(seen)
                _note_files(lake, [packed.row for packed in plan.packed], "packed")
    return report


def _tasks(spark: SparkSession) -> int:
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # a Spark Connect session has no context
        return 8


def _remove_leftovers(lake: Warehouse, known: Mapping[str, Mapping[str, Any]]) -> None:
    """Delete rows that a broken run appended without committing their files."""
    last = lake.last_batch("requests")
    if last in {row["batch_id"] for row in known.values()} or (last is None and not known):
        return
    first_new = F.col("bytes_ingested") + F.when(F.col("damage").isNotNull(), 1).otherwise(0)  # behind the mark
    files = lake.read("ingested_files").select("file_id", "bytes_ingested", first_new.alias("first_new"))
    for name in _READ_INTO:
        first = "first_new" if name == "rejected_records" else "bytes_ingested"
        joined = lake.read(name).select("file_id", "byte_offset").join(files, on="file_id", how="left")
        beyond = F.col("byte_offset") >= F.coalesce(first, F.lit(0))
        for row in joined.where(beyond).select("file_id", first).distinct().collect():
            from_offset = F.col("byte_offset") >= F.lit(row[first] or 0)
            lake.delete(name, (F.col("file_id") == row["file_id"]) & from_offset)


def _remove_marks(lake: Warehouse, plan: Plan) -> None:
    """Delete the rejected records that stood for what could not be read before, and is read now."""
    for file_id, offset in plan.marks.items():
        lake.delete("rejected_records", (F.col("file_id") == file_id) & (F.col("byte_offset") >= F.lit(offset)))


def _read(
    spark: SparkSession,
    lake: Warehouse,
    plan: Plan,
    settings: Settings,
    report: RunReport,
    progress: Progress | None,
) -> None:
    now = _after(datetime.now(UTC), lake)
    parsed = parse_logs(spark, plan, settings.log_zone).persist(KEPT)
    try:
        with report.stage("read and parse", progress):
            accounts = accounts_of(parsed)
            readable = readable_rows(parsed, accounts)
        with report.stage("requests", progress):
            requests = readable.where("request IS NOT NULL").select("request.*", F.lit(now).alias("ingested_at"))
            lake.append("requests", requests, plan.batch_id, sum(account["requests"] for account in accounts))
        with report.stage("rejected_records", progress):
            if number := sum(account["rejected"] for account in accounts):
                rejected = readable.where("rejected IS NOT NULL").select("rejected.*")
                lake.append("rejected_records", rejected, plan.batch_id, number)
        with report.stage("failed_requests", progress):
            if number := sum(dict(account["ignored"] or {}).get("failed_request", 0) for account in accounts):
                failed = readable.where("failed IS NOT NULL").select("failed.*", F.lit(now).alias("ingested_at"))
                lake.append("failed_requests", failed, plan.batch_id, number)
        with report.stage("ingested_files", progress):
            files = [file for file in plan.files if was_read(file, accounts)]
            rows = [file_row(file, accounts, plan.batch_id, now) for file in files]
            if any(_shows_more(file, row) for file, row in zip(files, rows, strict=True)):
                lake.set_properties("ingested_files", {BUILT_UNTIL: ""})
            _note_files(lake, [*rows, *(packed.row for packed in plan.packed)], plan.batch_id)
    finally:
        parsed.unpersist()
    report.problems += rotated(plan.files, accounts)
    report.files = [file_report(file, row, accounts) for file, row in zip(files, rows, strict=True)]


def _note_files(lake: Warehouse, rows: Sequence[Mapping[str, Any]], batch_id: str) -> None:
    """The commit that makes the rows count that this run has appended."""
    spec = table_specs()["ingested_files"]
    values = [tuple(row[name] for name in spec.column_names) for row in rows]
    lake.upsert("ingested_files", lake.spark.createDataFrame(values, spec.ddl.replace(" NOT NULL", "")), batch_id)
    lake.fence.check()


def _shows_more(file: PlannedFile, row: Mapping[str, Any]) -> bool:
    """Whether new bytes show that a known file begins with its broker's start: what was derived of it knew less."""
    known = file.known
    return known is not None and bool(row["covers_broker_start"]) and not known["covers_broker_start"]


def _after(now: datetime, lake: Warehouse) -> datetime:
    """A time of ingestion above all earlier ones, whatever the clock does."""
    row = lake.read("ingested_files").agg(F.unix_micros(F.max("ingested_at"))).first()
    if row is None or row[0] is None:
        return now
    latest = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(row[0]))
    return max(now, latest + timedelta(microseconds=1))


def _build(
    spark: SparkSession, lake: Warehouse, settings: Settings, progress: Progress | None, report: RunReport
) -> RunReport:
    with utc(spark), lightly(spark) as light:
        if "prepare" not in report.seconds:
            lake.ensure()
        seen = lake.fence.version()
        properties = lake.properties("ingested_files")
        until = properties.get(BUILT_UNTIL) or None
        made_with = f"{__version__} {settings.fingerprint()}"
        if until is not None and properties.get(_BUILT_WITH) != made_with:
            until = None  # other settings or another release: everything is derived anew
        is_new = F.lit(True) if until is None else F.col("ingested_at") > F.lit(until).cast("timestamp")
        state = [F.max("ingested_at").cast("string"), F.sum(F.when(is_new, F.col("requests")))]
        newest, waiting = lake.read("ingested_files").agg(*state).first() or (None, None)
        if newest is not None and newest != until:
            light(int(waiting or 0))
            if lake.fence.claimed is None:
                lake.fence.claim(seen)
            report.too_late = remove_late(lake, datetime.now(UTC))
            derivation = Derivation(lake, settings, until, newest, properties.get(RETAINED_FROM))
            derivation.run(lambda name: report.stage(name, progress))
            lake.fence.check()
            lake.set_properties("ingested_files", {BUILT_UNTIL: newest, _BUILT_WITH: made_with})
        with report.stage("count", progress), ThreadPoolExecutor(AT_ONCE) as pool:
            report.tables = dict(zip(table_specs(), pool.map(lake.count, table_specs()), strict=True))
    return report
