"""Log timestamps to instants: zones, the repeated hour, what is no time; and both ends of connection strings."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.logs.clock import LogClock
from kafka_clientinfo.logs.connection import LONGEST, remote_end

BERLIN = "Europe/Berlin"


def instants(zone: str, *texts: str) -> list[str]:
    """UTC instants of `MM-dd HH:mm:ss.SSS` texts of 2026, read in order."""
    reader = LogClock(zone)
    found = []
    for text in texts:
        time, _, fraction = text.partition(".")
        micros = reader.micros(f"2026-{time}".encode(), fraction.encode() or None)
        found.append(f"{datetime.fromtimestamp(micros / 1e6, UTC):%m-%d %H:%M:%S}")
    return found


@pytest.mark.parametrize(
    ("zone", "local", "utc"),
    [
        (BERLIN, "11-21 12:00:00", "11-21 11:00:00"),
        (BERLIN, "07-01 12:00:00", "07-01 10:00:00"),
        ("Asia/Kolkata", "07-01 00:00:00", "06-30 18:30:00"),
        ("Australia/Lord_Howe", "01-01 12:00:00", "01-01 01:00:00"),
    ],
)
def test_it_reads_times_in_the_zone_of_the_log(zone: str, local: str, utc: str) -> None:
    assert instants(zone, local) == [utc]


@pytest.mark.parametrize(
    ("local", "utc"),
    [
        (["02:10:00", "02:59:59", "02:00:00", "02:30:00"], ["00:10:00", "00:59:59", "01:00:00", "01:30:00"]),
        (["01:59:59", "02:00:00", "01:59:59", "02:00:01"], ["23:59:59", "00:00:00", "23:59:59", "00:00:01"]),
        (["02:30:00", "02:10:00", "03:00:00", "02:59:59.950"], ["00:30:00", "01:10:00", "02:00:00", "01:59:59"]),
        (["02:30:00", "02:29:59.700", "02:30:00"], ["00:30:00", "00:29:59", "00:30:00"]),
        (["03:00:01", "02:59:59"], ["02:00:01", "01:59:59"]),
        (["02:30:00", "02:29:00"], ["00:30:00", "00:29:00"]),
        (["02:30:00.001", "02:29:00"], ["00:30:00", "01:29:00"]),
    ],
)
def test_it_tells_the_two_readings_of_the_repeated_hour_by_order(local: list[str], utc: list[str]) -> None:
    found = instants(BERLIN, *(f"10-25 {text}" for text in local))
    assert [text[6:] for text in found] == utc


def test_it_reads_a_time_that_the_spring_change_skips() -> None:
    # Its clock still shows winter time: an hour behind the one that is meant.
    found = instants(BERLIN, "03-29 01:59:59", "03-29 02:30:00", "03-29 03:35:00", "03-29 02:30:00")
    assert [text[6:] for text in found] == ["00:59:59", "01:30:00", "01:35:00", "01:30:00"]


def test_it_knows_an_hour_that_is_repeated_from_one_that_is_skipped() -> None:
    reader = LogClock(BERLIN)
    texts = (b"2026-10-25 02:30:00", b"2026-10-25 03:00:00", b"2026-03-29 02:30:00", b"2026-02-31 02:30:00")
    assert [reader.is_repeated(text) for text in texts] == [True, False, False, False]
    assert not reader.is_repeated(b"2026-10-25 02:30:00", b"+01:00")
    assert (reader.repeats_hours, LogClock("UTC").repeats_hours) == (True, False)


@pytest.mark.parametrize("text", ["2026-02-31 00:00:00", "2026-13-01 00:00:00", "0000-01-01 00:00:00",
                                  "2026-01-01 24:00:00", "2026-01-01 00:60:00", "2026-01-01 00:00:60"])  # fmt: skip
def test_it_refuses_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        LogClock().micros(text.encode(), None)


@pytest.mark.parametrize(
    ("zone", "minutes"),
    [(b"Z", 0), (b"UTC", 0), (b"GMT+01:00", 60), (b"UTC+1", 60), (b"UTC-0130", -90), (b"Asia/Kolkata", 330), (b"+01", 60), (b"-01", -60), (b"+0130", 90), (b"-01:30", -90), (b"+00:01", 1),
     (b"+18:00", 1080), (b"-18:00", -1080), (b"+18:01", None), (b"-18:01", None), (b"+19", None)],
)  # fmt: skip
def test_it_reads_the_zones_that_java_knows(zone: bytes, minutes: int | None) -> None:
    def read(zone: bytes | None) -> int:
        return LogClock(BERLIN if zone else "UTC").micros(b"2026-11-21 12:00:00", None, zone)

    if minutes is None:
        with pytest.raises(ValueError, match="minutes from UTC"):
            read(zone)
    else:
        assert read(None) - read(zone) == minutes * 60_000_000


@pytest.mark.parametrize(
    ("zone", "time", "name", "utc"),
    [
        (BERLIN, "11-21 12:00", b"CET", "11-21 11:00"),
        (BERLIN, "11-21 12:00", BERLIN.encode(), "11-21 11:00"),
        (BERLIN, "07-01 12:00", b"CEST", "07-01 10:00"),
        (BERLIN, "10-25 02:30", b"CEST", "10-25 00:30"),
        (BERLIN, "10-25 02:30", b"CET", "10-25 01:30"),
        ("America/New_York", "11-21 12:00", b"EST", "11-21 17:00"),
        *((zone, "11-21 12:00", name, None) for zone, name in ((BERLIN, b"EST"), (BERLIN, b"CEST"), ("UTC", b"CET"), ("UTC", b"Etc/None"), ("UTC", b"Etc/"))),
    ],
)  # fmt: skip
def test_it_reads_abbreviations_that_the_zone_of_the_log_has(
    zone: str, time: str, name: bytes, utc: str | None
) -> None:
    def read() -> int:
        return LogClock(zone).micros(f"2026-{time}:00".encode(), None, name)

    if utc is None:
        with pytest.raises(ValueError, match=r"."):
            read()
    else:
        assert read() == LogClock().micros(f"2026-{utc}:00".encode(), None)


@given(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)))
def test_it_agrees_with_datetime(moment: datetime) -> None:
    text, fraction = f"{moment:%Y-%m-%d %H:%M:%S}".encode(), f"{moment.microsecond:06d}".encode()
    expected = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    for digits in (fraction, fraction + b"999"):
        assert LogClock().micros(text, digits) == expected
    assert LogClock().micros(text, fraction[:3]) == expected // 1000 * 1000


@pytest.mark.parametrize(
    ("connection", "expected"),
    [
        *((f"127.0.0.1:9092-10.0.0.2:40000{end}", ("10.0.0.2", 40000)) for end in ("", "-3", "-1-21")),
        *((f"{name}/10.0.0.2:40000", ("10.0.0.2", 40000)) for name in ("", "host")),
        ("0:0:0:0:0:0:0:1:9092-0:0:0:0:0:0:0:2:40000-0", ("0:0:0:0:0:0:0:2", 40000)),
        ("[::1]:9092-[fe80::1%eth0]:40000-0-1", ("[fe80::1%eth0]", 40000)),
        ("broker-1.example.org:9092-client-7.example.org:40000-2", ("client-7.example.org", 40000)),
        ("/0:0:0:0:0:0:0:1:40000", ("0:0:0:0:0:0:0:1", 40000)),
        *((odd, (None, None)) for odd in ("", "nothing", "a:1-b:999999", ":1-" * 100_000, "h:1-r:2-3-4-5")),
        (f"{'h' * (LONGEST - 6)}:1-r:2", ("r", 2)),
        (f"{'h' * (LONGEST - 5)}:1-r:2", (None, None)),
        ("INTERNAL_IP-192.0.2.1:33245-169", ("192.0.2.1", None)),
        ("<redacted>:9092-192.0.2.1:40000-5", ("192.0.2.1", None)),
        *(
            (f"10.0.0.1:9092-{hidden}-5", (None, None))
            for hidden in ("INTERNAL_IP", "10.0.0.xxx:40000", "REDACTED:40000")
        ),
        *(
            (hidden, (None, None))
            for hidden in ("INTERNAL_IP-INTERNAL_IP-5", "10.x.x.x:9092-10.x.x.x:40000-5", "/x.x.x.x:40000")
        ),
        ("[IPv6]:9092-[2001:db8::x]:40000-5", (None, None)),
        ("0.0.0.0:9092-[::]:40000-5", (None, None)),
        ("9f86d0:9092-9f86d0:40000-5", (None, None)),
        ("9f86d0:9092-81884c:40000-5", ("81884c", 40000)),
        *((f"{host}:9092-{host}:40000-5", (host, 40000)) for host in ("10.0.0.1", "[::1]")),
    ],
)
def test_it_finds_the_clients_end_of_a_connection(connection: str, expected: tuple[str | None, int | None]) -> None:
    assert remote_end(connection) == expected


def test_it_reads_the_years_of_the_thai_calendar() -> None:
    # Java in a Thai locale writes 2569 for 2026.
    assert LogClock().micros(b"2569-11-21 12:00:00", None) == LogClock().micros(b"2026-11-21 12:00:00", None)
    assert LogClock().micros(b"2513-01-01 00:00:00", None) == 0
    assert LogClock().micros(b"2512-12-31 00:00:00", None) > 0
