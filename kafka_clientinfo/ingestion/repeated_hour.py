"""Logs that begin inside an hour that their zone repeats: which of its two readings they begin with.

A file by itself shows it where it goes back to the hour's beginning (then it began before that, with the first reading)
or beyond its end without going back (then with the second one, unless nothing was logged for more than an hour). This
`worker` sees. A file that ends inside the hour does not show it, and is read by the first reading. Then the broker's other
files show it: logs of one broker follow one another, so what began before such a file and ended well after its
beginning was written before all of it.

Files come in any order, and grow. What a later one shows, or a file's own later bytes, moves the rows that are there,
so the tables depend on the files and not on the order in which they were read. Where nothing shows it, the first
reading stays.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from ..logs.clock import STEP_BACK, LogClock

_STEP_BACK = timedelta(microseconds=STEP_BACK)
_MINUTE = timedelta(minutes=1)
_NONE = timedelta()

TIMES = {"requests": ("logged_at", "started_at"), "failed_requests": ("logged_at",)}
"""The columns of rows that follow the time of their record, by table."""


class Move(NamedTuple):
    """Rows of a file that were logged `by` later than they say: those in [begin, end)."""

    file_id: str
    begin: datetime
    end: datetime
    by: timedelta

    @property
    def condition(self) -> str:
        """The rows in SQL; a file_id is a hash, and needs no quoting."""
        begin, end = (f"TIMESTAMP '{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}'" for time in (self.begin, self.end))
        return f"file_id = '{self.file_id}' AND logged_at >= {begin} AND logged_at < {end}"

    def values(self, table: str) -> dict[str, str]:
        """The columns of a table that change, each with its value in SQL."""
        return {name: f"{name} + INTERVAL '{round(self.by.total_seconds())}' SECOND" for name in TIMES[table]}

    def back(self) -> "Move":
        """Return the move that undoes this one."""
        return Move(self.file_id, self.begin + self.by, self.end + self.by, -self.by)

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
    shown = {split["file_id"]: split["began_again"] for split in resumed if split["began_again"] is not None}
    found = [move for file_id, instant in shown.items() if (move := _move(file_id, instant, zone)) is not None]
    own = {move.file_id: move for move in found}
    brokers: dict[tuple[str, str], list[_Log]] = {}
    for file in files:
        if file["first_logged_at"] is not None:
            log = _log(file, own.get(file["file_id"]), zone)
            brokers.setdefault((file["cluster"], file["broker"]), []).append(log)
    return [*found, *(move for logs in brokers.values() for move in _shown_by_others(logs))]


class _Log(NamedTuple):
    """When a file's requests were logged; where that is not sure, by the first reading, and `move` to the second one."""

    first: datetime
    last: datetime
    file_id: str
    move: Move | None = None
    is_moved: bool = False

    def later(self) -> "_Log":
        """Return the same by the second reading."""
        assert self.move is not None
        return self._replace(first=self.first + self.move.by, last=self.last + self.move.by)


def _log(file: Mapping[str, Any], own: Move | None, zone: str) -> _Log:
    first, last, file_id = file["first_logged_at"], file["last_logged_at"], file["file_id"]
    if own is not None:
        first, last = own.moved(first), own.moved(last)
        return _Log(first, max(first, last), file_id)
    readings = _readings(first, zone)
    move = None if readings is None else _move(file_id, readings[0], zone)
    if move is None or readings is None:
        return _Log(first, last, file_id)
    is_moved = first == readings[1]
    if last >= move.end + (move.by if is_moved else _NONE):
        return _Log(first, last, file_id)
    by = move.by if is_moved else _NONE
    return _Log(first - by, last - by, file_id, move, is_moved)


def _shown_by_others(logs: Iterable[_Log]) -> Iterator[Move]:
    """Yield the moves of one broker's logs, no two of which were written at the same time.

    They follow from the logs alone, whatever was moved before. Where two logs can change places, the one that begins
    earlier in the hour is the first.
    """
    logs = sorted(logs)
    sure = [log for log in logs if log.move is None]
    unsure = [log for log in logs if log.move is not None]
    while unsure:
        judged = [(_meets(log, sure), _meets(log.later(), sure)) for log in unsure]
        at = next((number for number, (early, late) in enumerate(judged) if early != late), 0)
        log, is_late = unsure.pop(at), judged[at] == (True, False)
        sure.append(log.later() if is_late else log)
        if log.move is not None and is_late != log.is_moved:
            yield log.move if is_late else log.move.back()


def _meets(log: _Log, others: Iterable[_Log]) -> bool:
    return any(
        max(log.first, other.first) + _STEP_BACK < (log.last if other.first > log.first else other.last)
        for other in others
    )


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


def begins_again(
    clock: LogClock, first: tuple[bytes, bytes | None], times: Iterable[tuple[bytes, bytes | None]]
) -> bool | None:
    """Return whether a log begins with the second reading of its first time, which its zone repeats.

    Args:
        clock: of the log; it is asked for the readings of times only.
        first: the first time in the log, with its zone.
        times: those behind it.

    Returns:
        None where the log ends inside the hour, and goes on in it from one reading to the other nowhere.
    """
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
    times = {name: row[name] for name in ("first_logged_at", "last_logged_at") if row[name] is not None}
    events = [{**event, "at": move.moved(event["at"])} for event in row.get("broker_events") or ()]
    runs = [
        {**run, **{name: move.moved(run[name]) for name in ("began_at", "ended_at")}}
        for run in row.get("debug_runs") or ()
    ]
    moved = {name: move.moved(time) for name, time in times.items()}
    return {**row, **moved, "debug_runs": runs, "broker_events": events}
