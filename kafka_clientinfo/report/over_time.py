"""What the page shows over time: open connections, in buckets as wide as a plot of all needs, and requests."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ..printable import safe
from ..questions.activity import Question, timeline
from ..questions.filters import Scope
from ..questions.presenter import identity, software
from . import plots
from .table import Column, Table, declared

_SECOND = 1_000_000
_WIDTHS = tuple(
    seconds * _SECOND
    for seconds in (1, 10, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 604_800, 2_592_000, 31_536_000)
)
MOST = 120
"""The largest number of buckets, unless a span is longer than `MOST` of the widest ones."""
_NAMES = {1: "second", 60: "minute", 3_600: "hour", 86_400: "day", 604_800: "week"}
_NAME = 30
Series = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Buckets:
    """Equal parts of a span of time; `start` and `width` are microseconds, and `start` is a multiple of `width`."""

    start: int
    width: int
    count: int

    def of(self, time: str) -> str:
        """Return SQL for the index of the bucket with a timestamp; negative before the first bucket."""
        return f"CAST(floor((unix_micros({time}) - {self.start}) / {self.width}.0) AS INT)"

    def sums(self, spans: Iterable[tuple[Any, int, int, int]]) -> dict[Any, list[int]]:
        """Return the sum of each bucket by key; `spans` are keys, first and last bucket (included), and numbers to add."""
        by_key: dict[Any, list[int]] = {}
        for key, first, last, number in spans:
            changes = by_key.setdefault(key, [0] * (self.count + 1))
            changes[max(first, 0)] += number
            changes[min(last + 1, self.count)] -= number
        return {key: list(accumulate(changes[:-1])) for key, changes in by_key.items()}

    @property
    def words(self) -> str:
        seconds = self.width // _SECOND
        unit = max(size for size in _NAMES if seconds % size == 0)
        number = seconds // unit
        return _NAMES[unit] if number == 1 else f"{number} {_NAMES[unit]}s"


def buckets(first: int, last: int) -> Buckets:
    for width in _WIDTHS:
        start = first // width * width
        count = (last - start) // width + 1
        if count <= MOST:
            break
    return Buckets(start, width, count)


def connections_over_time(scope: Scope, cut: Buckets) -> tuple[Table, tuple[str, str]]:
    """Return a table of the clients' connections that are open at some time in each bucket, and caption and plot of it.

    The versions of software with the most connections have their own column; all others have one together.
    """
    rows = scope.query(f"""
        SELECT f.name, f.version, coalesce(f.rank, {plots.SERIES + 1}) AS rank, {cut.of("opened_at")} AS opened, {cut.of("last_request_at")} AS last, count(*) AS number
        FROM {{connections}} AS c
        LEFT JOIN (SELECT *, row_number() OVER (ORDER BY connections DESC, name, version) AS rank
                   FROM (SELECT client_software_name AS name, client_software_version AS version, count(*) AS connections
                         FROM {{connections}} WHERE role = 'client' GROUP BY ALL) AS s) AS f
        ON f.rank <= {plots.SERIES} AND c.client_software_name = f.name AND c.client_software_version = f.version
        WHERE c.role = 'client' GROUP BY ALL ORDER BY rank""")
    series = cut.sums(
        (software(name, version) if rank <= plots.SERIES else plots.OTHERS, *span)
        for name, version, rank, *span in rows
    )
    label = "Open connections over time by software; the table below has the numbers"
    drawn = plots.over_time(series, cut.start, cut.width, label)
    table = _filled(declared("open_connections", bucket=cut.words), series, cut.start, cut.width)
    return table, (f"Open connections of clients, for each {cut.words}", drawn)


def requests_over_time(scope: Scope) -> tuple[Table, list[tuple[str, str]]]:
    """Return a table of requests per step of time, and captions and elements of plots; without rows if there are none."""
    axis = timeline(scope, MOST)
    if axis is None:
        return declared("requests_over_time", step="step"), []
    start, width = int(axis.start.timestamp()) * 1_000_000, axis.minutes * 60_000_000
    of_apis = Question("api").over_time(scope, axis)
    total = [sum(numbers) for numbers in zip(*of_apis.values(), strict=True)]
    by_client = _most(_named_clients(Question("client").over_time(scope, axis, plots.SERIES)), total)
    by_api = _most(_by_api(of_apis), total)
    drawn = []
    for words, series in (("client id", by_client), ("API", by_api)):
        caption = f"Requests by {words}, for each {axis.words}"
        drawn.append((caption, plots.over_time(series, start, width, caption, "requests")))
    return _filled(declared("requests_over_time", step=axis.words), by_client, start, width), drawn


def _filled(table: Table, series: Series, start: int, width: int) -> Table:
    table.columns = [*table.columns, *(Column(name, name, "count") for name in series)]
    for step, numbers in enumerate(zip(*series.values(), strict=True)):
        table.add(start + step * width, *numbers)
    return table


def _named_clients(series: Mapping[tuple[Any, ...], Sequence[int]]) -> Series:
    named: dict[str, Sequence[int]] = {}
    for (_, _, client_id), numbers in series.items():
        name = own = safe(identity(client_id), _NAME)
        number = 1
        while name in named or name == plots.OTHERS:
            number += 1
            name = f"{own} {number}"
        named[name] = numbers
    return named


def _by_api(series: Mapping[tuple[Any, ...], Sequence[int]]) -> Series:
    by_name: dict[str, list[int]] = {}
    for (_, name), numbers in series.items():
        before = by_name.get(name, [0] * len(numbers))
        by_name[name] = [one + other for one, other in zip(before, numbers, strict=True)]
    return by_name


def _most(series: Series, total: Sequence[int]) -> Series:
    ordered = sorted(series.items(), key=lambda item: (-sum(item[1]), item[0]))
    chosen = dict(ordered[: plots.SERIES])
    rest = [number - sum(of) for number, *of in zip(total, *chosen.values(), strict=True)]
    return chosen | {plots.OTHERS: rest} if any(rest) else chosen
