"""Finds late files: in the order of their broker's log they come before a file that an earlier build has read.

Of files that begin at one instant the one that ends first comes first, so growth can move a file after one that followed it:
each of them counts as late. So does a broker that writes requests at INFO if its clock was set back, because its requests at
DEBUG then do not settle which period an earlier request at INFO belongs to.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import accumulate

from ..connections.starts import Broker, File, files_of_brokers, in_order

OVERLAP = timedelta(seconds=60)
"""Timestamps of neighbours step back by less than a second; a clock that goes back further was set back."""
_MILLISECOND = timedelta(milliseconds=1)


def brokers_at_info(files: Iterable[File]) -> set[Broker]:
    """Return the brokers that have written requests at INFO."""
    return {(file["cluster"], file["broker"]) for file in files if file["info_requests"]}


def late_brokers(files: Iterable[File], new: Mapping[str, int]) -> set[Broker]:
    """Return the brokers that have a late file with new requests; `new` has their number per file_id."""
    return {broker for broker, its in files_of_brokers(files).items() if _is_late(in_order(its), new)}


def _is_late(files: Sequence[File], new: Mapping[str, int]) -> bool:
    with_new = [file for file in files if new.get(file["file_id"])]
    built = [file for file in files if file["requests"] > new.get(file["file_id"], 0)]
    comes_before = (
        other["first_logged_at"] >= file["first_logged_at"] for file in with_new for other in built if other is not file
    )
    return any(comes_before) or bool(with_new and built and brokers_at_info(files) and _is_set_back(files))


def _is_set_back(files: Sequence[File]) -> bool:
    """Return whether times within a file, or from one file to a later one, go back further than those of neighbours."""
    latest = accumulate((file["last_logged_at"] for file in files), max)
    steps_back = ((file["step_back_ms"] or 0) * _MILLISECOND > OVERLAP for file in files)
    return any(steps_back) or any(
        last - file["first_logged_at"] > OVERLAP for last, file in zip(latest, files[1:], strict=False)
    )
