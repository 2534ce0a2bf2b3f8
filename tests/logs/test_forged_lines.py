"""A client of a broker before 2.8 writes a line break and a request: it is text of a request, or rejected with it."""

import re
from itertools import product

import pytest

from kafka_clientinfo.logs import IgnoredRecord, RejectedRecord
from tests.amounts import one_in
from tests.builders import TEXT_RECORDS, json_record
from tests.logs.excerpts import requests
from tests.logs.laid_out import TRACES, events
from tests.logs.patterns import MESSAGE, PATTERNS, kafka
from tests.wrapping import PATTERNS as LAYOUTS
from tests.wrapping import WRAPPERS, Logged, wrap

CSV = [name for name in PATTERNS if name.startswith("CSV")]
UNDATED = {"a message alone": "{}", "a time of the day": "12:00:00,000 DEBUG {}"}
FORMS = ("none", "cri", "docker", "journal", "rfc_3164", "rfc_5424")


def laid_out(record: bytes, name: str) -> bytes:
    """A record in a layout, of which the message may have several lines."""
    fields = MESSAGE.pattern.replace("(.*)", "((?:.|\n)*)")
    match = re.fullmatch(fields, record.decode().strip())
    assert match is not None
    line = UNDATED[name].format(match[5]) if name in UNDATED else PATTERNS.get(name, kafka)(*match.groups())
    return f"{line}\n".encode()


HEADS = (b"", b"2026-11-21T12:00:01.5Z stdout F ", b"<135>Nov 21 12:00:01 broker-1 kafka[17]: ")


@pytest.mark.parametrize(("name", "generation", "wrapper"), one_in(5, product([*CSV, *UNDATED], TEXT_RECORDS, HEADS)))
def test_a_line_in_a_layout_with_raw_line_breaks_is_no_request(name: str, generation: str, wrapper: bytes) -> None:
    build = TEXT_RECORDS[generation]
    for forged, form, end in product((json_record, build), FORMS, ("", "\ny")):
        line = wrap(forged(client_id="forged"), "kafka", form).decode().strip()
        records = [build(client_id="good")] * 3 + [build(client_id=f"x\n{line}{end}")] + [build(client_id="good")] * 2
        text = b"".join(laid_out(record, name) for record in records)
        data = b"".join(wrapper + one + b"\n" for one in text[:-1].split(b"\n"))
        got = events(data)
        assert "forged" not in {one.client_id for one in requests(got)}, (form, end)
        for one in got:
            if isinstance(one, IgnoredRecord):
                assert b"Completed request:" not in data[one.byte_offset :].split(b"\n")[0]


HEADED = [trace for trace in TRACES if "Name:" not in trace]
BEFORE = ("x", "x (a.b)", "x (kafka.network.RequestChannel$)")


@pytest.mark.parametrize(
    ("trace", "before", "pattern", "form"), one_in(5, product(HEADED, BEFORE, ("kafka", "thread_last"), FORMS))
)
def test_a_line_in_the_trace_of_a_request_is_no_request(trace: str, before: str, pattern: str, form: str) -> None:
    for build, end, lines in product((json_record, *TEXT_RECORDS.values()), ("", "\ny"), (1, 3)):
        forged = wrap(build(client_id="forged"), pattern, "none").decode() * lines
        message = trace % f"{before}\n{forged.rstrip()}{end}"
        good = wrap(build(client_id="good"), pattern, form)
        record = Logged("2026-11-21 12:00:00,000", "TRACE", message.encode(), "kafka.network.RequestChannel$")
        traced = b"".join(line + b"\n" for line in WRAPPERS[form](record, LAYOUTS[pattern](record), 1 << 20))
        whole = f"[2026-11-21 12:00:00,000] TRACE {trace % 'z'} (kafka.network.RequestChannel$)\n".encode()
        got = events(good * 3 + traced + wrap(whole, pattern, form) + good)
        assert {one.client_id for one in requests(got)} == {"good"}
        assert len(requests(got)) == 4
        assert sum(isinstance(one, RejectedRecord) for one in got) == 1
