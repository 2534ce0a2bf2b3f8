"""Whether a log begins with its broker's start: judged by its first requests alone.

At a start every connection is new, and the INDEX in connection ids counts from 0 on each network processor. One INDEX of 0
shows nothing: each listener has processors of its own, so a seldom used one gives it to its first clients years after the
start. So a start is shown by a connection of a broker that is one of the first of its listener, as these connect first and
stay, or by two connections that open with INDEX 0 at about the same time. What contradicts it counts more, as a log whose level was
switched begins with connections that have been open for long:

    the first record of a connection                     | shows
    -----------------------------------------------------|-------------------------------------------
    ApiVersions, correlation id 0 or 1                   | nothing against a start
    software is known, or a greater correlation id       | it was opened before the log began
    an INDEX that the connections so far do not explain  | others were opened before the log began

Before 1.0 ids have no INDEX; there a broker's request with correlation id 0 shows the start.
"""

import itertools
import re
from collections.abc import Iterable, Sequence

from ..logs.apis import INTER_BROKER_APIS
from ..logs.request_event import RequestEvent
from ..protocol import UNKNOWN, ApiKey

START_WINDOW = 20
"""Requests at a file's beginning that are judged."""
_AT_ONCE = 2_000_000
"""Microseconds between two connections that open at about the same time."""
_HIDDEN_BY_SASL = 10
"""Requests that a login takes, which are not logged."""
_INDEX = re.compile(r"-(\d{1,10})\Z")


def shows_broker_start(first: Sequence[RequestEvent]) -> bool:
    """Return whether a log whose first requests these are begins with its broker's start."""
    openings: dict[str, RequestEvent] = {}
    for event in first:
        openings.setdefault(event.connection_id, event)
    if not all(_may_open(event) and _index(event) < START_WINDOW for event in openings.values()):
        return False
    logged = [event for event in openings.values() if event.log_level != "INFO"]
    indexes = {(_listener(event), _index(event)) for event in openings.values()}
    of_brokers = {event.connection_id for event in first if _is_of_a_broker(event)}
    for event in logged:
        is_among_first = all((_listener(event), before) in indexes for before in range(_index(event)))
        if event.connection_id in of_brokers and is_among_first and (_has_index(event) or _is_first(event)):
            return True
    return _are_at_once(event.logged_at for event in logged if _index(event) == 0)


def _may_open(event: RequestEvent) -> bool:
    """Return whether a request can be its connection's first one."""
    if (event.security_protocol or "").startswith("SASL"):
        return event.correlation_id <= _HIDDEN_BY_SASL
    if event.client_software_name not in (None, UNKNOWN):
        return False
    return event.api_key == ApiKey.API_VERSIONS or event.correlation_id in (0, 1)


def _listener(event: RequestEvent) -> str:
    """Return the local address of a connection, which stands before its remote one."""
    return event.connection_id.partition("-")[0]


def _is_of_a_broker(event: RequestEvent) -> bool:
    return event.api_key in INTER_BROKER_APIS or (event.replica_id is not None and event.replica_id >= 0)


def _is_first(event: RequestEvent) -> bool:
    return _is_of_a_broker(event) and event.correlation_id == 0


def _has_index(event: RequestEvent) -> bool:
    return event.log_generation in ("json", "request_header_struct")


def _index(event: RequestEvent) -> int:
    """Return the INDEX of a connection on its network processor, -1 where none is logged."""
    found = _INDEX.search(event.connection_id) if _has_index(event) else None
    return int(found[1]) if found else -1


def _are_at_once(times: Iterable[int]) -> bool:
    ordered = sorted(times)
    return any(later - earlier <= _AT_ONCE for earlier, later in itertools.pairwise(ordered))
