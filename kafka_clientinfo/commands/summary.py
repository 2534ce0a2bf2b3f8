"""The command `summary`: what `run` prints at its end, at any time, and for a cluster or a span of time."""

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .. import console
from ..engine.state import require_state
from ..filters import Filters, add_filters
from ..rules import SEVERITY_ORDER
from ..tables.spec import table_specs
from .context import Context, add_warehouse
from .output import Table, add_formats, ask, limit_of, show
from .ownership import Ownership, add_owners, given_owners

if TYPE_CHECKING:
    from ..engine.answers import Tables

HELP = "show what the tables hold: clusters, software, how clients negotiated, violations"
EXAMPLES = ("summary --warehouse /data/clientinfo", "summary --warehouse /data/clientinfo --since 7d --markdown")
SHOWN = 12
"""Rows of each table that text shows, if nobody says otherwise."""
_CLUSTERS = (
    "SELECT cluster, count(DISTINCT broker) AS brokers, count(*) AS connections, "
    "CAST(sum(requests) AS BIGINT) AS requests, min(opened_at) AS first_seen, max(last_request_at) AS last_seen "
    "FROM {connections} WHERE "
)
_CLIENTS = "FROM {connections} WHERE role = 'client' AND "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster")
    add_owners(parser)
    add_formats(parser, SHOWN)


def execute(context: Context) -> int:
    filters, owners = Filters.of(context.arguments), given_owners(context)
    tables, notes = context.built_tables("connections")
    limit = limit_of(context.arguments)
    clusters = ask(
        tables,
        "clusters",
        "Connections by cluster",
        _CLUSTERS + filters.where("opened_at", "last_request_at") + " GROUP BY cluster ORDER BY cluster",
        filters.parameters,
        limit,
    )
    stored = require_state(tables.state(), context.warehouse).rows
    counts = {name: stored[name] for name in table_specs() if name in stored}
    parts = [clusters, rows_of_tables(counts, context.warehouse), *findings(tables, filters, limit)]
    if owners.rules:
        owned = Ownership(owners, tables).clients(filters, "Clients by owner", limit)
        parts = [owned] if context.arguments.by else [*parts, owned]
    if not clusters.rows:
        parts = [part for part in parts if part.name == "tables"]
        notes = ["No connection fits.", *notes]
    show(context.arguments, parts, notes)
    return 0


def rows_of_tables(counts: Mapping[str, int], root: str) -> Table:
    """The number of rows of each table."""
    return Table("tables", f"Tables in {console.safe(root)}", ("table", "rows"), list(counts.items()))


def findings(tables: "Tables", filters: Filters, limit: int) -> list[Table]:
    """Client connections by software and by outcome, and violations by rule; those without rows are left out."""
    lasting = filters.where("opened_at", "last_request_at")
    questions = (
        (
            "software",
            "Client connections by software",
            f"SELECT count(*) AS connections, client_software_name AS name, client_software_version AS version {_CLIENTS}"
            f"{lasting} GROUP BY client_software_name, client_software_version ORDER BY connections DESC, name, version",
        ),
        (
            "outcomes",
            "Client connections by ApiVersions outcome",
            f"SELECT count(*) AS connections, api_versions_outcome AS outcome {_CLIENTS}{lasting} "
            "GROUP BY api_versions_outcome ORDER BY connections DESC, outcome",
        ),
        (
            "violations",
            "Violations",
            "SELECT severity, rule, count(*) AS connections, CAST(sum(occurrences) AS BIGINT) AS requests "
            f"FROM {{violations}} WHERE {filters.where('first_at', 'last_at')} GROUP BY severity, rule "
            f"ORDER BY {SEVERITY_ORDER}, connections DESC, rule",
        ),
    )
    return [ask(tables, name, title, sql, filters.parameters, limit) for name, title, sql in questions]
