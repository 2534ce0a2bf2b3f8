"""The command `report`: writes one HTML page about a warehouse, which needs no network."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..printable import safe
from ..questions.filters import add_filters
from ..questions.impact import impact
from ..questions.trust import info_clusters
from ..releases.broker_releases import NO_TARGET, releases
from .context import Context, add_warehouse
from .output import write_private
from .ownership import Ownership, add_owners, given_owners, owners_table
from .text_tables import output

HELP = "write one HTML page: who breaks, connects, how, and misbehaves"
EXAMPLES = (
    "report --warehouse /data/clientinfo --output report.html",
    "report --warehouse /data/clientinfo --output week.html --target 4.0.1 --since 7d",
)
_USES = 2_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", required=True, metavar="FILE", help="the page; a file that is there is replaced")
    parser.add_argument(
        "--target",
        metavar="RELEASE",
        help="release of Kafka to judge by, such as 4.0.1; the newest known one by default",
    )
    add_warehouse(parser)
    add_filters(parser, "since", "until", "cluster", counts="requests of a client and its lists (hosts, APIs)")
    add_owners(parser)


def execute(context: Context) -> None:
    arguments = context.arguments
    target = arguments.asked_release or list(releases())[-1]
    owners = given_owners(context)
    from ..report.contents import report

    scope, notes = context.scope("connections")
    verdict = impact(scope, target, True, bool(notes), _USES)
    if arguments.asked_release is None:
        verdict.cannot_tell.insert(0, NO_TARGET)
    ownership = Ownership(owners, scope)
    owners_by_client = ownership.of_clients() if owners.rules else {}
    by_owner: Sequence[Sequence[Any]] = ()
    if owners.rules:
        impacts = ownership.impact(str(verdict.target), verdict.refused_senders)
        by_owner = owners_table(impacts, target, info_clusters(scope), with_idle=False).rows
    owner_names = {
        client: [f"{owner.name} ({owner.contact})" if owner.contact else owner.name for owner in its_owners]
        for client, its_owners in owners_by_client.items()
    }
    named = ([name or "no owner", *row, already] for name, *row, _, _, already in by_owner)
    rows = sorted(named, key=lambda row: row[0] != "no owner")
    page = report(scope, verdict, owner_names, by_owner=rows).encode()
    write_private(Path(arguments.output), page, "--output")
    context.end_progress()
    output(f"Wrote {safe(arguments.output)}, {len(page):,} bytes.")
