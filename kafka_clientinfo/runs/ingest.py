"""The first step of a run: reads new bytes of log files into requests, rejected_records and failed_requests."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from .. import __version__
from ..config.settings import Settings
from ..coverage.changes import changes
from ..coverage.periods import with_log_coverage
from ..errors import ConfigError
from ..ingestion.arrow_schema import KINDS
from ..ingestion.by_spark import parse_logs, readable_rows, start_worker, statistics_of
from ..ingestion.plan import make_plan
from ..ingestion.planned import Plan, Problem
from ..ingestion.reading_progress import watched
from ..ingestion.split_statistics import (
    file_report,
    file_row,
    files_cut_inside_records,
    overlaps,
    relaid,
    rotated,
    was_read,
)
from ..ingestion.storage import StoredFile
from ..questions.opening import local_tables
from ..questions.queries import UnreadableTableError
from ..resources import rules_digest
from ..spark.arrow_rows import collect_by_name, relation_of
from ..spark.features import cores, is_on_one_machine
from ..spark.session_conf import SMALL_BYTES, sized
from ..tables.spec import OF_TABLE, table_spec
from ..warehouse.stages import Stages, log, say
from ..warehouse.staging import cache
from ..warehouse.state import LEDGER, SOURCES, counted_rows
from ..warehouse.warehouse import Warehouse


@dataclass
class RunReport(Stages):
    """What a run did.

    Attributes:
        files: per file read: path, broker, what it held, and bytes that are not read yet.
        unchanged: files without new bytes.
        problems: files that were not read or overlap, and views that could not be made, with reasons.
        tables: rows per table after the run.
        seconds: time per stage.
    """

    command = "run"
    files: list[dict[str, Any]] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    tables: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def amounts(self) -> tuple[int, int, int, int]:  # type: ignore[override]
        read = sum(file["to_offset"] - file["from_offset"] for file in self.files)
        requests, rejected = (sum(file[name] for file in self.files) for name in ("requests", "rejected"))
        return len(self.files), read, requests, rejected


@dataclass(frozen=True)
class Ingested:
    """What is ingested when the build begins: rows of `ingested_files` by file_id, now and before the run.

    `requests` are those that this run has read, in memory; None if it has read none, or if rows in memory may be lost and read
    again.
    """

    files: Mapping[str, Mapping[str, Any]]
    before: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    requests: DataFrame | None = None

    def new_requests(self, until: datetime | None) -> int:
        """Return the number of requests, or somewhat more, that were ingested after a time; None counts all of them."""
        if until is None:
            return sum(row["requests"] for row in self.files.values())
        built = {name: row["requests"] for name, row in self.before.items() if row["ingested_at"] <= until}
        new = {name: row["requests"] for name, row in self.files.items() if row["ingested_at"] > until}
        return sum(number - built.get(name, 0) for name, number in new.items())

    def requests_since(self, until: datetime | None) -> DataFrame | None:
        """Return the requests that were ingested after a time, or all if it is None; None if some are not in memory."""
        before = max((row["ingested_at"] for row in self.before.values()), default=None)
        return self.requests if before == until else None


def ingest_logs(files: Sequence[StoredFile], lake: Warehouse, settings: Settings, report: RunReport) -> Ingested:
    """Read what is new in log files and commit it; add its results to `report`."""
    if is_on_one_machine(lake.spark):
        start_worker(lake.spark)
    with sized(lake.spark, 0), report.stage("plan"):
        ledger = files_read(lake)
        refuse_other_source(ledger.values(), is_table=False)
        plan = make_plan(files, ledger, settings, cores(lake.spark), lake.state.retained_from)
    report.unchanged = list(plan.unchanged)
    report.problems += plan.problems
    with sized(lake.spark, plan.size):
        lake.one_file = plan.size <= SMALL_BYTES
        if plan.files:
            lake.claim()
            for file in plan.files:
                if file.was_damaged:  # a file_id is a hash, and needs no quoting
                    of_rest = f"file_id = '{file.file_id}' AND byte_offset >= {file.resume_at}"
                    lake.delete("rejected_records", of_rest)
            return _read(lake, plan, ledger, settings, report)
        if plan.packed:
            with report.stage(LEDGER):
                return Ingested(store_files(lake, ledger, plan.packed, settings))
    return Ingested(ledger)


def files_read(lake: Warehouse) -> dict[str, dict[str, Any]]:
    if not lake.exists(LEDGER):
        return {}
    tables = None if lake.folder(LEDGER) is None else local_tables(lake.root)
    with suppress(UnreadableTableError):  # Spark may read it, or say better why not
        if tables is not None:  # without Spark, which takes seconds for its first query
            return {row["file_id"]: row for row in tables.query(f"SELECT * FROM {{{LEDGER}}}").dicts()}
    return {row["file_id"]: row for row in collect_by_name(lake.read(LEDGER))}


def _read(
    lake: Warehouse, plan: Plan, ledger: Mapping[str, Mapping[str, Any]], settings: Settings, report: RunReport
) -> Ingested:
    now = after(datetime.now(UTC), ledger.values())
    with report.stage("read and parse"):
        parsed, statistics = _parsed(lake, plan, settings)
        if wrong := files_cut_inside_records(statistics):
            parsed, statistics = _parsed(lake, plan.with_whole_files(wrong), settings)
        readable = readable_rows(parsed, statistics)
    counts = [counted_rows(split) for split in statistics]
    numbers = {name: sum(count[name] for count in counts) for name in SOURCES}
    numbers["topic_mentions"] = sum(split["mentions"] for split in statistics)
    ingested_at = F.lit(now).alias("ingested_at")
    tables = {
        name: readable.where(f"{kind} IS NOT NULL").select(f"{kind}.*", ingested_at)
        for kind, name in KINDS.items()
        if name != LEDGER
    }
    files = [file for file in plan.files if was_read(file, statistics)]
    batch_id = uuid4().hex
    rows: list[Mapping[str, Any]] = [file_row(file, statistics, batch_id, now) for file in files]
    for name, relation in tables.items():
        if numbers[name] or name == "requests":
            with report.stage(name):
                lake.append(name, relation, numbers[name])
    with report.stage(LEDGER):
        by_id = store_files(lake, ledger, [*rows, *plan.packed], settings)
    report.problems += [*rotated(plan.files, statistics), *relaid(plan.files, statistics)]
    report.problems += overlaps(by_id.values(), [file.file_id for file in files])
    report.files = [file_report(by_id[file.file_id], file.ledger_row) for file in files]
    return Ingested(by_id, ledger, tables["requests"] if is_on_one_machine(lake.spark) else None)


def cover_again(lake: Warehouse, files: Mapping[str, Mapping[str, Any]], settings: Settings) -> None:
    """Store the coverage of the brokers' logs anew on the rows of files that show another, as by other settings."""
    covered = with_log_coverage(files.values(), settings, files)
    if changed := [name for name, row in covered.items() if row != files[name]]:
        store(lake, covered, changed)


def _parsed(lake: Warehouse, plan: Plan, settings: Settings) -> tuple[DataFrame, list[dict[str, Any]]]:
    detail = partial(say, is_detail=True) if log.isEnabledFor(logging.DEBUG) else None
    with watched(plan.size_on_disk, detail) as folder:
        parsed = cache(parse_logs(lake.spark, plan, settings.log_zone, folder, settings.topics), lake.staging)
        return parsed, statistics_of(parsed)


def store_files(
    lake: Warehouse, ledger: Mapping[str, Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], settings: Settings
) -> dict[str, Mapping[str, Any]]:
    """Store the rows of files that were read, with the coverage of their brokers' logs; return the rows of all files."""
    new = {row["file_id"]: row for row in rows}
    after_it = {**ledger, **new}.values()
    if lake.state.built_until is not None:
        if lake.state.built_with != made_with(settings):
            lake.note(built_until=None)  # the build may have other settings than this reading, by which to compare
        elif changed := list(changes(ledger.values(), after_it, settings)):
            lake.note(changed=tuple({*lake.state.changed, *changed}))
    by_id = with_log_coverage(after_it, settings, new)
    store(lake, by_id, new)
    return by_id


def store(lake: Warehouse, files: Mapping[str, Mapping[str, Any]], changed: Iterable[str]) -> None:
    """Store the rows of changed files, of all files by file_id, in the ledger, in one commit.

    A small ledger is written whole from memory, as Spark need not read it then.
    """
    if not lake.exists(LEDGER) or lake.is_small(LEDGER):
        lake.overwrite(LEDGER, ledger_of(lake.spark, files.values()))
    else:
        names = list(changed)
        of_files = ", ".join(f"'{name}'" for name in names)  # hashes, which need no quoting
        lake.overwrite(LEDGER, ledger_of(lake.spark, [files[name] for name in names]), f"file_id IN ({of_files})")


def ledger_of(spark: SparkSession, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    spec = table_spec(LEDGER)
    return relation_of(spark, [tuple(row.get(name) for name in spec.column_names) for row in rows], spec.ddl)


def made_with(settings: Settings) -> str:
    """Return what the derived tables depend on besides requests: release, settings and rules."""
    return f"{__version__} {settings.fingerprint()} {rules_digest()}"


def refuse_other_source(files: Iterable[Mapping[str, Any]], is_table: bool) -> None:
    """Raise ConfigError if logs are to be added to what came from a table of requests, or the other way round: offsets do not fit."""
    if any(row["batch_id"].startswith(OF_TABLE) != is_table for row in files):
        filled = "logs" if is_table else "a table of requests"
        raise ConfigError(f"the warehouse was filled from {filled}; go on with that, or name another warehouse")


def after(now: datetime, rows: Iterable[Mapping[str, Any]]) -> datetime:
    """Return a time of ingestion later than all earlier ones, whatever the clock says."""
    latest = max((row["ingested_at"] for row in rows), default=None)
    return now if latest is None else max(now, latest + timedelta(microseconds=1))
