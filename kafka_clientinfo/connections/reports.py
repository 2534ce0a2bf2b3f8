"""What brokers log about themselves, and what logs show of missing requests: from which time it changes results."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

from .coverage import LEVELS, Periods, Run, by_period, stated_limits
from .starts import SECOND, Broker, File, events, reported_starts, shifted, shown_restarts

_EVER = datetime(1970, 1, 1, tzinfo=UTC)
"""The time from which a report counts that changes results of all requests."""


class Report(NamedTuple):
    """What a broker logs about itself that changes boundaries of connections or periods of logs.

    Attributes:
        broker: its cluster and name.
        since: the time from which the report may change results.
        ingested_at: the run that read it.
    """

    broker: Broker
    since: datetime
    ingested_at: datetime


def reports(periods: Mapping[Broker, Periods]) -> Iterator[Report]:
    """Yield the reports that change boundaries of connections or periods of logs.

    These are starts, changes of log levels, higher idle limits, and evidence that a log is complete or not.
    """
    for broker, of_broker in periods.items():
        its = of_broker.files
        # A report counts for a run that begins up to a second before it (see `Periods._begin`).
        for start in (*reported_starts(its), *shown_restarts(its)):
            yield Report(broker, shifted(start.since, -SECOND), start.ingested_at)
        for event in events(its, *LEVELS):
            yield Report(broker, shifted(event["at"], -SECOND), event["ingested_at"])
        yield from (Report(broker, _EVER, read_at) for read_at in _higher_limits(its))
        yield from (Report(broker, _EVER, read_at) for read_at in _changes(of_broker.runs))


def _higher_limits(files: Iterable[File]) -> Iterator[datetime]:
    """Yield the ingestions that read a higher limit for idle connections: a broker states its own again at each start."""
    known = -1
    for read_at, limits in groupby(stated_limits(files), lambda limit: limit[0]):
        if (limit := max(idle for _, idle in limits)) > known:
            known = limit
            yield read_at


def _changes(runs: Sequence[Run]) -> Iterator[datetime]:
    """Yield the ingestions that changed whether a broker's log counts as complete."""
    for its, sign, contrary in (
        *((period, "omission", "continuity") for period in by_period(runs)),
        (runs, "software_name", "api_versions"),
    ):
        signs, others = ([run.shown[name] for run in its if run.shown[name]] for name in (sign, contrary))
        # A sign that is read after contrary evidence changes nothing.
        counts = bool(signs) and (not others or min(signs) < min(others))
        if counts:
            yield min(signs)
        if others and (counts or sign == "software_name"):  # ApiVersions also show that a log is complete
            yield min(others)
