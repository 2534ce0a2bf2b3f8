"""The search for duplicates: requests that the broker logged twice, because the client closed its connection while the
response was being sent.

Both records state the same times, except that the second has a greater total time. They are near each other, so a
bounded number of recent requests is remembered. Whole milliseconds (before 0.11) are too coarse to tell a duplicate
from a similar request; such requests have no key. `ingestion.columnar` applies this rule to batches of rows.
"""

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from .request_event import RequestEvent

MEMORY = 4096
"""Number of recent requests that are remembered."""


class DuplicateKey(NamedTuple):
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


_shared_values = attrgetter(*DuplicateKey._fields)


def duplicate_key(event: RequestEvent) -> DuplicateKey | None:
    """Return the key of a request; None if its times are too coarse."""
    return None if event.throttle_time_ms is None else DuplicateKey._make(_shared_values(event))


class RecentRequests:
    """The recent requests of one file, in order: the key of each, and the total time in its first record."""

    def __init__(self) -> None:
        self._totals: OrderedDict[DuplicateKey, float] = OrderedDict()

    def is_duplicate(self, key: DuplicateKey, total_time_ms: float) -> bool:
        """Return whether the broker has logged this same request before; if not, remember it."""
        earlier = self._totals.setdefault(key, total_time_ms)
        if total_time_ms > earlier:
            return True
        if len(self._totals) > MEMORY:
            self._totals.popitem(last=False)
        return False

    def marked(self, event: RequestEvent) -> RequestEvent:
        """Return the request, with `is_duplicate` set if it is a duplicate."""
        key = duplicate_key(event)
        if key is not None and self.is_duplicate(key, event.total_time_ms):
            return event._replace(is_duplicate=True)
        return event

    def keys(self) -> list[DuplicateKey]:
        """Return the keys of the remembered requests, oldest first."""
        return list(self._totals)

    def add_distinct(self, requests: Iterable[tuple[DuplicateKey, float]]) -> None:
        """Remember requests with different keys that are not remembered yet, as `is_duplicate` of each would."""
        self._totals.update(requests)
        for key in list(islice(self._totals, max(0, len(self._totals) - MEMORY))):
            del self._totals[key]
