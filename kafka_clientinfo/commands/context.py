"""One call of a command: its arguments, settings, Spark session, and progress on a terminal."""

import argparse
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, TextIO

from ..config.settings import Settings, load_settings
from ..errors import WarehouseError
from ..printable import safe
from ..questions.filters import Filters, Scope
from ..spark.failures import AGAIN
from ..tables.types import sql_time
from ..tables.views import ViewSettings, stored_tables
from ..warehouse.address import check_before
from ..warehouse.locks import is_at_work
from ..warehouse.stages import log, say
from ..warehouse.state import LEDGER, State, no_logs_of, require_state, unless_at_work
from . import text_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..questions.queries import StoredTables

_WHERE = (
    "folder or URI of the Delta tables (warehouse, ./warehouse, s3://bucket/warehouse), or the schema of a catalog that they "
    "are in: CATALOG.SCHEMA"
)
SOMETHING_FOUND = 3
"""The exit code if somebody should act: a client would break, a broker refuses requests, or something is new."""
_WAITING = (
    "SELECT cluster, max(ingested_at) > CAST({until} AS TIMESTAMP) AS waits FROM {ingested_files} "
    "GROUP BY cluster ORDER BY cluster"
)
_BEHIND = "There are newer requests that no build has seen: run `kafka-clientinfo build`."
COMMITTED = f"stopped; {AGAIN}"


class Context:
    """One call of a command.

    Attributes:
        interrupted: set after Ctrl-C ended the session that this call started; later errors are then caused by Ctrl-C.
        spark_log: the log file of the session that this call started; None if it started none.
        has_news: whether a run read something.
    """

    def __init__(self, arguments: argparse.Namespace, spark: "SparkSession | None" = None) -> None:
        self.arguments, self.interrupted = arguments, Event()
        self.spark_log: Path | None = None
        self.has_news = False
        self.progress = None if getattr(arguments, "json", False) else progress_line()
        self._spark = spark

    @property
    def warehouse(self) -> str:
        return str(self.arguments.warehouse)

    def settings(self, **overrides: Any) -> Settings:
        """Load the settings; `overrides` come from arguments, and those that are None count as not given."""
        conf: dict[str, str] = {}
        if self._spark is not None:
            from ..spark.features import given_conf

            conf = given_conf(self._spark)
        settings = load_settings(self.arguments.conf, conf, **overrides)
        if self._spark is None and "warehouse" in self.arguments:
            check_before(self.warehouse, settings.spark)
        return settings

    @property
    def has_session(self) -> bool:
        return self._spark is not None

    def tables(self) -> "StoredTables":
        """Open the warehouse's tables for reading, without a Spark session if they are on this machine."""
        from ..questions.opening import local_tables

        root = self.warehouse
        if self._spark is None:
            self.settings()  # raises if the session to be started has no catalog for it
        if (on_this_machine := local_tables(root)) is not None:
            return on_this_machine
        from ..questions.spark_tables import SparkTables

        return SparkTables(self.session(), root)

    def scope(self, table: str) -> tuple[Scope, list[str]]:
        """Open the warehouse to read a derived table with the filters of the call; return also a note if newer requests wait for a build."""
        filters = Filters.of(self.arguments)  # before anything is opened
        tables, root, cluster = self.tables(), self.warehouse, filters.cluster
        state = require_state(tables.state(), root)
        if state.built_until is None:
            is_empty = not tables.query(f"SELECT 1 FROM {{{LEDGER}}} LIMIT 1").rows
            step = "run` on logs" if is_empty else "build` first"
            advice = unless_at_work(root, f"; run `kafka-clientinfo {step}")
            raise WarehouseError(f"the tables of {root} are not built{advice}")
        for name in stored_tables(table):
            if state.rows.get(name, 1) and not tables.exists(name):
                advice = unless_at_work(root, "; `kafka-clientinfo build` makes it anew")
                raise WarehouseError(f"in {tables.root} the table {name} is missing{advice}")
        waiting: dict[str, bool] = dict(tables.query(_WAITING, {"until": sql_time(state.built_until)}).rows)
        if cluster is not None and cluster not in waiting:
            raise no_logs_of(cluster, root, list(waiting))
        is_behind = any(waits for name, waits in waiting.items() if cluster in (None, name))
        bucket_minutes = ViewSettings.stored(state.view_settings).bucket_minutes
        return Scope(tables, filters, bucket_minutes), [_BEHIND] if is_behind else []

    def session(self, settings: Settings | None = None) -> "SparkSession":
        """Return the session of this call: the given one, or a new local one."""
        if self._spark is None:
            say("starting Spark")
            from ..spark.session import local_session
            from .process import end_at_interrupt, tell_once_of_a_dead_jvm

            settings = settings or self.settings()
            descriptor, log_file = tempfile.mkstemp(prefix="kafka-clientinfo-spark-", suffix=".log")
            os.close(descriptor)
            self.spark_log = Path(log_file)
            tell_once_of_a_dead_jvm()
            self._spark = local_session(settings, log_file=log_file)
            end_at_interrupt(self.interrupted.set)
        from .process import keep_quiet

        keep_quiet()
        return self._spark

    def forget_spark_log(self) -> None:
        if self.spark_log is not None:
            self.spark_log.unlink(missing_ok=True)

    @contextmanager
    def showing_progress(self) -> Iterator[None]:
        if self.progress is None:
            yield
            return
        level = log.level
        log.addHandler(self.progress)
        log.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            log.setLevel(level)
            log.removeHandler(self.progress)

    def end_progress(self) -> None:
        if self.progress is not None:
            self.progress.clear()

    def show_report(self, report: Any, text: Callable[[], str]) -> None:
        """Print the report of a command that changes tables, a dataclass, as JSON with --json, else as text."""
        self.end_progress()
        shown = json.dumps(asdict(report), ensure_ascii=True, default=str) if self.arguments.json else text()
        text_tables.output(shown)


class ProgressLine(logging.Handler):
    """A line of a terminal that shows the current stage, as it is logged, and how far it is."""

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self._out, self._started, self._stage = out, time.monotonic(), ""

    def emit(self, record: logging.LogRecord) -> None:
        if (stage := getattr(record, "stage", None)) is not None:
            self._stage = stage
            self._show(stage)
        elif (detail := getattr(record, "detail", None)) is not None:
            self._show(f"{self._stage}: {detail}")

    def clear(self) -> None:
        self._write("\r\x1b[K")

    def _show(self, text: str) -> None:
        self._write(f"\r\x1b[K{time.monotonic() - self._started:6.1f} s  {safe(text)}")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # a run goes on without its terminal
            self._out.write(text)
            self._out.flush()


def progress_line(stream: TextIO | None = None) -> ProgressLine | None:
    out = stream or sys.stderr
    return ProgressLine(out) if out is not None and text_tables.is_terminal(out) else None


def notes_on(state: State, root: str) -> list[str]:
    if is_at_work(root):
        return ["A run is at work on these tables."]
    return [] if state.built_until else ["The tables are not built: `kafka-clientinfo run`, or `build`, makes them."]


def add_common(parser: argparse.ArgumentParser, cluster: str | None = None) -> None:
    """Declare the arguments of every command on a warehouse; `cluster` is the help of --cluster, None for no --cluster."""
    add_warehouse(parser, cluster)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def add_warehouse(parser: argparse.ArgumentParser, cluster: str | None = None) -> None:
    """Declare the arguments of `add_common` but for --json: for commands that also call `output.add_formats`."""
    parser.add_argument("--warehouse", required=True, metavar="WHERE", help=_WHERE)
    add_settings(parser, cluster)


def add_settings(parser: argparse.ArgumentParser, cluster: str | None = None) -> None:
    if cluster is not None:
        parser.add_argument("--cluster", metavar="NAME", help=cluster)
    parser.add_argument("--conf", metavar="FILE", help="settings in TOML; see conf/local.toml")
