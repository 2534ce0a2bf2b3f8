"""Readers and writers of all types but structs and arrays, and the error they have in common.

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

# Kafka refuses longer strings in both directions, compact ones too.
MAX_STRING = 0x7FFF

# Ready-made bytes of small numbers: nearly all lengths are small.
_ONE_BYTE = tuple(bytes((value,)) for value in range(128))
_TWO_BYTES = tuple(bytes((0, value)) for value in range(128))
_HIGH_BIT = 0x80


class FieldError(Exception):
    """An error in a field; every enclosing reader or writer adds its name to the path, and the last makes a DecodeError or EncodeError of it."""

    def __init__(self, problem: str, offset: int = 0) -> None:
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
    """One byte; like Kafka, anything but 0 is true."""
    try:
        return data[at] != 0, at + 1
    except IndexError:
        raise FieldError("1 byte of bool", at) from None


def write_bool(value: bool, parts: list[bytes]) -> None:
    if type(value) is not bool:
        raise TypeError("must be true or false")
    parts.append(_ONE_BYTE[value])


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


READERS: dict[str, Reader] = {kind: fixed_reader(code, kind) for kind, code in FIXED.items()}
READERS |= {"bool": read_bool, "uuid": read_uuid}
WRITERS: dict[str, Writer] = {kind: fixed_writer(code) for kind, code in FIXED.items()}
WRITERS |= {"bool": write_bool, "uuid": write_uuid}

# Lengths before strings, and before bytes and arrays; -1 for null.
read_length16, read_length32 = fixed_reader("h", "length"), fixed_reader("i", "length")
write_length16, write_length32 = fixed_writer("h"), fixed_writer("i")


def read_compact_length(data: bytes, at: int) -> tuple[int, int]:
    """Length as a varint, one too high so that null (-1) fits (KIP-482)."""
    value, at = read_uvarint(data, at)
    return value - 1, at


def write_compact_length(size: int, parts: list[bytes]) -> None:
    write_uvarint(size + 1, parts)


def string_reader(flexible: bool, nullable: bool) -> Reader:
    """Reader of a string; what is not UTF-8 survives as surrogates and can be written back."""
    read_length = read_compact_length if flexible else read_length16

    def read_any(data: bytes, at: int) -> tuple[str | None, int]:
        size, start = read_length(data, at)
        end = start + size
        if 0 <= size <= MAX_STRING and end <= len(data):
            return data[start:end].decode("utf-8", "surrogateescape"), end
        if size == -1 and nullable:
            return None, start
        raise bad_length("string", size, nullable, min(MAX_STRING, len(data) - start), at)

    def read(data: bytes, at: int) -> tuple[str | None, int]:
        """The common case at once: short, and in UTF-8."""
        try:
            size = data[at] - 1 if flexible else data[at] << 8 | data[at + 1]
            start = at + 1 if flexible else at + 2
            if 0 <= size < 0x7F and start + size <= len(data):
                return data[start : start + size].decode(), start + size
        except (IndexError, UnicodeDecodeError):
            pass
        return read_any(data, at)

    return read


def bytes_reader(flexible: bool, nullable: bool) -> Reader:
    """Reader of bytes or records."""
    read_length = read_compact_length if flexible else read_length32

    def read(data: bytes, at: int) -> tuple[bytes | None, int]:
        size, start = read_length(data, at)
        end = start + size
        if size >= 0 and end <= len(data):
            return data[start:end], end
        if size == -1 and nullable:
            return None, start
        raise bad_length("bytes", size, nullable, len(data) - start, at)

    return read


def bad_length(kind: str, size: int, nullable: bool, most: int, at: int) -> FieldError:
    """A length above what the bytes that are left allow, or null where none may stand."""
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
