"""The stream of the data source: its offsets are positions in logs, by file_id, so no log is read twice or left out.

An offset holds for each log what a run keeps in `ingested_files` to know it again: where it was read from and to, and a
hash of the bytes before that. So a log is read on under another name, and compressed, as a run does. Offsets are stored with
every batch, so they forget a log some time after it is gone.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import pyarrow as pa
from pyspark import __version__ as _SPARK
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from ..errors import ConfigError, InputError
from ..ingestion.plan import make_plan
from ..ingestion.planned import Plan, PlannedFile, Problem, Split, complete_until, record_boundary
from ..logs.reader import record_start, resume_point
from .log_source import Work, divided, read, splits_until, tasks_for, warn
from .options import Options

Positions = dict[str, dict[str, Any]]
"""Where each log was read to, by file_id."""
KEPT = timedelta(days=30)
"""How long after a log is gone its position is kept: it may be moved, or be compressed, meanwhile."""
_GONE = "gone_since"
try:
    _limits: Any = import_module("pyspark.sql.streaming.datasource")
except ImportError:  # before Spark 4.2
    _limits = None
_AvailableNow: Any = _limits.SupportsTriggerAvailableNow if _limits else object


class LogStream(DataSourceStreamReader, _AvailableNow):  # type: ignore[misc]
    """Reads logs as a stream: what is there at first, and then what is added."""

    def __init__(self, options: Options) -> None:
        if options.max_bytes is not None and _limits is None:
            raise ConfigError(
                f"maxBytesPerTrigger needs Spark 4.2 or later, and this is {_SPARK}: before that, Spark does not say up to "
                "where a batch may read; leave the option out, and a batch reads all that is there"
            )
        if options.records == "ingested_files":
            raise ConfigError(
                "a stream has no ingested_files, as each row counts all of its file; read them as a batch"
            )
        self._options = options
        self._known: Positions = {}
        self._is_available_now = False
        self._target: Positions | None = None
        self._planned: dict[str, PlannedFile] = {}
        self._warned: set[Problem] = set()

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"logs": {}}

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """Return the bound per batch, from Spark 4.2 on."""
        bound = self._options.max_bytes
        return _limits.ReadAllAvailable() if bound is None else _limits.ReadMaxBytes(bound)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Have the query end when it has read what is there at its first batch."""
        self._is_available_now = True

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:  # noqa: N802
        """Return how far the logs may be read: to the last complete record of each, or to the bound.

        Args:
            start: the offset of the last batch; before Spark 4.2 it is not given, and the last known one counts.
            limit: Spark's ReadLimit.
        """
        known = self._known if start is None else start["logs"]
        if self._is_available_now and self._target is None:
            self._target = self._latest(known, None)
        return {"logs": self._latest(known, getattr(limit, "max_bytes", None))}

    def _latest(self, known: Mapping[str, Mapping[str, Any]], max_bytes: int | None) -> Positions:
        plan = self._plan(known)
        left = max_bytes
        latest = {name: dict(row) for name, row in known.items()}
        for file in plan.files:
            if left is not None and left <= 0:
                break
            complete = complete_until(file)
            end = self._end(file, complete, left)
            if end > file.resume_at:
                latest[file.file_id] = _position(file, end, is_all=end == complete)
                left = None if left is None else left - (end - file.resume_at)
        for row in plan.packed:
            latest[row["file_id"]] |= {name: row[name] for name in ("path", "size_on_disk", "compressed")}
        return dict(sorted(_without_long_gone(latest, plan.logs, _now()).items()))

    def _plan(self, known: Mapping[str, Mapping[str, Any]]) -> Plan:
        plan = make_plan(self._options.files(), known, self._options.settings, 1)
        warn([problem for problem in plan.problems if problem not in self._warned])
        self._warned.update(plan.problems)
        self._planned = {file.file_id: file for file in plan.files}
        return plan

    def _end(self, file: PlannedFile, end: int, bound: int | None) -> int:
        """Return the offset up to which a batch may read a file, `end` at most: a compressed one is read whole."""
        if self._target is not None:
            end = min(end, int(self._target.get(file.file_id, {}).get("bytes_ingested", 0)))
        if bound is None or file.compressed or not file.layout.splittable or end - file.resume_at <= bound:
            return end
        start = record_start(file.file, file.resume_at + bound, file.layout.json_requests)
        return end if start is None else min(end, record_boundary(file, start))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the work of a batch, one item per task; Spark calls this with equal offsets when a query starts again."""
        before, after = start["logs"], end["logs"]
        self._known = after
        grown = {
            name: int(row["bytes_ingested"])
            for name, row in after.items()
            if int(row["bytes_ingested"]) > _read_until(before, name)
        }
        if any(self._resumes_at(name) != _read_until(before, name) for name in grown):
            self._plan(before)
        new_bytes = sum(until - _read_until(before, name) for name, until in grown.items())
        (tasks, settings), splits = tasks_for(new_bytes, self._options), list[Split]()
        for name, until in grown.items():
            if self._resumes_at(name) == _read_until(before, name):
                splits += splits_until(self._planned[name], until, settings, tasks)
            elif self._options.fail_on_data_loss:
                raise InputError(
                    f"{after[name]['path']}: bytes {_read_until(before, name)} to {until} of this log were to be read, and "
                    "it is in none of the files that are there; bring it back, or set failOnDataLoss to false to go on "
                    "without it"
                )
        return [InputPartition(work) for work in divided(splits, self._options, tasks)]

    def _resumes_at(self, name: str) -> int | None:
        return self._planned[name].resume_at if name in self._planned else None

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        work: Work = partition.value
        return read(work)


def _without_long_gone(positions: Positions, there: Collection[str], now: datetime) -> Positions:
    kept: Positions = {}
    for name, row in positions.items():
        since = str(row.get(_GONE, now.isoformat()))
        if name in there:
            kept[name] = {key: value for key, value in row.items() if key != _GONE}
        elif now - datetime.fromisoformat(since) < KEPT:
            kept[name] = row | {_GONE: since}
    return kept


def _now() -> datetime:
    return datetime.now(UTC)


def _read_until(positions: Mapping[str, Mapping[str, Any]], name: str) -> int:
    return int(positions[name]["bytes_ingested"]) if name in positions else 0


def _position(file: PlannedFile, end: int, is_all: bool) -> dict[str, Any]:
    """Return how a log is known again after it was read up to an offset; see `ingestion.copies`.

    `is_all` says whether no complete record follows the offset.
    """
    whole = replace(file.file, size=None) if file.compressed else file.file
    return {
        **file.where,
        "bytes_ingested": end,
        "pending_bytes": max(0, file.size_on_disk - end) if is_all and not file.compressed else 0,
        "resume_hash": resume_point(whole, end, file.first_offset).hash or "",
    }
