"""A torn line of a runtime that cuts lines into parts: nothing goes on with it, and the whole request after it is read."""

import random
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from kafka_clientinfo.logs import RejectedRecord, RequestEvent
from tests.amounts import one_in, places
from tests.builders import TEXT_RECORDS, json_record
from tests.logs.laid_out import events
from tests.wrapping import EVENTS, KINDS, wrap

Build = Callable[..., bytes]
IN_JSON = (json_record,)
IN_TEXT = tuple(TEXT_RECORDS.values())
PART = 600
"""Bytes of a part, which holds more than a line's head."""
LONG = "." * 1500
PATTERNS = ("kafka", "thread_last", "thread_first", "no_logger", *EVENTS)
BEFORE = {"client_id": "before"}
SECOND = {"client_id": f"second{LONG}", "connection": "h:1-10.0.0.3:5-7", "correlation_id": 2}
BOTH = [f"second{LONG}", "before"]


def torn(
    build: Build, pattern: str, wrapper: str, size: int
) -> Iterator[tuple[bytes, list[RequestEvent], list[RejectedRecord]]]:
    """Yield halves of a line of several parts, and what is read of a log in which a whole record follows each.

    The whole one has parts of `size` bytes. The half ends in its second part or later, or exactly with a part.
    """
    before = wrap(build(**BEFORE), pattern, wrapper)
    whole = wrap(build(**SECOND), pattern, wrapper, size)
    first = wrap(build(client_id=f"first{LONG}"), pattern, wrapper, PART)
    begin = first.index(b"\n") + 1
    last = first.rindex(b"\n", 0, -1)
    dice = random.Random(f"{pattern} {wrapper}")
    for at in [begin, *(dice.randrange(begin, last) for _ in range(6))]:
        for half in (first[:at], first[:at] + b"\n"):
            got = events(before * 4 + half + whole + before)
            requests = [one for one in got if isinstance(one, RequestEvent)]
            yield half, requests, [one for one in got if isinstance(one, RejectedRecord)]


@pytest.mark.parametrize("size", [PART, 1 << 14], ids=["parts", "whole"])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("wrapper", "builds"), [("docker", IN_JSON + IN_TEXT), ("cri", IN_JSON)])
def test_a_torn_line_of_parts_and_the_next_request(
    wrapper: str, builds: tuple[Build, ...], pattern: str, size: int
) -> None:
    for build in builds:
        for half, requests, rejected in torn(build, pattern, wrapper, size):
            assert [one.client_id for one in requests] == ["before"] * 4 + BOTH, half
            assert requests[4].connection_id == SECOND["connection"], half
            assert 1 <= len(rejected) <= 2, half


@pytest.mark.parametrize("size", [PART, 1 << 14], ids=["parts", "whole"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_in_text_the_next_request_is_read_or_rejected_with_the_torn_one(pattern: str, size: int) -> None:
    """In CRI a client could have written the next line's head before 2.8."""
    for build in IN_TEXT:
        for half, requests, rejected in torn(build, pattern, "cri", size):
            ids = [one.client_id for one in requests]
            assert ids in (["before"] * 4 + BOTH, ["before"] * 5), half
            assert len(ids) == 6 or b"second" in b"".join(one.raw for one in rejected), half


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("wrapper", ["docker", "cri"])
def test_a_torn_line_of_one_part_hides_no_request_of_several(wrapper: str, pattern: str) -> None:
    before = wrap(json_record(**BEFORE), pattern, wrapper)
    first = wrap(json_record(client_id="first"), pattern, wrapper)
    for half in (first[:at] for at in (2, len(first) // 2, len(first) - 60)):
        got = events(before * 2 + half + wrap(json_record(**SECOND), pattern, wrapper, PART) + before)
        assert [one.client_id for one in got if isinstance(one, RequestEvent)] == ["before", "before", *BOTH], half
        assert [type(one) for one in got if not isinstance(one, RequestEvent)] == [RejectedRecord], half


@pytest.mark.parametrize(("build", "kind"), one_in(4, product(IN_TEXT, KINDS)))
def test_a_whole_request_between_two_halves(build: Build, kind: tuple[str, str]) -> None:
    pattern, wrapper = kind
    before, whole = (wrap(build(**given), pattern, wrapper) for given in (BEFORE, SECOND))
    first = wrap(build(client_id="first"), pattern, wrapper)
    dice = random.Random(f"{pattern} {wrapper}")
    for _ in range(15):
        one, other = (first[: dice.randrange(1, first.find(b"totalTime"))] for _ in range(2))
        got = events(before * 2 + one + whole + other + before)
        found = [(event.client_id, event.connection_id) for event in got if isinstance(event, RequestEvent)]
        genuine = {(name, build_id) for name, build_id in found if name != "first"}
        assert [name for name, _ in found] == ["before", "before", *BOTH], (one, other)
        assert len(genuine) == 2


@pytest.mark.parametrize("wrapper", ["docker", "cri", "journal"])
@pytest.mark.parametrize("build", [json_record, *IN_TEXT[-1:]])
def test_the_rest_of_a_request_that_began_in_another_file_is_rejected(build: Build, wrapper: str) -> None:
    """A runtime rotates its log between any two lines."""
    data = wrap(build(client_id=LONG), "kafka", wrapper, PART).splitlines(True)
    for number in places(1, len(data)):
        got = events(b"".join(data[number:]) + wrap(build(**BEFORE), "kafka", wrapper) * 2)
        assert sum(isinstance(one, RejectedRecord) for one in got) == 1, number
        assert [one.client_id for one in got if isinstance(one, RequestEvent)] == ["before"] * 2


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\n\n"])
@pytest.mark.parametrize("build", [json_record, *IN_TEXT])
def test_a_record_that_is_torn_after_its_prefix_hides_no_request(build: Build, line_end: bytes) -> None:
    half = build()[: build().index(b"Completed")]
    got = events(build(**BEFORE) + half + line_end + build(**SECOND))
    assert [one.client_id for one in got if isinstance(one, RequestEvent)] == ["before", SECOND["client_id"]]
    assert [one.raw for one in got if isinstance(one, RejectedRecord)] == [half + line_end]
