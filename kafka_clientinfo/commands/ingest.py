"""The command `ingest`: reads logs, without building the derived tables."""

import argparse

from .context import COMMITTED, Context, add_common
from .run import add_logs, execute_step

HELP = "only read: requests, rejected_records, failed_requests, ingested_files"
STOPPED = COMMITTED
EXAMPLES = ("ingest /var/log/kafka --warehouse /data/clientinfo --cluster orders",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_logs(parser)
    add_common(parser, "name of the cluster that wrote the logs")


def execute(context: Context) -> int:
    return execute_step(context, "ingest", context.arguments.logs)
