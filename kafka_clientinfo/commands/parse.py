"""The command `parse`: prints the records of logs as JSON lines, without Spark, Java or a warehouse."""

import argparse
import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

from . import text_tables
from .context import Context, add_settings
from .run import add_logs, not_read, totals

HELP = "print the requests of logs as JSON lines, and rejected records"
EXAMPLES = ("parse /var/log/kafka/kafka-request.log | jq .",)
STOPPED = "stopped; every line that was printed is whole"
_KIND_ON_A_LINE = {"request": "request", "rejected": "rejected_record", "failed": "failed_request"}
_LINES_AT_ONCE = 512


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_logs(parser, "; or - for standard input")
    add_settings(parser, "name of the cluster that wrote the logs")
    parser.set_defaults(json=True)


def execute(context: Context) -> int:
    from ..ingestion.in_process import Reading

    settings = replace(context.settings(cluster=context.arguments.cluster), topics=False)  # records only
    reading = Reading(context.arguments.logs, settings, with_servers=False)
    rows = _in_order(reading.parts())
    lines = (json.dumps(row, ensure_ascii=True, default=_as_text) for row in rows)
    while text := "\n".join(islice(lines, _LINES_AT_ONCE)):
        if not text_tables.output(text):
            return 0  # the reader of the pipe closed it
    files = reading.reports
    read, requests, rejected, pending = totals(files, "to_offset", "requests", "rejected", "pending_bytes")
    text_tables.complain(
        f"{len(files)} files, {read} bytes of log, {requests} requests, {rejected} rejected "
        f"records, {pending} bytes of records that are not finished"
    )
    for line in not_read(reading.problems, files):
        text_tables.complain(line)
    return int(reading.is_incomplete)


def _in_order(parts: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of all kinds in the order of their records.

    Each piece of the log gives at most one batch of each kind, so that a kind that comes again begins the next piece.
    """
    piece: dict[str, list[dict[str, Any]]] = {}
    for kind, batch in parts:
        if kind in piece:
            yield from _merged(piece)
            piece = {}
        piece[kind] = batch.to_pylist()
    yield from _merged(piece)


def _merged(piece: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    marked = [{"kind": _KIND_ON_A_LINE[kind], **row} for kind, rows in piece.items() for row in rows]
    return sorted(marked, key=lambda row: row["byte_offset"])


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    assert isinstance(value, bytes)
    return base64.b64encode(value).decode()
