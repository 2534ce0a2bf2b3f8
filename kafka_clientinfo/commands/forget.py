"""The command `forget`: removes all rows of a cluster from the warehouse."""

import argparse

from ..printable import safe
from . import text_tables
from .context import COMMITTED, Context, add_common

HELP = "remove a cluster that was read under a wrong name"
STOPPED = COMMITTED
EXAMPLES = ("forget --cluster order --warehouse /data/clientinfo",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common(parser)
    parser.add_argument("--cluster", required=True, metavar="NAME", help="the cluster, as `summary` names it")


def execute(context: Context) -> None:
    cluster = context.arguments.cluster
    settings = context.settings()
    spark = context.session(settings)
    from ..warehouse.maintenance import forget

    report = forget(spark, context.warehouse, cluster, settings)
    rows = [(name, number) for name, number in report.deleted.items() if number]
    text = (
        f"Rows of {safe(cluster)} that were deleted:\n{text_tables.columns(('table', 'rows'), rows)}\n"
        "Their files stay until `kafka-clientinfo maintain` deletes what no table has used for a week."
    )
    context.show_report(report, lambda: text)
