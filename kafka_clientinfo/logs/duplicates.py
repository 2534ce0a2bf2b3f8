"""The search for duplicates: requests that the broker logged twice, because the client closed its connection while the
response was being sent.

Both records state the same times, except that the second has a greater total time. They are near each other, so a
bounded number of recent requests is remembered. Whole milliseconds (before 0.11) are too coarse to tell a duplicate
from a similar request; such requests have no key.
"""

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from .request_event import RequestEvent

MEMORY = 4096
"""Number of recent requests that are remembered."""


class TwinKey(NamedTuple):
    """The values that are equal in both records of a request."""

    connection_id: str
    correlation_id: int
    api_key: int
    client_id: str | None
    request_queue_time_ms: float | None
    local_time_ms: float | None
    remote_time_ms: float | None
    throttle_time_ms: float
    response_queue_time_ms: float | None


_shared_values = attrgetter(*TwinKey._fields)


def twin_key(event: RequestEvent) -> TwinKey | None:
    """Return the key of a request; None if its times are too coarse."""
    return None if event.throttle_time_ms is None else TwinKey._make(_shared_values(event))


class TwinMemory:
    """The recent requests of one file, in order: the key of each, and the total time in its first record."""

    def __init__(self) -> None:
        self._totals: OrderedDict[TwinKey, float] = OrderedDict()

    def is_twin(self, key: TwinKey, total_time_ms: float) -> bool:
        """Return whether the broker has logged this same request before; if not, remember it."""
        earlier = self._totals.setdefault(key, total_time_ms)
        if total_time_ms > earlier:
            return True
        if len(self._totals) > MEMORY:
            self._totals.popitem(last=False)
        return False

    def marked(self, event: RequestEvent) -> RequestEvent:
        """Return the request, with `is_duplicate` set if it is a duplicate."""
        key = twin_key(event)
        if key is not None and self.is_twin(key, event.total_time_ms):
            return event._replace(is_duplicate=True)
        return event

    def keys(self) -> list[TwinKey]:
        """Return the keys of the remembered requests, oldest first."""
        return list(self._totals)

    def add_distinct(self, requests: Iterable[tuple[TwinKey, float]]) -> None:
        """Remember requests with different keys that are not remembered yet, as `is_twin` of each would."""
        self._totals.update(requests)
        for key in list(islice(self._totals, max(0, len(self._totals) - MEMORY))):
            del self._totals[key]
