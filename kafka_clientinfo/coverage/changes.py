"""Finds what newly read bytes show of requests that were read before: another order, period, start, or limit.

All that a build takes from the ledger is in the rows of `periods.log_positions`. So the ledgers before and after the reading
are compared in what these rows say of the requests that were read before. A file that comes late, a report of a start, and
evidence that a log leaves out requests all show there, and whatever else may change results.

Requests at INFO after a broker's last request at DEBUG get their period only when the next one at DEBUG is read. So their
period changes in many runs; this counts as a change only if a connection began with one of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..config.settings import Settings
from .periods import Periods, log_positions
from .starts import Broker, File, files_of_brokers, in_order


class Change(NamedTuple):
    """What has changed about requests of a broker that were read before.

    Attributes:
        file_id: None if something has changed about any of them.
        offset: else only requests at INFO of this file have changed, from this offset on.
    """

    cluster: str
    broker: str
    file_id: str | None = None
    offset: int | None = None


def changes(before: Iterable[File], after: Iterable[File], settings: Settings) -> Iterator[Change]:
    """Yield what differs about requests that are in the files of `before`: rows of `ingested_files` before and after a reading."""
    now = files_of_brokers(after)
    for broker, files in files_of_brokers(before).items():
        if files != now[broker] and (with_requests := in_order(files)):
            if _is_late(with_requests, in_order(now[broker])):
                yield Change(*broker)
            else:
                rows = (log_positions({broker: Periods(its, settings)}) for its in (files, now[broker]))
                yield from _differences(broker, with_requests, *rows)


def _is_late(files: Sequence[File], now: Sequence[File]) -> bool:
    """Return whether new requests come, in the order of the log, before some that were read."""
    in_same_order = [file["file_id"] for file in files] == [file["file_id"] for file in now[: len(files)]]
    return not in_same_order or any(
        file["requests"] > before["requests"] for before, file in zip(files[:-1], now, strict=False)
    )


def _differences(
    broker: Broker, files: Sequence[File], was: Sequence[tuple[Any, ...]], now: Sequence[tuple[Any, ...]]
) -> Iterator[Change]:
    settled = max((number for number, file in enumerate(files) if file["debug_runs"]), default=-1)
    at_info = []
    for number, (file, row, new_row) in enumerate(zip(files, was, now, strict=False)):
        if _starts(row, file) != _starts(new_row, file):
            yield Change(*broker)
            return
        ended = max((run["ended_offset"] for run in file["debug_runs"] or ()), default=-1)
        for offset in _offsets(file):
            new = _part(new_row, offset)
            if new == _part(row, offset):
                continue
            is_open = number > settled or (number == settled and offset > ended)
            if not is_open or new[-1][-1] is False:  # the software names in such a log count for any request
                yield Change(*broker)
                return
            at_info.append(Change(*broker, file["file_id"], offset))
    yield from at_info


def _starts(row: tuple[Any, ...], file: Mapping[str, Any]) -> tuple[Any, ...]:
    *_, before, during = row
    return before, [at for at in during if at < file["last_logged_at"]]


def _offsets(file: File) -> Iterator[int]:
    """Yield where parts of the file's log may begin: with each run of requests at DEBUG, and if there are others after it."""
    if file["info_requests"]:
        yield 0
    for run in file["debug_runs"] or ():
        yield run["began_offset"]
        if file["info_requests"]:
            yield run["ended_offset"] + 1


def _part(row: tuple[Any, ...], offset: int) -> tuple[Any, ...]:
    _, _, _, first, later, *_ = row
    return [part for part in later or [first] if part[0] <= offset][-1][1:]  # type: ignore[no-any-return]
