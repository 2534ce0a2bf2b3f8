"""The command `connection`: one connection's life in order, from what every concern found out about it."""

import argparse
from datetime import datetime
from typing import Any

from .. import console
from ..engine.answers import Tables
from ..errors import ConfigError
from ..filters import add_filters
from ..rules import SEVERITY_ORDER
from ..tables.spec import CONNECTION_KEY
from .context import Context, add_warehouse
from .output import Table, add_formats, ask, instant, limit_of, show

HELP = "tell one connection's life: its requests by API, ApiVersions, client ids, software, violations"
EXAMPLES = (
    "connection 10.0.0.9:9092-10.0.0.12:50186-3 --warehouse /data/clientinfo",
    "connection 10.0.0.9:9092-10.0.0.12:50186-3 --warehouse /data/clientinfo --json",
)
_LIMIT = 20
_ALIKE = 5
_FACTS = (
    "cluster", "broker", "opened_at", "last_request_at", "requests", "start", "role", "remote_host", "remote_port",
    "listener", "security_protocol", "principal", "client_software_name", "client_software_version", "reason_unknown",
    "invalid_software_texts", "policy_verdict", "api_versions_outcome", "fallback_from", "fallback_to", "fallback_kind",
    "client_id", "client_id_verdict", "other_client_ids", "client_instance_id", "instance_id_verdict",
    "other_instance_ids", "telemetry_request_id", "telemetry_response_id", "member_ids", "file_id", "byte_offset",
)  # fmt: skip
"""Columns of `connections` that text shows, in this order, where they are known."""
_PARTS = (
    (
        "requests_by_api",
        "Requests by API, in the order of their first",
        "first_at, last_at, api_name, api_version, header_version, requests, errors, advertised_min, advertised_max, "
        "within_advertised",
        "api_usage",
        "first_at, api_key, api_version, header_version",
    ),
    (
        "groups",
        "Groups",
        "*",
        "connection_groups",
        "group_id",
    ),
    (
        "violations",
        "Violations",
        "severity, blames, rule, kip, occurrences, rejected, first_at, last_at, group_id, message, example.grep AS grep",
        "violations",
        f"{SEVERITY_ORDER}, first_at, rule, group_id",
    ),
)
"""Name, title, columns, table and order of what belongs to one connection."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="connection id as in the log, such as 10.0.0.9:9092-10.0.0.12:50186-3")
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster")
    add_formats(parser, _LIMIT)


def execute(context: Context) -> int:
    given = context.arguments
    scope, notes = context.scope("connections")
    connection_id = console.argument("ID", given.id)
    order = ", ".join(("opened_at", *CONNECTION_KEY))
    statement = f"SELECT * FROM {{connections}} AS c WHERE connection_id = {{id}} ORDER BY {order}"
    found = ask(scope, "", statement, {"id": connection_id}, limit_of(given))
    failed = ask(
        scope,
        "Requests and logins that a broker refused (server.log)",
        "SELECT logged_at, cluster, broker, api_name, api_version, reason, detail FROM {failed_requests} AS f "
        "WHERE connection_id = {id} ORDER BY logged_at, byte_offset",
        {"id": connection_id},
    )
    if not found.rows and not failed.rows:
        raise ConfigError(
            f"ID is {connection_id!r}, which {context.warehouse} has no connection of{_alike(scope.tables, connection_id)}"
        )
    lives = [_life(scope.tables, row) for row in found.dicts()]
    parts = [part for place, life in enumerate(lives, 1) for part in _parts(life, f"{place} of {found.total}")]
    document = {
        "connection_id": connection_id,
        "connections": [
            {key: value.dicts() if isinstance(value, Table) else value for key, value in life.items()} for life in lives
        ],
        "failed_requests": failed.dicts(),
    }
    if found.more:
        notes = [f"{found.more} more connections have this id; --limit 0 shows all.", *notes]
    show(given, [*parts, failed], notes, document)
    return 0


def _life(tables: Tables, connection: dict[str, Any]) -> dict[str, Any]:
    """A connection with a table for each of `_PARTS`."""
    key = {name: connection[name] for name in CONNECTION_KEY}
    same = " AND ".join(f"{name} = {{{name}}}" for name in CONNECTION_KEY if name != "opened_at")
    same += " AND opened_at = CAST({opened_at} AS TIMESTAMP)"
    key["opened_at"] = f"{connection['opened_at']:%Y-%m-%d %H:%M:%S.%f}"
    return connection | {
        name: ask(tables, title, f"SELECT {columns} FROM {{{table}}} WHERE {same} ORDER BY {order}", key)
        for name, title, columns, table, order in _PARTS
    }


def _parts(life: dict[str, Any], place: str) -> list[Table]:
    """What is shown of a connection; `place` is its number among those of its id."""
    facts = [(name.replace("_", " "), _fact(life[name])) for name in _FACTS if life[name] not in (None, [], "")]
    title = f"Connection {place}: {console.safe(life['connection_id'])}"
    attempts = [tuple(attempt.values()) for attempt in life["api_versions_attempts"]]
    names = ("version", "error_code", "offered_min", "offered_max")
    return [
        Table(title, ("what", "value"), facts),
        Table("ApiVersions requests, in order", names, attempts),
        *(life[name] for name, *_ in _PARTS),
    ]


def _fact(value: Any) -> Any:
    """A value as text: a port is no amount."""
    return instant(value) if isinstance(value, datetime) else str(value) if isinstance(value, int) else value


def _alike(tables: Tables, connection_id: str) -> str:
    """The end of a sentence that names connection ids which hold this text, if there are any."""
    statement = (
        "SELECT DISTINCT connection_id FROM {connections} WHERE position({id} IN connection_id) > 0 "
        f"ORDER BY connection_id LIMIT {_ALIKE}"
    )
    names = [repr(name) for (name,) in tables.query(statement, {"id": connection_id})]
    return (
        f"; ids with this text are {', '.join(names)}"
        if names
        else "; `kafka-clientinfo sql` finds ids, as in SELECT connection_id, client_id FROM connections"
    )
