"""Frames made to cost: 1 MB of lengths that lie, in every message, costs less than 50 ms and 10 MB."""

import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo import protocol
from kafka_clientinfo.errors import DecodeError
from kafka_clientinfo.protocol import released
from kafka_clientinfo.protocol.codec import Codec
from kafka_clientinfo.protocol.primitives import FieldError
from tests.amounts import examples, one_in

from .instances import bodies, codecs

SIZE = 1 << 20
PATTERNS = {
    "2 GB": b"\x7f\xff\xff\xff", "negative": b"\x80\x00\x00\x00", "null": b"\xff", "zeros": b"\x00", "ones": b"\x01",
    "small, 4 bytes": b"\x00\x00\x00\x02", "small, 2 bytes": b"\x00\x01", "large, 4 bytes": b"\x00\x01\x00\x00",
    "2 GB as varint": b"\xff\xff\xff\xff\x07", "64 KB as varint": b"\x81\x80\x04", "varint without end": b"\x80",
}  # fmt: skip
# Here every length is true up to the last one, so that a machine slower than ours may need longer to find that one.
SMALL = [pattern for name, pattern in PATTERNS.items() if name.startswith("small")]


@cache
def every() -> list[Codec]:
    return [codec for _, _, codec in codecs(released())]


def fastest(call: Callable[[], object]) -> float:
    """Seconds of processor time that a call takes when nothing disturbs it."""
    times = []
    for _ in range(3):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def peak(call: Callable[[], object]) -> int:
    """Bytes that a call takes at most."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refused(call: Callable[[], object]) -> None:
    with pytest.raises(DecodeError):
        call()


@pytest.mark.parametrize("pattern", one_in(2, PATTERNS.values()), ids=PATTERNS)
def it_costs_little_to_refuse_lies(pattern: bytes) -> None:
    data = (pattern * (SIZE // len(pattern) + 1))[:SIZE]
    sample = data[: SIZE // 4] if pattern in SMALL else data  # tracing memory takes its time
    for codec in every():
        refuse = partial(refused, partial(codec.decode_all, data))
        assert peak(partial(refused, partial(codec.decode_all, sample))) < 10 * len(sample), codec.name
        if sys.gettrace() is None:  # measuring coverage makes everything slow
            assert fastest(refuse) < (0.15 if pattern in SMALL else 0.05), codec.name


EARLY: list[tuple[int, str, dict[str, Any]]] = [
    (18, "apiKeys", {"apiKey": 1, "minVersion": 2, "maxVersion": 3}),
    (16, "groups", {"groupId": "g" * 10, "protocolType": "consumer"}),
    (11, "protocols", {"name": "range", "metadata": b"x" * 20}),
]


@pytest.mark.parametrize(("api_key", "name", "element"), EARLY)
def it_builds_nothing_from_frames_that_end_too_early(api_key: int, name: str, element: dict[str, Any]) -> None:
    """Every element is there, and only the last byte shows that the frame is wrong."""
    schema = (released().requests if api_key == 11 else released().responses)[api_key]
    codec = released().codec(schema, 2 if api_key == 16 else 0)
    raw = codec.encode({name: [element] * 30_000})
    for wrong in (raw[:-1], raw + b"\x00"):
        assert peak(partial(refused, partial(codec.decode_all, wrong))) < 100_000


def it_reads_large_frames_like_small_ones() -> None:
    header = {"requestApiKey": 13, "requestApiVersion": 4, "correlationId": 1, "clientId": "c"}
    members = [{"memberId": f"m{number}", "groupInstanceId": None} for number in range(9_000)]
    request = protocol.Request(header, {"groupId": "g" * 200, "members": members}, 2)
    assert protocol.decode_request(protocol.encode_request(request)) == request


@given(st.deferred(lambda: st.sampled_from(every())), st.data())
@settings(max_examples=examples(600))
def it_walks_as_it_reads(codec: Codec, data: st.DataObject) -> None:
    """The walk that large frames take first tells the same as reading: the end, or what is wrong and where."""
    raw = bytearray(codec.encode(data.draw(bodies(codec.spec))))
    for _ in range(data.draw(st.integers(0, 2))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    frame = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    assert outcome(lambda: codec.walk(frame, 0)[1]) == outcome(lambda: codec.read(frame, 0)[1])


def outcome(call: Callable[[], int]) -> tuple[object, ...]:
    try:
        return (call(),)
    except FieldError as fault:
        return (fault.where(), fault.offset, fault.expected)
