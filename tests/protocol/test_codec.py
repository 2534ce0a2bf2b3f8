"""Structs: nesting, tagged fields, nullable structs, defaults, fields of other versions, errors with their path."""

import json
from types import MappingProxyType
from typing import Any

import pytest

from kafka_clientinfo.errors import DecodeError, EncodeError
from kafka_clientinfo.protocol.codec import Codec, compile_codec
from kafka_clientinfo.protocol.field_specs import UNKNOWN_TAGS
from kafka_clientinfo.protocol.primitives import FieldError
from kafka_clientinfo.protocol.schema import parse_schema

from .instances import codec_of


def field(name: str, kind: str, versions: str = "0+", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "versions": versions, **more}


PAIR_STRUCT = {"name": "Pair", "versions": "0+", "fields": [field("Left", "int16"), field("Right", "string")]}
FIELDS = [
    field("Id", "int32", default="-1"), field("Flags", "int8"), field("Pairs", "[]Pair"),
    field("One", "Pair", nullableVersions="1+"), field("Lost", "string", "0", ignorable=True),
    field("Needed", "string", "2+", default="n"),
    field("Rows", "[]Row", "1+", fields=[field("A", "int16", "1+"), field("B", "uint32", "1+")]),
    field("Tagged", "int32", "1+", taggedVersions="1+", tag=1, default="7"),
    field("List", "[]string", "1+", taggedVersions="1+", tag=0),
    field("Deep", "Pair", "1+", taggedVersions="1+", tag=4, nullableVersions="1+", default="null"),
]  # fmt: skip
SCHEMA = {"type": "data", "name": "M", "validVersions": "0-2", "flexibleVersions": "1+", "fields": FIELDS}
SCHEMA |= {"commonStructs": [PAIR_STRUCT]}
PAIR = {"left": 1, "right": "r"}
PLAIN = {"id": 5, "flags": 1, "pairs": [PAIR], "one": PAIR, "lost": ""}
FLEXIBLE: dict[str, Any] = {
    "id": 5, "flags": 1, "pairs": [], "one": None, "rows": [{"a": 1, "b": 2}], "list": [], "tagged": 7, "deep": None,
}  # fmt: skip


def codec(version: int) -> Codec:
    return compile_codec(parse_schema(json.dumps(SCHEMA), "M.json"), version)


ROW = {"a": 1, "b": 2, UNKNOWN_TAGS: {9: b"r"}}
WRITTEN: dict[str, tuple[int, dict[str, Any], str]] = {
    "structs in order": (0, PLAIN, "000000050100000001000100017200010001720000"),
    "tagged fields at the end": (1, FLEXIBLE, "000000050101ff020001000000020000"),
    "only tagged fields that are not default": (1, {**FLEXIBLE, "list": ["x"], "tagged": 8, "deep": PAIR},
        "0300030202780104000000080406010001027200"),
    "unknown tagged fields in order": (1, {**FLEXIBLE, "rows": [ROW], "tagged": 8, UNKNOWN_TAGS: {0x80: b"", 2: b"ab"}},
        "000100000002010901720301040000000802026162800100"),
    "a tagged value below the default": (1, {**FLEXIBLE, "tagged": 6}, "01010400000006"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRITTEN)
def it_writes_and_reads(what: str) -> None:
    version, body, ends = WRITTEN[what]
    raw = codec(version).encode(body)
    assert raw.hex().endswith(ends)
    assert codec(version).decode_all(raw) == body
    assert codec(version).encode(MappingProxyType(body)) == raw
    assert codec(version).decode(b"ab" + raw + b"c", 2) == (body, 2 + len(raw))
    with pytest.raises(DecodeError, match=f"M: at byte {len(raw)} expected the end of the message, 1 bytes are left"):
        codec(version).decode_all(raw + b"\x00")


@pytest.mark.parametrize(("tags", "expected"), [
    ("0209000900", "a tag above 9, found 9"),
    ("010905", "a size of tagged field 9 from 0 to 0, found 5"),
    ("0101050000000800", "the tagged field to end at byte 23, it ends at 22"),
    ("010103000000080000", "the tagged field to end at byte 21, it ends at 22"),
    ("0101020000", "4 bytes of int32"),
    ("ffffffff0f", "one more byte of a varint"),
])  # fmt: skip
def it_refuses_tagged_fields_that_lie(tags: str, expected: str) -> None:
    raw = codec(1).encode(FLEXIBLE)[:-1] + bytes.fromhex(tags)
    with pytest.raises(DecodeError) as caught:
        codec(1).decode_all(raw)
    assert caught.value.expected == expected


@pytest.mark.parametrize("tags", [{-1: b""}, {"1": b""}, {9: "text"}, {2**32: b""}, {9: b"", 10: "text"}, 5, [1]])
def it_refuses_unknown_tagged_fields_it_cannot_write(tags: Any) -> None:
    with pytest.raises(EncodeError, match=UNKNOWN_TAGS):
        codec(1).encode({**FLEXIBLE, UNKNOWN_TAGS: tags})


def it_fills_in_defaults() -> None:
    body = codec(2).decode_all(codec(2).encode({}))
    default = {"id": -1, "flags": 0, "pairs": [], "one": {"left": 0, "right": ""}, "needed": "n", "rows": []}
    assert body == default | {"list": [], "tagged": 7, "deep": None}
    body["list"].append("mine")
    assert codec(2).decode_all(codec(2).encode({}))["list"] == []


def it_drops_only_what_may_be_dropped() -> None:
    body = {key: value for key, value in FLEXIBLE.items() if key != "tagged"}
    assert codec(1).encode({**body, "lost": "x", "needed": "n"}) == codec(1).encode(FLEXIBLE)
    for other in ("a", "x", 7):  # below and above the default
        with pytest.raises(EncodeError, match=rf"M v1\.needed: {other!r} cannot be sent in this version; leave it out"):
            codec(1).encode({**FLEXIBLE, "needed": other})
    for name in ("Ghost", "ghost", "zebra"):
        for wrong in ({**FLEXIBLE, name: 1}, {UNKNOWN_TAGS: {9: b""}, "id": 5, name: 1}):
            with pytest.raises(
                EncodeError, match=rf"M v1\.{name}: no version has this field; look at the schema's names"
            ):
                codec(1).encode(wrong)
    with pytest.raises(EncodeError, match=f"{UNKNOWN_TAGS}: no version has this field"):
        codec(0).encode({**PLAIN, UNKNOWN_TAGS: {1: b""}})


@pytest.mark.parametrize(("version", "change", "text"), [
    (0, {"flags": 200}, "M v0.flags: 200 is no int8"),
    (0, {"pairs": [PAIR, {"left": 1, "right": None}]}, "M v0.pairs[1].right: None is no string: must not be null"),
    (0, {"pairs": [PAIR, 7]}, "M v0.pairs[1]: 7 is no struct"),
    (0, {"pairs": {}}, "M v0.pairs: {} is no []Pair: must be a list"),
    (0, {"one": None}, "M v0.one: None is no struct; give a dict of its fields"),
    (0, {"lost": 5 * ["long text"]}, "M v0.lost: ['long text', "),
    (0, {"flags": "x" * 78}, f"M v0.flags: '{'x' * 78}' is no int8"),
    (0, {"flags": "x" * 79}, f"M v0.flags: '{'x' * 76}... is no int8"),
    (1, {"tagged": "x"}, "M v1.tagged: 'x' does not fit"),
    (1, {"list": [1]}, "M v1.list[0]: 1 is no string"),
    (1, {"list": ["a", None]}, "M v1.list[1]: None is no string: must not be null"),
    (1, {UNKNOWN_TAGS: [1]}, f"M v1.{UNKNOWN_TAGS}: must map tag numbers to bytes"),
    (1, {"rows": [{"a": 1, "b": -1}]}, "M v1.rows[0].b: -1 is no uint32"),
])  # fmt: skip
def it_names_the_field_it_cannot_write(version: int, change: dict[str, Any], text: str) -> None:
    with pytest.raises(EncodeError) as caught:
        codec(version).encode({**(FLEXIBLE if version else PLAIN), **change})
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(("version", "cut", "path", "offset"), [
    (0, 3, "id", 0), (0, 4, "flags", 4), (0, 8, "pairs", 5), (0, 13, "pairs[0].right", 11), (0, 18, "one.right", 16),
    (1, 6, "one", 6), (1, 9, "rows", 7), (1, 14, "rows", 7), (1, 15, "", 15),
])  # fmt: skip
def it_names_the_field_that_is_cut(version: int, cut: int, path: str, offset: int) -> None:
    assert_wrong(codec(version), codec(version).encode(PLAIN if version == 0 else FLEXIBLE)[:cut], path, offset)


def assert_wrong(codec: Codec, raw: bytes, path: str, offset: int) -> None:
    """Raise where reading, or the walk that large frames take first, does not say that bytes are wrong here."""
    with pytest.raises(DecodeError) as caught:
        codec.decode_all(raw)
    assert (caught.value.path, caught.value.offset) == (path, offset)
    with pytest.raises(FieldError) as walked:
        codec.walk(raw, 0)
    assert (walked.value.where(), walked.value.offset) == (path, offset)


@pytest.mark.parametrize("number", range(6))
def it_names_the_element_that_is_wrong(number: int) -> None:
    raw = codec(0).encode({**PLAIN, "pairs": [{"left": 1, "right": "r" * length} for length in range(6)]})
    at = raw.index(b"\x00\x01\x00" + bytes((number,)) + b"r" * number) + 2
    assert_wrong(codec(0), raw[:at] + b"\xff\xff" + raw[at + 2 :], f"pairs[{number}].right", at)


@pytest.mark.parametrize("count", [1, 2, 3])
def it_sees_unknown_tagged_fields_in_any_row(count: int) -> None:
    """Rows of numbers are read at once, unless the count of tags after one of them is above 0."""
    plain = {"a": 0, "b": 0}
    for place in range(count):
        rows = [plain] * count
        rows[place] = plain | {UNKNOWN_TAGS: {5: b"\0"}}
        body = {**FLEXIBLE, "id": 0, "flags": 0, "rows": rows}
        for before in range(14):
            raw = bytes(before) + codec(1).encode(body)
            assert codec(1).decode_all(raw, before) == body
            assert codec(1).walk(raw, before)[1] == len(raw)
    full = {**FLEXIBLE, "rows": [{"a": -1, "b": 0xFFFFFFFF}] * count}
    assert codec(1).decode_all(codec(1).encode(full)) == full


def it_believes_in_no_number_of_elements_that_take_no_bytes() -> None:
    codec = codec_of(field("Rows", "[]R", fields=[field("N", "int8", "1+")]), valid="0-1")
    assert codec.decode_all(bytes(4)) == {"rows": []}
    assert codec.walk(bytes(4), 0)[1] == 4
    for read in (codec.decode, codec.walk):
        with pytest.raises((DecodeError, FieldError), match="a length of array from 0 to 0, found 2"):
            read(b"\0\0\0\x02", 0)


@pytest.mark.parametrize("negative", [b"\x80", b"\xff"])
def it_reads_any_negative_number_as_a_struct_that_is_null(negative: bytes) -> None:
    raw = codec(1).encode(FLEXIBLE)
    assert raw[6:7] == b"\xff"
    assert codec(1).decode_all(raw[:6] + negative + raw[7:]) == FLEXIBLE


@pytest.mark.parametrize(("kind", "smallest"), [
    ("string", 1), ("bytes", 1), ("records", 1), ("[]int64", 1), ("uuid", 16), ("bool", 1), ("uint16", 2),
    ("float64", 8),
])  # fmt: skip
def it_bounds_a_flexible_array_by_the_fewest_bytes_of_its_elements(kind: str, smallest: int) -> None:
    """Give each element two such fields; the number of its tagged fields takes one more byte."""
    read = codec_of(field("Rows", "[]R", fields=[field("A", kind), field("B", kind)]), flexible="0+").decode
    with pytest.raises(DecodeError, match="a length of array from 0 to 2, found 3"):
        read(b"\x04" + bytes(3 * (2 * smallest + 1) - 1), 0)
