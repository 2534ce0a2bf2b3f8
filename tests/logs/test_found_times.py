"""Where a time is found before a message, and what is refused for its form."""

from datetime import UTC, datetime, timedelta

import pytest

from kafka_clientinfo.logs.heads import time_in
from kafka_clientinfo.logs.layouts import UnreadableForm, check_form
from tests.builders import json_record


@pytest.mark.parametrize("form", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_log_in_utf_16_is_refused_with_and_without_a_mark(form: str) -> None:
    with pytest.raises(UnreadableForm, match="iconv"):
        check_form(json_record().decode().encode(form))


@pytest.mark.parametrize(
    ("text", "time"),
    [
        (b"", None),
        (b"12:00:00,000 DEBUG", None),
        (b"2026-11-21", None),
        (b"2026-11-21T12:00:00,462+0000 ", b"2026-11-21 12:00:00,462+0000"),
        (b"Nov 21 12:00:00 h [2026-11-20 11:59:59,1] ", b"2026-11-20 11:59:59,1"),
        (b"2026-11-20 11:59:59 h 2026-11-21 12:00:00 ", b"2026-11-21 12:00:00"),
        (b"2026-11-20T11:59:59.000+2026-11-21T12:00:00.000+00:00 ", b"2026-11-21 12:00:00,000+00:00"),
        (b"2026.11.21 12:00:00.5 ", b"2026-11-21 12:00:00,5"),
        (b"2026-11-21_12:00:00.5 ", b"2026-11-21 12:00:00,5"),
        (b"21.11.2026 12:00:00 ", b"2026-11-21 12:00:00"),
        (b"2026-11-21 12:00:00 UTC ", b"2026-11-21 12:00:00Z"),
        (b"Nov 21, 2026 @ 12:00:00.5 ", b"2026-11-21 12:00:00,5"),
        (b"Nov 21, 2026 02:00:00 PM ", None),
        (b"2026-11-21 02:00:00 pm ", None),
        (b"21-11-2026 12:00:00 ", None),
        (b"11/21/2026 12:00:00 ", None),
        (b"3/Nov/2026:12:00:00 +0100 ", b"2026-11-03 12:00:00+0100"),
        (b"20261121 120000 ", b"2026-11-21 12:00:00"),
        (b"20261121T120000.123Z ", b"2026-11-21 12:00:00,123Z"),
        (b"Nov  3 2026 12:00:00.25 ", b"2026-11-03 12:00:00,25"),
        (b"1795262400 ", b"2026-11-21T12:00:00.000000Z"),
        (b"1795262400462 ", b"2026-11-21T12:00:00.462000Z"),
        (b"1795262400462000 ", b"2026-11-21T12:00:00.462000Z"),
        (b"1795262400462000999 ", b"2026-11-21T12:00:00.462000Z"),
        (b"1795262400.000462 ", b"2026-11-21T12:00:00.000462Z"),
        (b"17952624 ", None),
        (b"thread-1795262400 ", None),
    ],
)
def test_a_time_is_found(text: bytes, time: bytes | None) -> None:
    assert time_in(text) == time


def test_a_time_without_a_year_is_in_the_past() -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=3)
    found = time_in(f"{tomorrow:%b %d} 12:00:00 ".encode())
    assert found is not None
    assert datetime.fromisoformat(found.decode() + "+00:00") < datetime.now(UTC) + timedelta(days=1)
