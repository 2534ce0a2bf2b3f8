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

from deltalake.exceptions import DeltaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from . import __version__
from .derivation import Derivation
from .engine import (
    LEDGER,
    State,
    Warehouse,
    exclusive,
    kept,
    local_tables,
    release,
    remove_late,
    sized,
    state_of,
    stays_as_kept,
    utc,
)
from .engine.sizing import REQUEST_BYTES
from .ingestion import (
    Plan,
    PlannedFile,
    Problem,
    StoredFile,
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
    wrongly_cut,
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
        ingested = _ingest(logs, lake, settings, progress, report)
        try:
            return _build(lake, ingested, settings, progress, report)
        finally:
            ingested.release()


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
        _ingest(logs, lake, settings, progress, report).release()
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
        return _build(lake, _Ingested(_files(lake)), settings, progress, report)


def nothing_new(step: str, inputs: Sequence[Sequence[str]], warehouse: str, settings: Settings) -> RunReport | None:
    """Report a step that has nothing to do, without a session.

    Args:
        step: run, ingest or build.
        inputs: the logs; nothing for `build`.
        warehouse: folder or URI of the Delta tables.
        settings: of the step.

    Returns:
        What the step would report; None where it has work to do, or where only a session can tell.

    Raises:
        InputError: when the logs name nothing.
    """
    tables = local_tables(warehouse)
    if tables is None or not tables.exists(LEDGER):
        return None
    try:
        state = state_of(tables.properties(LEDGER), str(tables.folder / LEDGER))
        known = {row["file_id"]: row for row in tables.rows(LEDGER)}
    except (DeltaError, OSError):  # damaged, or under another run's hands
        return None
    is_broken = any(number and not tables.exists(name) for name, number in state.rows.items())
    if is_broken or state.deleting is not None:
        return None
    report = RunReport()
    for logs in inputs:
        with report.stage("plan", None):
            plan = make_plan(_paths(logs, settings), known, settings, 1)
        if plan.files or plan.packed:
            return None
        report.unchanged, report.problems = list(plan.unchanged), list(plan.problems)
    if step != "ingest":
        if _newest(known.values()) != _built_until(state, settings):
            return None
        report.tables = dict(state.rows)
    return report


@dataclass(frozen=True)
class _Ingested:
    """What is ingested when the build begins.

    Attributes:
        files: the rows of ingested_files by file_id.
        tables: whole tables as this run has written them, from memory; none where earlier runs wrote to them, or where
            rows in memory may be lost and read again.
        kept: what `tables` are made of.
    """

    files: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, DataFrame] = field(default_factory=dict)
    kept: Sequence[DataFrame] = ()

    def release(self) -> None:
        """Let the rows in memory go."""
        release(*self.kept)


@contextmanager
def _opened(
    spark: SparkSession, warehouse: str, settings: Settings, progress: Progress | None
) -> Iterator[tuple[Warehouse, RunReport]]:
    """Hold the warehouse, with the session set up for little work until it is known how much there is."""
    report = RunReport()
    with exclusive(warehouse, settings.lock_wait_seconds, progress, spark) as locked, utc(spark):
        lake = Warehouse(spark, warehouse, locked, private=settings.private_raw_bytes)
        with sized(spark, 0), report.stage("prepare", progress):
            lake.open()
        yield lake, report


def _ingest(
    logs: Sequence[str], lake: Warehouse, settings: Settings, progress: Progress | None, report: RunReport
) -> _Ingested:
    paths = _paths(logs, settings)
    with sized(lake.spark, 0), report.stage("plan", progress):
        known = _files(lake)
        plan = make_plan(paths, known, settings, _cores(lake.spark))
    report.unchanged, report.problems = list(plan.unchanged), list(plan.problems)
    with sized(lake.spark, plan.size, _cores(lake.spark)) as size:
        lake.one_file = size.is_small
        if plan.files:
            with report.stage("recover", progress):
                lake.claim()
                _remove_leftovers(lake, known)
                _remove_placeholders(lake, plan)
            return _read(lake, plan, known, settings, report, progress)
        if plan.packed:
            with report.stage("ingested_files", progress):
                _write_files(lake, [packed.row for packed in plan.packed], "packed")
    return _Ingested({**known, **{packed.known["file_id"]: packed.row for packed in plan.packed}})


def _paths(logs: Sequence[str], settings: Settings) -> list[StoredFile]:
    paths = find_logs(logs)
    return with_server_logs(paths) if settings.server_logs else paths


def _files(lake: Warehouse) -> dict[str, dict[str, Any]]:
    """The rows of ingested_files by file_id."""
    return {row["file_id"]: with_instants(row) for row in lake.read("ingested_files").collect()}


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
) -> _Ingested:
    now = _after(datetime.now(UTC), known.values())
    # Tables that are missing are made while the workers parse.
    with report.stage("read and parse", progress), ThreadPoolExecutor(1) as background:
        created = background.submit(lake.create_missing, table_specs())
        parsed = kept(parse_logs(lake.spark, plan, settings.log_zone))
        accounts = accounts_of(parsed)
        if wrong := wrongly_cut(accounts):
            release(parsed)
            parsed = kept(parse_logs(lake.spark, plan.uncut(wrong), settings.log_zone))
            accounts = accounts_of(parsed)
        readable = readable_rows(parsed, accounts)
        created.result()
    ignored = [dict(account["ignored"] or {}) for account in accounts]
    numbers = {
        "requests": sum(account["requests"] for account in accounts),
        "rejected_records": sum(account["rejected"] for account in accounts),
        "failed_requests": sum(counts.get("failed_request", 0) for counts in ignored),
    }
    ingested_at = F.lit(now).alias("ingested_at")
    tables = {
        "requests": readable.where("request IS NOT NULL").select("request.*", ingested_at),
        "rejected_records": readable.where("rejected IS NOT NULL").select("rejected.*"),
        "failed_requests": readable.where("failed IS NOT NULL").select("failed.*", ingested_at),
    }
    files = [file for file in plan.files if was_read(file, accounts)]
    rows = [file_row(file, accounts, plan.batch_id, now) for file in files]
    try:
        for name, relation in tables.items():
            if numbers[name] or name == "requests":
                with report.stage(name, progress):
                    lake.append(name, relation, plan.batch_id, numbers[name])
        with report.stage("ingested_files", progress):
            if any(_shows_more(file, row) for file, row in zip(files, rows, strict=True)):
                lake.update_state(built_until=None)
            written = [*rows, *(packed.row for packed in plan.packed)]
            tables["ingested_files"] = _write_files(lake, written, plan.batch_id)
    except BaseException:
        release(parsed)
        raise
    report.problems += rotated(plan.files, accounts)
    report.files = [file_report(file, row, accounts) for file, row in zip(files, rows, strict=True)]
    is_all = not known and stays_as_kept(lake.spark)
    if not is_all:
        release(parsed)
    by_id = {**known, **{row["file_id"]: row for row in written}}
    return _Ingested(by_id, tables, [parsed]) if is_all else _Ingested(by_id)


def _write_files(lake: Warehouse, rows: Sequence[Mapping[str, Any]], batch_id: str) -> DataFrame:
    """Make the commit that makes the rows count that this run has appended; returns its rows."""
    spec = table_spec("ingested_files")
    values = [tuple(row[name] for name in spec.column_names) for row in rows]
    written = lake.spark.createDataFrame(values, spec.ddl.replace(" NOT NULL", ""))
    lake.upsert("ingested_files", written, batch_id)
    return written


def _shows_more(file: PlannedFile, row: Mapping[str, Any]) -> bool:
    """Whether new bytes show that a known file begins with its broker's start: what was derived of it knew less."""
    known = file.known
    return known is not None and bool(row["covers_broker_start"]) and not known["covers_broker_start"]


def _after(now: datetime, known: Iterable[Mapping[str, Any]]) -> datetime:
    """A time of ingestion above all earlier ones, whatever the clock does."""
    latest = max((row["ingested_at"] for row in known), default=None)
    return now if latest is None else max(now, latest + timedelta(microseconds=1))


def _build(
    lake: Warehouse, ingested: _Ingested, settings: Settings, progress: Progress | None, report: RunReport
) -> RunReport:
    newest, until = _newest(ingested.files.values()), _built_until(lake.state, settings)
    if newest is None or newest == until:
        report.tables = dict(lake.state.rows)
        return report
    new = [row for row in ingested.files.values() if until is None or row["ingested_at"] > _instant(until)]
    planned = sum(int(row["requests"]) for row in new) * REQUEST_BYTES
    with sized(lake.spark, planned, _cores(lake.spark)) as size:
        lake.one_file = size.is_small
        lake.claim()
        report.too_late = remove_late(lake, datetime.now(UTC))
        derivation = Derivation(lake, settings, until, newest, {} if report.too_late else ingested.tables)
        derivation.run(lambda name: report.stage(name, progress))
        report.tables = lake.rows()
        lake.update_state(built_until=newest, built_with=_made_with(settings), rows=report.tables)
    return report


def _made_with(settings: Settings) -> str:
    return f"{__version__} {settings.fingerprint()}"


def _built_until(state: State, settings: Settings) -> str | None:
    """Time of ingestion up to which everything is built; None where other settings or another release built it."""
    return state.built_until if state.built_with == _made_with(settings) else None


def _newest(files: Iterable[Mapping[str, Any]]) -> str | None:
    """The newest time of ingestion, as SQL and the state write it, in UTC."""
    newest = max((row["ingested_at"] for row in files), default=None)
    return None if newest is None else f"{newest:%Y-%m-%d %H:%M:%S.%f}"


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
