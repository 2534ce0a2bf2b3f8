"""The steps of a run: `ingest` reads new bytes of logs, `build` derives every other table from requests.

Each step can be run alone and again: what it writes counts once its row is in `runs`.
"""

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from pyspark.sql import SparkSession

from ..config.settings import Settings
from ..ingestion.discovery import Logs, delivered_logs
from ..ingestion.plan import make_plan, nothing_yet
from ..ingestion.planned import Problem
from ..questions.opening import local_tables
from ..questions.queries import UnreadableTableError
from ..questions.spark_tables import store_views
from ..spark.arrow_rows import relation_of
from ..spark.failures import failure_message
from ..spark.features import at_once
from ..spark.session_conf import REQUEST_BYTES, SMALL_BYTES, sized
from ..tables.spec import table_spec
from ..tables.views import ViewSettings
from ..warehouse.address import address_of, root_of
from ..warehouse.creation import make_views
from ..warehouse.judged_table import JUDGED
from ..warehouse.repair import has_unended, take_back
from ..warehouse.state import LEDGER, State, read_state
from ..warehouse.warehouse import Warehouse, opened
from .bronze import take_requests
from .derivation import Derivation
from .ingest import Ingested, RunReport, cover_again, files_read, ingest_logs, made_with
from .steps import ROWS


def run(
    spark: SparkSession, logs: Logs, warehouse: str | os.PathLike[str], settings: Settings | None = None
) -> RunReport:
    """Ingest log files and build all tables.

    Args:
        spark: a session with Delta.
        logs: files, folders, globs or URIs; one alone, or several.
        warehouse: folder or URI of the Delta tables, or catalog.schema.
        settings: defaults when None.

    Raises:
        InputError: `logs` names nothing.
        WarehouseError: the warehouse does not fit this release, cannot be written, or another run is at work on it.
    """
    return _read(spark, logs, warehouse, settings or Settings(), "run")


def ingest(
    spark: SparkSession, logs: Logs, warehouse: str | os.PathLike[str], settings: Settings | None = None
) -> RunReport:
    """Read what is new in the log files into requests, rejected_records and ingested_files; see `run`."""
    return _read(spark, logs, warehouse, settings or Settings(), "ingest")


def build(
    spark: SparkSession,
    warehouse: str | os.PathLike[str],
    settings: Settings | None = None,
    requests: str | None = None,
) -> RunReport:
    """Derive all other tables for the connection ids that have new requests; see `run`.

    Args:
        spark: a session with Delta.
        warehouse: folder or URI of the Delta tables, or catalog.schema.
        settings: defaults when None.
        requests: the name of a table of requests, such as `main.bronze.requests` or delta.`/path`, as a stream of the data
            source kafka_request_log writes it, but no temporary view: its new rows are taken over first. A warehouse is
            filled from logs or from one such table.

    Raises:
        InputError: that table lacks columns.
        ConfigError: the warehouse was filled from logs.
    """
    settings, report = settings or Settings(), RunReport()
    report.command = "build"
    with opened(spark, root_of(warehouse), settings, report) as lake:
        ingested = Ingested(files_read(lake)) if requests is None else take_requests(requests, lake, settings, report)
        return _build(lake, ingested, settings, report)


def nothing_new(step: str, inputs: Sequence[Sequence[str]], warehouse: str, settings: Settings) -> RunReport | None:
    """Report a step (run, ingest or build, which has no inputs) that has nothing to do, without a session.

    Returns None if it has work to do, or if that can't be known without a session. Raises InputError if the logs name nothing.
    """
    report = RunReport()
    try:
        tables = local_tables(warehouse)
        state = None if tables is None else tables.state()
        if tables is None or state is None or has_unended(tables.folder, state.run):
            return None
        if not all(map(tables.exists, (*state.rows, LEDGER))):
            return None
        ledger = {row["file_id"]: row for row in tables.query(f"SELECT * FROM {{{LEDGER}}}").dicts()}
        if step != "ingest":
            if _built_until(state, settings) != max((row["ingested_at"] for row in ledger.values()), default=None):
                return None
            report.tables = dict(state.rows)
        for logs in inputs:
            with report.stage("plan"):
                found = delivered_logs(logs, settings.server_logs)
                plan = make_plan(found.files, ledger, settings, 1, state.retained_from)
            if plan.files or plan.packed:
                return None
            report.unchanged, report.problems = list(plan.unchanged), [*nothing_yet(found), *plan.problems]
    except (UnreadableTableError, OSError):  # damaged, or just being written
        return None
    return report


def _read(
    spark: SparkSession, logs: Logs, warehouse: str | os.PathLike[str], settings: Settings, command: str
) -> RunReport:
    found, root, report = delivered_logs(logs, settings.server_logs), root_of(warehouse), RunReport()
    report.command, report.problems = command, nothing_yet(found)
    if not found.files and read_state(spark, address_of(root)) is None:
        return report
    with opened(spark, root, settings, report) as lake:
        ingested = ingest_logs(found.files, lake, settings, report)
        if command == "ingest":
            return report
        state = lake.state
        try:
            return _build(lake, ingested, settings, report)
        except Exception as error:
            _keep_what_was_read(lake, state, settings, report, error)
            raise


def _build(lake: Warehouse, ingested: Ingested, settings: Settings, report: RunReport) -> RunReport:
    newest: datetime | None = max((row["ingested_at"] for row in ingested.files.values()), default=None)
    until = _built_until(lake.state, settings)
    if newest is None or newest == until:
        report.tables = dict(lake.state.rows)
        return report
    if until is not None and not lake.exists(JUDGED):
        until = None  # somebody removed it
    planned = ingested.new_requests(until) * REQUEST_BYTES
    with sized(lake.spark, planned):
        lake.one_file = planned <= SMALL_BYTES
        lake.claim()
        if until is None:
            cover_again(lake, ingested.files, settings)
        files = list(ingested.files.values())
        derivation = Derivation(lake, settings, until, newest, files, ingested.requests_since(until))
        derivation.run(report.stage)
        with report.stage("reference tables"):
            _write_reference_tables(lake, until is None)
        lake.create_missing(lake.specs)
        tables = None if lake.address.folder is None else local_tables(lake.root)
        # On this machine Delta's log has the numbers of rows; Spark takes a job for each.
        report.tables = lake.rows(None if tables is None else lambda name: tables.size(name).rows)
        views = ViewSettings.of(settings)
        lake.note(
            built_until=newest,
            built_with=made_with(settings),
            view_settings=views.as_dict,
            rows=report.tables,
            changed=(),
        )
        lake.commit(report, settings.fingerprint())
        with report.stage("views"):
            failed = store_views(lake, settings.stored_views)  # before views that read them
            failed |= _make_views(lake, views, settings.stored_views)
        report.problems += [Problem(lake.address.location(name), "view", why) for name, why in failed.items()]
    return report


def _keep_what_was_read(lake: Warehouse, state: State, settings: Settings, report: RunReport, error: Exception) -> None:
    """Commit what a run has read if it cannot build: its logs may be gone when it can."""
    with suppress(Exception):  # the session may have ended; then the next run reads it again
        if lake.has_written:
            lake.claims.check()
            take_back(lake, [name for name, spec in lake.specs.items() if spec.derived] + [JUDGED])
            lake.note(**vars(replace(state, declared=None)))  # those of an earlier release are as they were
            lake.commit(report, settings.fingerprint(), failure_message(error, lake.root))


def _write_reference_tables(lake: Warehouse, anew: bool) -> None:
    """Write the tables that are missing; if everything is derived anew, as the package's data may have changed, all."""
    names = [name for name in ROWS if anew or not lake.exists(name)]
    at_once(lambda name: lake.overwrite(name, relation_of(lake.spark, ROWS[name](), table_spec(name).ddl)), names)


def _make_views(lake: Warehouse, settings: ViewSettings, stored: Collection[str]) -> dict[str, str]:
    """Make the views of a schema, or the file with those of a folder; return per view that could not be made, the reason."""
    if lake.address.is_schema:
        return make_views(lake.spark, lake.address, settings, stored)
    try:
        if lake.address.folder is not None and (tables := local_tables(lake.root)) is not None:
            tables.write_views()
    except (OSError, UnreadableTableError) as error:
        return {"views.sql": str(error)}
    return {}


def _built_until(state: State, settings: Settings) -> datetime | None:
    """Return the time of ingestion up to which everything is built; None if other settings, releases or rules built it."""
    return state.built_until if state.built_with == made_with(settings) else None
