"""The steps of a run, in the order of their inputs.

`ingest` reads new bytes into requests, rejected_records and ingested_files; `build` derives every other table from
requests. Each step can be run alone and again: ingest commits ingested_files last and first removes what a broken
run left behind; build works from a watermark that it moves last.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from . import __version__
from .derivation import Derivation
from .engine import Warehouse, exclusive, kept, release, remove_late, sized, utc
from .engine.sizing import REQUEST_BYTES
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
from .settings import Settings
from .tables import table_spec, table_specs

Progress = Callable[[str], None]
_READ_INTO = ("requests", "rejected_records", "failed_requests")
"""Tables whose rows are uncommitted until ingested_files is written."""


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
    with _opened(spark, warehouse, settings, progress) as (lake, report):
        _ingest(logs, lake, settings, progress, report)
        return _build(lake, settings, progress, report)


def ingest(
    spark: SparkSession,
    logs: Sequence[str],
    warehouse: str,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> RunReport:
    """Read what is new in the log files into requests, rejected_records and ingested_files; see `run`."""
    settings = settings or Settings()
    with _opened(spark, warehouse, settings, progress) as (lake, report):
        _ingest(logs, lake, settings, progress, report)
        return report


def build(
    spark: SparkSession,
    warehouse: str,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> RunReport:
    """Derive all other tables for the connection ids that have new requests; see `run`."""
    settings = settings or Settings()
    with _opened(spark, warehouse, settings, progress) as (lake, report):
        return _build(lake, settings, progress, report)


@contextmanager
def _opened(
    spark: SparkSession, warehouse: str, settings: Settings, progress: Progress | None
) -> Iterator[tuple[Warehouse, RunReport]]:
    """Hold the warehouse, with the session set up for little work until it is known how much there is."""
    report = RunReport()
    with exclusive(warehouse, settings.lock_wait_seconds, progress, spark) as locked, utc(spark):
        lake = Warehouse(spark, warehouse, locked)
        with sized(spark, 0), report.stage("prepare", progress):
            lake.open()
        yield lake, report


def _ingest(
    logs: Sequence[str], lake: Warehouse, settings: Settings, progress: Progress | None, report: RunReport
) -> None:
    paths = find_logs(logs)
    if settings.server_logs:
        paths = with_server_logs(paths)
    with sized(lake.spark, 0), report.stage("plan", progress):
        known = {row["file_id"]: with_instants(row) for row in lake.read("ingested_files").collect()}
        plan = make_plan(paths, known, settings, _cores(lake.spark))
    report.unchanged, report.problems = list(plan.unchanged), list(plan.problems)
    with sized(lake.spark, plan.size, _cores(lake.spark)) as size:
        lake.one_file = size.is_small
        if plan.files:
            with report.stage("recover", progress):
                lake.claim()
                _remove_leftovers(lake, known)
                _remove_placeholders(lake, plan)
            _read(lake, plan, known, settings, report, progress)
        elif plan.packed:
            with report.stage("ingested_files", progress):
                _write_files(lake, [packed.row for packed in plan.packed], "packed")


def _cores(spark: SparkSession) -> int:
    """How many tasks run at once, as far as the session tells."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # a Spark Connect session has no context
        return 8


def _remove_leftovers(lake: Warehouse, known: Mapping[str, Mapping[str, Any]]) -> None:
    """Delete rows that a broken run appended without committing their files."""
    last = lake.last_batch("requests")
    if last in {row["batch_id"] for row in known.values()} or (last is None and not known):
        return
    first_new = F.col("bytes_ingested") + F.when(F.col("damage").isNotNull(), 1).otherwise(0)  # behind the placeholder
    files = lake.read("ingested_files").select("file_id", "bytes_ingested", first_new.alias("first_new"))
    for name in _READ_INTO:
        first = "first_new" if name == "rejected_records" else "bytes_ingested"
        joined = lake.read(name).select("file_id", "byte_offset").join(files, on="file_id", how="left")
        beyond = F.col("byte_offset") >= F.coalesce(first, F.lit(0))
        for row in joined.where(beyond).select("file_id", first).distinct().collect():
            lake.delete(name, _from(row["file_id"], row[first] or 0))


def _from(file_id: str, offset: int) -> str:
    """A condition for the rows of a file from an offset on; a file_id is a hash, and needs no quoting."""
    return f"file_id = '{file_id}' AND byte_offset >= {int(offset)}"


def _remove_placeholders(lake: Warehouse, plan: Plan) -> None:
    """Delete the rejected records that stood for what could not be read before, and is read now."""
    for file_id, offset in plan.marks.items():
        lake.delete("rejected_records", _from(file_id, offset))


def _read(
    lake: Warehouse,
    plan: Plan,
    known: Mapping[str, Mapping[str, Any]],
    settings: Settings,
    report: RunReport,
    progress: Progress | None,
) -> None:
    now = _after(datetime.now(UTC), known.values())
    # Tables that are missing are made while the workers parse.
    with report.stage("read and parse", progress), ThreadPoolExecutor(1) as background:
        created = background.submit(lake.create_missing, table_specs())
        parsed = kept(parse_logs(lake.spark, plan, settings.log_zone))
        accounts = accounts_of(parsed)
        readable = readable_rows(parsed, accounts)
        created.result()
    try:
        with report.stage("requests", progress):
            requests = readable.where("request IS NOT NULL").select("request.*", F.lit(now).alias("ingested_at"))
            lake.append("requests", requests, plan.batch_id, sum(account["requests"] for account in accounts))
        if number := sum(account["rejected"] for account in accounts):
            with report.stage("rejected_records", progress):
                rejected = readable.where("rejected IS NOT NULL").select("rejected.*")
                lake.append("rejected_records", rejected, plan.batch_id, number)
        if number := sum(dict(account["ignored"] or {}).get("failed_request", 0) for account in accounts):
            with report.stage("failed_requests", progress):
                failed = readable.where("failed IS NOT NULL").select("failed.*", F.lit(now).alias("ingested_at"))
                lake.append("failed_requests", failed, plan.batch_id, number)
        with report.stage("ingested_files", progress):
            files = [file for file in plan.files if was_read(file, accounts)]
            rows = [file_row(file, accounts, plan.batch_id, now) for file in files]
            if any(_shows_more(file, row) for file, row in zip(files, rows, strict=True)):
                lake.update_state(built_until=None)
            _write_files(lake, [*rows, *(packed.row for packed in plan.packed)], plan.batch_id)
    finally:
        release(parsed)
    report.problems += rotated(plan.files, accounts)
    report.files = [file_report(file, row, accounts) for file, row in zip(files, rows, strict=True)]


def _write_files(lake: Warehouse, rows: Sequence[Mapping[str, Any]], batch_id: str) -> None:
    """The commit that makes the rows count that this run has appended."""
    spec = table_spec("ingested_files")
    values = [tuple(row[name] for name in spec.column_names) for row in rows]
    lake.upsert("ingested_files", lake.spark.createDataFrame(values, spec.ddl.replace(" NOT NULL", "")), batch_id)


def _shows_more(file: PlannedFile, row: Mapping[str, Any]) -> bool:
    """Whether new bytes show that a known file begins with its broker's start: what was derived of it knew less."""
    known = file.known
    return known is not None and bool(row["covers_broker_start"]) and not known["covers_broker_start"]


def _after(now: datetime, known: Iterable[Mapping[str, Any]]) -> datetime:
    """A time of ingestion above all earlier ones, whatever the clock does."""
    latest = max((row["ingested_at"] for row in known), default=None)
    return now if latest is None else max(now, latest + timedelta(microseconds=1))


def _build(lake: Warehouse, settings: Settings, progress: Progress | None, report: RunReport) -> RunReport:
    spark = lake.spark
    made_with = f"{__version__} {settings.fingerprint()}"
    state = lake.state
    # Other settings or another release derive everything anew.
    until = state.built_until if state.built_with == made_with else None
    is_new = F.lit(True) if until is None else F.col("ingested_at") > F.lit(until).cast("timestamp")
    waiting = F.sum(F.when(is_new, F.col("requests")))
    with sized(spark, 0):
        row = lake.read("ingested_files").agg(F.max("ingested_at").cast("string"), waiting).first()
    newest, number = (row[0], int(row[1] or 0)) if row is not None else (None, 0)
    if newest is not None and newest != until:
        with sized(spark, number * REQUEST_BYTES, _cores(spark)) as size:
            lake.one_file = size.is_small
            lake.claim()
            report.too_late = remove_late(lake, datetime.now(UTC))
            Derivation(lake, settings, until, newest).run(lambda name: report.stage(name, progress))
            report.tables = lake.rows()
            lake.update_state(built_until=newest, built_with=made_with, rows=report.tables)
    else:
        report.tables = dict(state.rows)
    return report
