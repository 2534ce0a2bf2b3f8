"""Requests that the broker logged twice: the client closes its connection while the response is being sent.

Both records state the same times, only the total has grown. Twins stand near each other, so a bounded number of
recent requests is remembered. Integer milliseconds (before 0.11) are too coarse to tell twins from requests that are
alike; such requests have no key.
"""

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from .request_event import RequestEvent

MEMORY = 4096
"""Requests that are remembered."""


class TwinKey(NamedTuple):
    """The values that both records of a request share."""

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
    """The key of a request; None where its times are too coarse."""
    return None if event.throttle_time_ms is None else TwinKey._make(_shared_values(event))


class TwinMemory:
    """The recent requests of one file, in order: their keys, and the total time of the first record of each."""

    def __init__(self) -> None:
        self._totals: OrderedDict[TwinKey, float] = OrderedDict()

    def is_twin(self, key: TwinKey, total_time_ms: float) -> bool:
        """Whether the broker logged this very request before; remembers it if not."""
        earlier = self._totals.setdefault(key, total_time_ms)
        if total_time_ms > earlier:
            return True
        if len(self._totals) > MEMORY:
            self._totals.popitem(last=False)
        return False

    def marked(self, event: RequestEvent) -> RequestEvent:
        """The request, with `is_duplicate` set where it is a twin."""
        key = twin_key(event)
        if key is not None and self.is_twin(key, event.total_time_ms):
            return event._replace(is_duplicate=True)
        return event

    def keys(self) -> list[TwinKey]:
        """All that is remembered, oldest first."""
        return list(self._totals)

    def add_distinct(self, requests: Iterable[tuple[TwinKey, float]]) -> None:
        """Remember requests of which none is a twin, and none remembered: the same as `is_twin` of each in order."""
        self._totals.update(requests)
        for key in list(islice(self._totals, max(0, len(self._totals) - MEMORY))):
            del self._totals[key]
