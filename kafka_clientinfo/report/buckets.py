"""Buckets of time, as wide as needed so that a plot can show all buckets of a span."""

from dataclasses import dataclass
from itertools import accumulate

from ..questions.filters import Scope

_SECOND = 1_000_000
_WIDTHS = tuple(
    seconds * _SECOND
    for seconds in (1, 10, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 604_800, 2_592_000, 31_536_000)
)
MOST = 120
"""The largest number of buckets, unless a span is longer than `MOST` of the widest ones."""
_NAMES = {1: "second", 60: "minute", 3_600: "hour", 86_400: "day", 604_800: "week"}


@dataclass(frozen=True, slots=True)
class Buckets:
    """Equal parts of a span of time.

    Attributes:
        start: the start of the first bucket in microseconds since the epoch, a multiple of `width`.
        width: the width of a bucket in microseconds.
        count: the number of buckets.
    """

    start: int
    width: int
    count: int

    def of(self, time: str) -> str:
        """Return SQL for the index of the bucket with a timestamp; negative before the first bucket."""
        return f"CAST(floor((unix_micros({time}) - {self.start}) / {self.width}.0) AS INT)"

    def none(self) -> list[int]:
        """Return an empty list of changes per bucket, for `add` and `sums`."""
        return [0] * (self.count + 1)

    def add(self, changes: list[int], first: int, last: int, number: int) -> None:
        """Add a number to the buckets from `first` to `last`, both included, as changes at their bounds."""
        changes[max(first, 0)] += number
        changes[min(last + 1, self.count)] -= number

    def sums(self, changes: list[int]) -> list[int]:
        """Return the number of each bucket from the changes."""
        return list(accumulate(changes[:-1]))

    @property
    def words(self) -> str:
        """The width as text, such as `10 minutes`."""
        seconds = self.width // _SECOND
        unit = max(size for size in _NAMES if seconds % size == 0)
        number = seconds // unit
        return _NAMES[unit] if number == 1 else f"{number} {_NAMES[unit]}s"


def buckets(first: int, last: int) -> Buckets:
    """Divide the span from `first` to `last`, both included, in microseconds since the epoch."""
    for width in _WIDTHS:
        start = first // width * width
        count = (last - start) // width + 1
        if count <= MOST:
            break
    return Buckets(start, width, count)


def open_by_software(scope: Scope, cut: Buckets, most: int) -> dict[tuple[str, str] | None, list[int]]:
    """Count the clients' connections that are open at some time in each bucket, per software name and version.

    The `most` versions of software with the most connections have their own key; all others are together under None.
    """
    changes: dict[tuple[str, str] | None, list[int]] = {}
    rows = scope.query(f"""
        SELECT f.name, f.version, coalesce(f.rank, {most + 1}) AS rank, {cut.of("opened_at")} AS opened, {cut.of("last_request_at")} AS last, count(*) AS number
        FROM {{connections}} AS c
        LEFT JOIN (SELECT *, row_number() OVER (ORDER BY connections DESC, name, version) AS rank
                   FROM (SELECT client_software_name AS name, client_software_version AS version, count(*) AS connections
                         FROM {{connections}} WHERE role = 'client' GROUP BY ALL) AS s) AS f
        ON f.rank <= {most} AND c.client_software_name = f.name AND c.client_software_version = f.version
        WHERE c.role = 'client' GROUP BY ALL ORDER BY rank""")
    for name, version, rank, opened, last, number in rows:
        software = (name, version) if rank <= most else None
        cut.add(changes.setdefault(software, cut.none()), opened, last, number)
    return {software: cut.sums(its_changes) for software, its_changes in changes.items()}
