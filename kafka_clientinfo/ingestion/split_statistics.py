"""What the requests of a split and of a file show together: times, where the log is whole, and restarts of the broker.

A split is summed up while it is read (`worker`), and a file that a user's own table holds by its rows
(`stored_requests`). The splits of a file are added up: records = requests + rejected + sum(ignored), always.

If a split could not be read to its end, its file ends there for this run, because a file has one resume offset: rows
before the failure count, rows of the file's later splits do not. A log that was rotated before it was read is no error:
the next run reads it under its new name.

One broker writes its logs one after the other. Two brokers' logs in one folder have the folder's name as their broker,
so that their connections mix: `overlaps` finds them. A server.log has no requests, and so no times.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..coverage.broker_start import START_WINDOW, RequestFields, Restarts, requests_of, shows_broker_start
from ..coverage.debug_runs import DebugRuns, evidence, joined, loggers_set, read_at
from ..coverage.omissions import Omissions
from ..logs.broker_events import LOGGER_SET, MOST_EVENTS, RESTARTED, BrokerEvent, distinct_events
from ..printable import safe
from .planned import REPLACED, PlannedFile, Problem
from .planned import relaid as relaid_file
from .planned import rotated as rotated_file

Statistics = Mapping[str, Any]

_ALLOWED = timedelta(minutes=1)
"""The most by which logs of one broker overlap, less the steps back of their clocks: neighbouring records are out of
order by less than a second."""
_broker = itemgetter("cluster", "broker")


class RequestStatistics:
    """The statistics of requests that are added in the order of their file, from offset `start` on.

    `before` is the number of the file's requests before them; None if that is not known.
    """

    def __init__(self, start: int, before: int | None = 0) -> None:
        self.debug_runs = DebugRuns()
        self._first: int | None = None
        self._earliest = self._latest = 0
        self._step_back = 0
        self._omissions = Omissions()
        self._restarts = Restarts(start)
        self._loggers_set: list[BrokerEvent] = []
        self.missing_first = 0 if before is None else max(0, START_WINDOW - before)
        self._shows_start = self.missing_first > 0
        self._first_requests: list[RequestFields] = []

    def begin(self, events: pa.RecordBatch) -> None:
        """Add the first requests of the file, which an earlier run has counted: all of them are judged together."""
        self._first_requests += requests_of(events)

    def look_back(self, events: pa.RecordBatch) -> None:
        """Add the requests before `start`, which count nothing, all at once."""
        self._restarts.note(events)
        self._omissions.note(events)

    def note(self, events: pa.RecordBatch) -> None:
        """Add further requests, one at least, as rows of `EVENT_SCHEMA`."""
        if self.missing_first > 0:
            self.begin(events.slice(0, self.missing_first))
            self.missing_first -= len(events)
        self._note_times(events["logged_at"].cast(pa.int64()))
        self.debug_runs.note(events, evidence(events, self._omissions))
        self._restarts.note(events)
        self._loggers_set += loggers_set(events)

    def _note_times(self, times: pa.Array) -> None:
        if self._first is None:
            self._first = self._earliest = self._latest = times[0].as_py()
        self._earliest = min(self._earliest, pc.min(times).as_py())
        so_far = pc.cumulative_max(times, start=self._latest)
        self._latest = so_far[-1].as_py()
        self._step_back = max(self._step_back, pc.max(pc.subtract(so_far, times)).as_py())

    def shown(self, is_end: bool) -> list[BrokerEvent]:
        """Return what the requests show of loggers and restarts; `is_end` says that none will be added."""
        return [*self._loggers_set[:MOST_EVENTS], *self._restarts.events(is_end)]

    def of_times(self) -> dict[str, Any]:
        has_requests = self._first is not None
        return {
            "first_logged_at": self._first,
            "earliest_logged_at": self._earliest if has_requests else None,
            "last_logged_at": self._latest if has_requests else None,
            "step_back_ms": -(-self._step_back // 1000),
            "info_requests": self.debug_runs.info_requests,
            "debug_runs": self.debug_runs.runs(),
            "covers_broker_start": shows_broker_start(self._first_requests) if self._shows_start else None,
        }


def counted(statistics: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort splits by file, and leave out those that follow the first read error of their file."""
    kept: list[dict[str, Any]] = []
    stopped: set[str] = set()
    for split in sorted(statistics, key=lambda split: (split["file_id"], split["start_offset"])):
        if split["file_id"] not in stopped:
            kept.append(split)
        if split["error"] is not None:
            stopped.add(split["file_id"])
    return kept


def files_cut_inside_records(statistics: Iterable[Statistics]) -> frozenset[str]:
    """Return the file_ids with a cut inside a record: the split before the cut read that record beyond its own end."""
    return frozenset(
        before["file_id"]
        for before, after in pairwise(statistics)
        if before["file_id"] == after["file_id"] and before["end_offset"] > after["start_offset"]
    )


def was_read(file: PlannedFile, statistics: Iterable[Statistics]) -> bool:
    """Return whether a file needs a row in the ledger: not if it was rotated before it was read."""
    own = [split for split in statistics if split["file_id"] == file.file_id]
    return file.was_damaged or any(split["records"] or split["error"] != REPLACED for split in own)


def rotated(files: Iterable[PlannedFile], statistics: Iterable[Statistics]) -> list[Problem]:
    replaced = {split["file_id"] for split in statistics if split["error"] == REPLACED}
    return [rotated_file(file.path) for file in files if file.file_id in replaced]


def relaid(files: Iterable[PlannedFile], statistics: Iterable[Statistics]) -> list[Problem]:
    changes: dict[str, int] = {}
    for split in statistics:
        if split["relaid_at"] is not None:
            changes[split["file_id"]] = min(split["relaid_at"], changes.get(split["file_id"], split["relaid_at"]))
    return [relaid_file(file.path, changes[file.file_id]) for file in files if file.file_id in changes]


def file_row(file: PlannedFile, statistics: Sequence[Statistics], batch_id: str, now: datetime) -> dict[str, Any]:
    """Return a file's row of ingested_files, from its row before and the new statistics."""
    own = [split for split in statistics if split["file_id"] == file.file_id]
    before = file.ledger_row or {}
    end = max(split["end_offset"] for split in own)
    total = {name: before.get(name, 0) + sum(a[name] for a in own) for name in ("records", "requests", "rejected")}
    runs = [read_at(run, now) for split in own for run in split.get("debug_runs") or ()]
    judged = (split["covers_broker_start"] for split in own if split["covers_broker_start"] is not None)
    ignored: Counter[str] = Counter()
    for split in [before, *own]:
        ignored.update(dict(split.get("ignored") or {}))
    hashes = (a["resume_hash"] for a in own if a["end_offset"] == end and a["resume_hash"])
    return {
        "file_id": file.file_id,
        **file.where,
        "bytes_ingested": end,
        "pending_bytes": sum(split["pending_bytes"] for split in own),
        "resume_hash": next(hashes, before.get("resume_hash", "")),
        **total,
        "ignored": dict(ignored),
        "first_logged_at": next(iter(_times([before, *own], "first_logged_at")), None),
        "last_logged_at": max(_times([before, *own], "last_logged_at"), default=None),
        "step_back_ms": _step_back_ms(before, own),
        "info_requests": sum(split.get("info_requests") or 0 for split in [before, *own]),
        "debug_runs": joined([*(before.get("debug_runs") or ()), *runs]),
        "covers_broker_start": bool(next(judged, before.get("covers_broker_start"))),
        "broker_events": _broker_events(before, own, now),
        "damage": next((split["error"] for split in own if split["error"] not in (None, REPLACED)), None),
        "batch_id": batch_id,
        "ingested_at": now,
    }


def _broker_events(before: Statistics, own: Iterable[Statistics], now: datetime) -> list[Statistics]:
    """Return what the broker logged about itself in the file, and which loggers and restarts the requests show.

    An event keeps the time of the run that first read it.
    """
    earlier = before.get("broker_events") or ()
    new = [{**event, "ingested_at": now} for split in own for event in split.get("broker_events") or ()]
    from_log = [event for event in [*earlier, *new] if event["kind"] not in (LOGGER_SET, RESTARTED)]
    logger_set = [event for event in [*earlier, *new] if event["kind"] == LOGGER_SET][:MOST_EVENTS]
    distinct = distinct_events(from_log, lambda event: (event["kind"], event["value"]))
    return distinct + logger_set + _restarts(earlier, new)


def _restarts(earlier: Iterable[Statistics], new: Iterable[Statistics]) -> list[Statistics]:
    """Return the restarts that the file shows; those shown by the last requests of an earlier run were judged again."""
    by_time = {event["at"]: event for event in earlier if event["kind"] == RESTARTED}
    shown = {at: event for at, event in by_time.items() if event["value"].isdecimal()}
    for event in new:
        if event["kind"] == RESTARTED:
            read_at = by_time.get(event["at"], event)["ingested_at"]
            shown.setdefault(event["at"], {**event, "ingested_at": read_at})
    return list(shown.values())[:MOST_EVENTS]


def _step_back_ms(before: Statistics, own: Sequence[Statistics]) -> int:
    most: int = before.get("step_back_ms", 0)
    latest: datetime | None = before.get("last_logged_at")
    for split in own:
        if split["first_logged_at"] is not None:
            below = latest - split["earliest_logged_at"] if latest is not None else timedelta()
            most = max(most, split["step_back_ms"], -(-below // timedelta(milliseconds=1)))
            latest = split["last_logged_at"] if latest is None else max(latest, split["last_logged_at"])
    return most


def _times(statistics: Iterable[Statistics], name: str) -> list[datetime]:
    return [split[name] for split in statistics if split.get(name)]


def file_report(row: Statistics, ledger_row: Statistics | None) -> dict[str, Any]:
    """Return what a run read of a file, for the report, by its rows of ingested_files after the run and before it."""
    before: Statistics = ledger_row or {}
    ignored_before = dict(before.get("ignored") or {})
    return {
        **{name: row[name] for name in ("path", "broker", "file_id")},
        "from_offset": before.get("bytes_ingested", 0),
        "to_offset": row["bytes_ingested"],
        **{name: row[name] - before.get(name, 0) for name in ("records", "requests", "rejected")},
        "ignored": {kind: count - ignored_before.get(kind, 0) for kind, count in row["ignored"].items()},
        "pending_bytes": row["pending_bytes"],
        "error": row["damage"],
    }


def overlaps(files: Iterable[Statistics], new: Iterable[str] | None = None) -> list[Problem]:
    """Return a problem for each broker with logs, as rows of ingested_files, that overlap by more than a minute.

    Files with an `ambiguous_hour` are left out, as their times may be an hour too early; so are brokers without one in
    `new`, unless that is None.
    """
    sure = (file for file in files if file["first_logged_at"] is not None and not file["ambiguous_hour"])
    rows = {file["file_id"]: file for file in sure}
    brokers = None if new is None else {_broker(rows[file_id]) for file_id in new if file_id in rows}
    in_order = sorted(rows.values(), key=lambda file: (*_broker(file), file["first_logged_at"], file["file_id"]))
    problems = []
    for broker, its in groupby(in_order, _broker):
        if (brokers is None or broker in brokers) and (overlapping := _overlapping(its)):
            number = len(overlapping)
            detail = (
                f"{number} files count as broker {safe(broker[1], 80)}, and their times overlap; if they are of "
                f"{'two' if number == 2 else 'several'} brokers, give each its own folder, or set broker_pattern"
            )
            problems.append(Problem(overlapping[0]["path"], "overlap", detail))
    return problems


def _overlapping(files: Iterable[Statistics]) -> list[Statistics]:
    latest: Statistics | None = None
    by_id: dict[str, Statistics] = {}
    for file in files:
        if latest is not None:
            end = min(latest["last_logged_at"], file["last_logged_at"])
            steps_back = max(latest["step_back_ms"] or 0, file["step_back_ms"] or 0)
            if end - file["first_logged_at"] - timedelta(milliseconds=steps_back) > _ALLOWED:
                by_id |= {latest["file_id"]: latest, file["file_id"]: file}
        if latest is None or file["last_logged_at"] > latest["last_logged_at"]:
            latest = file
    return list(by_id.values())
