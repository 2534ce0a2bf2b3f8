"""Readers and writers of numbers, bools, uuids and lengths, and the error they have in common.

A reader takes the frame and an offset and gives the value and the next offset; a writer appends bytes to a
list. Readers look at every length before they use it: the bytes belong to strangers.
"""

import base64
import struct
import uuid
from collections.abc import Callable
from struct import Struct
from typing import Any, Self, TypeAlias

Reader: TypeAlias = Callable[[bytes, int], tuple[Any, int]]
Writer: TypeAlias = Callable[[Any, list[bytes]], None]

# struct's codes of the types with a fixed size; bool and uuid need more than a number and are not among them
FIXED = {
    "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H", "uint32": "I", "float64": "d",
}  # fmt: skip
WRITE_ERRORS = (struct.error, TypeError, ValueError, AttributeError, OverflowError)
# Kafka's Uuid.ZERO_UUID, its word for "none", as the broker writes it in JSON
ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"

# Ready-made bytes of small numbers: nearly all lengths are small.
ONE_BYTE = tuple(bytes((value,)) for value in range(128))
TWO_BYTES = tuple(bytes((0, value)) for value in range(128))
_HIGH_BIT = 0x80


class FieldError(Exception):
    """An error in a field; every enclosing reader or writer adds its name to the path, and the last makes a DecodeError or EncodeError of it."""

    def __init__(self, problem: str, offset: int = 0) -> None:
        """Start with an empty path."""
        super().__init__(problem)
        self.problem = problem
        self.offset = offset
        self.path: list[str] = []

    def inside(self, name: str) -> Self:
        """The same error one level further out."""
        self.path.append(name)
        return self

    def where(self) -> str:
        """Path such as `apiKeys[3].minVersion`."""
        return ".".join(reversed(self.path)).replace(".[", "[")


def read_uvarint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned 32-bit number, seven bits a byte, low bits first."""
    try:
        value = data[at]
        if value < _HIGH_BIT:
            return value, at + 1
        value &= 0x7F
        for shift in (7, 14, 21, 28):
            at += 1
            byte = data[at]
            value |= (byte & 0x7F) << shift
            if byte < _HIGH_BIT and value <= 0xFFFFFFFF:
                return value, at + 1
    except IndexError:
        raise FieldError("one more byte of a varint", at) from None
    raise FieldError("the end of a varint of at most 32 bits", at)


def write_uvarint(value: int, parts: list[bytes]) -> None:
    """See `read_uvarint`."""
    if 0 <= value < _HIGH_BIT:
        parts.append(ONE_BYTE[value])
        return
    if not 0 <= value <= 0xFFFFFFFF:
        raise ValueError("must be from 0 to 4294967295")
    out = bytearray()
    while value >= _HIGH_BIT:
        out.append(value & 0x7F | _HIGH_BIT)
        value >>= 7
    out.append(value)
    parts.append(bytes(out))


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A signed 32-bit number in zigzag order: 0, -1, 1, -2 and so on."""
    value, at = read_uvarint(data, at)
    return (value >> 1) ^ -(value & 1), at


def write_varint(value: int, parts: list[bytes]) -> None:
    """See `read_varint`."""
    if not -0x80000000 <= value <= 0x7FFFFFFF:
        raise ValueError("must be from -2147483648 to 2147483647")
    write_uvarint(value << 1 if value >= 0 else ~(value << 1), parts)


def read_bool(data: bytes, at: int) -> tuple[bool, int]:
    """One byte; like Kafka, anything but 0 is true."""
    try:
        return data[at] != 0, at + 1
    except IndexError:
        raise FieldError("1 byte of bool", at) from None


def write_bool(value: bool, parts: list[bytes]) -> None:
    """See `read_bool`."""
    if type(value) is not bool:
        raise TypeError("must be true or false")
    parts.append(ONE_BYTE[value])


def read_uuid(data: bytes, at: int) -> tuple[str, int]:
    """Sixteen bytes as Kafka's Uuid prints them: base64url without padding."""
    end = at + 16
    if end > len(data):
        raise FieldError("16 bytes of uuid", at)
    return base64.urlsafe_b64encode(data[at:end])[:22].decode("ascii"), end


def write_uuid(value: object, parts: list[bytes]) -> None:
    """Takes Kafka's text, `uuid.UUID` or sixteen bytes."""
    if isinstance(value, uuid.UUID):
        raw = value.bytes
    elif isinstance(value, str) and len(value) == 22:
        raw = base64.b64decode(value + "==", altchars=b"-_", validate=True)
    else:
        raw = value if isinstance(value, bytes) else b""
    if len(raw) != 16:
        raise ValueError("must be 22 characters of base64url, a uuid.UUID or 16 bytes")
    parts.append(raw)


def fixed_reader(code: str, kind: str) -> Reader:
    """Makes the reader of a number from its code in `struct`; errors name the number by its kind."""
    form = Struct(">" + code)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        try:
            return form.unpack_from(data, at)[0], at + form.size
        except struct.error:
            raise FieldError(f"{form.size} bytes of {kind}", at) from None

    return read


def fixed_writer(code: str) -> Writer:
    """Makes the writer of a number from its code in `struct`."""
    pack = Struct(">" + code).pack
    return lambda value, parts: parts.append(pack(value))


# Lengths before strings, and before bytes and arrays; -1 for null.
read_length16, read_length32 = fixed_reader("h", "length"), fixed_reader("i", "length")
write_length16, write_length32 = fixed_writer("h"), fixed_writer("i")


def read_compact_length(data: bytes, at: int) -> tuple[int, int]:
    """Length as a varint, one too high so that null (-1) fits (KIP-482)."""
    value, at = read_uvarint(data, at)
    return value - 1, at


def write_compact_length(size: int, parts: list[bytes]) -> None:
    """See `read_compact_length`."""
    write_uvarint(size + 1, parts)
