"""The command `tables`: lists the tables and views of a warehouse."""

import argparse
from dataclasses import astuple

from ..tables.spec import table_specs, view_specs
from ..tables.views import views
from ..warehouse.state import require_state
from .context import Context, add_warehouse, notes_on
from .output import Table, add_formats, show

HELP = "list the tables and views: rows, files, bytes, what they hold"
EXAMPLES = ("tables --warehouse /data/clientinfo",)
_COLUMNS = ("table", "rows", "files", "bytes", "comment")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_warehouse(parser)
    add_formats(parser)


def execute(context: Context) -> None:
    tables = context.tables()
    state = require_state(tables.state(), context.warehouse)
    rows = []
    for spec in table_specs().values():
        size = astuple(tables.size(spec.name)) if tables.exists(spec.name) else (None, None, None)
        rows.append((spec.name, *size, spec.comment))
    queries = [(spec.name, spec.comment) for spec in view_specs().values()]
    queries += [(view.name, view.comment) for view in views().values()]
    stored = Table("Tables", _COLUMNS, rows, name="tables")
    listed_views = Table("Views, for `kafka-clientinfo sql`", ("view", "answers"), queries, name="views")
    show(context.arguments, [stored, listed_views], notes_on(state, context.warehouse))
