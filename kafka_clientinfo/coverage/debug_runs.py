"""The times in which a file logged every request: runs of requests at DEBUG or TRACE without a silence.

From 3.9 on a broker writes requests of deprecated versions at INFO, whatever the logger's level, so these do not end a
silence. A silence of more than `SILENCE` is stored, in the file's order, and judged later: by a setting that may
change, and by what server.log says of the logger's level at that time. A busy broker is hardly ever silent for a
second; of a quiet one only the longest `MOST_SILENCES` silences are stored, as these are the ones that are judged.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..logs.apis import LOGGER_API
from ..logs.broker_events import LOGGER_SET, BrokerEvent
from ..protocol import UNKNOWN, ApiKey
from ..tables.spec import EVIDENCE, MOST_DEBUG_RUNS
from .omissions import Omissions

SILENCE = timedelta(seconds=1)
MOST_SILENCES = MOST_DEBUG_RUNS - 1
SILENCE_MICROS = SILENCE // timedelta(microseconds=1)
_BOUNDS = ("began_at", "ended_at", "began_offset", "ended_offset")
_Run = Mapping[str, Any]
"""One run, as ingested_files has it; while a file is read its times, also those of `EVIDENCE`, are microseconds since the epoch."""


class DebugRuns:
    """Collects the runs of a split; `info_requests` is the number of requests at INFO."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self.info_requests = 0

    def note(self, events: pa.RecordBatch, shown: Mapping[str, pa.Array]) -> None:
        """Add further requests, in their order; `shown` says, per name of `EVIDENCE`, whether each request shows it."""
        is_debug = pc.not_equal(events["log_level"], "INFO")
        info_requests = len(events) - pc.sum(is_debug).as_py()
        rows = events.select(["logged_at", "byte_offset"])
        if info_requests:
            self.info_requests += info_requests
            rows = rows.filter(is_debug)
            shown = {name: flags.filter(is_debug) for name, flags in shown.items()}
        if len(rows) == 0:
            return
        times, positions = rows["logged_at"].cast(pa.int64()).to_numpy(), rows["byte_offset"].to_numpy()
        begins = np.flatnonzero(np.diff(times) > SILENCE_MICROS) + 1
        first, last = [0, *begins.tolist()], [*(begins - 1).tolist(), len(times) - 1]
        flags = {name: np.flatnonzero(values.to_numpy(zero_copy_only=False)) for name, values in shown.items()}
        for begin, end in zip(first, last, strict=True):
            earliest: dict[str, int | None] = dict.fromkeys(EVIDENCE)  # times of requests that show each piece
            for name, indexes in flags.items():
                low, high = np.searchsorted(indexes, (begin, end + 1))
                if low < high:
                    earliest[name] = int(times[indexes[low:high]].min())
            bounds = (int(times[begin]), int(times[end]), int(positions[begin]), int(positions[end]))
            self._runs.append(dict(zip(_BOUNDS, bounds, strict=True)) | earliest)
        if len(self._runs) > 2 * MOST_SILENCES:
            self._runs = self.runs()

    def runs(self) -> list[_Run]:
        return joined(self._runs, SILENCE_MICROS)


def evidence(events: pa.RecordBatch, omissions: Omissions) -> dict[str, pa.Array]:
    left_out, none = omissions.note(events)
    asks = pc.equal(events["api_key"], int(ApiKey.API_VERSIONS))
    # Later releases write requests of some APIs in this form, but not of this API.
    is_old = pc.and_(pc.equal(events["log_generation"], "name_text"), pc.equal(events["api_key"], int(ApiKey.METADATA)))
    # Another broker got the name of a forwarded request; a client that raises the level stated its name before that.
    is_unshown = pc.or_(events["is_forwarded"], _sets_loggers(events))
    return {
        "api_versions": pc.or_(asks, is_old),
        "software_name": pc.and_(
            pc.fill_null(pc.not_equal(events["client_software_name"], UNKNOWN), False), pc.invert(is_unshown)
        ),
        "omission": pa.array(left_out),
        "continuity": pa.array(none),
    }


def read_at(run: _Run, now: datetime) -> _Run:
    """Return a run as ingested_files stores it: each piece of evidence becomes the time of its reading."""
    return {**run, **{name: now for name in EVIDENCE if run.get(name) is not None}}


def loggers_set(events: pa.RecordBatch) -> list[BrokerEvent]:
    """Return the requests that set loggers: the first after the level is raised.

    Only these requests of this API have their response stored, which says neither which loggers were set nor to what
    level. A request comes before the change that it makes, and it is not logged at INFO.
    """
    is_set = _sets_loggers(events)
    if not pc.any(is_set).as_py():
        return []
    times = events["started_at"].filter(is_set).cast(pa.int64())
    return [BrokerEvent(at, LOGGER_SET, None) for at in times.to_pylist()]


def _sets_loggers(events: pa.RecordBatch) -> pa.Array:
    return pc.and_(pc.equal(events["api_key"], LOGGER_API), events["response"].is_valid())


def joined(runs: Iterable[_Run], silence: Any = SILENCE) -> list[_Run]:
    """Join the runs of consecutive parts of a file, in order; if there are too many silences, leave out the shortest.

    Times may have any type; `silence` is `SILENCE` as a difference of such times.
    """
    in_order = list(runs)
    lengths = [run["began_at"] - before["ended_at"] for before, run in pairwise(in_order)]
    silences = [(length, index) for index, length in enumerate(lengths, 1) if length > silence]
    stored = {index for _, index in sorted(silences)[-MOST_SILENCES:]}
    result = in_order[:1]
    for index, run in enumerate(in_order[1:], 1):
        if index in stored:
            result.append(run)
        else:
            result[-1] = _both(result[-1], run)
    return result


def _both(run: _Run, following: _Run) -> _Run:
    ends = {name: following[name] for name in ("ended_at", "ended_offset")}
    times = {name: [at for at in (run.get(name), following.get(name)) if at is not None] for name in EVIDENCE}
    return {**run, **ends, **{name: min(of_both, default=None) for name, of_both in times.items()}}
