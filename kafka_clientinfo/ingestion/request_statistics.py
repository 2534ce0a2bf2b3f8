"""What the requests of a file show together: its times, where its log is whole, and restarts of its broker.

A split is summed up while it is read (`worker`), and a file that a user's own table holds by its rows (`stored_requests`).
"""

from typing import Any

import pyarrow as pa

from ..logs.broker_events import MOST_EVENTS, BrokerEvent
from .broker_start import Restarts
from .debug_runs import DebugRuns, LoggedTimes, evidence, loggers_set
from .omissions import Omissions


class RequestStatistics:
    """The statistics of requests that are added in the order of their file, from offset `start` on."""

    def __init__(self, start: int) -> None:
        self.times = LoggedTimes()
        self.debug_runs = DebugRuns()
        self._omissions = Omissions()
        self._restarts = Restarts(start)
        self._loggers_set: list[BrokerEvent] = []

    def look_back(self, events: pa.RecordBatch) -> None:
        """Add the requests before `start`, which count nothing, all at once."""
        self._restarts.note(events)
        self._omissions.note(events)

    def note(self, events: pa.RecordBatch) -> None:
        """Add further requests, one at least, as rows of `EVENT_SCHEMA`."""
        self.times.note(events["logged_at"])
        self.debug_runs.note(events, evidence(events, self._omissions))
        self._restarts.note(events)
        self._loggers_set += loggers_set(events)

    def shown(self, is_end: bool) -> list[BrokerEvent]:
        """Return what the requests show of loggers and restarts; `is_end` says that none will be added."""
        return [*self._loggers_set[:MOST_EVENTS], *self._restarts.events(is_end)]

    def of_times(self) -> dict[str, Any]:
        """Return the columns of `FILE_TYPE` about times."""
        return {
            "first_logged_at": self.times.first,
            "earliest_logged_at": self.times.earliest,
            "last_logged_at": self.times.latest,
            "step_back_ms": -(-self.times.step_back // 1000),
            "info_requests": self.debug_runs.info_requests,
            "debug_runs": self.debug_runs.runs(),
        }
