"""The command `topics`: lists topics, the clients of one topic, and topics that nobody uses."""

import argparse

from ..errors import ConfigError
from ..printable import argument
from ..questions.filters import add_filters
from ..questions.topics import ALL, UNUSED, clients_of, coverage, unresolved
from ..tables.spec import CLIENT, OF_TABLE
from .context import Context, add_warehouse
from .output import add_formats, ask, is_text, limit_of, show
from .ownership import Ownership, add_owners, given_owners, named

HELP = "list topics with their clients, and topics that nobody uses"
EXAMPLES = (
    "topics --warehouse /data/clientinfo --since 7d",
    "topics orders --warehouse /data/clientinfo --owners owners.toml",
    "topics --unused --warehouse /data/clientinfo",
)
_LIMIT = 50
_BYTES = (
    "Bytes are those of a topic's records, as logged. Bytes a day are over the time in which the logs hold every request (if they never do, "
    "that which they span), and at least over a day: those of shorter logs are not scaled up."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help="a topic's name or id: list its clients")
    parser.add_argument(
        "--unused", action="store_true", help="topics that exist and were neither written nor read while the logs cover"
    )
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster", "principal", "client")
    add_owners(parser)
    add_formats(parser, _LIMIT)


def execute(context: Context) -> None:
    arguments = context.arguments
    if arguments.unused:
        given = ("since", "until", "principal", "client")
        if arguments.topic is not None or any(getattr(arguments, name) for name in given):
            raise ConfigError("--unused takes no topic and no filter but --cluster: nobody uses these topics")
    owners = given_owners(context)
    scope, notes = context.scope("topic_usage")
    if scope.query(f"SELECT 1 FROM {{ingested_files}} AS f WHERE batch_id LIKE '{OF_TABLE}%' LIMIT 1").rows:
        raise ConfigError(
            "topics are not known here, as the warehouse was filled from a table of requests, which lacks them; use `run` on the logs"
        )
    statement, parameters = UNUSED if arguments.unused else ALL, None
    if arguments.topic is not None:
        statement, parameters = clients_of(scope, argument("TOPIC", arguments.topic))
    table = ask(scope, "", statement, parameters, limit_of(arguments))
    if owners.rules:
        if arguments.topic is not None:
            table = table.with_lists("owners", CLIENT, Ownership(owners, scope).names_of_clients())
        else:
            table = table.with_column("owner", [named(owners.of(topics=[row["topic"]]))[0] for row in table.dicts()])
    if is_text(arguments):
        limits = coverage(scope) if arguments.unused else [_BYTES if table.rows else None, unresolved(scope)]
        notes = [*notes, *filter(None, limits)]
    show(arguments, [table], notes)
