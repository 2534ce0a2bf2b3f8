"""The command `clients`: lists who connects, from the table `client_inventory`."""

import argparse

from ..questions.filters import add_filters
from ..questions.topics import topics_of_clients
from ..questions.trust import nobody
from ..tables.spec import CLIENT
from .context import Context, add_warehouse
from .output import add_formats, ask, is_text, limit_of, limits, show
from .ownership import Ownership, add_owners, given_owners

HELP = "list who connects: software, hosts, APIs, groups, topics, owners"
EXAMPLES = (
    "clients --warehouse /data/clientinfo --principal 'User:payments*'",
    "clients --warehouse /data/clientinfo --since 2026-11-01 --csv > clients.csv",
    "clients --warehouse /data/clientinfo --owners owners.toml --by owner",
)
_LIMIT = 50
_SHOWN = (
    "cluster", "principal", "client_id", "client_software_name", "client_software_version", "connections", "requests",
    "last_seen", "hosts",
)  # fmt: skip
"""The columns that the text form shows."""
_ORDER = "connections DESC, cluster, principal, client_id, client_software_name, client_software_version"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster", "principal", "client", counts="a client's figures")
    add_owners(parser, "owner")
    add_formats(parser, _LIMIT)


def execute(context: Context) -> None:
    arguments = context.arguments
    owners = given_owners(context)
    scope, notes = context.scope("client_inventory")
    limit = limit_of(arguments)
    if arguments.by:
        table = Ownership(owners, scope).clients(limit=limit)
    else:
        columns = ", ".join(_SHOWN) if is_text(arguments) else "*"
        statement = f"SELECT {columns} FROM {{client_inventory}} AS c ORDER BY {_ORDER}"
        table = ask(scope, "", statement, None, limit).with_lists("topics", CLIENT, topics_of_clients(scope))
        if owners.rules:
            table = table.with_lists("owners", CLIENT, Ownership(owners, scope).names_of_clients())
    if table.rows:
        notes = [*notes, *limits(arguments, scope)]
    elif is_text(arguments):
        notes = [f"{nobody(scope, 'No client')}.", *notes]
    show(arguments, [table], notes)
