"""Torn lines in every layout and wrapper: at most the next request is rejected with one, and none is only counted."""

from itertools import pairwise, product

import pytest

from kafka_clientinfo.logs import IgnoredRecord, Parser, RejectedRecord, RequestEvent
from kafka_clientinfo.logs.layouts import detect
from kafka_clientinfo.logs.unwrapping import splitter_of
from tests.amounts import one_in, places
from tests.builders import TEXT_RECORDS, json_record, request_header_struct_record
from tests.logs.laid_out import Event, comparable, events
from tests.logs.test_torn import BANNER, FORGED_JSON, FORGED_TEXT, PROCESSOR, ZEROS, Build, alone, read
from tests.wrapping import KINDS, wrap


def check_law(got: list[Event], data: bytes, genuine: set[str]) -> None:
    """Hold that requests are genuine ones, and that those that are not read are in rejected records."""
    ids = [one.client_id for one in got if isinstance(one, RequestEvent)]
    assert set(ids) <= genuine, data
    assert {one.forged_lines for one in got if isinstance(one, RequestEvent)} <= {0}
    rejected = b"".join(one.raw for one in got if isinstance(one, RejectedRecord))
    assert all(name in ids or name.encode() in rejected for name in genuine - {"first"}), data
    for one, following in pairwise([*(event.byte_offset for event in got), len(data)]):
        if one in {event.byte_offset for event in got if isinstance(event, IgnoredRecord)}:
            assert b"Completed request:" not in data[one:following], data


@pytest.mark.parametrize(("build", "kind"), one_in(3, product([json_record, *TEXT_RECORDS.values()], KINDS)))
def test_a_torn_line_of_another_layout_costs_at_most_the_next_one(build: Build, kind: tuple[str, str]) -> None:
    """The half and what follows it, on the same line or, as in a container, on the next one."""
    pattern, wrapper = kind
    before = wrap(build(client_id="before"), pattern, wrapper)
    whole = wrap(build(client_id="second", connection="h:1-10.0.0.3:5-7", correlation_id=2), pattern, wrapper)
    later = wrap(build(client_id="later"), pattern, wrapper)
    first = wrap(build(client_id="first"), pattern, wrapper)
    for at in places(1 + len(first) % 97, first.find(b"totalTime"), 97):
        for half in (first[:at], first[:at] + b"\n", first[:at] + b"\n===> User\n", first[:at] + ZEROS + b"\n"):
            data = before * 4 + half + whole + later
            got = events(data)
            check_law(got, data, {"before", "first", "second", "later"})
            ids = [one.client_id for one in got if isinstance(one, RequestEvent)]
            # A half of a head alone may be text of the request in text before it, which then is rejected, too.
            least = ["before"] * (3 if b"Completed request:" not in half and build is not json_record else 4)
            assert ids[: len(least)] == least, half
            assert ids[len(least) :] in (
                ["before", "later"],
                ["second", "later"],
                ["later"],
                ["before", "second", "later"],
            ), half
            if build is json_record and half.endswith(b"\n"):
                assert "second" in ids, half


@pytest.mark.parametrize("build", [json_record, *TEXT_RECORDS.values()])
@pytest.mark.parametrize("pattern", ["kafka", "thread_last", "ecs"])
@pytest.mark.parametrize("wrapper", ["docker", "cri"])
@pytest.mark.parametrize("size", [300, 1 << 14], ids=["parts", "whole"])
def test_a_runtime_passes_on_the_half_as_a_part_of_a_line(build: Build, pattern: str, wrapper: str, size: int) -> None:
    """The part has no end, so the first line of the next process goes on with it."""
    before, whole, later = (
        wrap(build(client_id=name), pattern, wrapper, size) for name in ("before", "second", "later")
    )
    parts = wrap(build(client_id="first"), pattern, wrapper, 100).splitlines(True)
    for number in range(1, len(parts)):
        data = before * 4 + b"".join(parts[:number]) + whole + later
        got = events(data)
        check_law(got, data, {"before", "first", "second", "later"})
        assert [one.client_id for one in got if isinstance(one, RequestEvent)][-1:] == ["later"], number


@pytest.mark.parametrize("wrapper", ["docker", "cri", "journal"])
@pytest.mark.parametrize("build", [json_record, request_header_struct_record])
def test_the_rest_of_a_request_that_began_in_another_file_is_rejected(build: Build, wrapper: str) -> None:
    """A runtime rotates its log between any two lines."""
    data = wrap(build(client_id="." * 1500), "kafka", wrapper, 600).splitlines(True)
    for number in places(1, len(data)):
        got = events(b"".join(data[number:]) + wrap(build(client_id="before"), "kafka", wrapper) * 2)
        assert sum(isinstance(one, RejectedRecord) for one in got) == 1, number
        assert [one.client_id for one in got if isinstance(one, RequestEvent)] == ["before"] * 2


@pytest.mark.parametrize(("build", "wrapper"), list(product(TEXT_RECORDS.values(), ["docker", "cri", "journal"])))
def test_a_request_without_its_first_part_lends_its_end_to_no_other(build: Build, wrapper: str) -> None:
    whole = wrap(build(client_id="whole"), "kafka", wrapper)
    parts = wrap(
        build(client_id="torn", request="; Topics: " + "topic" * 9999, connection="h:1-9.9.9.9:1-1"), "kafka", wrapper
    )
    first, *rest = parts.splitlines(True)
    got = events(whole * 2 + b"".join(rest) + whole)
    assert [type(one) for one in got] == [RequestEvent, RejectedRecord, RequestEvent], first


@pytest.mark.parametrize(
    ("build", "pattern"), list(product(TEXT_RECORDS.values(), ["logger_first", "no_logger", "thread_last"]))
)
def test_no_request_is_read_that_is_cut_in_its_last_name_at_the_end_of_a_log(build: Build, pattern: str) -> None:
    log = wrap(build(), pattern, "none")
    for cut in range(24):
        data = log * 3 + log[: len(log) - cut]
        splitter = splitter_of(detect(data), 0, is_over=True)
        splitter.receive(data)
        splitter.end()
        got = [*map(Parser().parse, iter(splitter.next_record, None))]
        assert {comparable(one) for one in got if isinstance(one, RequestEvent)} == {comparable(alone(build()))}, cut
        assert len(got) == 4


@pytest.mark.parametrize(("pattern", "wrapper"), one_in(3, KINDS))
def test_no_client_writes_a_request_of_another_connection_in_any_layout(pattern: str, wrapper: str) -> None:
    for build, begin, forged in product(TEXT_RECORDS.values(), ("x", "x\n"), (FORGED_JSON, FORGED_TEXT)):
        genuine, usual = build(client_id=begin + forged + "\n"), build(connection="h:1-9.9.9.9:1-1")
        got = events(b"".join(wrap(one, pattern, wrapper) for one in (usual * 4, genuine, usual)))
        expected = {alone(genuine).connection_id, alone(usual).connection_id}
        assert {one.connection_id for one in got if isinstance(one, RequestEvent)} <= expected, (build, begin, forged)
    request = request_header_struct_record(connection="1.1.1.1:1-2.2.2.2:2-3")
    text = b"clientId=x\n" + wrap(request, pattern, "none").rstrip(b"\n") + b"\n"
    got = events(b"".join(wrap(one, pattern, wrapper) for one in (PROCESSOR.replace(b"clientId=r", text), usual)))
    assert {one.connection_id for one in got if isinstance(one, RequestEvent)} == {alone(usual).connection_id}


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
