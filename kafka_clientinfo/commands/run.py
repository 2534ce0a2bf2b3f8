"""The command `run`, and the code that it shares with its two steps, the commands `ingest` and `build`."""

import argparse
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ..printable import safe
from ..questions.filters import Scope
from ..questions.opening import local_tables
from ..questions.presenter import counted, in_bytes
from ..questions.refused import refusals
from ..questions.trust import info_logs, limits_of_logs, missing_hours, partly_logged
from ..releases.broker_releases import NO_TARGET, releases
from ..tables.spec import RUNS
from ..warehouse.address import local_folder
from . import upgrade
from .context import COMMITTED, Context, add_common
from .output import Table, as_text
from .summary import SHOWN, findings, rows_of_tables

if TYPE_CHECKING:
    from ..ingestion.planned import Problem
    from ..runs.ingest import RunReport

HELP = "read new log bytes and build all tables"
STOPPED = COMMITTED
_FILE = ("broker", "requests", "rejected", "other lines", "waiting bytes", "path")
"""The columns about each file; a broker writes other lines than completed requests to the same log."""
_LAST_RUNS = 5
_FEW_RUNS = 50
"""Runs for which a disk should have room: two days, if they are hourly."""
_MOST_ASKED = 100_000
"""Connections up to which a run says who would break: with more, that takes seconds."""
NO_REQUESTS = (
    "No completed request was found, so that no client can be judged. Is it a kafka-request.log, and is "
    "kafka.request.logger at DEBUG (TRACE in 0.10.2)? At INFO and WARN a broker may write nothing."
)
EXAMPLES = (
    "run /var/log/kafka --warehouse /data/clientinfo --cluster orders",
    "run '/logs/*/kafka-request.log*' s3://archive/kafka --warehouse /data/clientinfo --conf local.toml",
    "run /var/log/kafka --warehouse /data/clientinfo --then 'watch --target 4.1 --owners owners.toml'",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_logs(parser)
    add_common(parser, "name of the cluster that wrote the logs")
    add_verbose(parser)
    parser.add_argument(
        "--then", metavar="COMMAND", help="a command on this warehouse to go on with, unless there was nothing new"
    )


def add_verbose(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-v", "--verbose", action="store_true", help="print also each file, and what the tables hold")


def add_logs(parser: argparse.ArgumentParser, more: str = "") -> None:
    parser.add_argument(
        "logs",
        nargs="+",
        metavar="LOGS",
        help="log files, folders (every request log below) or globs; also as URIs (s3://bucket/logs)" + more,
    )


def execute(context: Context) -> int:
    """Call the function of `pipeline` with the command's name and print its report; return 1 if a file could not be read whole."""
    arguments = context.arguments
    name, inputs = arguments.command, [arguments.logs] if "logs" in arguments else []
    settings = context.settings(cluster=getattr(arguments, "cluster", None))
    from ..ingestion.planned import is_incomplete
    from ..runs import run as pipeline

    of_table = {"requests": table} if (table := getattr(arguments, "requests", None)) else {}
    started = time.monotonic()
    report = None
    if not (context.has_session or of_table):
        report = pipeline.nothing_new(name, inputs, context.warehouse, settings)
    if report is None:
        spark = context.session(settings)
        started = time.monotonic()
        report = getattr(pipeline, name)(spark, *inputs, context.warehouse, settings, **of_table)
    elapsed = time.monotonic() - started
    context.show_report(report, lambda: _as_text(report, elapsed, context))
    context.has_news = bool(report.files)
    return int(is_incomplete(report.problems, report.files))


def _as_text(report: "RunReport", elapsed: float, context: Context) -> str:
    lines = [_read(report, elapsed), *(f"  {line}" for line in not_read(report.problems, report.files))]
    if report.files:
        lines.append(_rejected(report.files))
        if not any(file["requests"] for file in report.files):
            is_first = report.tables.get("requests") == 0
            lines.append(NO_REQUESTS if is_first else "No completed request was in it.")
    if report.tables:
        lines += _answers(report, context)
    parts = ["\n".join(lines)]
    if context.arguments.verbose:
        parts += [as_text([_files(report.files)])] if report.files else []
        if report.tables:
            scope = Scope(context.tables())
            shown = [rows_of_tables(report.tables, context.warehouse), *findings(scope, SHOWN)]
            parts.append(as_text(shown, limits_of_logs(scope), rest="`kafka-clientinfo summary --limit 0` and --json"))
    return "\n\n".join(parts)


def _read(report: "RunReport", elapsed: float) -> str:
    if {problem.kind for problem in report.problems} == {"empty"} and not report.files and not report.unchanged:
        # The logs are folders to which nothing has been delivered yet, or empty files.
        return "Nothing yet: there is no log to read."
    read = sum(file["to_offset"] - file["from_offset"] for file in report.files)
    (requests,) = totals(report.files, "requests")
    late = {problem.path for problem in report.problems if problem.kind == "late"}
    unchanged = _unchanged(len(set(report.unchanged) - late))
    return f"Read {counted(len(report.files), 'file')}, {read:,} bytes of log, {requests} requests in {elapsed:.1f} s{unchanged}."


def _rejected(files: Sequence[Mapping[str, Any]]) -> str:
    rejected, pending = (sum(file[name] for file in files) for name in ("rejected", "pending_bytes"))
    text = f"Rejected: {counted(rejected, 'record')}{', in the table rejected_records' if rejected else ''}"
    return f"{text}; {pending:,} bytes wait for the end of their record." if pending else f"{text}."


def _answers(report: "RunReport", context: Context) -> list[str]:
    """Return lines on what the tables hold now, on who would break at --then's --target or the newest release, and on what to do next.

    Who would break is only asked of tables on this machine: elsewhere it would take a job of Spark's.
    """
    root = safe(context.warehouse)
    asked = getattr(context.arguments, "then_target", None)
    target, unasked = asked or list(releases())[-1], "" if asked else f" {NO_TARGET}"
    requests, connections = (report.tables.get(name, 0) for name in ("requests", "connections"))
    known = f"Tables in {root}: {counted(requests, 'request')} of {counted(connections, 'connection')}."
    upgrade_command = f"`kafka-clientinfo upgrade --target {target} --warehouse {root}`"
    missing = None
    if connections > _MOST_ASKED or (tables := local_tables(context.warehouse)) is None:
        verdict, who = f"Who would break at Kafka {target}: {upgrade_command} says it.{unasked}", ""
    else:
        scope = Scope(tables)
        judged = upgrade.at_release(scope, target, refusals(scope), unasked)[0]
        verdict = " ".join(filter(None, [judged, info_logs(scope), partly_logged(scope)]))
        missing = missing_hours(scope, timedelta(days=1))
        who = f"{upgrade_command} says who; "
    page = f"`kafka-clientinfo report --output report.html --target {target} --warehouse {root}` writes a page"
    following = f"Next: {who}{page}; -v and `kafka-clientinfo summary` show more."
    return [known, verdict, *filter(None, [missing, _nearly_full(context.warehouse)]), following]


def _nearly_full(root: str) -> str | None:
    """Return a warning if the disk of a local warehouse has room for few runs like the last ones.

    What a run wrote are the files that changed while it was at work. The median counts, as a first run may have read the logs of
    a year, and what others write to the disk is not known.
    """
    if (folder := local_folder(root)) is None or (tables := local_tables(root)) is None:
        return None
    runs = tables.query(
        f"SELECT began, ended FROM {{{RUNS}}} WHERE command IN ('run', 'ingest', 'build') ORDER BY run DESC LIMIT {_LAST_RUNS}"
    ).rows
    wrote = dict.fromkeys(range(len(runs)), 0)
    try:
        free = shutil.disk_usage(folder).free
        for path in (Path(parent, name) for parent, _, names in os.walk(folder) for name in names):
            file = path.stat()
            for place, (began, ended) in enumerate(runs):
                if began.timestamp() <= file.st_mtime <= ended.timestamp():
                    wrote[place] += file.st_size
    except OSError:  # another run, or `maintain`, deletes files
        return None
    usual = median(wrote.values()) if len(runs) > 1 else 0
    if free >= usual * _FEW_RUNS:
        return None
    return (
        f"Disk: {in_bytes(free)} are free at {safe(root)}, room for about {counted(int(free / usual), 'run')} like the last {len(runs)}, "
        f"which wrote {in_bytes(int(usual))} each; `kafka-clientinfo maintain` makes room."
    )


def _files(files: Sequence[Mapping[str, Any]]) -> Table:
    rows: list[Sequence[Any]] = [
        (f["broker"], f["requests"], f["rejected"], sum(f["ignored"].values()), f["pending_bytes"], f["path"])
        for f in files
    ]
    return Table("Files", _FILE, rows)


def _unchanged(number: int) -> str:
    if not number:
        return ""
    return f"; {counted(number, 'file')} {'was read before and has' if number == 1 else 'were read before and have'} nothing new"


def totals(reports: Iterable[Mapping[str, Any]], *names: str) -> list[str]:
    return [f"{sum(report[name] for report in reports):,}" for name in names]


def not_read(problems: Iterable["Problem"], reports: Iterable[Mapping[str, Any]]) -> list[str]:
    lines = [(problem.kind, problem.path, problem.detail) for problem in problems]
    lines += [("damaged", file["path"], file["error"]) for file in reports if file["error"]]
    return [f"{kind}: {safe(path)}: {safe(detail)}" for kind, path, detail in lines]
