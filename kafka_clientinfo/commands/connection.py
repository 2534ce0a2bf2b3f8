"""The command `connection`: shows everything that the tables hold about one connection id, or lists those of a client.

The broker may use an id again, so that one id can stand for several connections. For each of these the command shows its
row of `connections`, its ApiVersions requests in order, and the tables of connection.toml.
"""

import argparse
import tomllib
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from importlib.resources import files
from typing import Any

from ..config.rules import SEVERITY_ORDER
from ..errors import ConfigError, WarehouseError
from ..printable import argument, safe
from ..protocol.api_keys import named_error
from ..questions.filters import add_filters
from ..questions.presenter import counted, requested
from ..questions.queries import Tables
from ..questions.trust import nobody
from ..tables.spec import CONNECTION_KEY
from ..tables.types import sql_time
from .context import Context, add_warehouse
from .output import Table, add_formats, ask, instant, is_text, limit_of, show

HELP = "list a client's connections; show everything about one"
EXAMPLES = (
    "connection --client 'billing-*' --warehouse /data/clientinfo",
    "connection 10.0.0.9:9092-10.0.0.12:50186-3 --warehouse /data/clientinfo",
    "connection 10.0.0.9:9092-10.0.0.12:50186-3 --warehouse /data/clientinfo --json",
)
_LIMIT = 20
_LISTED = "connection_id, opened_at, requests, client_id, broker, cluster"
_MORE = "principal, client_software_name, client_software_version, remote_host, last_request_at"
_OF_CLIENT = (
    "SELECT {} FROM {{connections}} AS c ORDER BY opened_at DESC, cluster, broker, connection_id, opened_seq DESC"
)
_ALIKE = 5
_SHOWN = tomllib.loads((files(__package__) / "connection.toml").read_text("utf-8"))
_PROBABLE = tuple(name for name in _SHOWN["facts"] if name.startswith("probable_"))
_WHOLE = frozenset({"connection_id", "request", "when"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "connection id as in the log, such as 10.0.0.9:9092-10.0.0.12:50186-3; without one, --client lists them, the newest first"
    parser.add_argument("id", metavar="ID", nargs="?", help=text)
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster", "principal", "client")
    add_formats(parser, _LIMIT)


def execute(context: Context) -> None:
    arguments = context.arguments
    if arguments.id is None and arguments.client is None and arguments.principal is None:
        raise ConfigError("no connection is named; give its ID, or list those of a client with --client or --principal")
    scope, notes = context.scope("connections")
    if arguments.id is None:
        columns = _LISTED if is_text(arguments) else f"{_LISTED}, {_MORE}"
        of_client = ask(scope, "", _OF_CLIENT.format(columns), None, limit_of(arguments), "connections")
        if not of_client.rows:
            raise WarehouseError(nobody(scope, "no connection"))
        show(arguments, [replace(of_client, whole=_WHOLE)], notes)
        return
    connection_id = argument("ID", arguments.id)
    order = ", ".join(("opened_at", *CONNECTION_KEY))
    statement = f"SELECT * FROM {{connections}} AS c WHERE connection_id = {{id}} ORDER BY {order}"
    connections = ask(scope, "", statement, {"id": connection_id}, limit_of(arguments))
    failed = ask(
        scope,
        "Requests and logins that a broker refused (server.log)",
        "SELECT logged_at, cluster, broker, api_name, api_version, reason, detail FROM {failed_requests} AS f "
        "WHERE connection_id = {id} ORDER BY logged_at, byte_offset",
        {"id": connection_id},
    )
    if not connections.rows and not failed.rows:
        raise ConfigError(
            f"ID is {connection_id!r}, which {context.warehouse} has no connection of{_alike(scope.tables, connection_id)}"
        )
    with_parts = [_with_parts(scope.tables, row) for row in connections.dicts()]
    shown = [
        table
        for number, connection in enumerate(with_parts, 1)
        for table in _shown(connection, f"{number} of {connections.total}", is_text(arguments))
    ]
    document = {"connection_id": connection_id, "connections": with_parts, "failed_requests": failed}
    if connections.more:
        has = "has" if connections.more == 1 else "have"
        notes = [f"{counted(connections.more, 'more connection')} {has} this id; --limit 0 shows all.", *notes]
    show(arguments, [*shown, failed], notes, document)


def _with_parts(tables: Tables, connection: dict[str, Any]) -> dict[str, Any]:
    key = {name: connection[name] for name in CONNECTION_KEY}
    same = " AND ".join(f"{name} = {{{name}}}" for name in CONNECTION_KEY if name != "opened_at")
    same += " AND opened_at = CAST({opened_at} AS TIMESTAMP)"
    key["opened_at"] = sql_time(connection["opened_at"])
    probable = tables.query(f"SELECT {', '.join(_PROBABLE)} FROM {{probable_connections}} WHERE {same}", key).dicts()
    parts = {}
    for name, part in _SHOWN["parts"].items():
        order = part["order"].replace("{severity_order}", SEVERITY_ORDER)
        statement = f"SELECT {part['columns']} FROM {{{part['table']}}} WHERE {same} ORDER BY {order}"
        parts[name] = ask(tables, part["title"], statement, key)
    return connection | (probable[0] if probable else {}) | parts


def _shown(connection: dict[str, Any], number: str, shortly: bool) -> list[Table]:
    """Return the tables that show a connection; `number` is `1 of 3`, and `shortly` leaves out what a terminal has no room for."""
    facts = [
        (name.replace("_", " "), _fact(connection[name]))
        for name in _SHOWN["facts"]
        if connection[name] not in (None, [], "")
    ]
    title = f"Connection {number}: {safe(connection['connection_id'])}"
    attempts = [
        tuple((attempt | {"error_code": named_error(attempt["error_code"])}).values())
        for attempt in connection["api_versions_attempts"]
    ]
    names = ("version", "error_code", "offered_min", "offered_max")
    requests, groups, violations = (connection[name] for name in _SHOWN["parts"])
    if shortly:
        requests = _shortly(requests, "request, requests, errors, header, advertised, when", _request)
        groups = _shortly(groups, "group_id, kinds, is a member, requests, protocols, topics, when", _group)
    return [
        Table(title, ("what", "value"), facts),
        Table("ApiVersions requests, in order", names, attempts),
        requests,
        groups,
        violations,
    ]


def _shortly(table: Table, columns: str, line: Callable[[dict[str, Any]], tuple[Any, ...]]) -> Table:
    return Table(table.title, tuple(columns.split(", ")), [line(row) for row in table.dicts()], whole=_WHOLE)


def _request(row: dict[str, Any]) -> tuple[Any, ...]:
    is_outside = row["within_advertised"] is False
    offered = "no version" if is_outside else None
    if row["advertised_max"] is not None:
        offered = f"v{row['advertised_min']} to v{row['advertised_max']}{', not this' if is_outside else ''}"
    header = None if row["header_version"] is None else f"v{row['header_version']}"
    return requested(row), row["requests"], row["errors"], header, offered, _when(row)


def _group(row: dict[str, Any]) -> tuple[Any, ...]:
    topics = sorted({topic for one in row["subscriptions"] for topic in one["topics"] or ()})
    protocols = row["protocol_names_response"] or row["protocol_names_request"]
    return row["group_id"], row["kinds"], row["takes_part"], row["requests"], protocols, topics, _when(row)


def _when(row: dict[str, Any]) -> str:
    first, last = row["first_at"], row["last_at"]
    day = "" if first.date() == last.date() else "%Y-%m-%d "
    return f"{first:%Y-%m-%d %H:%M:%S} to {last:{day}%H:%M:%S}"


def _fact(value: Any) -> Any:
    """Return a value as the text form shows it: integers such as ports without thousands separators."""
    return instant(value) if isinstance(value, datetime) else str(value) if isinstance(value, int) else value


def _alike(tables: Tables, connection_id: str) -> str:
    """Return the end of the error message: connection ids that contain this text, or how to look ids up."""
    statement = (
        "SELECT DISTINCT connection_id FROM {connections} WHERE position({id} IN connection_id) > 0 "
        f"ORDER BY connection_id LIMIT {_ALIKE}"
    )
    names = [repr(name) for (name,) in tables.query(statement, {"id": connection_id})]
    if names:
        return f"; ids with this text are {', '.join(names)}"
    return "; --client lists the connections of a client"
