"""The command `run`, and the code that it shares with its two steps, the commands `ingest` and `build`."""

import argparse
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..printable import safe
from ..questions.filters import Scope
from ..questions.presenter import counted
from ..questions.trust import limits_of_logs
from . import text_tables
from .context import COMMITTED, Context, add_common
from .output import as_text
from .summary import SHOWN, findings, rows_of_tables

if TYPE_CHECKING:
    from ..ingestion.planned import Problem
    from ..runs.ingest import RunReport

HELP = "read new log bytes and build all tables"
STOPPED = COMMITTED
_FILE = ("broker", "requests", "rejected", "other lines", "waiting bytes", "path")
"""The columns about each file; a broker writes other lines than completed requests to the same log."""
_MOST_ASKED = 100_000
"""Connections up to which a run asks the view `violations`; with a million that costs 7 of its 60 CPU seconds."""
_NOT_ASKED = "Violations are not counted here, as there are many connections; `kafka-clientinfo violations` lists them."
EXAMPLES = (
    "run /var/log/kafka --warehouse /data/clientinfo --cluster orders",
    "run '/logs/*/kafka-request.log*' s3://archive/kafka --warehouse /data/clientinfo --conf local.toml",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_logs(parser)
    add_common(parser, "name of the cluster that wrote the logs")


def add_logs(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Declare the argument LOGS; `more` is appended to its help."""
    parser.add_argument(
        "logs",
        nargs="+",
        metavar="LOGS",
        help="log files, folders (every request log below) or globs; also as URIs (s3://bucket/logs)" + more,
    )


def execute(context: Context) -> int:
    """Call the function of `pipeline` with the command's name and print its report.

    Returns:
        The exit code: 1 if a file could not be read, or not to its end.
    """
    arguments = context.arguments
    name, inputs = arguments.command, [arguments.logs] if "logs" in arguments else []
    settings = context.settings(cluster=getattr(arguments, "cluster", None))
    from ..ingestion.planned import is_incomplete
    from ..runs import run as pipeline

    of_table = {"requests": table} if (table := getattr(arguments, "requests", None)) else {}
    started = time.monotonic()
    report = (
        None if context.has_session or of_table else pipeline.nothing_new(name, inputs, context.warehouse, settings)
    )
    if report is None:
        spark = context.session(settings)
        started = time.monotonic()
        report = getattr(pipeline, name)(spark, *inputs, context.warehouse, settings, **of_table)
    elapsed = time.monotonic() - started
    context.show_report(report, lambda: _as_text(report, elapsed, context))
    return int(is_incomplete(report.problems, report.files))


def _as_text(report: "RunReport", elapsed: float, context: Context) -> str:
    parts = [_files(report, elapsed)]
    if report.tables:
        scope = Scope(context.tables())
        is_large = report.tables.get("connections", 0) > _MOST_ASKED
        found = findings(scope, SHOWN, "violations" if is_large else None)
        shown = [rows_of_tables(report.tables, context.warehouse), *found]
        parts.append(as_text(shown, limits_of_logs(scope), rest="`kafka-clientinfo summary --limit 0` and --json"))
        if is_large:
            parts.append(_NOT_ASKED)
    return "\n\n".join(parts)


def _files(report: "RunReport", elapsed: float) -> str:
    read = sum(file["to_offset"] - file["from_offset"] for file in report.files)
    (requests,) = totals(report.files, "requests")
    late = {problem.path for problem in report.problems if problem.kind == "late"}
    lines = [
        f"Read {counted(len(report.files), 'file')}, {read:,} bytes of log, {requests} requests in {elapsed:.1f} s"
        f"{_unchanged(len(set(report.unchanged) - late))}."
    ]
    if {problem.kind for problem in report.problems} == {"empty"} and not report.files and not report.unchanged:
        # The logs are folders to which nothing has been delivered yet, or empty files.
        lines = ["Nothing yet: there is no log to read."]
    rows: list[Sequence[Any]] = [
        (f["broker"], f["requests"], f["rejected"], sum(f["ignored"].values()), f["pending_bytes"], f["path"])
        for f in report.files
    ]
    if rows:
        lines.append(text_tables.columns(_FILE, rows))
    return "\n".join([*lines, *(f"  {line}" for line in not_read(report.problems, report.files))])


def _unchanged(number: int) -> str:
    """Return the end of the sentence on what was read; empty if every file had something new."""
    if not number:
        return ""
    return f"; {counted(number, 'file')} {'was read before and has' if number == 1 else 'were read before and have'} nothing new"


def totals(reports: Iterable[Mapping[str, Any]], *names: str) -> list[str]:
    """Return the sum over the files of each named figure, as text."""
    return [f"{sum(report[name] for report in reports):,}" for name in names]


def not_read(problems: Iterable["Problem"], reports: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a line for each file that was skipped or not read to its end."""
    lines = [(problem.kind, problem.path, problem.detail) for problem in problems]
    lines += [("damaged", file["path"], file["error"]) for file in reports if file["error"]]
    return [f"{kind}: {safe(path)}: {safe(detail)}" for kind, path, detail in lines]
