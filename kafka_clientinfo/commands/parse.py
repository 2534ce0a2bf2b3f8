"""The command `parse`: prints the records of logs as JSON lines, without Spark, Java or a warehouse."""

import argparse
import base64
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from .. import console
from .context import Context, add_settings
from .run import add_logs, not_read, totals

HELP = "print the requests of logs as JSON lines, and what could not be read as a request"
EXAMPLES = ("parse /var/log/kafka/kafka-request.log | jq .",)
STOPPED = "stopped; every line that was printed is whole"
_MARKS = {"request": "request", "rejected": "rejected_record", "failed": "failed_request"}
"""What a line's `kind` says of each kind of row."""
_LINES_AT_ONCE = 512


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_logs(parser, "; or - for standard input")
    add_settings(parser, "name of the cluster that wrote the logs")
    parser.set_defaults(json=True)


def execute(context: Context) -> int:
    """Run the command; returns its exit code, 1 where a file could not be read whole."""
    from ..ingestion.in_process import Reading

    settings = context.settings(cluster=context.arguments.cluster)
    reading = Reading(context.arguments.logs, settings, with_servers=False)
    lines = _lines(_in_order(reading.parts()))
    while text := "\n".join(islice(lines, _LINES_AT_ONCE)):
        if not console.output(text):
            return 0  # who reads has read enough
    complain_of(reading)
    return 1 if reading.is_incomplete else 0


def complain_of(reading: Any) -> None:
    """Tell on standard error what was read, and what could not be."""
    files = reading.reports
    read, requests, rejected, pending = totals(files, "to_offset", "requests", "rejected", "pending_bytes")
    console.complain(
        f"{len(files)} files, {read} bytes of log, {requests} requests, {rejected} rejected "
        f"records, {pending} bytes of records that are not finished"
    )
    for line in not_read(reading.problems, files):
        console.complain(line)


def _in_order(parts: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """The rows of all kinds in the order of their records; a piece of log gives one batch of each kind at most."""
    piece: list[tuple[str, list[dict[str, Any]]]] = []
    for kind, rows in parts:
        if kind in (known for known, _ in piece):
            yield from _merged(piece)
            piece = []
        piece.append((kind, rows.to_pylist()))
    yield from _merged(piece)


def _merged(piece: Iterable[tuple[str, list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    rows = [{"kind": _MARKS[kind], **row} for kind, rows in piece for row in rows]
    return sorted(rows, key=lambda row: row["byte_offset"])


def _lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    return (json.dumps(row, ensure_ascii=False, default=_as_text) for row in rows)


def _as_text(value: object) -> str:
    """A time in ISO 8601 and UTC; bytes in base64, as Kafka writes them in JSON."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    assert isinstance(value, bytes)
    return base64.b64encode(value).decode()
