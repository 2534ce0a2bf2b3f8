"""A broker before 2.8 is killed inside a request, and a later release goes on in the file: nothing is forged, all is counted."""

import pytest

from kafka_clientinfo.logs import RejectedRecord, RequestEvent
from tests.builders import TEXT_RECORDS, json_record, request_header_struct_record
from tests.logs.laid_out import events
from tests.logs.test_torn import BANNER, read
from tests.wrapping import wrap

LINE = json_record(principal="User:admin")


@pytest.mark.parametrize("generation", TEXT_RECORDS)
@pytest.mark.parametrize("between", [b"", b"\n", BANNER], ids=["", "line end", "banner"])
def test_requests_in_json_after_a_torn_one_in_text_are_rejected_with_it(generation: str, between: bytes) -> None:
    whole = TEXT_RECORDS[generation]()
    torn = whole[: whole.index(b"totalTime")] + between + LINE * 9
    found = read(whole + torn)
    assert (len(found.requests), found.rejected) == (1, torn)
    found = read(whole + torn + whole * 2 + LINE)
    assert (len(found.requests), found.rejected) == (3, torn + whole)


@pytest.mark.parametrize(
    ("pattern", "wrapper"), [("thread_last", "none"), ("kafka", "cri"), ("logger_first", "journal")]
)
def test_so_they_are_in_other_layouts(pattern: str, wrapper: str) -> None:
    record = request_header_struct_record(client_id="torn" * 9)
    before, half, lines = (wrap(data, pattern, wrapper) for data in (record, record, LINE * 9))
    at = half.index(b"torntorn")
    end = b"" if wrapper != "journal" else half[half.rindex(b'", ') :] if b'", ' in half[at:] else b'"}'
    got = events(before * 3 + half[:at] + end.rstrip(b"\n") + b"\n" + lines)
    assert sum(isinstance(one, RequestEvent) for one in got) == 3
    assert sum(isinstance(one, RejectedRecord) for one in got) == 1


def test_what_clients_write_around_words_of_the_broker_is_text() -> None:
    lines = "x\n" + LINE.decode() * 300
    bodies = [f"{{topics=[{lines}]}}", f"{{topics=[{{name={lines}}}]}}"]
    for fields in ({"client_id": lines}, *({"request": body} for body in bodies)):
        genuine = request_header_struct_record(**fields)
        found = read(genuine + request_header_struct_record())
        assert [event.principal for _, event in found.requests] == ["User:ANONYMOUS"] * 2
        assert read(genuine[: genuine.rfind(b" from c")]).requests == []
