"""The command `build`: derives the tables from `requests`, without reading logs."""

import argparse

from . import run
from .context import add_common

HELP = "only build the other tables, from requests"
STOPPED = run.STOPPED
EXAMPLES = (
    "build --warehouse /data/clientinfo",
    "build --requests main.bronze.requests --warehouse main.kafka_clientinfo",
)
_REQUESTS = (
    "first take over the new rows of a table of requests, as a stream of the data source kafka_request_log writes it: "
    "CATALOG.SCHEMA.TABLE, or delta.`PATH`"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--requests", metavar="TABLE", help=_REQUESTS)
    add_common(parser)
    run.add_verbose(parser)


execute = run.execute
