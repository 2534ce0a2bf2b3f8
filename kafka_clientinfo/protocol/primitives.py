"""Readers and writers of all types except structs and arrays, and the error that they raise.

A reader takes a frame and an offset and returns the value and the next offset. A writer appends bytes to a list.
Readers check every length before they use it, because the bytes are not trusted.
"""

import base64
import struct
import sys
import uuid
from collections.abc import Callable
from struct import Struct
from typing import Any, Self, TypeAlias

Reader: TypeAlias = Callable[[bytes, int], tuple[Any, int]]
Writer: TypeAlias = Callable[[Any, list[bytes]], None]

# Format codes of `struct` for numbers of fixed size; bool and uuid have readers of their own.
FIXED = {
    "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint16": "H", "uint32": "I", "float64": "d",
}  # fmt: skip
WRITE_ERRORS = (struct.error, TypeError, ValueError, AttributeError, OverflowError)
# Kafka's Uuid.ZERO_UUID, which means "none", as the broker writes it in JSON.
ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"

# Kafka neither reads nor writes longer strings, compact ones included.
MAX_STRING = 0x7FFF

# Bytes of small numbers, made once because nearly all lengths are small.
_ONE_BYTE = tuple(bytes((value,)) for value in range(128))
_TWO_BYTES = tuple(bytes((0, value)) for value in range(128))
_HIGH_BIT = 0x80


class FieldError(Exception):
    """An error in a field, without the field's full path.

    Every enclosing reader or writer adds its name to `path`; the codec makes it a DecodeError or EncodeError.
    """

    def __init__(self, expected: str, offset: int = 0) -> None:
        super().__init__(expected)
        self.expected = expected
        self.offset = offset
        self.path: list[str] = []

    def inside(self, name: str) -> Self:
        self.path.append(name)
        return self

    def where(self) -> str:
        return ".".join(reversed(self.path)).replace(".[", "[")


def read_uvarint(data: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned 32-bit number of seven bits per byte, low bits first."""
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
    if 0 <= value < _HIGH_BIT:
        parts.append(_ONE_BYTE[value])
        return
    out = bytearray()
    while value >= _HIGH_BIT:
        out.append(value & 0x7F | _HIGH_BIT)
        value >>= 7
    out.append(value)
    parts.append(bytes(out))


def read_bool(data: bytes, at: int) -> tuple[bool, int]:
    """Read one byte; every value but 0 is true, as in Kafka."""
    try:
        return data[at] != 0, at + 1
    except IndexError:
        raise FieldError("1 byte of bool", at) from None


def write_bool(value: bool, parts: list[bytes]) -> None:
    if type(value) is not bool:
        raise TypeError("must be true or false")
    parts.append(_ONE_BYTE[value])


def read_uuid(data: bytes, at: int) -> tuple[str, int]:
    """Read sixteen bytes as the text of Kafka's Uuid, which is base64url without padding."""
    end = at + 16
    if end > len(data):
        raise FieldError("16 bytes of uuid", at)
    return base64.urlsafe_b64encode(data[at:end])[:22].decode("ascii"), end


def write_uuid(value: object, parts: list[bytes]) -> None:
    """Write a uuid given as Kafka's text, as `uuid.UUID` or as sixteen bytes."""
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
    """Return the reader of a number with this format code of `struct`; errors call the number by its `kind`."""
    form = Struct(">" + code)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        try:
            return form.unpack_from(data, at)[0], at + form.size
        except struct.error:
            raise FieldError(f"{form.size} bytes of {kind}", at) from None

    return read


def fixed_writer(code: str) -> Writer:
    pack = Struct(">" + code).pack
    return lambda value, parts: parts.append(pack(value))


READERS: dict[str, Reader] = {kind: fixed_reader(code, kind) for kind, code in FIXED.items()}
READERS |= {"bool": read_bool, "uuid": read_uuid}
WRITERS: dict[str, Writer] = {kind: fixed_writer(code) for kind, code in FIXED.items()}
WRITERS |= {"bool": write_bool, "uuid": write_uuid}

# Lengths of strings (16 bits), and of bytes and arrays (32 bits); -1 means null.
read_length16, read_length32 = fixed_reader("h", "length"), fixed_reader("i", "length")
write_length16, write_length32 = fixed_writer("h"), fixed_writer("i")


def read_compact_length(data: bytes, at: int) -> tuple[int, int]:
    """Read a length that is written as a varint of the length plus one, so that null is 0 (KIP-482); null gives -1."""
    value, at = read_uvarint(data, at)
    return value - 1, at


def write_compact_length(size: int, parts: list[bytes]) -> None:
    write_uvarint(size + 1, parts)


def string_reader(flexible: bool, nullable: bool) -> Reader:
    """Return the reader of a string; bytes that are not UTF-8 become surrogates, which can be written back."""
    read_any = _sized_reader("string", read_compact_length if flexible else read_length16, nullable, MAX_STRING)

    def read(data: bytes, at: int) -> tuple[str | None, int]:
        """Read short strings in UTF-8 directly, and leave all others to `read_any`."""
        try:
            size = data[at] - 1 if flexible else data[at] << 8 | data[at + 1]
            start = at + 1 if flexible else at + 2
            if 0 <= size < 0x7F and start + size <= len(data):
                return data[start : start + size].decode(), start + size
        except (IndexError, UnicodeDecodeError):
            pass
        raw, end = read_any(data, at)
        return None if raw is None else raw.decode("utf-8", "surrogateescape"), end

    return read


def bytes_reader(flexible: bool, nullable: bool) -> Reader:
    return _sized_reader("bytes", read_compact_length if flexible else read_length32, nullable, sys.maxsize)


def _sized_reader(kind: str, read_length: Reader, nullable: bool, longest: int) -> Reader:
    """Return the reader of bytes after their length; errors call them by their `kind`."""

    def read(data: bytes, at: int) -> tuple[bytes | None, int]:
        size, start = read_length(data, at)
        end = start + size
        if 0 <= size <= longest and end <= len(data):
            return data[start:end], end
        if size == -1 and nullable:
            return None, start
        raise bad_length(kind, size, nullable, min(longest, len(data) - start), at)

    return read


def bad_length(kind: str, size: int, nullable: bool, most: int, at: int) -> FieldError:
    """Return the error for a length that the bytes that are left cannot hold, or for a null that is not allowed."""
    return FieldError(f"a length of {kind} from {-1 if nullable else 0} to {most}, found {size}", at)


def string_writer(flexible: bool, nullable: bool) -> Writer:
    write_length = write_compact_length if flexible else write_length16

    def write(value: str | None, parts: list[bytes]) -> None:
        if value is None:
            return _write_null(nullable, write_length, parts)
        raw = value.encode() if value.isascii() else value.encode("utf-8", "surrogateescape")
        size = len(raw)
        if size < 0x7F:  # nearly always
            return parts.append((_ONE_BYTE[size + 1] if flexible else _TWO_BYTES[size]) + raw)
        if size > MAX_STRING:
            raise ValueError(f"must have at most {MAX_STRING} bytes in UTF-8")
        write_length(size, parts)
        return parts.append(raw)

    return write


def bytes_writer(flexible: bool, nullable: bool) -> Writer:
    write_length = write_compact_length if flexible else write_length32

    def write(value: bytes | None, parts: list[bytes]) -> None:
        if value is None:
            return _write_null(nullable, write_length, parts)
        if not isinstance(value, bytes | bytearray):
            raise TypeError("must be bytes")
        write_length(len(value), parts)
        return parts.append(bytes(value))

    return write


def _write_null(nullable: bool, write_length: Callable[[int, list[bytes]], None], parts: list[bytes]) -> None:
    if not nullable:
        raise TypeError("must not be null")
    write_length(-1, parts)
