"""The command `summary`: prints what the tables hold, as `run -v` does at its end, also for one cluster or a span of time."""

import argparse
from collections.abc import Mapping

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
_CLUSTERS = (
    "SELECT cluster, count(DISTINCT broker) AS brokers, count(*) AS connections, "
    "CAST(sum(requests) AS BIGINT) AS requests, min(opened_at) AS first_seen, max(last_request_at) AS last_seen "
    "FROM {connections} AS c GROUP BY cluster ORDER BY cluster"
)
_BROKERS = (
    "SELECT cluster, broker, coalesce(release, 'unknown') AS release, shown_by, as_of FROM {broker_releases} AS b "
    "ORDER BY cluster, broker"
)
_FINDINGS = (
    (
        "software",
        "Client connections by software",
        "SELECT count(*) AS connections, client_software_name AS name, client_software_version AS version "
        "FROM {connections} AS c WHERE role = 'client' GROUP BY client_software_name, client_software_version "
        "ORDER BY connections DESC, name, version",
    ),
    (
        "probable_software",
        "Client connections without a software name, by the library that they probably belong to",
        "SELECT count(*) AS connections, CAST(round(100 * count(*) / sum(count(*)) OVER ()) AS INT) AS percent, "
        "coalesce(probable_software_name, 'unknown') AS name FROM {probable_connections} AS c "
        "GROUP BY probable_software_name "
        "ORDER BY connections DESC, name",
    ),
    (
        "outcomes",
        "Client connections by ApiVersions outcome",
        "SELECT count(*) AS connections, api_versions_outcome AS outcome FROM {connections} AS c "
        "WHERE role = 'client' GROUP BY api_versions_outcome ORDER BY connections DESC, outcome",
    ),
    (
        "violations",
        "Violations",
        "SELECT severity, blames, rule, count(*) AS connections, CAST(sum(occurrences) AS BIGINT) AS requests, "
        "count(DISTINCT client_id) AS client_ids, min(nullif(client_id, '')) AS such_as "
        "FROM {violations} AS v GROUP BY severity, blames, rule ORDER BY {severity_order}, connections DESC, rule, blames",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster")
    add_owners(parser)
    add_formats(parser, SHOWN)


def execute(context: Context) -> None:
    arguments, owners = context.arguments, given_owners(context)
    scope, notes = context.scope("connections")
    limit = limit_of(arguments)
    clusters = ask(scope, "Connections by cluster", _CLUSTERS, None, limit, "clusters")
    stored = require_state(scope.tables.state(), context.warehouse).rows
    counts = {name: stored[name] for name in table_specs() if name in stored}
    is_part = any((arguments.cluster, arguments.since, arguments.until))
    tables = rows_of_tables(counts, context.warehouse, ", of all clusters and times" if is_part else "")
    brokers = ask(scope, "Brokers, and the release that each runs", _BROKERS, None, limit, "brokers")
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
    return [ask(scope, title, statement, None, limit, name) for name, title, statement in _FINDINGS]
