"""Coverage: the periods in which a broker's log holds every request.

A log holds every request only at DEBUG (or TRACE). While a broker logs nothing at that level, its level may have been
switched, or a file may be missing. So a covered period is a sequence of one broker's runs of requests
(`ingested_files.debug_runs`), in the order of its files. A new period begins after the silences that
docs/explanation/what-a-log-tells.md names, and after a start of the broker that a file's first requests show.

To no period belong requests at INFO, unless the period continues after them; files with more silences than are stored, if each
stored one is longer than coverage_gap_ms; and logs that were sampled or filtered: they lack correlation ids (`omissions`), or
have software names although no ApiVersions request is logged.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise
from typing import Any

from ..config.settings import Settings
from ..logs.broker_events import LOGGER_SET
from ..tables.spec import EVIDENCE, MOST_DEBUG_RUNS
from .starts import SECOND, Broker, File, certain_starts, events, files_of_brokers, in_order, shifted

LOG_POSITIONS = (
    "file_id string, broker_no int, file_no int, first_part {part}, later_parts array<{part}>, starts_before_file int, "
    "starts_in_file array<timestamp>"
).format(
    part="struct<offset:bigint,period:bigint,"
    "coverage:struct<since:timestamp,started_at:timestamp,max_idle_ms:bigint,is_complete:boolean>>"
)
_AT_START = 2 * SECOND
"""The time after the end of its start in which a broker at DEBUG logs its first request."""
_YEARS_MS = 10 * 365 * 86_400_000
"""Replaces a connections.max.idle.ms below 0, with which a broker never closes idle connections."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_LEVELS = ("log_level", LOGGER_SET)
"""The events that set, or may set, the level of the request logger."""
_NO_RUN: Mapping[str, Any] = dict.fromkeys(("began_at", "ended_at", "began_offset", "ended_offset", *EVIDENCE))


@dataclass(slots=True)
class DebugRun:
    """A run of requests of a file, or a file without runs, in which case its times and offsets are None.

    Attributes:
        file_no: orders the files of a broker.
        shown: the entry of debug_runs.
        is_blind: whether the file has more silences than are stored, and some may be holes.
        since, started_at: when the period began, and when the broker started if its start began the period; None if
            no period has begun.
        ends_here: whether no later run belongs to the period.
        is_complete: see `connections.judged.with_log_position`.
    """

    file: File
    file_no: int
    shown: Mapping[str, Any]
    is_first: bool
    is_blind: bool = False
    is_new: bool = False
    period: int = 0
    since: datetime | None = None
    started_at: datetime | None = None
    ends_here: bool = True
    is_complete: bool | None = None

    @property
    def is_in_period(self) -> bool:
        """Whether it has requests at DEBUG, or is a file with INFO only that lies inside a period."""
        return self.shown["began_at"] is not None or not self.ends_here

    @property
    def may_cover(self) -> bool:
        return not self.is_blind and self.is_complete is not False


class Periods:
    """What the logs of one broker show: its runs with their periods, its starts, and its limit for idle connections."""

    def __init__(self, files: Collection[File], settings: Settings) -> None:
        self.files = files
        self.starts = certain_starts(files)
        stated = (int(event["value"]) for event in events(files, "max_idle_ms"))
        self.max_idle_ms = max([settings.max_idle_ms, *(idle if idle >= 0 else _YEARS_MS for idle in stated)])
        self._levels = sorted(event["at"] for event in events(files, *_LEVELS))
        self._served = sorted(event["at"] for event in events(files, "started"))
        self.runs = list(_runs(files))
        self._divide(timedelta(milliseconds=settings.coverage_gap_ms))
        self._judge_completeness()

    def by_file(self) -> Iterator[list[DebugRun]]:
        return (list(its) for _, its in groupby(self.runs, lambda run: run.file_no))

    def _divide(self, gap: timedelta) -> None:
        latest_end: datetime | None = None
        before: DebugRun | None = None
        for its in self.by_file():
            silences = [run.shown["began_at"] - last.shown["ended_at"] for last, run in pairwise(its)]
            is_full = len(its) >= MOST_DEBUG_RUNS
            for run in its:
                run.is_blind = is_full and min(silences) > gap
                silent_since = latest_end if before is None or run.is_first else before.shown["ended_at"]
                self._begin(run, before, silent_since, gap)
                before = run
                ended = run.shown["ended_at"]
                latest_end = ended if latest_end is None or (ended and ended > latest_end) else latest_end
        next_is_new = True
        for run in reversed(self.runs):
            run.ends_here = next_is_new
            next_is_new = next_is_new if run.shown["began_at"] is None else run.is_new

    def _begin(self, run: DebugRun, before: DebugRun | None, silent_since: datetime | None, gap: timedelta) -> None:
        if before is not None:
            run.period, run.since, run.started_at = before.period, before.since, before.started_at
        if (began := run.shown["began_at"]) is None:
            return
        silence = None if silent_since is None else began - silent_since
        # A report counts if it is in the silence before the run, or at most a second outside it, because records come
        # late. One before the beginning of the previous run belongs to an earlier silence, however short that run is.
        earliest = max(
            _EARLIEST if silent_since is None else shifted(silent_since, -SECOND),
            (before and before.shown["began_at"]) or _EARLIEST,
        )
        levels, starts = (_between(times, earliest, shifted(began, SECOND)) for times in (self._levels, self.starts))
        begins_file = run.is_first and bool(run.file["covers_broker_start"])
        run.is_new = (
            silence is None
            or silence > gap
            or (silence > SECOND and bool(levels or starts))
            or begins_file
            or run.is_blind
            or (before is not None and before.is_blind)
        )
        if run.is_new:
            run.period, run.since = run.period + 1, began
            run.started_at = began if begins_file else self._stated_start(starts, levels, began)

    def _stated_start(self, starts: Sequence[datetime], levels: Sequence[datetime], began: datetime) -> datetime | None:
        """Return the start from server.log with which a run begins; None if there is none that counts.

        It counts only if the broker logged requests as soon as it served its listeners and no level was set meanwhile.
        Else it may have started at another level: Kafka 2.4 to 3.1 don't log that a level was set.
        """
        if not starts:
            return None
        served = bisect_left(self._served, shifted(began, -_AT_START)) > bisect_left(self._served, starts[-1])
        return None if served or (levels and levels[-1] >= starts[-1]) else starts[-1]

    def _judge_completeness(self) -> None:
        """Set whether the log around each run is complete; correlation ids speak for a period, names for the broker."""
        has_versions, has_names = (
            any(run.shown[name] for run in self.runs) for name in ("api_versions", "software_name")
        )
        of_broker = True if has_versions else False if has_names else None
        for its in _by_period(self.runs):
            omits = any(run.shown["omission"] for run in its) and not any(run.shown["continuity"] for run in its)
            for run in its:
                run.is_complete = False if omits else of_broker


def _by_period(runs: Iterable[DebugRun]) -> Iterator[list[DebugRun]]:
    return (list(its) for _, its in groupby(runs, lambda run: run.period))


def _runs(files: Iterable[File]) -> Iterator[DebugRun]:
    for number, file in enumerate(in_order(files), 1):
        shown = sorted(file["debug_runs"] or (), key=lambda run: run["began_offset"]) or [_NO_RUN]
        for place, run in enumerate(shown):
            yield DebugRun(file, number, run, place == 0)


def _between(times: Sequence[datetime], first: datetime, last: datetime) -> Sequence[datetime]:
    return times[bisect_left(times, first) : bisect_right(times, last)]


def periods_of(files: Iterable[File], settings: Settings) -> dict[Broker, Periods]:
    return {broker: Periods(its, settings) for broker, its in files_of_brokers(files).items()}


def log_positions(periods: Mapping[Broker, Periods]) -> list[tuple[Any, ...]]:
    """Divide files into parts, in each of which all requests belong to one period, or none do.

    Returns:
        One row per file with requests, with the columns `LOG_POSITIONS`: file_id; broker_no and file_no (see
        `connections.judged.with_log_position`); first_part, which begins at offset 0; later_parts, all parts in order of their offsets, or
        None if there is only one; starts_before_file, the number of the broker's starts before the file; and
        starts_in_file, the times of its starts during the file; only these are compared with each request.
    """
    with_requests = (of_broker for of_broker in periods.values() if of_broker.runs)
    return [
        _position(broker_no, its, of_broker)
        for broker_no, of_broker in enumerate(with_requests, 1)
        for its in of_broker.by_file()
    ]


def _position(broker_no: int, runs: Sequence[DebugRun], periods: Periods) -> tuple[Any, ...]:
    file = runs[0].file
    parts = sorted((part for run in runs for part in _parts(run, periods.max_idle_ms)), key=lambda part: part[0])
    earliest = shifted(file["first_logged_at"], -timedelta(milliseconds=file["step_back_ms"] or 0))
    before, until = (bisect_left(periods.starts, at) for at in (earliest, file["last_logged_at"]))
    return (
        *(file["file_id"], broker_no, runs[0].file_no),
        *(parts[0], parts if len(parts) > 1 else None),
        *(before, periods.starts[before:until]),
    )


def _parts(run: DebugRun, max_idle_ms: int) -> Iterator[tuple[int, int | None, tuple[Any, ...]]]:
    """Yield the parts of a file that begin or end with a run: offset, period, and coverage."""
    nothing = (None, None, max_idle_ms, None)
    began, ended = run.shown["began_offset"], run.shown["ended_offset"]
    has_info = bool(run.file["info_requests"])
    # If a period begins at offset 0, make no part before it: each offset begins one part.
    begins_inside = run.is_first and run.is_new and has_info and began > 0
    if begins_inside:
        yield 0, None, nothing
    if run.is_first or run.is_new:
        is_covered = run.may_cover and run.is_in_period
        opening = (run.since, run.started_at) if is_covered else (None, None)
        coverage = (*opening, max_idle_ms, run.is_complete if run.is_in_period else None)
        yield 0 if run.is_first and not begins_inside else began, run.period if is_covered else None, coverage
    if began is not None and run.ends_here and has_info:
        yield ended + 1, None, nothing


def _log_coverage(of_broker: Periods) -> dict[str, Any] | None:
    """Return over which times a broker's log shows what did not happen, as `ingested_files.log_coverage` has it.

    covered_from and covered_until are those of the newest period, or None if the log does not hold every request, as at
    INFO, sampled or filtered. whole_periods are those in which the log holds every request for sure, in order.
    """
    if not of_broker.runs:
        return None
    runs = [run for run in of_broker.runs if run.shown["began_at"] is not None and run.may_cover]
    newest = [run for run in runs if run.period == of_broker.runs[-1].period]
    whole = sorted(
        (min(run.shown["began_at"] for run in its), max(run.shown["ended_at"] for run in its))
        for its in _by_period(run for run in runs if run.is_complete)
    )
    idle = of_broker.max_idle_ms
    return {
        "covered_from": newest[0].since if newest else None,
        "covered_until": max(run.shown["ended_at"] for run in newest) if newest else None,
        "starts": of_broker.starts,
        "whole_periods": [{"whole_from": a, "whole_until": b, "max_idle_ms": idle} for a, b in whole] or None,
    }


def with_log_coverage(files: Iterable[File], settings: Settings, read: Iterable[str]) -> dict[str, File]:
    """Return rows of `ingested_files` by file_id; those of the files that were `read` tell what all now show together."""
    by_id = {file["file_id"]: file for file in files}
    brokers = {name: (by_id[name]["cluster"], by_id[name]["broker"]) for name in read}
    wanted = set(brokers.values())
    of_these = [file for file in by_id.values() if (file["cluster"], file["broker"]) in wanted]
    covered = {broker: _log_coverage(its) for broker, its in periods_of(of_these, settings).items()}
    return by_id | {name: {**by_id[name], "log_coverage": covered.get(its)} for name, its in brokers.items()}
