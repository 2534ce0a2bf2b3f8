"""Buckets of time: as wide as it takes for a span to have a number of them that a plot can show."""

from dataclasses import dataclass
from itertools import accumulate

from ..filters import Scope

_SECOND = 1_000_000
_WIDTHS = tuple(
    seconds * _SECOND
    for seconds in (1, 10, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 604_800, 2_592_000, 31_536_000)
)
MOST = 120
"""Buckets at most, where a span is not longer than `MOST` of the widest."""
_NAMES = {1: "second", 60: "minute", 3_600: "hour", 86_400: "day", 604_800: "week"}


@dataclass(frozen=True, slots=True)
class Buckets:
    """Equal parts of a span, counted from the epoch: start of the first and width in microseconds, and how many."""

    start: int
    width: int
    count: int

    def of(self, time: str) -> str:
        """SQL for the number of the bucket that a timestamp lies in; negative before the first."""
        return f"CAST(floor((unix_micros({time}) - {self.start}) / {self.width}.0) AS INT)"

    def none(self) -> list[int]:
        """A line of changes without any, for `add` and `sums`."""
        return [0] * (self.count + 1)

    def add(self, line: list[int], first: int, last: int, number: int) -> None:
        """Note a number that is there from one bucket to another one, both in it."""
        line[max(first, 0)] += number
        line[min(last + 1, self.count)] -= number

    def sums(self, line: list[int]) -> list[int]:
        """Numbers per bucket from the changes between them."""
        return list(accumulate(line[:-1]))

    @property
    def words(self) -> str:
        """The width in words, such as `10 minutes`."""
        seconds = self.width // _SECOND
        unit = max(size for size in _NAMES if seconds % size == 0)
        number = seconds // unit
        return _NAMES[unit] if number == 1 else f"{number} {_NAMES[unit]}s"


def buckets(first: int, last: int) -> Buckets:
    """Buckets over a span, from and to in microseconds since the epoch, both in it."""
    for width in _WIDTHS:
        start = first // width * width
        count = (last - start) // width + 1
        if count <= MOST:
            break
    return Buckets(start, width, count)


def open_by_software(scope: Scope, cut: Buckets, most: int) -> dict[tuple[str, str] | None, list[int]]:
    """Clients' connections that are open at some time in each bucket, per software name and version.

    `most` versions of software are told apart, those with the most connections; all others are None.
    """
    changes: dict[tuple[str, str] | None, list[int]] = {}
    found = scope.query(f"""
        SELECT f.name, f.version, coalesce(f.place, {most + 1}) AS place, {cut.of("opened_at")} AS opened, {cut.of("last_request_at")} AS last, count(*) AS number
        FROM {{connections}} AS c
        LEFT JOIN (SELECT *, row_number() OVER (ORDER BY connections DESC, name, version) AS place
                   FROM (SELECT client_software_name AS name, client_software_version AS version, count(*) AS connections
                         FROM {{connections}} WHERE role = 'client' GROUP BY ALL) AS s) AS f
        ON f.place <= {most} AND c.client_software_name = f.name AND c.client_software_version = f.version
        WHERE c.role = 'client' GROUP BY ALL ORDER BY place""")
    for name, version, place, opened, last, number in found:
        software = (name, version) if place <= most else None
        cut.add(changes.setdefault(software, cut.none()), opened, last, number)
    return {software: cut.sums(line) for software, line in changes.items()}
