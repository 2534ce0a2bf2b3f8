"""Logs that begin inside an hour that their zone repeats: which of its two readings they begin with.

A file by itself shows it where it goes back to the hour's beginning (then it began before that, with the first reading)
or beyond its end without going back (then with the second one, unless nothing was logged for more than an hour). This
`worker` sees. A file that ends inside the hour does not show it, and is read by the first reading. Then the times of the
broker's other files show it, as `log_sequence` says.

Files come in any order, and grow. What a later one shows, or a file's own later bytes, moves the rows that are there,
so the tables depend on the files and not on the order in which they were read. A file's own bytes count for more: if
other files had moved its rows to the second reading, and it then goes back to the hour's beginning, they move back.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from ..logs.clock import STEP_BACK, LogClock
from .log_sequence import Span, readings_of

_MICROSECOND = timedelta(microseconds=1)
_MINUTE = timedelta(minutes=1)
_NONE = timedelta()

TIMES = {"requests": ("logged_at", "started_at"), "failed_requests": ("logged_at",)}
"""The columns of rows that follow the time of their record, by table."""


class Move(NamedTuple):
    """Rows of a file that were logged `by` later than they say.

    Attributes:
        begin: of the times of these rows.
        end: the first time after these.
        until: of the bytes that earlier runs read, if only their rows are to be moved; None for all rows.
    """

    file_id: str
    begin: datetime
    end: datetime
    by: timedelta
    until: int | None = None

    @property
    def condition(self) -> str:
        """The rows in SQL; a file_id is a hash, and needs no quoting."""
        begin, end = (f"TIMESTAMP '{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}'" for time in (self.begin, self.end))
        before = "" if self.until is None else f" AND byte_offset < {self.until}"
        return f"file_id = '{self.file_id}' AND logged_at >= {begin} AND logged_at < {end}{before}"

    def values(self, table: str) -> dict[str, str]:
        """The columns of a table that change, each with its value in SQL."""
        return {name: f"{name} + INTERVAL '{round(self.by.total_seconds())}' SECOND" for name in TIMES[table]}

    def back(self) -> "Move":
        """Return the move that undoes this one."""
        return self._replace(begin=self.begin + self.by, end=self.end + self.by, by=-self.by)

    def moved(self, time: datetime) -> datetime:
        """Return the instant at which something was logged that is noted at this time."""
        return time + self.by if self.begin <= time < self.end else time


def moves(files: Iterable[Mapping[str, Any]], resumed: Iterable[Mapping[str, Any]], zone: str) -> list[Move]:
    """Return what is to be moved.

    Args:
        files: rows of ingested_files, as far as all is read.
        resumed: statistics of the splits that were read now, of files of which an earlier run has read the beginning.
        zone: of the logs.
    """
    brokers: dict[tuple[str, str], list[_Log]] = {}
    for file in files:
        if file["first_logged_at"] is not None:
            brokers.setdefault((file["cluster"], file["broker"]), []).append(_log(file, zone))
    own = _shown_by_new_bytes(resumed, zone)
    return [*own, *(move for logs in brokers.values() for move in _shown_by_others(logs))]


def _shown_by_new_bytes(resumed: Iterable[Mapping[str, Any]], zone: str) -> list[Move]:
    """Return the moves of rows that earlier runs read by the reading that their file's new bytes exclude."""
    first_splits: dict[str, Mapping[str, Any]] = {}
    for split in sorted(resumed, key=lambda one: int(one["start_offset"])):
        if split["shown_at"] is not None:
            first_splits.setdefault(split["file_id"], split)
    moves_of_files = []
    for file_id, split in first_splits.items():
        move = _move(file_id, min(split["shown_at"], split["misread_at"]), zone)
        if move is not None:
            move = move._replace(until=split["start_offset"])
            moves_of_files.append(move if split["misread_at"] < split["shown_at"] else move.back())
    return moves_of_files


class _Log(NamedTuple):
    """When a file's requests were logged; where that is not sure, by the first reading, and `move` to the second one."""

    first: datetime
    last: datetime
    file_id: str
    move: Move | None = None
    is_moved: bool = False

    def span(self, seam: datetime) -> Span:
        """Return the times of its requests, in microseconds from the seam."""
        return Span((self.first - seam) // _MICROSECOND, (self.last - seam) // _MICROSECOND)


def _log(file: Mapping[str, Any], zone: str) -> _Log:
    first, last, file_id = file["first_logged_at"], file["last_logged_at"], file["file_id"]
    readings = _readings(first, zone)
    move = None if readings is None else _move(file_id, readings[0], zone)
    if move is None or readings is None:
        return _Log(first, last, file_id)
    is_moved = first == readings[1]
    if last >= move.end + (move.by if is_moved else _NONE):
        return _Log(first, last, file_id)
    by = move.by if is_moved else _NONE
    return _Log(first - by, last - by, file_id, move, is_moved)


def _shown_by_others(logs: Sequence[_Log]) -> Iterator[Move]:
    """Yield the moves of one broker's logs: what the logs show, less what was moved before."""
    sure = [log for log in logs if log.move is None]
    hours: dict[tuple[datetime, timedelta], list[_Log]] = {}
    for log in sorted(logs):
        if log.move is not None:
            hours.setdefault((log.move.end, log.move.by), []).append(log)
    for (seam, by), unsure in hours.items():
        spans, fixed = ([log.span(seam) for log in some] for some in (unsure, sure))
        is_second = readings_of(spans, fixed, by // _MICROSECOND)
        for log, is_late in zip(unsure, is_second, strict=True):
            if log.move is not None and is_late != log.is_moved:
                yield log.move if is_late else log.move.back()


def _move(file_id: str, instant: datetime, zone: str) -> Move | None:
    """Return the move of a file that was read as if it began at this instant; None where that is in no first reading."""
    readings = _readings(instant, zone)
    if readings is None or readings[0] != instant:
        return None
    by = readings[1] - instant
    end = instant.replace(second=0, microsecond=0)
    while (others := _readings(end, zone)) is not None and others[0] == end:
        end += _MINUTE
    return Move(file_id, end - by, end, by)


def _readings(instant: datetime, zone: str) -> tuple[datetime, datetime] | None:
    """Return both instants of the local time of one; None where there is one only."""
    local = instant.astimezone(ZoneInfo(zone))
    first, second = (local.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    return (first, second) if first < second else None


def begins_again(clock: LogClock, times: Iterable[tuple[bytes, bytes | None]]) -> bool | None:
    """Return whether a log begins with the second reading of its first time, which its zone repeats.

    Args:
        clock: of the log; it is asked for the readings of times only.
        times: those in the log, each with its zone.

    Returns:
        None where the log ends inside the hour, and goes on in it from one reading to the other nowhere.
    """
    times = iter(times)
    first = next(times, None)
    if first is None:
        return None
    latest, later = clock.readings(*first)
    for time in times:
        reading, second = clock.readings(*time)
        if reading == second:  # behind the hour; a silence shorter than the hour says that it was the second one
            return reading - later < later - latest
        if latest - reading > STEP_BACK:
            return False
        if reading > latest:
            latest, later = reading, second
    return None


def moved_row(row: Mapping[str, Any], move: Move) -> dict[str, Any]:
    """Return a file's row of ingested_files after a move of its rows."""
    if move.until is not None:  # `file_row` has set these times right
        return dict(row)
    return with_times(row, move.moved)


def with_times(row: Mapping[str, Any], moved: Callable[[datetime], datetime]) -> dict[str, Any]:
    """Return a row of ingested_files in which each time of a record is moved."""
    times = {name: moved(row[name]) for name in ("first_logged_at", "last_logged_at") if row.get(name) is not None}
    ends = ("began_at", "ended_at")
    runs = [{**run, **{name: moved(run[name]) for name in ends}} for run in row.get("debug_runs") or ()]
    events = [{**event, "at": moved(event["at"])} for event in row.get("broker_events") or ()]
    return {**row, **times, "debug_runs": runs, "broker_events": events}
