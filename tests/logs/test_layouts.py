"""The layout that a file's beginning shows or that a setting names, and the starts and ends of records in it."""

import re
from datetime import UTC, datetime

import pytest

from kafka_clientinfo.errors import ConfigError
from kafka_clientinfo.logs.layouts import KAFKA, SAMPLE, Layout, UnreadableForm, check_form, detect, is_enough
from tests.builders import json_record, request_header_struct_record
from tests.logs.excerpts import EXCERPTS, parse, requests
from tests.logs.laid_out import LATEST, NAMES, events, found
from tests.wrapping import wrap


@pytest.mark.parametrize(("name", "pattern", "wrapper"), [("cri+stamped", "thread_last", "cri"), ("json", "ecs", "none"),
                                                          ("docker+json", "logstash", "docker"), ("kafka", "kafka", "none"),
                                                          ("syslog+message", "message", "rfc_3164"), ("any", "ecs", "none"),
                                                          ("logger_first", "logger_first", "none")])  # fmt: skip
def test_it_takes_the_layout_that_is_named(name: str, pattern: str, wrapper: str) -> None:
    data = wrap(EXCERPTS["json"], pattern, wrapper)
    layout = detect(b"other text\n" + data, name, LATEST)
    assert layout.name == name
    assert len(requests(events(data, layout))) == len(requests(parse(EXCERPTS["json"])))


@pytest.mark.parametrize("name", ["", "nothing", "cri", "cri+", "+json", "cri+docker+json", "kafka+cri"])
def test_it_refuses_a_layout_that_is_none(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"log_layout is '{re.escape(name)}'; give auto, one of kafka, stamped"):
        detect(b"", name)


@pytest.mark.parametrize(
    ("sample", "name"),
    [
        (b"", "kafka"),
        (b"[2026-11-21 02:45:09,9", "kafka"),
        (b"[2026-11-21 02:45:09,900] INFO a (b.C)\n[2026-11-21 02:45:09,900] INFO a (b.C) [t]\n", "kafka"),
        (b"[2026-11-21 02:45:09,900] INFO a (b.C)\n" + 2 * b"[2026-11-21 02:45:09,900] INFO a (b.C) [t]\n", "stamped"),
        (b"Preparing truststore\nKafka started\n2026-11-21T02:45:09.9Z stdout F x\n", "cri+any"),
        (b"2026-11-21T02:45:09.9Z stdout F Preparing truststore\n", "cri+any"),
        (b"text\n2026-11-21T02:45:09.9Z stdout F [2026-11-21 02:45:09,900] INFO a (b.C)\n", "cri+stamped"),
        (b'{"log":"[2026-11-21 02:45:09,900] INFO a (b.C)\\n","stream":"stdout"}\n', "docker+stamped"),
        (b'{"stream":"stdout","log":"[2026-11-21 02:45:09,900] INFO a (b.C)\\n"}\n', "docker+stamped"),
        (b"<134>Nov 21 02:45:09 host app[1]: [2026-11-21 02:45:09,900] INFO a (b.C)\n", "syslog+stamped"),
        (b"<134>Nov 21 02:45:09 host app[1]: x\n", "syslog+any"),
        (b"2026-11-21T02:45:09.9Z stdout P Completed re\n2026-11-21T02:45:09.9Z stdout F quest:x\n", "cri+message"),
        (b"<134>Nov 21 02:45:09 host app[1]: Completed request:x\n", "syslog+message"),
        (b"Completed request:x\n", "kafka"),
        (b"X2026-11-21T02:45:09.9Z stdout F x\n", "kafka"),
        (2 * b"[2026-11-21 02:45:09,900] INFO a (b.C)\n", "kafka"),
        (3 * b"[2026-11-21 02:45:09,900] INFO a (b.C)\n[2026-11-21 02:45:09,900] INFO a (b.C) [t]\n", "kafka"),
        (b"[2026-11-21 02:45:09,900] INFO a (b.C)\n" + 2 * b"[2026-11-21 02:45:09,900] INFO a [t]\n", "kafka"),
        (json_record() + json_record(logger=""), "kafka"),
        (json_record() + 2 * json_record(logger=""), "stamped"),
        (json_record(logger="") + json_record(logger=" (a.b)X"), "stamped"),
        (b"2026-11-21T02:45:09.9 INFO a (b.C)\n", "stamped"),
        (b"2026-11-21 02:45:09 INFO [t] a.b - x\n", "logger_first"),
        (b"2026-11-21 02:45:09 INFO [t] a.b - x (b.C)\n", "stamped"),
        (b"2026-11-21 02:45:09 INFO [t] a.b - Completed request:x (b.C)\n", "logger_first"),
        (b'{"message":"x","timeMillis":1}\n2026-11-21T02:45:09.9Z stdout F x\n', "json"),
        (b'2026-11-21T02:45:09.9Z stdout P {"message":"x\n', "cri+json"),
        (b'2026-11-21T02:45:09.9Z stdout P {"message":"x\n2026-11-21T02:45:09.9Z stdout F y\n', "cri+any"),
        (b"2026-11-21T02:45:09.9Z stdout F {x\n", "cri+any"),
        (b'{"message":"x\ny\n', "kafka"),
        (b"{x\n", "kafka"),
        (b'x{"message":"y\n', "kafka"),
        (b'{"message":"' + b"x" * 100_000, "json"),
        (b'{"log":"{\\"message\\":\\"' + b"x" * 100_000, "docker+any"),
        (json_record(request={"topics": ["t" * 9000]})[:5000], "kafka"),
        (json_record(client_id="2026-11-21T02:45:09.9Z stdout F x"), "kafka"),
        (request_header_struct_record(client_id="x\n2026-11-21T02:45:09.9Z stdout F x") * 2, "kafka"),
        (request_header_struct_record(client_id='x\n{"log":"a\\n","stream":"stdout"}') * 2, "kafka"),
        (request_header_struct_record(client_id="x\n2026-01-01 00:00:00 INFO y") * 2, "kafka"),
        (request_header_struct_record(client_id="x\n<134>Nov 21 02:45:09 host app[1]: y") * 2, "kafka"),
    ],
)
def test_it_tells_the_layout_from_a_files_beginning(sample: bytes, name: str) -> None:
    for end in (b"\n", b"\r\n"):
        layout = detect(sample.replace(b"\n", end), latest=LATEST)
        assert (layout.name, layout.splittable) == (name, name == "kafka")
        assert layout.latest == (LATEST if name.startswith("syslog+") else None)


def test_a_file_that_tells_nothing_is_taken_for_kafkas_own_layout() -> None:
    assert detect(b"") == detect(json_record()[:40]) == KAFKA
    assert KAFKA.splittable


@pytest.mark.parametrize(
    ("before", "wrapper"), [("\ufeff", "cri"), ("\ufeff\0\0", "cri"), ("X\ufeff", "none"), ("\ufeffX", "none")]
)
def test_a_byte_order_mark_is_no_part_of_the_first_line(before: str, wrapper: str) -> None:
    assert detect(f"{before}2026-11-21T02:45:09.9Z stdout F x\n".encode()).wrapper == wrapper


EXPORT = b"__CURSOR=s=3be2ab4f;i=14\n__REALTIME_TIMESTAMP=1\nMESSAGE=" + json_record() + b"\n"


@pytest.mark.parametrize(
    ("sample", "refusal"),
    [
        (json_record().decode().encode("utf-16"), "it is in UTF-16; convert it to UTF-8, as `iconv -f UTF-16 "),
        (b"\xfe\xff" + json_record().decode().encode("utf-16-be"), "it is in UTF-16; convert it to UTF-8"),
        (EXPORT, "it has the form of `journalctl -o export`; export the journal with `journalctl --all -o json`"),
        (json_record(), None),
        (b"\xef\xbb\xbf" + json_record(), None),
        (b"x\n" + EXPORT, None),
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
    assert [detect(data, name).json_requests for name in ("auto", "cri+any")] == [is_json] * 2
    assert not detect(b"Completed").json_requests


@pytest.mark.parametrize("name", NAMES[1:])
def test_kafkas_own_pattern_alone_ends_with_a_logger_whatever_the_sample_shows(name: str) -> None:
    layout = detect(json_record(logger=""), name, LATEST)
    # What the wrapper does not unwrap shows no end; syslog takes any line.
    assert layout.logger_ends == (name.startswith(("cri+", "docker+")) or name.endswith("kafka"))
    assert layout.latest == (LATEST if name.startswith("syslog+") else None)
    assert detect(json_record(), name).logger_ends


@pytest.mark.parametrize("year", [1998, 2020])
@pytest.mark.parametrize("name", ["auto", "syslog+message"])
def test_times_without_a_year_are_of_the_files(year: int, name: str) -> None:
    data = wrap(json_record(), "message", "rfc_3164")
    layout = detect(data, name, datetime(year, 12, 1, tzinfo=UTC))
    (record,) = found(data, layout)
    assert record.text is not None
    assert record.text.startswith(b"[%d-11-21 12:00:00] " % year)
    (undated,) = found(data, Layout(wrapper="syslog", pattern="message"))
    assert undated.text is not None
    assert undated.text[5:40] == record.text[5:40]


@pytest.mark.parametrize("record", [json_record(), wrap(json_record(), "message", "cri")])
def test_a_beginning_is_enough_with_its_first_record_or_with_many_bytes_without_one(record: bytes) -> None:
    assert not is_enough(b"x\n" * (SAMPLE // 2 - 1))
    assert is_enough(b"x\n" * (SAMPLE // 2))
    assert not is_enough(record[:-1])
    assert is_enough(b"x\n" + record)
    assert not is_enough(b"x" * SAMPLE + b"\n" + json_record()[:-1])
    assert not is_enough(b'{"message":"not of the request log"}\n' * 2)


def test_a_line_that_the_sample_cuts_off_tells_nothing() -> None:
    foreign = b"no record\n"
    cut_off = b'2026-11-21T02:45:09.935Z stdout F [2026-11-21 02:45:09,935] DEBUG Completed request:{"isForwarded"'
    assert detect(foreign + cut_off) == detect(foreign)
    assert detect(foreign + cut_off + b"\n") != detect(foreign)
