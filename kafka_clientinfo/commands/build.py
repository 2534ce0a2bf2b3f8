"""The command `build`: derives the tables from `requests`, without reading logs."""

import argparse

from .context import COMMITTED, Context, add_common
from .run import execute_step

HELP = "only build the other tables, from requests"
STOPPED = COMMITTED
EXAMPLES = ("build --warehouse /data/clientinfo",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common(parser)


def execute(context: Context) -> int:
    return execute_step(context, "build")
