"""The layout that a file's beginning shows."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.logs.heads import time_in
from kafka_clientinfo.logs.layouts import KAFKA, SAMPLE, Layout, UnreadableForm, check_form, detect, is_enough
from kafka_clientinfo.logs.reader import head
from tests.amounts import one_in, places
from tests.builders import json_record, request_header_struct_record
from tests.logs.excerpts import EXCERPTS, requests
from tests.logs.laid_out import LATEST, events, found
from tests.wrapping import KINDS, wrap

ENDED, THREAD = (b"[2026-11-21 02:45:09,900] INFO a (b.C)%b\n" % thread for thread in (b"", b" [t]"))


@pytest.mark.parametrize(
    ("sample", "is_kafkas"),
    [
        (b"", True),
        (b"[2026-11-21 02:45:09,9", True),
        (ENDED + THREAD, True),
        (ENDED + 2 * THREAD, False),
        (b"Preparing truststore\nKafka started\n2026-11-21T02:45:09.9Z stdout F x\n", False),
        (b"text\n2026-11-21T02:45:09.9Z stdout F [2026-11-21 02:45:09,900] INFO a (b.C)\n", False),
        (b'{"log":"[2026-11-21 02:45:09,900] INFO a (b.C)\\n","stream":"stdout"}\n', False),
        (b"<134>Nov 21 02:45:09 host app[1]: x\n", False),
        (b"2026-11-21T02:45:09.9Z stdout P Completed re\n2026-11-21T02:45:09.9Z stdout F quest:x\n", False),
        (b"Completed request:x\n", True),
        (b"X2026-11-21T02:45:09.9Z stdout F x\n", True),
        (2 * ENDED, True),
        (3 * (ENDED + THREAD), True),
        (b"[2026-11-21 02:45:09,900] INFO a (b.C)\n" + 2 * b"[2026-11-21 02:45:09,900] INFO a [t]\n", True),
        (json_record() + json_record(logger=""), True),
        (json_record() + 2 * json_record(logger=""), False),
        (json_record(logger="") + json_record(logger=" (a.b)X"), False),
        (b"2026-11-21 02:45:09 INFO [t] a.b - x\n", False),
        (b'{"message":"x","timeMillis":1}\n2026-11-21T02:45:09.9Z stdout F x\n', False),
        (b'2026-11-21T02:45:09.9Z stdout P {"message":"x\n2026-11-21T02:45:09.9Z stdout F y\n', False),
        (b'{"message":"x\ny\n', False),
        (b'x{"message":"y\n', True),
        (b'{"message":"' + b"x" * 100_000, False),
        (b'{"log":"{\\"message\\":\\"' + b"x" * 100_000, False),
        (json_record(request={"topics": ["t" * 9000]})[:5000], True),
        (json_record(client_id="2026-11-21T02:45:09.9Z stdout F x"), True),
        (request_header_struct_record(client_id="x\n2026-11-21T02:45:09.9Z stdout F x") * 2, True),
        (request_header_struct_record(client_id='x\n{"log":"a\\n","stream":"stdout"}') * 2, True),
        (request_header_struct_record(client_id="x\n2026-01-01 00:00:00 INFO y") * 2, True),
        (request_header_struct_record(client_id="x\n<134>Nov 21 02:45:09 host app[1]: y") * 2, True),
    ],
)
def test_it_tells_the_layout_from_a_files_beginning(sample: bytes, is_kafkas: bool) -> None:
    assert detect(b"") == detect(json_record()[:40]) == KAFKA
    for end in (b"\n", b"\r\n"):
        layout = detect(sample.replace(b"\n", end), latest=LATEST)
        assert (layout.splittable, layout.latest) == (is_kafkas, None if is_kafkas else LATEST)


@pytest.mark.parametrize("form", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_log_in_utf_16_is_refused_with_and_without_a_mark(form: str) -> None:
    for text in (json_record().decode(), "\ufeff" + json_record().decode()):
        with pytest.raises(UnreadableForm, match=r"^it is in UTF-16; convert it to UTF-8, as `iconv -f UTF-16 "):
            check_form(text.encode(form))
    for sample in (json_record(), b"\xef\xbb\xbf" + json_record(), b""):
        check_form(sample)


@pytest.mark.parametrize("pattern", ["kafka", "ecs"])
@pytest.mark.parametrize("generation", ["json", "request_header_struct", "name_text"])
def test_it_knows_whether_the_requests_are_json(generation: str, pattern: str) -> None:
    assert detect(wrap(EXCERPTS[generation], pattern, "cri")).json_requests == (generation == "json")
    assert not detect(b"Completed").json_requests


@pytest.mark.parametrize("year", [1998, 2020])
def test_times_without_a_year_are_of_the_files(year: int) -> None:
    data = wrap(json_record(), "message", "rfc_3164")
    layout = detect(data, datetime(year, 12, 1, tzinfo=UTC))
    record, undated = (found(data, one)[0].text for one in (layout, Layout(False)))
    assert record.startswith(b"[%d-11-21 12:00:00] " % year)
    assert undated[5:40] == record[5:40]


@pytest.mark.parametrize("record", [json_record(), wrap(json_record(), "message", "cri")])
def test_a_beginning_is_enough_with_its_first_record_or_with_many_bytes_without_one(record: bytes) -> None:
    assert not is_enough(b"x\n" * (SAMPLE // 2 - 1))
    assert is_enough(b"x\n" * (SAMPLE // 2))
    assert not is_enough(record[:-1])
    assert is_enough(b"x\n" + record)
    assert not is_enough(b'{"message":"not of the request log"}\n' * 2)


def test_a_line_that_the_sample_cuts_off_tells_nothing() -> None:
    cut_off = b'2026-11-21T02:45:09.935Z stdout F [2026-11-21 02:45:09,935] DEBUG Completed request:{"isForwarded"'
    assert detect(b"no record\n" + cut_off) == detect(b"no record\n") != detect(b"no record\n" + cut_off + b"\n")


@pytest.mark.parametrize(
    ("text", "time"),
    [
        (b"", None),
        (b"2026-11-21T12:00:00,462+0000 ", b"2026-11-21 12:00:00,462+0000"),
        (b"Nov 21 12:00:00 h [2026-11-20 11:59:59,1] ", b"2026-11-20 11:59:59,1"),
        (b"2026-11-20 11:59:59 h 2026-11-21 12:00:00 ", b"2026-11-21 12:00:00"),
        (b"2026-11-20T11:59:59.000+2026-11-21T12:00:00.000+00:00 ", b"2026-11-21 12:00:00,000+00:00"),
        (b"2026.11.21 12:00:00.5 ", b"2026-11-21 12:00:00,5"),
        (b"21.11.2026 12:00:00 ", b"2026-11-21 12:00:00"),
        (b"2026-11-21 12:00:00 UTC ", b"2026-11-21 12:00:00Z"),
        (b"2026-11-21 12:00:00,5 GMT+01:00 ", b"2026-11-21 12:00:00,5GMT+01:00"),
        (b"Sat 2026-11-21 12:00:00 CET k1 ", b"2026-11-21 12:00:00CET"),
        (b"2026-11-21 12:00:00 Europe/Berlin ", b"2026-11-21 12:00:00Europe/Berlin"),
        (b"2026-11-21 12:00:00 HOST CETUS ", b"2026-11-21 12:00:00"),
        (b"Nov 21, 2026 @ 12:00:00.5 ", b"2026-11-21 12:00:00,5"),
        (b"Nov 21, 2026 2:00:00 PM ", b"2026-11-21 14:00:00"),
        (b"Nov 21, 2026 12:00:00 AM ", b"2026-11-21 00:00:00"),
        (b"2026-11-21 02:57:17,043 p.m. ", b"2026-11-21 14:57:17,043"),
        (b"2026-11-21 14:57:17,043 PM ", None),
        (b"11/21/2026 2:57:17,043 PM ", b"2026-11-21 14:57:17,043"),
        (b"2026-11-21 02:57:17,043 pm-1 ", b"2026-11-21 02:57:17,043"),
        (b"11/21/2026 12:00:00 ", b"2026-11-21 12:00:00"),
        (b"21-11-2026 12:00:00,5 ", b"2026-11-21 12:00:00,5"),
        (b"05-11-2026 12:00:00 ", None),
        (b"31-02-2026 12:00:00 ", None),
        (b"26/11/21 12:00:00 ", b"2026-11-21 12:00:00"),
        (b"06/11/05 12:00:00 ", None),
        (b"I1121 12:00:00.123456 1 request.go:62] ", b"2026-11-21 12:00:00,123456"),
        (b"1402345678 DEBUG ", None),
        (b"1795262400 [main] ", None),
        (b"2026-11-21 12:00:00:500 ", b"2026-11-21 12:00:00,500"),
        (b"2026-11-21 12:00:00:12: ", b"2026-11-21 12:00:00"),
        (b"2026-11-21 02:40:36,02026-11-21 12:00:00,5 ", None),
        (b"3/Nov/2026:12:00:00 +0100 ", b"2026-11-03 12:00:00+0100"),
        (b"20261121T120000.123Z ", b"2026-11-21 12:00:00,123Z"),
        (b"Nov  3 2026 12:00:00.25 ", b"2026-11-03 12:00:00,25"),
        (b"1795262400 ", b"2026-11-21T12:00:00.000000Z"),
        (b"1795262400462 ", b"2026-11-21T12:00:00.462000Z"),
        (b"1795262400462000999 ", b"2026-11-21T12:00:00.462000Z"),
        (b"1795262400.000462 ", b"2026-11-21T12:00:00.000462Z"),
        (b"thread-1795262400 ", None),
        (b"1234567890 [t] ", None),
        (b"9795262400462 [t] ", None),
        (b"id=4bf92f3577b34da6a3c6170729845e47 ", None),
        (b"@400000006b0108970660b0c0 ", None),
        (b"[build 20261120101500] ", None),
        (b"20261121120000462 ", b"2026-11-21 12:00:00,462"),
        (b"97261121120000 ", None),
        (b"2026-11-21 12:00:00 [started=2025-01-01T00:00:00Z] ", b"2026-11-21 12:00:00"),
        (b"21 Nov 2026 12:00:00 [job of 2025-01-01 00:00:00] ", b"2026-11-21 12:00:00"),
        (b"2026-11-21 12:00:00 started=2025-01-01T00:00:00Z ", b"2026-11-21 12:00:00"),
        (b"ts=1795262400.5 id=1402345678 ", b"2026-11-21T12:00:00.500000Z"),
    ],
)
def test_a_time_is_found(text: bytes, time: bytes | None) -> None:
    assert time_in(text, LATEST) == time


def test_a_time_without_a_year_is_in_the_past() -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=3)
    found = time_in(f"{tomorrow:%b %d} 12:00:00 ".encode())
    assert found is not None
    assert datetime.fromisoformat(found.decode() + "+00:00") < datetime.now(UTC) + timedelta(days=1)


BANNER = (
    b"===> User\nuid=1000(appuser) gid=1000(appuser) groups=1000(appuser)\n===> Configuring ...\n"
    b"===> Running preflight checks ...\n===> Launching ...\n"
)


def client_ids(data: bytes) -> list[str | None]:
    return [event.client_id for event in requests(events(data))]


LONG_FIRST = [
    json_record(request={"topics": [{"name": f"t{number:06}"} for number in range(75_000)]}),
    request_header_struct_record(request="{topics=[" + ",".join(f"t{number:06}" for number in range(150_000)) + "]}"),
]


@pytest.mark.parametrize("build", [json_record, request_header_struct_record])
@pytest.mark.parametrize(("pattern", "wrapper"), one_in(3, KINDS))
def test_what_stands_before_the_first_record_tells_nothing(build: Any, pattern: str, wrapper: str) -> None:
    whole = wrap(build(), pattern, wrapper)
    for number in (1, 2, 4):
        assert detect(BANNER + whole * number) == detect(whole * number)


@pytest.mark.parametrize("build", [json_record, request_header_struct_record])
@pytest.mark.parametrize(("pattern", "wrapper"), one_in(3, KINDS))
def test_a_torn_first_line_hides_no_layout(build: Any, pattern: str, wrapper: str) -> None:
    """It is torn anywhere in its prefix, its thread or its logger; the next one follows on it, or on a line of its own."""
    first, whole = (wrap(build(client_id=name), pattern, wrapper) for name in ("first", "second"))
    for end in places(20, first.index(b"Completed"), 5):
        for half in (first[:end], first[:end] + b"\n"):
            read = client_ids(half + whole * 3)
            assert read in (["second"] * 3, ["second"] * 2), (half, read)


@pytest.mark.parametrize(("pattern", "wrapper"), one_in(9, KINDS))
@pytest.mark.parametrize("first", LONG_FIRST, ids=["json", "text"])
def test_a_first_record_of_any_length_tells_how_records_end(
    first: bytes, pattern: str, wrapper: str, tmp_path: Path
) -> None:
    """A large cluster's Metadata has more than a mebibyte."""
    long, short = (wrap(record, pattern, wrapper) for record in (first, json_record()))
    assert len(long) > 1 << 20
    path = tmp_path / "kafka-request.log"
    path.write_bytes(long + short)
    assert head(path).layout == detect(long + short)
    assert len(requests(events(long + short, head(path).layout))) == 2
