"""The command `maintain`: compacts tables, deletes unused files and, with retention, old requests."""

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..config.toml_files import shown
from . import text_tables
from .context import COMMITTED, Context, add_common

if TYPE_CHECKING:
    from ..warehouse.maintenance import MaintenanceReport

HELP = "compact tables; delete unused files and, if asked, old requests"
STOPPED = COMMITTED
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}")
EXAMPLES = ("maintain --warehouse /data/clientinfo", "maintain --warehouse /data/clientinfo --retention-days 90")

_DELETED = ("rows_deleted", "vacuumed_files", "vacuumed_bytes")
"""The figures about what was deleted."""


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
    context.show_report(report, lambda: as_text(report))


def as_text(report: "MaintenanceReport") -> str:
    """Return the report as text for a terminal: one line per table, with `-` for what was not deleted."""
    header = (
        "table", "files", "files afterwards", "bytes", "bytes afterwards", "rows deleted", "unused files deleted",
        "their bytes",
    )  # fmt: skip
    names = (
        "name", "files_before", "files_after", "bytes_before", "bytes_after", "rows_deleted",
        "vacuumed_files", "vacuumed_bytes",
    )  # fmt: skip
    rows = [tuple(table[name] or ("-" if name in _DELETED else 0) for name in names) for table in report.tables]
    deleted = f"requests of connections that ended before {report.retained_from} are deleted"
    if report.connections_from is not None:
        deleted += f", as are connections that ended before {report.connections_from}"
    first = f"Retention: {'all requests are kept' if report.retained_from is None else deleted}."
    return "\n".join([first, text_tables.columns(header, rows)])
