"""The command `maintain`: compacts tables, deletes unused files and, with retention, old requests."""

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from . import text_tables
from .context import COMMITTED, Context, add_common

if TYPE_CHECKING:
    from ..warehouse.maintenance import MaintenanceReport

HELP = "compact and cluster the tables, delete unused files and, with retention, requests of old connections"
STOPPED = COMMITTED
EXAMPLES = (
    "maintain --warehouse /data/clientinfo",
    "maintain --warehouse /data/clientinfo --retention-days 90",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--retention-days", type=int, metavar="N", help="delete requests of connections that ended N days ago; 0: none"
    )
    parser.add_argument(
        "--vacuum-hours", type=int, metavar="H", help="delete files that no table has held for H hours (168)"
    )
    add_common(parser)


def execute(context: Context) -> int:
    arguments = context.arguments
    settings = context.settings(retention_days=arguments.retention_days, vacuum_hours=arguments.vacuum_hours)
    spark = context.session(settings)
    from ..warehouse.maintenance import maintain

    report = maintain(spark, context.warehouse, settings, context.progress)
    context.end_progress()
    text_tables.output(json.dumps(asdict(report), ensure_ascii=True) if arguments.json else as_text(report))
    return 0


def as_text(report: "MaintenanceReport") -> str:
    """Return the report as text for a terminal: one line per table."""
    header = ("table", "files", "now", "bytes", "now", "rows deleted", "unused files deleted", "their bytes")
    names = (
        "name", "files_before", "files_after", "bytes_before", "bytes_after", "rows_deleted",
        "vacuumed_files", "vacuumed_bytes",
    )  # fmt: skip
    rows = [tuple(table[name] for name in names) for table in report.tables]
    deleted = f"requests of connections that ended before {report.retained_from} are deleted"
    first = f"Retention: {'all requests are kept' if report.retained_from is None else deleted}."
    return "\n".join([first, text_tables.columns(header, rows)])
