"""Laws of the codec, for every message and version: round trips, clean failure, nothing but DecodeError."""

import random
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo import protocol
from kafka_clientinfo.protocol import draft_names, drafts, released
from kafka_clientinfo.protocol.codec import Codec
from kafka_clientinfo.protocol.field_specs import UNKNOWN_TAGS
from tests.amounts import examples
from tests.protocol.json_form import struct_from_json, struct_to_json

from .instances import bodies, codecs, random_body


@cache
def every() -> list[Codec]:
    """The codecs of all released messages, and of those that a draft changes."""
    known = {(schema.name, version): codec for schema, version, codec in codecs(released())}
    drafted = [
        ((schema.name, version), codec) for name in draft_names() for schema, version, codec in codecs(drafts(name))
    ]
    changed = [codec for key, codec in drafted if key not in known or known[key].spec != codec.spec]
    return [*known.values(), *changed]


CODECS = st.deferred(lambda: st.sampled_from(every()))


@st.composite
def codecs_with_bodies(draw: st.DrawFn) -> tuple[Codec, dict[str, Any]]:
    codec = draw(CODECS)
    body = draw(bodies(codec.spec))
    if codec.spec.flexible and draw(st.booleans()):
        tags = st.dictionaries(st.integers(100, 2**32 - 1), st.binary(max_size=9), min_size=1, max_size=3)
        body[UNKNOWN_TAGS] = draw(tags)
    return codec, body


def it_reads_what_it_writes_in_every_version() -> None:
    """Also tagged fields that nobody knows; what the log has of a body is enough to write it, but for those."""
    for codec in every():
        rng = random.Random(f"{codec.name}{codec.version}")
        for number in range(10):
            body = random_body(codec.spec, rng)
            again = struct_from_json(codec.spec, struct_to_json(codec.spec, body))
            assert codec.encode(again) == codec.encode(body), (codec.name, codec.version)
            if codec.spec.flexible and number % 3 == 0:
                body[UNKNOWN_TAGS] = {101: b"", 70000 + number: rng.randbytes(9), 2**32 - 1: b"x"}
            assert codec.decode_all(codec.encode(body)) == body, (codec.name, codec.version)


@given(codecs_with_bodies())
@settings(max_examples=examples(100))
def it_refuses_every_prefix(case: tuple[Codec, dict[str, Any]]) -> None:
    codec, body = case
    raw = codec.encode(body)
    for end in range(len(raw)):
        with pytest.raises(protocol.DecodeError) as caught:
            codec.decode_all(raw[:end])
        assert 0 <= caught.value.offset <= end


@given(codecs_with_bodies(), st.binary(max_size=300), st.data())
@settings(max_examples=examples(800))
def it_raises_nothing_but_decode_error(case: tuple[Codec, dict[str, Any]], junk: bytes, data: st.DataObject) -> None:
    """Of any bytes, and of a message in which some are changed."""
    codec, body = case
    changed = bytearray(codec.encode(body))
    for _ in range(data.draw(st.integers(1, 3)) if changed else 0):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.sampled_from((0, 1, 2, 0x7F, 0x80, 0xFF)))
    with suppress(protocol.DecodeError):
        codec.decode_all(bytes(changed))
    with suppress(protocol.DecodeError):
        read = codec.decode_all(junk)
        assert codec.decode_all(codec.encode(read)) == read


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=2),
    max_leaves=4,
)


@given(codecs_with_bodies(), st.data(), JUNK)
@settings(max_examples=examples(500))
def it_raises_nothing_but_encode_error(case: tuple[Codec, dict[str, Any]], data: st.DataObject, junk: Any) -> None:
    codec, body = case
    place = body
    while place:
        name = data.draw(st.sampled_from(sorted(place, key=str)))
        inner = place[name][0] if isinstance(place[name], list) and place[name] else place[name]
        if not isinstance(inner, dict) or data.draw(st.booleans()):
            break
        place = inner
    place[name if place else "ghost"] = junk
    with suppress(protocol.EncodeError):
        codec.encode(body)


@given(st.binary(max_size=200), st.integers(-1, 100), st.integers(-2, 20))
@settings(max_examples=examples(500))
def it_survives_any_frame(data: bytes, api_key: int, api_version: int) -> None:
    header = (api_key & 0xFFFF).to_bytes(2, "big") + (api_version & 0xFFFF).to_bytes(2, "big")
    for frame in (data, header + data):
        with suppress(protocol.DecodeError):
            protocol.decode_request(frame)
        with suppress(protocol.DecodeError):
            protocol.decode_response(frame, api_key, api_version)
