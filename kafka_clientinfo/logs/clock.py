"""Log timestamps to instants: the log's zone, cached by the minute.

A zone with daylight saving repeats an hour in autumn. Both readings of such a time are possible; the order of
the records decides: the first reading holds unless it would lie well before the record before. Timestamps of
neighbours step back by less than a second, so a step that small near the ends of the hour is not taken for its repetition.
What a log begins with, where it begins inside the hour, `start_again` says.
"""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STEP_BACK = 60 * 1_000_000
"""Microseconds; clocks that step back farther in a repeated hour have begun it again."""
_BUDDHIST_ERA = 543
_FIRST_BUDDHIST_YEAR = "2513"
"""A broker under a Thai locale writes years of the Buddhist era: 2569 is 2026."""
_CACHE_LIMIT = 100_000
_WIDEST_OFFSET = 18 * 60
"""Minutes; java.time knows no zone that is farther from UTC."""


class LogClock:
    """Converts `yyyy-MM-dd HH:mm:ss` texts of one file, in the order of its records.

    Args:
        zone: IANA name of the zone in which the broker wrote its log, for times that name none themselves.

    Attributes:
        repeats_hours: False where the zone never does.
    """

    def __init__(self, zone: str = "UTC") -> None:
        self._zone = ZoneInfo(zone)
        self.repeats_hours = zone != "UTC"
        self._minutes: dict[bytes, tuple[int, int]] = {}
        self._last = 0

    def micros(self, text: bytes, fraction: bytes | None, zone: bytes | None = None) -> int:
        """Microseconds since the epoch of e.g. `b"2026-11-21 02:45:09"`, `b"935"` and `b"+01:00"`.

        Raises:
            ValueError: when the text is no time, such as a 31st of February.
        """
        first, second = self.readings(text, zone)
        seconds = int(text[17:19])
        if seconds > 59:
            raise ValueError(f"{seconds} seconds")
        within = seconds * 1_000_000
        if fraction:
            within += int(fraction[:6].ljust(6, b"0"))
        repeated = first != second and self._last - (first + within) > STEP_BACK
        self._last = (second if repeated else first) + within
        return self._last

    def is_repeated(self, text: bytes, zone: bytes | None = None) -> bool:
        """Whether a time like those of `micros` lies in an hour that the zone repeats; not where it is no time."""
        try:
            first, second = self.readings(text, zone)
        except ValueError:
            return False
        return first != second

    def start_again(self, text: bytes) -> None:
        """Begin with the second reading of a time that the zone repeats: the hour's first one was over before the log."""
        self._last = self.readings(text, None)[1]

    def readings(self, text: bytes, zone: bytes | None) -> tuple[int, int]:
        """Return both readings of a time's minute, in microseconds; the same twice where it has one.

        Raises:
            ValueError: when the text is no time.
        """
        minute = text[:16] if zone is None else text[:16] + zone
        return self._minutes.get(minute) or self._read_minute(minute)

    def _read_minute(self, minute: bytes) -> tuple[int, int]:
        text, zone = minute[:16].decode().replace("T", " "), minute[16:]
        if text[:4] >= _FIRST_BUDDHIST_YEAR:
            text = f"{int(text[:4]) - _BUDDHIST_ERA}{text[4:]}"
        naive = datetime.strptime(text, "%Y-%m-%d %H:%M")
        where = _offset(zone) if zone else self._zone
        first, second = (
            (naive.replace(tzinfo=where, fold=fold) - _EPOCH) // timedelta(microseconds=1) for fold in (0, 1)
        )
        if len(self._minutes) >= _CACHE_LIMIT:
            self._minutes.clear()
        # A time that the spring change skips has two readings as well, but never steps back: take the first.
        both = (first, second) if second > first else (first, first)
        self._minutes[minute] = both
        return both


def _offset(zone: bytes) -> timezone:
    """`Z`, `+01`, `+0100` or `+01:00`."""
    digits = zone[1:].replace(b":", b"")
    minutes = int(digits[:2] or b"0") * 60 + int(digits[2:] or b"0")
    if minutes > _WIDEST_OFFSET:
        raise ValueError(f"{minutes} minutes from UTC")
    return timezone(timedelta(minutes=-minutes if zone.startswith(b"-") else minutes))
