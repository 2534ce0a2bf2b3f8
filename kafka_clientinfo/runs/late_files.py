"""Finds late files: in the order of their broker's log they come before a file that an earlier build has read.

A file that has grown may be late too: of files that begin at one instant, the one that ends first comes first, so growth
can move a file after one that followed it. A broker that writes requests at INFO counts as late if its clock was set
back, because its requests at DEBUG then do not settle which period an earlier request at INFO belongs to.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from ..connections.starts import Broker, File
from ..tables.spec import FILE_ORDER

OVERLAP = timedelta(seconds=60)
"""Timestamps of neighbours step back by less than a second; a clock that goes back further was set back."""

_MILLISECOND = timedelta(milliseconds=1)
_broker: Any = itemgetter("cluster", "broker")
_order: Any = itemgetter(*FILE_ORDER)


def brokers_at_info(files: Iterable[File]) -> set[Broker]:
    """Return the brokers that have written requests at INFO."""
    return {_broker(file) for file in files if file["info_requests"]}


def late_brokers(files: Iterable[File], new: Mapping[str, int]) -> set[Broker]:
    """Return the brokers that have a late file with new requests; `new` has their number per file_id."""
    with_requests = sorted((file for file in files if file["requests"]), key=lambda file: (_broker(file), _order(file)))
    grouped = ((broker, list(its)) for broker, its in groupby(with_requests, _broker))
    return {broker for broker, its in grouped if any(new.get(file["file_id"]) for file in its) and _is_late(its, new)}


def _is_late(files: list[File], new: Mapping[str, int]) -> bool:
    """Return whether one of a broker's files is late; they are in order."""
    built_ids = {file["file_id"] for file in files if file["requests"] > new.get(file["file_id"], 0)}
    latest_built = max((_order(file) for file in files if file["file_id"] in built_ids), default=None)
    if latest_built is None:
        return False
    last_built = None
    for file in files:
        order, is_built = _order(file), file["file_id"] in built_ids
        # A built file that has grown may have come earlier at the last build: its end at that time is not known.
        earliest = (file["first_logged_at"], file["first_logged_at"], file["file_id"]) if is_built else order
        if new.get(file["file_id"]) and (latest_built > order or (last_built is not None and last_built > earliest)):
            return True
        last_built = order if is_built else last_built
    return bool(brokers_at_info(files)) and _is_set_back(files)


def _is_set_back(files: list[File]) -> bool:
    """Return whether times within a file, or from one file to a later one, go back further than those of neighbours."""
    latest = files[0]["first_logged_at"]
    for file in files:
        if (file["step_back_ms"] or 0) * _MILLISECOND > OVERLAP or latest - file["first_logged_at"] > OVERLAP:
            return True
        latest = max(latest, file["last_logged_at"])
    return False
