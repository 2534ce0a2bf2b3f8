"""The starts of brokers, each of which ends all connections of the process before.

A broker's own log reports first that the process was launched, and then, when it serves its listeners, that it has
started. All connections are newer than the launch. A process that is launched and never starts ends no connections:
it failed, or somebody launched a second one by mistake. A broker that was killed logs no shutdown.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any

from ..logs.broker_events import RESTARTED
from ..tables.spec import FILE_ORDER

SECOND = timedelta(seconds=1)
File = Mapping[str, Any]
Broker = tuple[str, str]


def shifted(at: datetime, by: timedelta) -> datetime:
    """Return a time that is later or earlier by a span, or the last or first one of all: a log may state any time."""
    try:
        return at + by
    except OverflowError:
        return (datetime.max if by > timedelta() else datetime.min).replace(tzinfo=UTC)


def files_of_brokers(files: Iterable[File]) -> dict[Broker, list[File]]:
    of_broker: Any = itemgetter("cluster", "broker")
    return {broker: list(its) for broker, its in groupby(sorted(files, key=of_broker), of_broker)}


def in_order(files: Iterable[File]) -> list[File]:
    with_requests = (file for file in files if file["first_logged_at"] is not None)
    return sorted(with_requests, key=lambda file: tuple(file[name] for name in FILE_ORDER))


def events(files: Iterable[File], *kinds: str) -> Iterator[Mapping[str, Any]]:
    return (event for file in files for event in file["broker_events"] or () if event["kind"] in kinds)


def _reported(files: Iterable[File]) -> list[datetime]:
    """Return the starts that a broker reports in its own logs.

    There are none if several nodes log under the broker's name: their logs show starts, but not which connections these end.
    """
    # The same events may be read twice, if a broker logs to a file and to a console.
    distinct: dict[tuple[datetime, str], str | None] = {}
    for event in events(files, "launched", "started", "stopped"):
        key = (event["at"], event["kind"])
        distinct[key] = max(distinct.get(key), event["value"], key=lambda text: text or "")
    starts, nodes = [], set()
    begin = None  # the last launch or stop up to a start bounds the process
    for (at, kind), value in sorted(distinct.items(), key=itemgetter(0)):
        if kind != "started":
            begin = at
            continue
        nodes.add(value)
        starts.append(begin or at)
        begin = None
    return starts if len(nodes - {None}) < 2 else []


def _shown_inside(files: Collection[File]) -> Iterator[datetime]:
    """Yield the restarts of a broker that requests inside a file show, without a report of the broker.

    None counts if another file of that broker name has requests before and after it: that file may be another broker's,
    which kept running.
    """
    by_beginning = in_order(files)
    begun = [file["first_logged_at"] for file in by_beginning]
    latest_ends = list(accumulate((file["last_logged_at"] for file in by_beginning), max))
    for file in files:
        for at in {event["at"]: None for event in events([file], RESTARTED)}:
            is_certain = True
            place = bisect_left(begun, at) - 1
            while is_certain and place >= 0 and latest_ends[place] > at:  # any file so far goes on after the restart
                other = by_beginning[place]
                is_certain = other["file_id"] == file["file_id"] or other["last_logged_at"] <= at
                place -= 1
            if is_certain:
                yield at


def certain_starts(files: Collection[File]) -> list[datetime]:
    return sorted([*_reported(files), *_shown_inside(files), *_shown_by_files(in_order(files))])


def _shown_by_files(files: Sequence[File]) -> Iterator[datetime]:
    """Yield the starts with which later files of a broker begin, as a container writes a new file at each start.

    A broker logs no requests while it starts. If an earlier file of that broker name goes on until less than a second
    before the start, or beyond it, that file is another broker's, and the start doesn't count.
    """
    ends = accumulate((file["last_logged_at"] for file in files), max)
    for file, silent_since in zip(files[1:], ends, strict=False):
        if file["covers_broker_start"] and file["first_logged_at"] - silent_since > SECOND:
            yield shifted(file["first_logged_at"], -timedelta(microseconds=1))
