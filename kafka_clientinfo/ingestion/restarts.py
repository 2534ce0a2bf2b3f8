"""Finds restarts inside a file: the first requests after a silence show that the broker has started in it.

A broker goes on with its log after a restart, and logs no sign of it. `broker_start` judges a window of requests after
each silence, together with the connection ids of the `LOOKBACK` bytes before it. So only nearby records decide, and
neither the cut into splits nor the growth of a file makes a difference: a split parses the text before it anyway, and
judges the windows that end in it. A window at the end of a file is judged as far as it goes, and again when the file
has grown. Windows are judged in order, as after a restart only the records that follow it count.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..logs.apis import INTER_BROKER_APIS
from ..logs.broker_events import RESTARTED, BrokerEvent
from ..protocol import ApiKey
from .arrow_schema import EVENT_SCHEMA
from .broker_start import RESTART_WINDOWS, RequestFields, shows_restart
from .debug_runs import SILENCE_MICROS

LOOKBACK = 1 << 20
"""Bytes before a silence from which connection ids are taken."""
_NAMES = ("logged_at", "byte_offset", "log_level", *RequestFields._fields)
_BROKERS_KEYS = pa.array([*INTER_BROKER_APIS, int(ApiKey.FETCH)], pa.int32())


class Restarts:
    """Finds the restarts that a split shows."""

    def __init__(self, start: int) -> None:
        """Begin at the offset at which the split starts."""
        self._start = start
        self._rows = EVENT_SCHEMA.empty_table().select(_NAMES)
        self._state = _State()
        self._events: list[BrokerEvent] = []

    def note(self, events: pa.RecordBatch) -> None:
        """Add further requests, in their order; those before the split all at once."""
        rows = pa.Table.from_batches([events]).select(_NAMES)
        is_debug = pc.not_equal(rows["log_level"], "INFO")
        rows = rows if pc.all(is_debug).as_py() else rows.filter(is_debug)
        if len(rows) == 0:
            return
        windows = _Windows(pa.concat_tables([self._rows, rows]))
        restarts, self._state = _judge(windows, self._state, is_end=False)
        self._events += [event for event, settled_at in restarts if settled_at >= self._start]
        waiting = (begin for begin in windows.begins if windows.offsets[begin] > self._state.judged)
        # A silence is visible only if the request before it is there.
        first = max(0, next(waiting, windows.size) - 1)
        # Combine chunks: a log that comes in small parts would otherwise have ever more of them.
        self._rows = windows.rows.slice(min(first, windows.before(first + 1))).combine_chunks()

    def events(self, is_end: bool) -> list[BrokerEvent]:
        """Return the restarts so far; at the end of the file also those that an incomplete window shows."""
        if not is_end:
            return self._events
        at_end, _ = _judge(_Windows(self._rows), self._state, is_end=True)
        return self._events + [event._replace(value=f"{event.value} so far") for event, _ in at_end]


class _State(NamedTuple):
    """How far windows are judged; -1 lies before every offset.

    Attributes:
        judged: offset of the first request of the latest window that is judged.
        latest: that of the latest window that shows a restart.
        settled_at: offset of the last request that was needed to judge them.
    """

    judged: int = -1
    latest: int = -1
    settled_at: int = -1


def _judge(windows: "_Windows", state: _State, is_end: bool) -> tuple[list[tuple[BrokerEvent, int]], _State]:
    """Find restarts in windows that were not judged yet, each with the offset of the last request that shows it.

    Stop at an incomplete window if more requests may follow.
    """
    restarts = []
    for begin in windows.begins:
        offset = int(windows.offsets[begin])
        if offset <= state.judged:
            continue
        size = windows.restart_size(begin, state.latest, is_end)
        whole = begin + (size or RESTART_WINDOWS[-1])
        if whole > windows.size and not is_end:
            break
        settled_at = max(state.settled_at, int(windows.offsets[min(whole, windows.size) - 1]))
        state = _State(offset, offset if size else state.latest, settled_at)
        if size:
            # Records are written a little out of order: half of the shortest silence separates the two processes.
            at = int(windows.times[begin]) - SILENCE_MICROS // 2
            restarts.append((BrokerEvent(at, RESTARTED, str(size)), settled_at))
    return restarts, state


class _Windows:
    """Requests at DEBUG, with the windows that follow silences.

    Attributes:
        rows: the requests.
        size: their number.
        times: when they were logged, in microseconds.
        offsets: their offsets in the file.
        begins: row numbers of the first requests of windows.
    """

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows
        self.size = len(rows)
        self.times: npt.NDArray[np.int64] = rows["logged_at"].cast(pa.int64()).to_numpy()
        self.offsets: npt.NDArray[np.int64] = rows["byte_offset"].to_numpy()
        self.begins: list[int] = (np.flatnonzero(np.diff(self.times) > SILENCE_MICROS) + 1).tolist()
        self._proofs = np.concatenate([[0], np.cumsum(self._may_prove())]) if self.begins else None

    def _may_prove(self) -> npt.NDArray[np.bool_]:
        """Return which requests may show a restart, as most silences are followed by none."""
        low = pc.less_equal(self.rows["correlation_id"], 10)
        opens = pc.or_(low, pc.equal(self.rows["api_key"], int(ApiKey.API_VERSIONS)))
        is_lowest = pc.and_(opens, pc.ends_with(self.rows["connection_id"], "-0"))
        is_brokers = pc.is_in(self.rows["api_key"], value_set=_BROKERS_KEYS)
        begins = pc.and_(is_brokers, pc.equal(self.rows["correlation_id"], 0))
        may_prove: npt.NDArray[np.bool_] = pc.or_(is_lowest, begins).to_numpy() & self._is_new()
        return may_prove

    def _is_new(self) -> npt.NDArray[np.bool_]:
        """Return for which requests the connection id was not logged in the `LOOKBACK` bytes before."""
        ids = self.rows["connection_id"].combine_chunks().dictionary_encode().indices.to_numpy()
        order = np.argsort(ids, kind="stable")
        follows = np.diff(ids[order]) == 0
        is_near = np.diff(self.offsets[order]) <= LOOKBACK
        is_new = np.ones(self.size, dtype=np.bool_)
        is_new[order[1:]] = ~(follows & is_near)
        return is_new

    def before(self, row: int) -> int:
        """Return the first row that is needed to judge the window after a silence that ends at this row."""
        return int(np.searchsorted(self.offsets, self.offsets[min(row, self.size - 1)] - LOOKBACK))

    def restart_size(self, begin: int, latest: int, is_end: bool) -> int | None:
        """Judge a window by the requests before it, from the latest restart on.

        Returns:
            How many requests show a restart; None if they do not.
        """
        most = min(begin + RESTART_WINDOWS[-1], self.size)
        if self._proofs is None or self._proofs[most] == self._proofs[begin]:
            return None
        first = max(self.before(begin), int(np.searchsorted(self.offsets, latest)))
        before = self.rows.slice(first, begin - first)
        earlier = dict(zip(before["connection_id"].to_pylist(), before["correlation_id"].to_pylist(), strict=True))
        rows = self.rows.slice(begin, most - begin).select(RequestFields._fields).to_pylist()
        requests = [RequestFields(**row) for row in rows]
        sizes = [size for size in RESTART_WINDOWS if size <= len(requests)]
        if is_end and len(requests) not in sizes:
            sizes.append(len(requests))
        return next((size for size in sizes if shows_restart(requests[:size], earlier)), None)
