"""The command `clients`: lists who connects, from the table `client_inventory`."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..printable import argument, safe
from ..questions.filters import add_filters
from ..questions.presenter import named_together
from ..questions.queries import Programs, programs
from ..questions.topics import topics_of_clients
from ..questions.trust import nobody
from ..tables.spec import CLIENT
from .context import Context, add_warehouse
from .first_owners import first_owners
from .output import Table, add_formats, ask, is_text, limit_of, limits, show, write_private
from .ownership import Ownership, add_owners, given_owners
from .text_tables import output

HELP = "list who connects: software, hosts, APIs, groups, topics, owners"
EXAMPLES = (
    "clients --warehouse /data/clientinfo --principal 'User:payments*'",
    "clients --warehouse /data/clientinfo --since 2026-11-01 --csv > clients.csv",
    "clients --warehouse /data/clientinfo --init-owners owners.toml",
    "clients --warehouse /data/clientinfo --owners owners.toml --by owner",
)
_LIMIT = 50
_TEXT_COLUMNS = (
    "cluster", "principal", "client_id", "client_software_name", "client_software_version", "connections", "requests",
    "last_seen", "hosts",
)  # fmt: skip
_OPEN = "Client ids that differ by numbers, UUIDs or suffixes of pods only are one row; --client 'ID*', --json and --csv list each."
_ORDER = "connections DESC, cluster, principal, client_id, client_software_name, client_software_version"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster", "principal", "client", counts="a client's figures")
    add_owners(parser, "owner")
    parser.add_argument(
        "--init-owners",
        metavar="FILE",
        help="write a file for --owners to begin with, from the clients that were seen and have no owner yet",
    )
    add_formats(parser, _LIMIT)


def execute(context: Context) -> None:
    arguments = context.arguments
    owners = given_owners(context)
    scope, notes = context.scope("client_inventory")
    ownership = Ownership(owners, scope)
    if arguments.init_owners is not None:
        path = Path(argument("--init-owners", arguments.init_owners))
        if path.exists():
            raise ConfigError(f"--init-owners {safe(path)} is there already; name a new file")
        if not (text := first_owners(scope, ownership)):
            subject = "No client without an owner" if owners.rules else "No client"
            raise ConfigError(f"{nobody(scope, subject)}, so that there is nobody to name in {safe(path)}")
        write_private(path, text.encode(), "--init-owners")
        done = f"Wrote {safe(path)}; correct the owners in it, then give it with --owners."
        output("\n".join([done, *ownership.idle_rules()]))
        return
    limit = limit_of(arguments)
    if arguments.by:
        table = ownership.clients(limit=limit)
    else:
        columns = ", ".join(_TEXT_COLUMNS) if is_text(arguments) else "*"
        statement = f"SELECT {columns} FROM {{client_inventory}} AS c ORDER BY {_ORDER}"
        is_merged = is_text(arguments) and arguments.client is None
        table = ask(scope, "", statement, None, 0 if owners.rules or is_merged else limit)
        table = table.with_lists("topics", CLIENT, topics_of_clients(scope))
        if owners.rules:
            table = table.with_lists("owners", CLIENT, ownership.names_of_clients())
        if is_merged:
            clients, table = table, _merged(table, programs(scope.tables))
            if table.total < clients.total:
                notes = [_OPEN, *notes]
        if owners.rules:
            table = replace(table, rows=sorted(table.rows, key=lambda row: bool(row[-1])))
        table = table.first(limit)
    if table.rows:
        idle = ownership.idle_rules() if is_text(arguments) else []
        notes = [*notes, *idle, *limits(arguments, scope)]
    elif is_text(arguments):
        notes = [f"{nobody(scope, 'No client')}.", *notes]
    show(arguments, [table], notes)


def _merged(table: Table, names: Programs) -> Table:
    """Merge clients with ids that differ by numbers, UUIDs or suffixes of pods only, and with the same principal, software and owners."""
    by_program: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table.dicts():
        key = (*(row[name] for name in CLIENT if name != "client_id"), names.get(row["client_id"]))
        by_program.setdefault((*key, *row.get("owners", ())), []).append(row)
    rows = []
    for own in by_program.values():
        merged = own[0] | {"client_id": named_together([row["client_id"] for row in own], names)}
        merged |= {name: sum(row[name] for row in own) for name in ("connections", "requests")}
        merged |= {name: sorted({text for row in own for text in row[name]}) for name in ("hosts", "topics")}
        rows.append(tuple((merged | {"last_seen": max(row["last_seen"] for row in own)}).values()))
    place = table.columns.index("connections")
    return replace(table, rows=sorted(rows, key=lambda row: -row[place]))
