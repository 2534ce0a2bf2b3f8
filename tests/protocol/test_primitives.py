"""The bytes of each primitive, table-driven, in both directions."""

import uuid
from typing import Any

import pytest

from kafka_clientinfo.errors import DecodeError, EncodeError
from kafka_clientinfo.protocol.codec import Codec
from kafka_clientinfo.protocol.primitives import FieldError, read_uvarint, write_uvarint

from . import instances

NULLABLE = {"nullableVersions": "0+"}


def codec_of(kind: str, *, flexible: bool = False, **more: Any) -> Codec:
    """A message with the one field `value`; its flexible form ends with a byte of tagged fields."""
    return instances.codec_of({"name": "Value", "type": kind, **more}, flexible="0+" if flexible else "none")


def assert_wrong(codec: Codec, raw: bytes, offset: int, expected: str) -> None:
    """Raise where reading, or the walk that large frames take first, does not say that this is wrong."""
    for read in (codec.decode_all, lambda raw: codec.walk(raw, 0)):
        with pytest.raises((DecodeError, FieldError)) as caught:
            read(raw)
        assert (caught.value.offset, caught.value.expected) == (offset, expected)


@pytest.mark.parametrize(("kind", "value", "plain"), [
    ("int8", -1, "ff"), ("int16", 258, "0102"), ("int32", -2, "fffffffe"), ("int64", 2**40, "0000010000000000"),
    ("uint16", 65535, "ffff"), ("uint32", 2**32 - 1, "ffffffff"), ("bool", True, "01"), ("bool", False, "00"),
    ("float64", 0.5, "3fe0000000000000"), ("uuid", "AAECAwQFBgcICQoLDA0ODw", "000102030405060708090a0b0c0d0e0f"),
    ("string", "", "0000"), ("string", "grün", "00056772c3bc6e"), ("bytes", b"", "00000000"),
    ("bytes", b"\x00\xff", "0000000200ff"), ("records", b"\x01", "0000000101"),
    ("[]int16", [1, -1], "00000002" + "0001" + "ffff"), ("[]bool", [True, False], "00000002" + "0100"),
    ("[]string", ["a", ""], "00000002" + "000161" + "0000"),
    ("[]uuid", ["AAAAAAAAAAAAAAAAAAAAAA"], "00000001" + "00" * 16), ("[]float64", [], "00000000"),
])  # fmt: skip
def it_has_kafkas_bytes(kind: str, value: Any, plain: str) -> None:
    codec = codec_of(kind)
    assert codec.encode({"value": value}).hex() == plain
    assert codec.decode_all(bytes.fromhex(plain)) == {"value": value}


@pytest.mark.parametrize(("kind", "value", "compact"), [
    ("string", "", "01"), ("string", "ab", "036162"), ("string", None, "00"),
    ("string", "x" * 200, "c901" + "78" * 200), ("bytes", b"ab", "036162"), ("bytes", None, "00"),
    ("records", None, "00"), ("[]int32", [7], "0200000007"), ("[]int32", None, "00"), ("[]string", ["a"], "020261"),
])  # fmt: skip
def it_has_kafkas_compact_bytes(kind: str, value: Any, compact: str) -> None:
    codec = codec_of(kind, flexible=True, **NULLABLE)
    assert codec.encode({"value": value}).hex() == compact + "00"
    assert codec.decode_all(bytes.fromhex(compact + "00")) == {"value": value}


@pytest.mark.parametrize(
    ("kind", "plain"),
    [("string", "ffff"), ("bytes", "ffffffff"), ("[]int8", "ffffffff"), ("[]string", "ffffffff")],
)
def it_writes_null_only_where_it_may(kind: str, plain: str) -> None:
    nullable = codec_of(kind, **NULLABLE)
    assert nullable.encode({"value": None}).hex() == plain
    assert nullable.decode_all(bytes.fromhex(plain)) == {"value": None}
    with pytest.raises(EncodeError, match=r"M v0\.value: None is no "):
        codec_of(kind).encode({"value": None})


@pytest.mark.parametrize(("kind", "value"), [
    ("int8", 128), ("int16", -40000), ("int32", 2**31), ("int64", 2**63), ("uint16", -1), ("uint32", 2**32),
    ("int32", "7"), ("int32", 1.5), ("bool", 1), ("float64", "x"), ("uuid", "short"), ("uuid", "!" * 22),
    ("uuid", b"15 bytes only.."), ("uuid", None), ("string", b"bytes"), ("string", "x" * 32768), ("string", "\ud800"),
    ("bytes", "text"), ("[]int16", 5), ("[]int16", [1, 70000]), ("[]string", "abc"),
])  # fmt: skip
def it_refuses_values_that_do_not_fit(kind: str, value: Any) -> None:
    for codec in (codec_of(kind), codec_of(kind, flexible=True)):
        with pytest.raises(EncodeError, match=r"^M v0\.value"):
            codec.encode({"value": value})


@pytest.mark.kip("KIP-1313", 26)
def it_takes_uuids_in_three_forms() -> None:
    raw = bytes(range(240, 256))
    for value in (uuid.UUID(bytes=raw), raw, "8PHy8_T19vf4-fr7_P3-_w"):
        assert codec_of("uuid").encode({"value": value}) == raw


@pytest.mark.parametrize(("kind", "data", "offset", "expected"), [
    ("int32", "0000", 0, "4 bytes of int32"),
    ("bool", "", 0, "1 byte of bool"),
    ("uuid", "00" * 15, 0, "16 bytes of uuid"),
    ("string", "00", 0, "2 bytes of length"),
    ("string", "0005616263", 0, "a length of string from 0 to 3, found 5"),
    ("string", "fffe", 0, "a length of string from 0 to 0, found -2"),
    ("string", "ffff61", 0, "a length of string from 0 to 1, found -1"),
    ("bytes", "7fffffff00", 0, "a length of bytes from 0 to 1, found 2147483647"),
    ("bytes", "000000", 0, "4 bytes of length"),
    ("[]int32", "7fffffff00000000", 0, "a length of array from 0 to 1, found 2147483647"),
    ("[]uuid", "00000002" + "00" * 31, 0, "a length of array from 0 to 1, found 2"),
    ("[]bool", "0000000201", 0, "a length of array from 0 to 1, found 2"),
    ("[]string", "80000000", 0, "a length of array from 0 to 0, found -2147483648"),
    ("[]string", "0000000200000005", 6, "a length of string from 0 to 0, found 5"),
])  # fmt: skip
def it_says_where_and_what_it_expected(kind: str, data: str, offset: int, expected: str) -> None:
    assert_wrong(codec_of(kind), bytes.fromhex(data), offset, expected)


def assert_read(codec: Codec, value: Any) -> bytes:
    raw = codec.encode({"value": value})
    assert codec.decode_all(raw) == {"value": value}
    assert codec.walk(raw, 0)[1] == len(raw)
    return raw


def it_keeps_bytes_that_are_no_utf8_and_reads_any_byte_but_zero_as_true() -> None:
    raw = bytes.fromhex("0003ff61c3")
    body = codec_of("string").decode_all(raw)
    assert body == {"value": "\udcffa\udcc3"}
    assert codec_of("string").encode(body) == raw
    assert codec_of("bool").decode_all(b"\x07") == {"value": True}
    assert codec_of("bytes").encode({"value": bytearray(b"ab")}) == b"\0\0\0\x02ab"


def it_refuses_compact_strings_that_kafka_refuses() -> None:
    codec = codec_of("string", flexible=True)
    with pytest.raises(DecodeError, match="from 0 to 32767, found 32768"):
        codec.decode_all(b"\x81\x80\x02" + b"x" * 32768 + b"\x00")


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 128, 129, 255, 256, 16_382, 16_383, 16_384, 32_766, 32_767])
def it_reads_what_it_writes_at_every_size_of_length(flexible: bool, nullable: bool, size: int) -> None:
    for kind, value in (("string", "x" * size), ("bytes", b"x" * size), ("[]int8", [1] * size),
                        ("string", "\udcff" * size), ("[]string", ["x" * size, "y"])):  # fmt: skip
        count = len(value)
        stated = _uvarint(count + 1) if flexible else count.to_bytes(2 if kind == "string" else 4, "big")
        codec = codec_of(kind, flexible=flexible, **(NULLABLE if nullable else {}))
        assert assert_read(codec, value).startswith(stated)


def _uvarint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes((value & 0x7F | 0x80,))
        value >>= 7
    return out + bytes((value,))


@pytest.mark.parametrize(("value", "raw"), [(0x7F, "7f"), (0x80, "8001"), (0x3FFF, "ff7f"), (0x4000, "808001"),
                                            (0x1FFFFF, "ffff7f"), (0x200000, "80808001"), (0xFFFFFFF, "ffffff7f"),
                                            (0x10000000, "8080808001"), (0xFFFFFFFF, "ffffffff0f")])  # fmt: skip
def it_writes_varints_in_as_few_bytes_as_they_take(value: int, raw: str) -> None:
    parts: list[bytes] = []
    write_uvarint(value, parts)
    assert b"".join(parts).hex() == raw
    assert read_uvarint(bytes.fromhex(raw), 0) == (value, len(raw) // 2)


@pytest.mark.parametrize(("raw", "offset", "expected"), [
    ("80", 1, "one more byte of a varint"),
    ("808080808000", 4, "the end of a varint of at most 32 bits"),
    ("ffffffff1f", 4, "the end of a varint of at most 32 bits"),
])  # fmt: skip
def it_refuses_varints_without_end(raw: str, offset: int, expected: str) -> None:
    with pytest.raises(FieldError) as caught:
        read_uvarint(bytes.fromhex(raw), 0)
    assert (caught.value.offset, caught.value.expected) == (offset, expected)


@pytest.mark.parametrize(
    ("kind", "default", "value"),
    [("int32", None, 0), ("int32", "0x10", 16), ("int64", "-1", -1), ("float64", None, 0.0), ("float64", "0.5", 0.5),
     ("bool", None, False), ("bool", "false", False), ("bool", "true", True), ("string", None, ""), ("string", "a", "a"),
     ("bytes", None, b""), ("records", None, b""), ("uuid", None, "AAAAAAAAAAAAAAAAAAAAAA"), ("[]int8", None, [])],
)  # fmt: skip
def it_has_kafkas_defaults(kind: str, default: str | None, value: Any) -> None:
    codec = codec_of(kind, **({} if default is None else {"default": default}))
    (field,) = codec.spec.fields
    assert field.default == value
    assert type(field.default) is type(value)
    assert codec.decode_all(codec.encode({})) == {"value": value}
