"""Reads logs as Spark has the data source do it, in this process and without Spark."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafka_clientinfo.source.log_source import LogReader
from kafka_clientinfo.source.options import parse_options
from kafka_clientinfo.source.stream import LogStream

Rows = list[dict[str, Any]]


def options_of(path: Path, **given: str) -> Any:
    return parse_options({"path": str(path), **given})


def without_time(rows: Iterable[dict[str, Any]]) -> Rows:
    """Rows in the order of their logs, without the time at which they were read, and the name that the log then had."""
    kept = [{name: value for name, value in row.items() if name not in ("ingested_at", "path")} for row in rows]
    return sorted(kept, key=lambda row: (row["file_id"], row.get("byte_offset", 0)))


def read_all(path: Path, **given: str) -> Rows:
    reader = LogReader(options_of(path, **given))
    return without_time(row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist())


class Query:
    """A streaming query: what Spark asks of the source, and the offsets and rows that it keeps."""

    def __init__(self, path: Path, bound: int | None = None, **given: str) -> None:
        self.options = options_of(path, **given)
        self.bound = bound
        self.reader = LogStream(self.options)
        self.at = self.stored(self.reader.initialOffset())
        self.rows: Rows = []

    @staticmethod
    def stored(offset: dict[str, Any]) -> dict[str, Any]:
        """An offset as it comes back from the checkpoint."""
        back: dict[str, Any] = json.loads(json.dumps(offset))
        return back

    def plan(self) -> dict[str, Any]:
        """The offset of the next batch, which Spark writes down before it reads."""
        if self.bound is None:
            return self.stored(self.reader.latestOffset())
        limit = type("Limit", (), {"max_bytes": self.bound})()
        return self.stored(self.reader.latestOffset(self.at, limit))

    def read(self, until: dict[str, Any]) -> Rows:
        parts = self.reader.partitions(self.at, until)
        return [row for part in parts for batch in self.reader.read(part) for row in batch.to_pylist()]

    def batch(self) -> int:
        """Read a batch; return the number of its rows."""
        until = self.plan()
        rows = self.read(until)
        self.rows += rows
        self.at = until
        return len(rows)

    def restart(self) -> None:
        """Go on in another process, as after a kill between two batches."""
        self.reader = LogStream(self.options)
        self.reader.partitions(self.at, self.at)

    def restart_in_batch(self) -> None:
        """Be killed in a batch after its offset was written: the new process reads the batch again."""
        until = self.plan()
        self.read(until)
        self.reader = LogStream(self.options)
        self.rows += self.read(until)
        self.at = until

    def everything(self) -> Rows:
        """All rows, after all batches that are left."""
        while (until := self.plan()) != self.at:
            self.rows += self.read(until)
            self.at = until
        return without_time(self.rows)
