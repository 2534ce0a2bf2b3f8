"""Finds out with which reading of a repeated hour a log begins, and moves rows that were read by the wrong one.

When clocks are set back, an hour of local time comes twice: it has two readings. What shows the reading of a log that
begins in such an hour:

    the log                                        | its first time has
    -----------------------------------------------|---------------------------------------------------------------
    goes back to the hour's beginning              | the first reading (seen by `worker`)
    passes the hour's end without going back       | the second one, unless nothing was logged for more than an hour
                                                   | (seen by `worker`)
    ends inside the hour                           | the first one, until the broker's other files show more
                                                   | (`log_sequence`)

Files come in any order, and grow. A later file, or a file's own later bytes, may show another reading; then stored rows
move, so that the tables depend on the files and not on the order of reading. A file's own bytes count more: if other
files had moved its rows to the second reading, and it then goes back to the hour's beginning, they move back.
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

TIMES = {
    "requests": ("logged_at", "started_at"),
    "failed_requests": ("logged_at",),
    "topic_mentions": ("first_at", "last_at"),
}
"""Per table, the columns of a row that depend on the time of its record; of `_BOUNDS`, each on that of another record."""
_BOUNDS = ("topic_mentions",)


class Move(NamedTuple):
    """A change of the times of a file's rows.

    Attributes:
        begin: the first time of these rows.
        end: the first time after them.
        by: the time to add.
        until: offset at which earlier runs ended, if only their rows move; None for all rows.
    """

    file_id: str
    begin: datetime
    end: datetime
    by: timedelta
    until: int | None = None

    def condition(self, table: str) -> str:
        """Return the condition for the rows of a table in SQL; a file_id is a hash, and needs no quoting."""
        before = "" if self.until is None else f" AND byte_offset < {self.until}"
        times = TIMES[table] if table in _BOUNDS else ("logged_at",)
        return f"file_id = '{self.file_id}' AND ({' OR '.join(map(self._holds, times))}){before}"

    def values(self, table: str) -> dict[str, str]:
        """Return the columns of a table that change, each with its new value in SQL."""
        moved = {name: f"{name} + INTERVAL '{round(self.by.total_seconds())}' SECOND" for name in TIMES[table]}
        if table not in _BOUNDS:
            return moved
        return {name: f"CASE WHEN {self._holds(name)} THEN {value} ELSE {name} END" for name, value in moved.items()}

    def _holds(self, column: str) -> str:
        begin, end = (f"TIMESTAMP '{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}'" for time in (self.begin, self.end))
        return f"{column} >= {begin} AND {column} < {end}"

    def back(self) -> "Move":
        """Return the move that undoes this one."""
        return self._replace(begin=self.begin + self.by, end=self.end + self.by, by=-self.by)

    def moved(self, time: datetime) -> datetime:
        """Return the real instant of a record that is stored with this time."""
        return time + self.by if self.begin <= time < self.end else time


def moves(files: Iterable[Mapping[str, Any]], resumed: Iterable[Mapping[str, Any]], zone: str) -> list[Move]:
    """Return the moves that the files show.

    Args:
        files: rows of ingested_files, after reading.
        resumed: statistics of the splits that were read now, for files that an earlier run had begun to read.
        zone: zone of the logs.
    """
    brokers: dict[tuple[str, str], list[_Times]] = {}
    for file in files:
        if file["first_logged_at"] is not None:
            brokers.setdefault((file["cluster"], file["broker"]), []).append(_times(file, zone))
    own = _shown_by_new_bytes(resumed, zone)
    return [*own, *(move for logs in brokers.values() for move in _shown_by_others(logs))]


def _shown_by_new_bytes(resumed: Iterable[Mapping[str, Any]], zone: str) -> list[Move]:
    """Return moves of earlier runs' rows, if their file's new bytes exclude the reading that was used for them."""
    first_splits: dict[str, Mapping[str, Any]] = {}
    for split in sorted(resumed, key=lambda split: int(split["start_offset"])):
        if split["shown_at"] is not None:
            first_splits.setdefault(split["file_id"], split)
    moves_of_files = []
    for file_id, split in first_splits.items():
        move = _move(file_id, min(split["shown_at"], split["misread_at"]), zone)
        if move is not None:
            move = move._replace(until=split["start_offset"])
            moves_of_files.append(move if split["misread_at"] < split["shown_at"] else move.back())
    return moves_of_files


class _Times(NamedTuple):
    """The times of a file's requests. If only other logs can show the reading, they are in the first reading, and
    `move` takes them to the second.
    """

    first: datetime
    last: datetime
    file_id: str
    move: Move | None = None
    is_moved: bool = False

    def span(self, seam: datetime) -> Span:
        """Return the times of its requests, in microseconds from the seam."""
        return Span((self.first - seam) // _MICROSECOND, (self.last - seam) // _MICROSECOND)


def _times(file: Mapping[str, Any], zone: str) -> _Times:
    """Return the times of a file's requests; in the first reading, with a move, if only other logs show which it is."""
    first, last, file_id = file["first_logged_at"], file["last_logged_at"], file["file_id"]
    readings = _readings(first, zone)
    move = None if readings is None else _move(file_id, readings[0], zone)
    if move is None or readings is None:
        return _Times(first, last, file_id)
    is_moved = first == readings[1]
    if last >= move.end + (move.by if is_moved else _NONE):
        return _Times(first, last, file_id)
    by = move.by if is_moved else _NONE
    return _Times(first - by, last - by, file_id, move, is_moved)


def _shown_by_others(logs: Sequence[_Times]) -> Iterator[Move]:
    """Yield the moves of one broker's logs: from the readings that were used before to those that all logs show."""
    sure = [log for log in logs if log.move is None]
    hours: dict[tuple[datetime, timedelta], list[_Times]] = {}
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
    """Return the move of a file that was read as if it began at this instant; None if that is in no first reading."""
    readings = _readings(instant, zone)
    if readings is None or readings[0] != instant:
        return None
    by = readings[1] - instant
    end = instant.replace(second=0, microsecond=0)
    while (others := _readings(end, zone)) is not None and others[0] == end:
        end += _MINUTE
    return Move(file_id, end - by, end, by)


def _readings(instant: datetime, zone: str) -> tuple[datetime, datetime] | None:
    """Return both instants with the local time of this one; None if there is only one."""
    local = instant.astimezone(ZoneInfo(zone))
    first, second = (local.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    return (first, second) if first < second else None


def begins_with_second_reading(clock: LogClock, times: Iterable[tuple[bytes, bytes | None]]) -> bool | None:
    """Return whether a log begins with the second reading of its first time, which its zone repeats.

    A step back by more than `STEP_BACK` shows the first reading. A time after the hour shows the second one, if the
    silence before it is shorter than the hour when the log is read so.

    Args:
        clock: the log's clock, from which only the readings of times are taken.
        times: the times in the log, each with its zone.

    Returns:
        None if the log has no times, or ends inside the hour without such a step.
    """
    times = iter(times)
    first = next(times, None)
    if first is None:
        return None
    as_first, as_second = clock.readings(*first)  # the latest time so far, by either reading
    for time in times:
        next_first, next_second = clock.readings(*time)
        if next_first == next_second:  # after the hour
            return next_first - as_second < as_second - as_first
        if as_first - next_first > STEP_BACK:
            return False
        if next_first > as_first:
            as_first, as_second = next_first, next_second
    return None


def moved_row(row: Mapping[str, Any], move: Move) -> dict[str, Any]:
    """Return a file's row of ingested_files after a move of its rows."""
    if move.until is not None:  # `file_row` has already corrected these times
        return dict(row)
    return with_times(row, move.moved)


def with_times(row: Mapping[str, Any], moved: Callable[[datetime], datetime]) -> dict[str, Any]:
    """Return a row of ingested_files with the time of each record moved."""
    times = {name: moved(row[name]) for name in ("first_logged_at", "last_logged_at") if row.get(name) is not None}
    ends = ("began_at", "ended_at")
    runs = [{**run, **{name: moved(run[name]) for name in ends}} for run in row.get("debug_runs") or ()]
    events = [{**event, "at": moved(event["at"])} for event in row.get("broker_events") or ()]
    return {**row, **times, "debug_runs": runs, "broker_events": events}
