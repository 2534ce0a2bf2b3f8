"""The command `summary`: prints what the tables hold, as `run -v` does at its end, also for one cluster or a span of time."""

import argparse
import tomllib
from collections.abc import Mapping
from importlib.resources import files

from ..printable import safe
from ..questions.filters import Scope, add_filters
from ..questions.trust import nobody
from ..tables.spec import table_specs
from ..warehouse.state import require_state
from .context import Context, add_warehouse
from .output import Table, add_formats, ask, limit_of, limits, show
from .ownership import Ownership, add_owners, given_owners

HELP = "show what the tables hold: clusters, software, violations"
EXAMPLES = ("summary --warehouse /data/clientinfo", "summary --warehouse /data/clientinfo --since 7d --markdown")
SHOWN = 12
_QUESTIONS = tomllib.loads((files(__package__) / "summary.toml").read_text("utf-8"))
_FINDINGS = ("software", "probable_software", "outcomes", "violations")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster")
    add_owners(parser)
    add_formats(parser, SHOWN)


def execute(context: Context) -> None:
    arguments, owners = context.arguments, given_owners(context)
    scope, notes = context.scope("connections")
    limit = limit_of(arguments)
    clusters = _answer(scope, "clusters", limit)
    stored = require_state(scope.tables.state(), context.warehouse).rows
    counts = {name: stored[name] for name in table_specs() if name in stored}
    is_part = any((arguments.cluster, arguments.since, arguments.until))
    tables = rows_of_tables(counts, context.warehouse, ", of all clusters and times" if is_part else "")
    brokers = _answer(scope, "brokers", limit)
    parts = [clusters, brokers, tables, *findings(scope, limit)]
    if owners.rules:
        parts.append(Ownership(owners, scope).clients("Clients by owner", limit))
    if not clusters.rows:
        parts = [tables]
        notes = [f"{nobody(scope, 'No connection')}.", *notes]
    show(arguments, parts, [*notes, *(limits(arguments, scope) if clusters.rows else [])])


def rows_of_tables(counts: Mapping[str, int], root: str, of: str = "") -> Table:
    """Return the number of rows of each table of the warehouse, as a table; `of` goes into its title."""
    return Table(f"Tables in {safe(root)}{of}", ("table", "rows"), list(counts.items()), name="tables")


def findings(scope: Scope, limit: int) -> list[Table]:
    return [_answer(scope, name, limit) for name in _FINDINGS]


def _answer(scope: Scope, name: str, limit: int) -> Table:
    question = _QUESTIONS[name]
    return ask(scope, question["title"], question["sql"], None, limit, name)
