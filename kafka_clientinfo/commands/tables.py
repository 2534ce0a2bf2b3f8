"""The command `tables`: what a warehouse is made of."""

import argparse

from ..engine.state import require_state
from ..tables.spec import table_specs
from ..tables.views import views
from .context import Context, add_warehouse
from .output import Answer, Table, add_formats, show

HELP = "list the tables and views: rows, files, bytes, what they hold"
EXAMPLES = ("tables --warehouse /data/clientinfo",)
_COLUMNS = ("table", "rows", "files", "bytes", "comment")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_warehouse(parser)
    add_formats(parser)


def execute(context: Context) -> int:
    """Run the command; returns its exit code."""
    tables = context.tables()
    require_state(tables.state(), context.warehouse)
    rows: list[tuple[object, ...]] = []
    for spec in table_specs().values():
        if tables.exists(spec.name):
            size = tables.size(spec.name)
            rows.append((spec.name, size.rows, size.files, size.bytes, spec.comment))
        else:
            rows.append((spec.name, None, None, None, spec.comment))
    queries = [(view.name, view.comment) for view in views().values()]
    listed = Table("tables", "Tables", _COLUMNS, rows, len(rows))
    named = Table("views", "Views, for `kafka-clientinfo sql`", ("view", "answers"), queries, len(queries))
    show(Answer([listed, named]), context.arguments)
    return 0
