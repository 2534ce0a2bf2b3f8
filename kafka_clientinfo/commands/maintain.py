"""The command `maintain`: compacts tables, deletes unused files and, with retention, old requests."""

import argparse
import re
from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING

from ..config.toml_files import shown
from ..questions.presenter import counted, in_bytes
from .context import COMMITTED, Context, add_common
from .output import folded

if TYPE_CHECKING:
    from ..warehouse.maintenance import MaintenanceReport

HELP = "compact tables; delete unused files and, if asked, old requests"
STOPPED = COMMITTED
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}")
EXAMPLES = ("maintain --warehouse /data/clientinfo", "maintain --warehouse /data/clientinfo --retention-days 90")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--retention-days",
        type=_number_of("days, or 0 to keep all requests"),
        metavar="N",
        help="delete requests of connections that ended N days ago; 0: none",
    )
    parser.add_argument(
        "--keep-connections-days",
        type=_number_of("days, or 0 to keep all connections"),
        metavar="N",
        help="delete also connections that ended N days ago, and what was counted of them; 0: none",
    )
    parser.add_argument(
        "--vacuum-hours",
        type=_number_of("hours"),
        metavar="H",
        help="delete files that no table has held for H hours (168)",
    )
    add_common(parser)


def _number_of(what: str) -> Callable[[str], int]:
    """Return the type of an argument that is a whole number; the settings refuse one that is too low or too high."""

    def number(text: str) -> int:
        if not _NUMBER.fullmatch(text):
            raise argparse.ArgumentTypeError(f"{shown(text)}; give a number of {what}")
        return int(text)

    return number


def execute(context: Context) -> None:
    arguments = context.arguments
    names = ("retention_days", "keep_connections_days", "vacuum_hours")
    settings = context.settings(**{name: getattr(arguments, name) for name in names})
    spark = context.session(settings)
    from ..warehouse.maintenance import maintain

    report = maintain(spark, context.warehouse, settings)
    context.show_report(report, lambda: folded(as_text(report), hanging=""))


def as_text(report: "MaintenanceReport") -> str:
    tables = report.tables
    before, after, bytes_before, bytes_after, files, freed = (
        sum(table[name] for table in tables)
        for name in ("files_before", "files_after", "bytes_before", "bytes_after", "vacuumed_files", "vacuumed_bytes")
    )
    kept = "all requests are kept; --retention-days N deletes old ones"
    if report.retained_from is not None:
        kept = f"requests of connections that ended before {report.retained_from} are deleted"
        if report.connections_from is not None:
            kept += f", as are connections that ended before {report.connections_from}"
        kept += f" ({counted(sum(table['rows_deleted'] for table in tables), 'row')} now)"
    merged = [table["name"] for table in tables if table["files_after"] < table["files_before"]]
    largest, size = max(
        ((table["name"], table["bytes_after"]) for table in tables), key=itemgetter(1), default=("none", 0)
    )
    return "\n".join(
        [
            f"Retention: {kept}.",
            f"Compacted: {', '.join(merged) or 'nothing'}.",
            f"Tables: {counted(after, 'file')} with {in_bytes(bytes_after)}, before {before:,} with {in_bytes(bytes_before)}; "
            f"the largest is {largest} with {in_bytes(size)}.",
            f"Unused files: {files:,} with {in_bytes(freed)} deleted.",
            "Files that were replaced now stay for --vacuum-hours. --json has the figures of each table.",
        ]
    )
