"""The command `runs`: lists the runs of a warehouse, what they read, and which stages took longest."""

import argparse
from collections.abc import Mapping
from typing import Any

from ..warehouse.state import require_state
from .activity import marks
from .context import Context, add_warehouse, notes_on
from .output import Table, add_formats, ask, is_text, limit_of, show

HELP = "list the runs: what they read, how long they took, what failed"
EXAMPLES = ("runs --warehouse /data/clientinfo", "runs --warehouse /data/clientinfo --limit 0 --csv")
_LIMIT = 20
_RUNS = (
    "SELECT run, command, began, ended, files, bytes, requests, rejected, rows_written, seconds, release, settings, host, "
    "error FROM {runs} ORDER BY run DESC"
)
_SHOWN = ("run", "command", "ended", "took", "files", "bytes", "requests", "rejected", "longest stages", "error")
_LONGEST = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_warehouse(parser)
    add_formats(parser, _LIMIT)


def execute(context: Context) -> None:
    arguments, tables = context.arguments, context.tables()
    state = require_state(tables.state(), context.warehouse)
    table = ask(tables, "", _RUNS, limit=limit_of(arguments))
    if not is_text(arguments):
        show(arguments, [table])
        return
    read = [row["requests"] for row in reversed(table.dicts()) if row["command"] in ("run", "ingest", "build")]
    line = f"Requests of each run that read, the oldest first: {marks().line(read)}"
    runs = [_as_shown(row) for row in table.dicts()]
    names = _SHOWN if any(run["error"] for run in runs) else _SHOWN[:-1]
    rows = [tuple(run[name] for name in names) for run in runs]
    shown = Table("", names, rows, more=table.more, whole=frozenset({"longest stages"}))
    show(arguments, [shown], [*([line] if len(read) > 1 else []), *notes_on(state, context.warehouse)])


def _as_shown(run: Mapping[str, Any]) -> dict[str, Any]:
    slowest = sorted(run["seconds"].items(), key=lambda one: -one[1])[:_LONGEST]
    took = (run["ended"] - run["began"]).total_seconds()
    longest = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in slowest)
    return {**run, "took": f"{took:.1f} s", "longest stages": longest}
