"""The layout that a file's beginning shows."""

import re
from datetime import UTC, datetime

import pytest

from kafka_clientinfo.logs.layouts import KAFKA, SAMPLE, Layout, UnreadableForm, check_form, detect, is_enough
from tests.builders import json_record, request_header_struct_record
from tests.logs.excerpts import EXCERPTS
from tests.logs.laid_out import LATEST, found
from tests.wrapping import wrap


@pytest.mark.parametrize(
    ("sample", "is_kafkas"),
    [
        (b"", True),
        (b"[2026-11-21 02:45:09,9", True),
        (b"[2026-11-21 02:45:09,900] INFO a (b.C)\n[2026-11-21 02:45:09,900] INFO a (b.C) [t]\n", True),
        (b"[2026-11-21 02:45:09,900] INFO a (b.C)\n" + 2 * b"[2026-11-21 02:45:09,900] INFO a (b.C) [t]\n", False),
        (b"Preparing truststore\nKafka started\n2026-11-21T02:45:09.9Z stdout F x\n", False),
        (b"2026-11-21T02:45:09.9Z stdout F Preparing truststore\n", False),
        (b"text\n2026-11-21T02:45:09.9Z stdout F [2026-11-21 02:45:09,900] INFO a (b.C)\n", False),
        (b'{"log":"[2026-11-21 02:45:09,900] INFO a (b.C)\\n","stream":"stdout"}\n', False),
        (b'{"stream":"stdout","log":"[2026-11-21 02:45:09,900] INFO a (b.C)\\n"}\n', False),
        (b"<134>Nov 21 02:45:09 host app[1]: [2026-11-21 02:45:09,900] INFO a (b.C)\n", False),
        (b"<134>Nov 21 02:45:09 host app[1]: x\n", False),
        (b"2026-11-21T02:45:09.9Z stdout P Completed re\n2026-11-21T02:45:09.9Z stdout F quest:x\n", False),
        (b"<134>Nov 21 02:45:09 host app[1]: Completed request:x\n", False),
        (b"Completed request:x\n", True),
        (b"X2026-11-21T02:45:09.9Z stdout F x\n", True),
        (2 * b"[2026-11-21 02:45:09,900] INFO a (b.C)\n", True),
        (3 * b"[2026-11-21 02:45:09,900] INFO a (b.C)\n[2026-11-21 02:45:09,900] INFO a (b.C) [t]\n", True),
        (b"[2026-11-21 02:45:09,900] INFO a (b.C)\n" + 2 * b"[2026-11-21 02:45:09,900] INFO a [t]\n", True),
        (json_record() + json_record(logger=""), True),
        (json_record() + 2 * json_record(logger=""), False),
        (json_record(logger="") + json_record(logger=" (a.b)X"), False),
        (b"2026-11-21T02:45:09.9 INFO a (b.C)\n", False),
        (b"2026-11-21 02:45:09 INFO [t] a.b - x\n", False),
        (b"2026-11-21 02:45:09 INFO [t] a.b - x (b.C)\n", False),
        (b"2026-11-21 02:45:09 INFO [t] a.b - Completed request:x (b.C)\n", False),
        (b'{"message":"x","timeMillis":1}\n2026-11-21T02:45:09.9Z stdout F x\n', False),
        (b'2026-11-21T02:45:09.9Z stdout P {"message":"x\n', False),
        (b'2026-11-21T02:45:09.9Z stdout P {"message":"x\n2026-11-21T02:45:09.9Z stdout F y\n', False),
        (b"2026-11-21T02:45:09.9Z stdout F {x\n", False),
        (b'{"message":"x\ny\n', False),
        (b"{x\n", False),
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
    for end in (b"\n", b"\r\n"):
        layout = detect(sample.replace(b"\n", end), latest=LATEST)
        assert (layout.splittable, layout.latest) == (is_kafkas, None if is_kafkas else LATEST)


def test_a_file_that_tells_nothing_is_taken_for_kafkas_own_layout() -> None:
    assert detect(b"") == detect(json_record()[:40]) == KAFKA
    assert KAFKA.splittable


@pytest.mark.parametrize(
    ("before", "is_kafkas"), [("\ufeff", False), ("\ufeff\0\0", False), ("X\ufeff", True), ("\ufeffX", True)]
)
def test_a_byte_order_mark_is_no_part_of_the_first_line(before: str, is_kafkas: bool) -> None:
    assert detect(f"{before}2026-11-21T02:45:09.9Z stdout F x\n".encode()).splittable == is_kafkas


@pytest.mark.parametrize(
    ("sample", "refusal"),
    [
        (json_record().decode().encode("utf-16"), "it is in UTF-16; convert it to UTF-8, as `iconv -f UTF-16 "),
        (b"\xfe\xff" + json_record().decode().encode("utf-16-be"), "it is in UTF-16; convert it to UTF-8"),
        (json_record(), None),
        (b"\xef\xbb\xbf" + json_record(), None),
        (b"", None),
    ],
)
def test_what_must_be_converted_is_refused(sample: bytes, refusal: str | None) -> None:
    if refusal is None:
        check_form(sample)
    else:
        with pytest.raises(UnreadableForm, match=f"^{re.escape(refusal)}"):
            check_form(sample)


@pytest.mark.parametrize(
    ("generation", "pattern", "is_json"),
    [
        ("json", "kafka", True),
        ("json", "ecs", True),
        ("request_header_struct", "kafka", False),
        ("name_text", "ecs", False),
    ],
)
def test_it_knows_whether_the_requests_are_json(generation: str, pattern: str, is_json: bool) -> None:
    data = wrap(EXCERPTS[generation], pattern, "cri")
    assert [detect(data, name).json_requests for name in ("auto", "cri")] == [is_json] * 2
    assert not detect(b"Completed").json_requests


@pytest.mark.parametrize("year", [1998, 2020])
def test_times_without_a_year_are_of_the_files(year: int) -> None:
    data = wrap(json_record(), "message", "rfc_3164")
    layout = detect(data, datetime(year, 12, 1, tzinfo=UTC))
    (record,) = found(data, layout)
    assert record.text is not None
    assert record.text.startswith(b"[%d-11-21 12:00:00] " % year)
    (undated,) = found(data, Layout(False))
    assert undated.text is not None
    assert undated.text[5:40] == record.text[5:40]


@pytest.mark.parametrize("record", [json_record(), wrap(json_record(), "message", "cri")])
def test_a_beginning_is_enough_with_its_first_record_or_with_many_bytes_without_one(record: bytes) -> None:
    assert not is_enough(b"x\n" * (SAMPLE // 2 - 1))
    assert is_enough(b"x\n" * (SAMPLE // 2))
    assert not is_enough(record[:-1])
    assert is_enough(b"x\n" + record)
    assert not is_enough(b'{"message":"not of the request log"}\n' * 2)


def test_a_line_that_the_sample_cuts_off_tells_nothing() -> None:
    foreign = b"no record\n"
    cut_off = b'2026-11-21T02:45:09.935Z stdout F [2026-11-21 02:45:09,935] DEBUG Completed request:{"isForwarded"'
    assert detect(foreign + cut_off) == detect(foreign)
    assert detect(foreign + cut_off + b"\n") != detect(foreign)
