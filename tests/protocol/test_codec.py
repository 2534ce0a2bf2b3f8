"""Structs: nesting, tagged fields, nullable structs, defaults, fields of other versions, errors with their path."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kafka_clientinfo.errors import DecodeError, EncodeError
from kafka_clientinfo.protocol.codec import Codec, compile_codec
from kafka_clientinfo.protocol.field_specs import UNKNOWN_TAGS
from kafka_clientinfo.protocol.primitives import FieldError
from kafka_clientinfo.protocol.schema import parse_schema

SCHEMA = parse_schema(
    json.dumps(
        {
            "type": "data",
            "name": "M",
            "validVersions": "0-2",
            "flexibleVersions": "1+",
            "commonStructs": [
                {
                    "name": "Pair",
                    "versions": "0+",
                    "fields": [
                        {"name": "Left", "type": "int16", "versions": "0+"},
                        {"name": "Right", "type": "string", "versions": "0+"},
                    ],
                }
            ],
            "fields": [
                {"name": "Id", "type": "int32", "versions": "0+", "default": "-1"},
                {"name": "Flags", "type": "int8", "versions": "0+"},
                {"name": "Pairs", "type": "[]Pair", "versions": "0+"},
                {"name": "One", "type": "Pair", "versions": "0+", "nullableVersions": "1+"},
                {"name": "Lost", "type": "string", "versions": "0", "ignorable": True},
                {"name": "Needed", "type": "string", "versions": "2+", "default": "n"},
                {"name": "Rows", "type": "[]Row", "versions": "1+", "fields": [
                    {"name": "A", "type": "int16", "versions": "1+"},
                    {"name": "B", "type": "uint32", "versions": "1+"},
                ]},
                {"name": "Tagged", "type": "int32", "versions": "1+", "taggedVersions": "1+", "tag": 1, "default": "7"},
                {"name": "List", "type": "[]string", "versions": "1+", "taggedVersions": "1+", "tag": 0},
                {"name": "Deep", "type": "Pair", "versions": "1+", "taggedVersions": "1+", "tag": 4,
                 "nullableVersions": "1+", "default": "null"},
            ],
        }
    ),
    "M.json",
)  # fmt: skip
PAIR = {"left": 1, "right": "r"}
PLAIN = {"id": 5, "flags": 1, "pairs": [PAIR], "one": PAIR, "lost": ""}
FLEXIBLE: dict[str, Any] = {
    "id": 5, "flags": 1, "pairs": [], "one": None, "rows": [{"a": 1, "b": 2}], "list": [], "tagged": 7, "deep": None,
}  # fmt: skip


def codec(version: int) -> Codec:
    return compile_codec(SCHEMA, version)


def it_writes_structs_in_order() -> None:
    assert codec(0).encode(PLAIN).hex() == "000000050100000001000100017200010001720000"
    assert codec(0).decode_all(codec(0).encode(PLAIN)) == PLAIN


def it_ends_flexible_structs_with_tagged_fields() -> None:
    raw = codec(1).encode(FLEXIBLE)
    assert raw.hex() == "000000050101ff020001000000020000"
    assert codec(1).decode_all(raw) == FLEXIBLE


def it_writes_only_tagged_fields_that_are_not_default() -> None:
    body = {**FLEXIBLE, "list": ["x"], "tagged": 8, "deep": PAIR}
    raw = codec(1).encode(body)
    assert raw.hex().endswith("0300030202780104000000080406010001027200")
    assert codec(1).decode_all(raw) == body


def it_keeps_unknown_tagged_fields_and_writes_them_in_order() -> None:
    row = {"a": 1, "b": 2, UNKNOWN_TAGS: {9: b"r"}}
    body = {**FLEXIBLE, "rows": [row], "tagged": 8, UNKNOWN_TAGS: {0x80: b"", 2: b"ab"}}
    raw = codec(1).encode(body)
    assert raw.hex().endswith("000100000002010901720301040000000802026162800100")
    assert codec(1).decode_all(raw) == body


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("0209000900", "a tag above 9, found 9"),
        ("010905", "a size of tagged field 9 from 0 to 0, found 5"),
        ("0101050000000800", "the tagged field to end at byte 23, it ends at 22"),
        ("010103000000080000", "the tagged field to end at byte 21, it ends at 22"),
        ("0101020000", "4 bytes of int32"),
        ("ffffffff0f", "one more byte of a varint"),
    ],
)
def it_refuses_tagged_fields_that_lie(tags: str, expected: str) -> None:
    raw = codec(1).encode(FLEXIBLE)[:-1] + bytes.fromhex(tags)
    with pytest.raises(DecodeError) as caught:
        codec(1).decode_all(raw)
    assert caught.value.expected == expected


@pytest.mark.parametrize("tagged", [6, 7, 8])
def it_leaves_out_the_default_alone(tagged: int) -> None:
    raw = codec(1).encode({**FLEXIBLE, "tagged": tagged})
    assert raw.hex().endswith("00" if tagged == 7 else f"010104{tagged:08x}")
    assert codec(1).decode_all(raw)["tagged"] == tagged


@pytest.mark.parametrize("tag", [0, 1, 0x7F, 0x80, 0xFFFFFFFF])
def it_takes_every_uint32_for_a_tag(tag: int) -> None:
    body = {**FLEXIBLE, "pairs": [{**PAIR, UNKNOWN_TAGS: {tag: b"x"}}]}
    assert codec(1).decode_all(codec(1).encode(body)) == body


@pytest.mark.parametrize("tags", [{-1: b""}, {"1": b""}, {9: "text"}, {2**32: b""}, {9: b"", 10: "text"}, 5, [1]])
def it_refuses_unknown_tagged_fields_it_cannot_write(tags: Any) -> None:
    with pytest.raises(EncodeError, match=UNKNOWN_TAGS):
        codec(1).encode({**FLEXIBLE, UNKNOWN_TAGS: tags})


def it_has_no_tagged_fields_in_old_versions() -> None:
    with pytest.raises(EncodeError, match=f"{UNKNOWN_TAGS}: no version has this field"):
        codec(0).encode({**PLAIN, UNKNOWN_TAGS: {1: b""}})


def it_fills_in_defaults() -> None:
    body = codec(2).decode_all(codec(2).encode({}))
    assert body == {
        "id": -1, "flags": 0, "pairs": [], "one": {"left": 0, "right": ""}, "needed": "n", "rows": [],
        "list": [], "tagged": 7, "deep": None,
    }  # fmt: skip
    body["list"].append("mine")
    assert codec(2).decode_all(codec(2).encode({}))["list"] == []


def it_drops_only_what_may_be_dropped() -> None:
    body = {key: value for key, value in FLEXIBLE.items() if key != "tagged"}
    assert codec(1).encode({**body, "lost": "x"}) == codec(1).encode(FLEXIBLE)
    assert codec(1).encode({**body, "needed": "n"}) == codec(1).encode(FLEXIBLE)
    for other in ("a", "x", 7):  # below and above the default
        with pytest.raises(EncodeError, match=rf"M v1\.needed: {other!r} cannot be sent in this version; leave it out"):
            codec(1).encode({**FLEXIBLE, "needed": other})
    for name in ("Ghost", "ghost", "zebra"):
        with pytest.raises(EncodeError, match=rf"M v1\.{name}: no version has this field; look at the schema's names"):
            codec(1).encode({**FLEXIBLE, name: 1})
        with pytest.raises(EncodeError, match=rf"M v1\.{name}: no version has this field"):
            codec(1).encode({UNKNOWN_TAGS: {9: b""}, "id": 5, name: 1})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"flags": 200}, "M v0.flags: 200 is no int8"),
        (
            {"pairs": [PAIR, {"left": 1, "right": None}]},
            "M v0.pairs[1].right: None is no string: must not be null",
        ),
        ({"pairs": [PAIR, 7]}, "M v0.pairs[1]: 7 is no struct"),
        ({"pairs": {}}, "M v0.pairs: {} is no []Pair: must be a list"),
        ({"one": None}, "M v0.one: None is no struct; give a dict of its fields"),
        ({"lost": 5 * ["long text"]}, "M v0.lost: ['long text', "),
        ({"flags": "x" * 78}, f"M v0.flags: '{'x' * 78}' is no int8"),
        ({"flags": "x" * 79}, f"M v0.flags: '{'x' * 76}... is no int8"),
    ],
)
def it_names_the_field_it_cannot_write(change: dict[str, Any], text: str) -> None:
    with pytest.raises(EncodeError) as caught:
        codec(0).encode({**PLAIN, **change})
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"tagged": "x"}, "M v1.tagged: 'x' does not fit"),
        ({"list": [1]}, "M v1.list[0]: 1 is no string"),
        ({"list": ["a", None]}, "M v1.list[1]: None is no string: must not be null"),
        ({UNKNOWN_TAGS: [1]}, f"M v1.{UNKNOWN_TAGS}: must map tag numbers to bytes"),
        ({"rows": [{"a": 1, "b": -1}]}, "M v1.rows[0].b: -1 is no uint32"),
    ],
)
def it_names_the_flexible_field_it_cannot_write(change: dict[str, Any], text: str) -> None:
    with pytest.raises(EncodeError) as caught:
        codec(1).encode({**FLEXIBLE, **change})
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("version", "cut", "path", "offset"),
    [
        (0, 3, "id", 0),
        (0, 4, "flags", 4),
        (0, 8, "pairs", 5),
        (0, 13, "pairs[0].right", 11),
        (0, 18, "one.right", 16),
        (1, 6, "one", 6),
        (1, 9, "rows", 7),
        (1, 14, "rows", 7),
        (1, 15, "", 15),
    ],
)
def it_names_the_field_that_is_cut(version: int, cut: int, path: str, offset: int) -> None:
    raw = codec(version).encode(PLAIN if version == 0 else FLEXIBLE)[:cut]
    with pytest.raises(DecodeError) as caught:
        codec(version).decode_all(raw)
    assert (caught.value.path, caught.value.offset) == (path, offset)
    with pytest.raises(FieldError) as walked:
        codec(version).walk(raw, 0)
    assert (walked.value.where(), walked.value.offset) == (path, offset)


@pytest.mark.parametrize(
    ("version", "body"), [(0, PLAIN), (1, {**FLEXIBLE, "pairs": [PAIR], "one": PAIR, "deep": PAIR})]
)
def it_tells_the_same_of_a_cut_message_whether_it_walks_or_reads(version: int, body: dict[str, Any]) -> None:
    raw = codec(version).encode(body)
    for cut in range(len(raw)):
        with pytest.raises(DecodeError) as read:
            codec(version).decode_all(raw[:cut])
        with pytest.raises(FieldError) as walked:
            codec(version).walk(raw[:cut], 0)
        assert (walked.value.where(), walked.value.offset) == (read.value.path, read.value.offset), cut


@pytest.mark.parametrize("number", range(6))
def it_names_the_element_that_is_wrong(number: int) -> None:
    pairs = [{"left": 1, "right": "r" * length} for length in range(6)]
    raw = codec(0).encode({**PLAIN, "pairs": pairs})
    at = raw.index(b"\x00\x01\x00" + bytes((number,)) + b"r" * number) + 2
    wrong = raw[:at] + b"\xff\xff" + raw[at + 2 :]
    with pytest.raises(DecodeError) as caught:
        codec(0).decode_all(wrong)
    assert (caught.value.path, caught.value.offset) == (f"pairs[{number}].right", at)
    with pytest.raises(FieldError) as walked:
        codec(0).walk(wrong, 0)
    assert (walked.value.where(), walked.value.offset) == (f"pairs[{number}].right", at)


def it_refuses_bytes_after_the_message() -> None:
    with pytest.raises(DecodeError, match="M: at byte 21 expected the end of the message, 1 bytes are left"):
        codec(0).decode_all(codec(0).encode(PLAIN) + b"\x00")


def it_reads_in_the_middle_of_a_frame() -> None:
    raw = codec(0).encode(PLAIN)
    assert codec(0).decode(b"ab" + raw + b"c", 2) == (PLAIN, 2 + len(raw))


@pytest.mark.parametrize("at", [0, 1, 5])
@pytest.mark.parametrize(("more", "walks"), [(-1, 0), (0, 0), (1, 1)])
def it_walks_only_frames_above_the_limit(monkeypatch: pytest.MonkeyPatch, at: int, more: int, walks: int) -> None:
    walked: list[int] = []

    def walk(data: bytes, at: int) -> tuple[None, int]:
        walked.append(at)
        return None, len(data)

    body = {**PLAIN, "lost": "x" * 300}
    raw = codec(0).encode(body)
    monkeypatch.setattr("kafka_clientinfo.protocol.codec.WALK_ABOVE", len(raw) - more)
    watched = replace(codec(0), walk=walk)
    assert watched.decode(bytes(at) + raw, at) == (body, at + len(raw))
    assert watched.decode_all(bytes(at) + raw, at) == body
    assert walked == [at] * 2 * walks


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


def it_takes_any_mapping() -> None:
    from types import MappingProxyType

    assert codec(0).encode(MappingProxyType(PLAIN)) == codec(0).encode(PLAIN)


PART = {"name": "N", "type": "int64", "versions": "0+"}
NULLABLE = {"name": "P", "versions": "0+", "nullableVersions": "0+", "fields": [PART]}


@pytest.mark.parametrize(
    ("field", "row"),
    [(PART, {"n": 1}), ({**NULLABLE, "type": "S"}, {"p": None}), ({**NULLABLE, "type": "[]S"}, {"p": None})],
)
def it_bounds_a_nullable_array_by_the_fewest_bytes_of_its_elements(field: Any, row: Any) -> None:
    rows = {"name": "Rows", "type": "[]R", "versions": "0+", "nullableVersions": "0+", "fields": [field]}
    document = {"type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "none", "fields": [rows]}
    codec = compile_codec(parse_schema(json.dumps(document), "M.json"), 0)
    raw = codec.encode({"rows": [row] * 3})
    assert codec.decode_all(raw) == {"rows": [row] * 3}
    with pytest.raises(DecodeError, match="a length of array from -1 to 2, found 3"):
        codec.decode_all(raw[:-1])


def it_believes_in_no_number_of_elements_that_take_no_bytes() -> None:
    later = {"name": "N", "type": "int8", "versions": "1+"}
    rows = {"name": "Rows", "type": "[]R", "versions": "0+", "fields": [later]}
    document = {"type": "data", "name": "M", "validVersions": "0-1", "flexibleVersions": "none", "fields": [rows]}
    codec = compile_codec(parse_schema(json.dumps(document), "M.json"), 0)
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


@pytest.mark.parametrize(
    ("cut", "expected"), [(5, "one more byte of a varint"), (6, "1 byte that says whether a struct follows")]
)
def it_says_what_is_missing_where_a_message_is_cut(cut: int, expected: str) -> None:
    for read in (codec(1).decode, codec(1).walk):
        with pytest.raises((DecodeError, FieldError)) as caught:
            read(codec(1).encode(FLEXIBLE)[:cut], 0)
        assert (caught.value.expected, caught.value.offset) == (expected, cut)


@pytest.mark.parametrize(
    ("kind", "smallest"),
    [
        ("string", 1),
        ("bytes", 1),
        ("records", 1),
        ("[]int64", 1),
        ("uuid", 16),
        ("bool", 1),
        ("uint16", 2),
        ("float64", 8),
    ],
)
def it_bounds_a_flexible_array_by_the_fewest_bytes_of_its_elements(kind: str, smallest: int) -> None:
    """Give each element two such fields; the number of its tagged fields takes one more byte."""
    pair = [{"name": name, "type": kind, "versions": "0+"} for name in ("A", "B")]
    rows = {"name": "Rows", "type": "[]R", "versions": "0+", "fields": pair}
    document = {"type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "0+", "fields": [rows]}
    read = compile_codec(parse_schema(json.dumps(document), "M.json"), 0).decode
    size = 2 * smallest + 1
    with pytest.raises(DecodeError, match="a length of array from 0 to 2, found 3"):
        read(b"\x04" + bytes(3 * size - 1), 0)


@pytest.mark.parametrize(("version", "raw"), [(0, "000161"), (1, "0261")])
def it_writes_compact_what_a_field_of_its_own_versions_says(version: int, raw: str) -> None:
    """Follow the field where message and field differ, as in a request's header: its client id is never compact."""
    field = {"name": "Text", "type": "string", "versions": "0+", "flexibleVersions": "1+"}
    document = {"type": "data", "name": "M", "validVersions": "0-1", "flexibleVersions": "none", "fields": [field]}
    codec = compile_codec(parse_schema(json.dumps(document), "M.json"), version)
    assert codec.encode({"text": "a"}).hex() == raw
    assert codec.decode_all(bytes.fromhex(raw)) == {"text": "a"}
