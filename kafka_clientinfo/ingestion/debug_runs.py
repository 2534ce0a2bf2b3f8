"""The times in which a file logged every request: runs of requests at DEBUG or TRACE without a silence.

From 3.9 on a broker writes requests of deprecated versions at INFO, whatever the logger's level; so they fill no silence. A
silence of more than `SILENCE` is kept, in the file's order, as its length is judged later, by a setting that may change, and
by what server.log says of the logger's level at that time. A busy broker is hardly ever silent for a second; of a quiet
one the longest `MOST_SILENCES` are kept, which are those that are judged.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..logs.apis import LOGGER_API
from ..logs.broker_events import LOGGER_SET, BrokerEvent
from ..tables.spec import MOST_DEBUG_RUNS
from .arrow_schema import EVENT_FIELDS

SILENCE = timedelta(seconds=1)
MOST_SILENCES = MOST_DEBUG_RUNS - 1
SILENCE_MICROS = SILENCE // timedelta(microseconds=1)
_Run = Mapping[str, Any]
_NAMES = [field.name for field in EVENT_FIELDS]
_API_KEY, _RESPONSE, _STARTED_AT = (_NAMES.index(name) for name in ("api_key", "response", "started_at"))


class DebugRun(NamedTuple):
    """A run, from its first request to its last one; times are microseconds since the epoch."""

    began_at: int
    ended_at: int
    began_offset: int
    ended_offset: int


class DebugRuns:
    """Notes the runs of a split.

    Attributes:
        info_requests: requests at INFO.
    """

    def __init__(self) -> None:
        self._runs: list[DebugRun] = []
        self.info_requests = 0

    def note(self, logged_at: pa.Array, offsets: pa.Array, levels: pa.Array) -> None:
        """Take in further requests, in their order."""
        is_debug = pc.not_equal(levels, "INFO")
        info_requests = len(levels) - pc.sum(is_debug).as_py()
        if info_requests:
            self.info_requests += info_requests
            logged_at, offsets = logged_at.filter(is_debug), offsets.filter(is_debug)
        if len(logged_at) == 0:
            return
        times, places = logged_at.cast(pa.int64()).to_numpy(), offsets.to_numpy()
        begins = np.flatnonzero(np.diff(times) > SILENCE_MICROS) + 1
        first, last = [0, *begins.tolist()], [*(begins - 1).tolist(), len(times) - 1]
        found = (
            DebugRun(int(times[begin]), int(times[end]), int(places[begin]), int(places[end]))
            for begin, end in zip(first, last, strict=True)
        )
        self._runs += found
        if len(self._runs) > 2 * MOST_SILENCES:
            self._runs = self.runs()

    def runs(self) -> list[DebugRun]:
        """Return the runs so far."""
        rows = joined((run._asdict() for run in self._runs), SILENCE_MICROS)
        return [DebugRun(**row) for row in rows]


def loggers_set(arrays: Sequence[pa.Array]) -> list[BrokerEvent]:
    """Return the requests, as the arrays of `EVENT_FIELDS`, that set loggers: the first ones after the level is raised.

    The answer, which is kept of no other request of this API, says neither which loggers nor what level. A request came
    before what it set, and at INFO it is not logged.
    """
    is_set = pc.and_(pc.equal(arrays[_API_KEY], LOGGER_API), arrays[_RESPONSE].is_valid())
    if not pc.any(is_set).as_py():
        return []
    times = arrays[_STARTED_AT].filter(is_set).cast(pa.int64())
    return [BrokerEvent(at, LOGGER_SET, None) for at in times.to_pylist()]


def joined(runs: Iterable[_Run], silence: Any = SILENCE) -> list[_Run]:
    """Join the runs of parts of a file that follow one another, and leave out the shortest silences if there are too many.

    Args:
        runs: in the file's order; times are of any kind.
        silence: `SILENCE`, as a difference of such times.
    """
    found: list[_Run] = []
    for run in runs:
        if found and run["began_at"] - found[-1]["ended_at"] <= silence:
            found[-1] = _both(found[-1], run)
        else:
            found.append(run)
    too_many = len(found) - 1 - MOST_SILENCES
    if too_many <= 0:
        return found
    by_length = sorted(range(1, len(found)), key=lambda at: (found[at]["began_at"] - found[at - 1]["ended_at"], at))
    left_out = set(by_length[:too_many])
    kept: list[_Run] = []
    for place, run in enumerate(found):
        if place in left_out:
            kept[-1] = _both(kept[-1], run)
        else:
            kept.append(run)
    return kept


def _both(run: _Run, following: _Run) -> _Run:
    return {**run, "ended_at": following["ended_at"], "ended_offset": following["ended_offset"]}


def may_hide_silences(runs: Iterable[_Run] | None) -> bool:
    """Return whether silences may have been left out."""
    return runs is not None and len(list(runs)) > MOST_SILENCES
