"""Finds a broker's start by the first requests of its log, or by the first requests after a silence in the log.

docs/explanation/what-a-log-tells.md says what shows a start. At a start every connection is new, and the INDEX in connection
ids counts from 0 on each network processor. One INDEX of 0 proves nothing: a seldom used listener gives it to its first
clients years after the start. Before 1.0 ids have no INDEX; there a broker's request with correlation id 0 shows the start.

After a silence a mistake costs more, as a start ends every connection. Connections go to the processors of their listener in
turn, so a lower INDEX than before shows a restart, if nothing continues. It has two innocent causes: a client that connected
long before its first request, and network threads that were added. So a broker's connection has to show it, or two.

Only the `LOOKBACK` bytes before a silence count, so that neither the cut into splits nor the growth of a file makes a
difference. A window at the end of a file is judged as far as it goes, and again when the file has grown.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..logs.apis import INTER_BROKER_APIS
from ..logs.broker_events import RESTARTED, BrokerEvent
from ..protocol import UNKNOWN, ApiKey
from .debug_runs import SILENCE_MICROS

START_WINDOW = 20
RESTART_WINDOWS = (START_WINDOW, 200)
"""Requests after a silence that are judged, in two attempts: a broker's own listener may be busy at first."""
LOOKBACK = 1 << 20
"""Bytes before a silence from which connection ids are taken."""
_AT_ONCE = 2_000_000
"""The most microseconds between two connections that open at about the same time."""
_HIDDEN_BY_SASL = 10
"""The most requests of a login, which are not logged."""
_INDEX = re.compile(r"-(\d{1,10})\Z")
_NO_INDEX = -1
"""Stands below every INDEX, for a connection of which none is logged."""


class RequestFields(NamedTuple):
    """The fields of a request that are judged; times are microseconds since the epoch."""

    logged_at: int
    log_level: str
    connection_id: str
    correlation_id: int
    api_key: int
    client_software_name: str | None
    replica_id: int | None
    security_protocol: str | None
    log_generation: str


_NAMES = ("byte_offset", "remote_port", *RequestFields._fields)
_BROKERS_KEYS = pa.array([*INTER_BROKER_APIS, int(ApiKey.FETCH)], pa.int32())


def requests_of(rows: pa.RecordBatch | pa.Table) -> list[RequestFields]:
    """Return requests as they are judged, without those of connections that are not known."""
    known = rows.filter(rows["remote_port"].is_valid())
    columns = {name: known[name] for name in RequestFields._fields} | {"logged_at": known["logged_at"].cast(pa.int64())}
    return [RequestFields(*values) for values in zip(*(column.to_pylist() for column in columns.values()), strict=True)]


def shows_broker_start(first: Sequence[RequestFields]) -> bool:
    openings = _first_of_each(first)
    if not all(_may_open(event) and _index(event) < START_WINDOW for event in openings.values()):
        return False
    logged = [event for event in openings.values() if event.log_level != "INFO"]
    indexes = {(_listener(event), _index(event)) for event in openings.values()}
    of_brokers = {event.connection_id for event in first if _is_of_a_broker(event)}
    for event in logged:
        is_among_first = all((_listener(event), before) in indexes for before in range(_index(event)))
        if event.connection_id in of_brokers and is_among_first and (_has_index(event) or _is_first(event)):
            return True
    first_of_processors = sorted((event.logged_at, _listener(event)) for event in logged if _index(event) == 0)
    return any(
        later - earlier <= _AT_ONCE and listener != other_listener
        for (earlier, listener), (later, other_listener) in itertools.combinations(first_of_processors, 2)
    )


def shows_restart(first: Sequence[RequestFields], before: Mapping[str, int]) -> bool:
    """Return whether the first requests after a silence show that the broker started in it.

    `before` has the connection ids that were logged before the silence, each with its last correlation id.
    """
    openings = _first_of_each(first)
    if not all(_has_index(event) for event in first):
        return False
    highest = _highest_indexes(before)
    if not _begin_anew(openings.values(), highest):
        return False
    # A connection id that is used again counts from the beginning.
    opened = [
        event
        for event in openings.values()
        if _may_open(event) and event.correlation_id <= before.get(event.connection_id, event.correlation_id)
    ]
    of_brokers = {event.connection_id for event in first if _is_of_a_broker(event)}
    unclear = [event for event in openings.values() if event not in opened]
    low = max((_index(event) for event in opened), default=_NO_INDEX)
    # Any of these may be new if its client counts over all its connections.
    for event in unclear:
        if event.client_software_name != UNKNOWN or _index(event) > low or event.connection_id in of_brokers:
            return False
    proofs = [event for event in opened if event.connection_id not in before and _shows_new_count(event, highest)]
    is_by_broker = any(event.connection_id in of_brokers for event in proofs)
    if unclear:
        return is_by_broker and len(proofs) >= len(unclear)
    return is_by_broker or len(proofs) > 1


def _highest_indexes(connection_ids: Iterable[str]) -> dict[str, int]:
    highest: dict[str, int] = {}
    for connection_id in connection_ids:
        if index := _INDEX.search(connection_id):
            listener = connection_id.partition("-")[0]
            highest[listener] = max(highest.get(listener, 0), int(index[1]))
    return highest


def _begin_anew(openings: Iterable[RequestFields], highest: Mapping[str, int]) -> bool:
    """Return whether no INDEX goes on: each is below the highest one before, or the new connections explain it.

    If none above 0 was logged before, connections that sent nothing may explain it too.
    """
    number: Counter[str] = Counter()
    for event in openings:
        listener, index = _listener(event), _index(event)
        before = highest.get(listener, 0)
        if index >= RESTART_WINDOWS[-1] or (before > 0 and number[listener] < index >= before):
            return False
        number[listener] += 1
    return True


def _shows_new_count(event: RequestFields, highest: Mapping[str, int]) -> bool:
    """Return whether a request is a connection's first one, with an INDEX that shows that the count began again.

    Brokers send as soon as they have connected, so for them any lower INDEX shows it.
    """
    if event.correlation_id != 0 and event.api_key != ApiKey.API_VERSIONS:
        return False
    index, last = _index(event), highest.get(_listener(event), 0)
    return last >= 1 and (index == 0 or (_is_first(event) and index < last - 1))


def _first_of_each(requests: Iterable[RequestFields]) -> dict[str, RequestFields]:
    openings: dict[str, RequestFields] = {}
    for event in requests:
        openings.setdefault(event.connection_id, event)
    return openings


def _may_open(event: RequestFields) -> bool:
    if (event.security_protocol or "").startswith("SASL"):
        return event.correlation_id <= _HIDDEN_BY_SASL
    if event.client_software_name not in (None, UNKNOWN):
        return False
    return event.api_key == ApiKey.API_VERSIONS or event.correlation_id in (0, 1)


def _listener(event: RequestFields) -> str:
    return event.connection_id.partition("-")[0]


def _is_of_a_broker(event: RequestFields) -> bool:
    return event.api_key in INTER_BROKER_APIS or (event.replica_id is not None and event.replica_id >= 0)


def _is_first(event: RequestFields) -> bool:
    return _is_of_a_broker(event) and event.correlation_id == 0


def _has_index(event: RequestFields) -> bool:
    return event.log_generation in ("json", "request_header_struct")


def _index(event: RequestFields) -> int:
    index = _INDEX.search(event.connection_id) if _has_index(event) else None
    return int(index[1]) if index else _NO_INDEX


class Restarts:
    def __init__(self, start: int) -> None:
        self._start = start
        self._rows: pa.Table | None = None
        self._state = _State()
        self._events: list[BrokerEvent] = []

    def note(self, events: pa.RecordBatch) -> None:
        """Add further requests, in their order; those before the split all at once."""
        rows = pa.Table.from_batches([events]).select(_NAMES)
        shows = pc.and_(pc.not_equal(events["log_level"], "INFO"), events["remote_port"].is_valid())
        rows = rows if pc.all(shows).as_py() else rows.filter(shows)
        if len(rows) == 0:
            return
        windows = _Windows(rows if self._rows is None else pa.concat_tables([self._rows, rows]))
        restarts, self._state = _judge(windows, self._state, is_end=False)
        self._events += [event for event, settled_at in restarts if settled_at >= self._start]
        waiting = (begin for begin in windows.begins if windows.offsets[begin] > self._state.judged)
        # A silence is visible only if the request before it is there.
        first = max(0, next(waiting, windows.size) - 1)
        # Combine chunks: a log that comes in small parts would otherwise have ever more of them.
        self._rows = windows.rows.slice(min(first, windows.before(first + 1))).combine_chunks()

    def events(self, is_end: bool) -> list[BrokerEvent]:
        """Return the restarts so far; at the end of the file also those that an incomplete window shows."""
        if not is_end or self._rows is None:
            return self._events
        at_end, _ = _judge(_Windows(self._rows), self._state, is_end=True)
        return self._events + [event._replace(value=f"{event.value} so far") for event, _ in at_end]


class _State(NamedTuple):
    """How far windows are judged; -1 lies before every offset.

    Attributes:
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
    """Requests at DEBUG; `begins` has the row numbers of the first requests after silences, with which windows begin."""

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
        may_prove: npt.NDArray[np.bool_] = pc.or_(is_lowest, begins).to_numpy()
        return may_prove

    def before(self, row: int) -> int:
        return int(np.searchsorted(self.offsets, self.offsets[min(row, self.size - 1)] - LOOKBACK))

    def restart_size(self, begin: int, latest: int, is_end: bool) -> int | None:
        """Return how many requests of a window show a restart, None if they do not.

        It is judged by the requests before it, from the latest restart on.
        """
        most = min(begin + RESTART_WINDOWS[-1], self.size)
        if self._proofs is None or self._proofs[most] == self._proofs[begin]:
            return None
        first = max(self.before(begin), int(np.searchsorted(self.offsets, latest)))
        before = self.rows.slice(first, begin - first)
        earlier = dict(zip(before["connection_id"].to_pylist(), before["correlation_id"].to_pylist(), strict=True))
        requests = requests_of(self.rows.slice(begin, most - begin))
        sizes = [size for size in RESTART_WINDOWS if size <= len(requests)]
        if is_end and len(requests) not in sizes:
            sizes.append(len(requests))
        return next((size for size in sizes if shows_restart(requests[:size], earlier)), None)
