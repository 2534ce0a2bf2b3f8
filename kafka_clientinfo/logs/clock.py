"""Conversion of log timestamps to instants by the log's time zone, cached by the minute.

A zone with daylight saving time repeats an hour in autumn. A time in it that steps back by more than `STEP_BACK` begins the
hour's second pass; neighbouring records step back by less than a second. A log that begins inside the hour begins with the
first reading, whatever other logs or later records show: so a record has the same time wherever reading begins.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STEP_BACK = 60 * 1_000_000
"""Microseconds; a greater step back in a repeated hour begins the hour's second pass."""
_BUDDHIST_ERA = 543
_FIRST_BUDDHIST_YEAR = "2513"
"""A broker with a Thai locale writes years of the Buddhist era: 2569 is 2026."""
_CACHE_LIMIT = 100_000
_OFFSET = re.compile(rb"Z|(?:UTC|GMT)?[+-]\d\d?(?::?\d\d)?|UTC|GMT")
_WIDEST_OFFSET = 18 * 60
"""Minutes; the greatest offset from UTC that java.time allows."""


class LogClock:
    """Converter of one file's `yyyy-MM-dd HH:mm:ss` texts, which it must get in the order of the records.

    `zone` holds for times without a zone of their own, or with an abbreviation that this zone has at that time, such as `CET`.
    `repeats_hours` is False if the zone certainly repeats no hour (UTC).
    """

    def __init__(self, zone: str = "UTC") -> None:
        self._zone = ZoneInfo(zone)
        self.repeats_hours = zone != "UTC"
        self._minutes: dict[bytes, tuple[int, int]] = {}
        self._last = 0

    def micros(self, text: bytes, fraction: bytes | None, zone: bytes | None = None) -> int:
        """Return microseconds since the epoch for, e.g., `b"2026-11-21 02:45:09"`, `b"935"` and `b"+01:00"`.

        A text that is no time, such as a 31st of February, raises ValueError.
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
        try:
            first, second = self.readings(text, zone)
        except ValueError:
            return False
        return first != second

    def readings(self, text: bytes, zone: bytes | None) -> tuple[int, int]:
        """Return both readings of a time's minute, in microseconds; they are equal if it has only one."""
        minute = text[:16] if zone is None else text[:16] + zone
        return self._minutes.get(minute) or self._read_minute(minute)

    def _read_minute(self, minute: bytes) -> tuple[int, int]:
        text, zone = minute[:16].decode().replace("T", " "), minute[16:]
        if text[:4] >= _FIRST_BUDDHIST_YEAR:
            text = f"{int(text[:4]) - _BUDDHIST_ERA}{text[4:]}"
        naive = datetime.strptime(text, "%Y-%m-%d %H:%M")
        where = _stated(zone) or self._zone
        times = [naive.replace(tzinfo=where, fold=fold) for fold in (0, 1)]
        if zone and _stated(zone) is None:  # an abbreviation, which several zones share
            times = [time for time in times if time.tzname() == zone.decode()]
            if not times:
                raise ValueError(
                    f"{zone.decode()} is no name of {where} at that time; write an offset, or set log_zone"
                )
        first, second = ((time - _EPOCH) // timedelta(microseconds=1) for time in (times[0], times[-1]))
        if len(self._minutes) >= _CACHE_LIMIT:
            self._minutes.clear()
        # A time that the spring change skips also has two readings, but the second is earlier: take the first.
        both = (first, second) if second > first else (first, first)
        self._minutes[minute] = both
        return both


def _stated(zone: bytes) -> tzinfo | None:
    """Return the zone that `Z`, `+01`, `+0100`, `+01:00`, `UTC`, `GMT+1` or `Asia/Tokyo` states; None for others."""
    if b"/" in zone:
        try:
            return ZoneInfo(zone.decode())
        except (KeyError, OSError):
            raise ValueError(f"no zone is known by the name {zone.decode()}") from None
    if not _OFFSET.fullmatch(zone):
        return None
    zone = zone.removeprefix(b"UTC").removeprefix(b"GMT")
    digits = zone[1:].replace(b":", b"")
    minutes = int(digits[:2] or b"0") * 60 + int(digits[2:] or b"0")
    if minutes > _WIDEST_OFFSET:
        raise ValueError(f"{minutes} minutes from UTC")
    return timezone(timedelta(minutes=-minutes if zone.startswith(b"-") else minutes))
