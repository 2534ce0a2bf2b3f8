"""Finds out with which reading of a repeated hour a log begins, and moves rows that were read by the wrong one.

When clocks are set back, an hour of local time comes twice: it has two readings. What shows the reading of a log that
begins in such an hour:

    the log                                        | its first time has
    -----------------------------------------------|---------------------------------------------------------------
    goes back to the hour's beginning              | the first reading (seen by `worker`)
    passes the hour's end without going back       | the second one, unless nothing was logged for more than an hour
                                                   | (seen by `worker`)
    ends inside the hour                           | the first one, until the broker's other files show more
                                                   | (`readings_of`)

Files come in any order, and grow. A later file, or a file's own later bytes, may show another reading; then stored rows
move, so that the tables depend on the files and not on the order of reading. A file's own bytes count more: if other
files had moved its rows to the second reading, and it then goes back to the hour's beginning, they move back.

One broker writes its logs one after the other, so `readings_of` chooses the readings with the least overlap of logs. If
several have the same overlap, it chooses the one with the least sum of squares of the silences between the logs. A log
in the wrong reading leaves a gap in its own place and crowds another one, and a sum of squares shows that. A silence
longer than the hour counts as an hour: it shows only that other logs are missing. If the sums are equal too, no time
shows the order, and the logs that begin earlier in the hour get its first reading.

    first reading     |--- fixed ---|  |- a -|   |--- b ---|
    second reading      |---- c ----|  |- d -|  |----- fixed -----|

The search takes the logs by their local time and follows both readings at once; a state is the end of the logs in each
reading so far. Times count from the seam, where the first reading ends and the second one begins.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from ..logs.clock import STEP_BACK, LogClock

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
_WIDTH = 500
"""Arrangements that are followed at once, to bound the time: all of them for up to eight logs, else the best."""


class Span(NamedTuple):
    """The times of a log's first and last request, in microseconds."""

    first: int
    last: int

    def later(self, by: int) -> "Span":
        """Return the same log `by` microseconds later."""
        return Span(self.first + by, self.last + by)


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


class _Arrangement(NamedTuple):
    """A choice of readings for the logs so far; tuples compare, and the least one is the best.

    Attributes:
        overlap: the time by which logs begin before the end of the one before, beyond the jitter of clocks.
        silence: the sum of squares of the silences.
        is_second: a bit for each log that has been arranged, 1 for the second reading; the last log has the lowest bit.
        first_end: the end of the logs in the first reading; None if there are none.
        second_end: the end of those in the second reading.
        second_begin: the beginning of those in the second reading.
    """

    overlap: int = 0
    silence: int = 0
    is_second: int = 0
    first_end: int | None = None
    second_end: int | None = None
    second_begin: int | None = None


class _Step(NamedTuple):
    """A log to arrange: its span in either reading; None if it can't be in that reading.

    Attributes:
        begins: False for the part after the seam of a log that began before it.
    """

    first: Span | None
    second: Span | None
    begins: bool = True

    def position(self, by: int) -> tuple[int, bool, int]:
        """Return the step's sort key by local time; a log that began earlier comes before one that begins there."""
        if self.first is not None:
            return self.first.first, self.begins, self.first.last
        assert self.second is not None
        return self.second.first - by, self.begins, self.second.last - by


def readings_of(logs: Sequence[Span], fixed: Sequence[Span], by: int) -> list[bool]:
    """Return for each log whether its times are those of the second reading.

    Args:
        logs: their times by the first reading, all of them in the hour.
        fixed: the broker's other logs.
        by: the time between the two readings.
    """
    order = sorted(range(len(logs)), key=logs.__getitem__)
    steps = [_Step(logs[number], logs[number].later(by)) for number in order]
    steps += [piece for span in _near(fixed, by) for piece in _pieces(span)]
    arrangements = [_Arrangement()]
    for step in sorted(steps, key=lambda step: step.position(by)):
        arrangements = _best(_next(arrangements, step, by))
    best = min(_joined(arrangement, by) for arrangement in arrangements).is_second
    is_second = {number: bool(best >> index & 1) for index, number in enumerate(reversed(order))}
    return [is_second[number] for number in range(len(logs))]


def _near(fixed: Sequence[Span], by: int) -> Iterator[Span]:
    """Yield the logs that reach into the hour, and the nearest ones before and after it."""
    yield from (span for span in fixed if span.first < by and span.last >= -by)
    yield from sorted((span for span in fixed if span.last < -by), key=lambda span: span.last)[-1:]
    yield from sorted(span for span in fixed if span.first >= by)[:1]


def _pieces(span: Span) -> Iterator[_Step]:
    """Yield the parts of a fixed log in either reading."""
    if span.first < 0:
        yield _Step(span, None)
    if span.last >= 0:
        yield _Step(None, Span(max(span.first, 0), span.last), span.first >= 0)


def _next(arrangements: Sequence[_Arrangement], step: _Step, by: int) -> Iterator[_Arrangement]:
    """Yield each arrangement with the step's log added, once for each reading in which the log can be."""
    is_free = step.first is not None and step.second is not None
    for arrangement in arrangements:
        is_second = arrangement.is_second << 1 if is_free else arrangement.is_second
        if step.first is not None:
            end = _end(arrangement.first_end, step.first)
            yield _followed(arrangement, arrangement.first_end, step.first, by)._replace(
                is_second=is_second, first_end=end
            )
        if step.second is not None:
            begin = step.second.first if arrangement.second_begin is None else arrangement.second_begin
            yield _followed(arrangement, arrangement.second_end, step.second, by)._replace(
                is_second=is_second | is_free, second_end=_end(arrangement.second_end, step.second), second_begin=begin
            )


def _end(before: int | None, span: Span) -> int:
    return span.last if before is None else max(before, span.last)


def _followed(arrangement: _Arrangement, end: int | None, span: Span, by: int) -> _Arrangement:
    """Add the silence or overlap between an end and the span that follows it."""
    if end is None:
        return arrangement
    silence = span.first - end
    overlap = max(0, -silence - STEP_BACK)
    return arrangement._replace(
        overlap=arrangement.overlap + overlap, silence=arrangement.silence + min(abs(silence), by) ** 2
    )


def _joined(arrangement: _Arrangement, by: int) -> _Arrangement:
    """Add the silence or overlap between the first reading and the second one."""
    if arrangement.second_begin is None:
        return arrangement
    return _followed(arrangement, arrangement.first_end, Span(arrangement.second_begin, arrangement.second_begin), by)


def _best(arrangements: Iterator[_Arrangement]) -> list[_Arrangement]:
    """Keep the best arrangement per state, as equal states continue alike, and of these the best `_WIDTH`."""
    best: dict[tuple[int | None, ...], _Arrangement] = {}
    for arrangement in sorted(arrangements):
        best.setdefault((arrangement.first_end, arrangement.second_end, arrangement.second_begin), arrangement)
    return list(best.values())[:_WIDTH]
