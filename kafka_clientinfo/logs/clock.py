"""Log timestamps to instants: the log's zone, cached by the minute.

A zone with daylight saving repeats an hour in autumn. Both readings of such a time are possible; the order of
the records decides: the first reading holds unless it would lie well before the record before. Timestamps of
neighbours step back by less than a second, so the seams of the hour are not taken for its repetition.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STEP_BACK = 60 * 1_000_000
_BUDDHIST_ERA = 543
_FIRST_BUDDHIST_YEAR = "2513"
"""A broker under a Thai locale writes years of the Buddhist era: 2569 is 2026."""
_CACHE_LIMIT = 100_000


class LogClock:
    """Converts `yyyy-MM-dd HH:mm:ss` texts of one file, in the order of its records.

    Args:
        zone: IANA name of the zone in which the broker wrote its log.
    """

    def __init__(self, zone: str = "UTC") -> None:
        """Start before the first record."""
        self._zone = ZoneInfo(zone)
        self._minutes: dict[bytes, tuple[int, int]] = {}
        self._last = 0

    def micros(self, text: bytes, fraction: bytes | None) -> int:
        """Microseconds since the epoch of e.g. `b"2026-11-21 02:45:09"` and `b"935"`.

        Raises:
            ValueError: when the text is no time, such as a 31st of February.
        """
        minute = text[:16]
        both = self._minutes.get(minute)
        if both is None:
            both = self._read_minute(minute)
        seconds = int(text[17:19])
        if seconds > 59:
            raise ValueError(f"{seconds} seconds")
        within = seconds * 1_000_000
        if fraction:
            within += int(fraction[:6].ljust(6, b"0"))
        first, second = both
        repeated = first != second and self._last - (first + within) > _STEP_BACK
        self._last = (second if repeated else first) + within
        return self._last

    def _read_minute(self, minute: bytes) -> tuple[int, int]:
        text = minute.decode("ascii", "replace").replace("T", " ")
        if text[:4] >= _FIRST_BUDDHIST_YEAR:
            text = f"{int(text[:4]) - _BUDDHIST_ERA}{text[4:]}"
        naive = datetime.strptime(text, "%Y-%m-%d %H:%M")
        first, second = (
            (naive.replace(tzinfo=self._zone, fold=fold) - _EPOCH) // timedelta(microseconds=1) for fold in (0, 1)
        )
        if len(self._minutes) >= _CACHE_LIMIT:
            self._minutes.clear()
        # A time that the spring change skips has two readings as well, but never steps back: take the first.
        both = (first, second) if second > first else (first, first)
        self._minutes[minute] = both
        return both
