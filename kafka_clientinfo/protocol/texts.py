"""Readers and writers of strings and bytes, plain and compact, nullable or not."""

from collections.abc import Callable

from kafka_clientinfo.protocol.primitives import (
    ONE_BYTE,
    TWO_BYTES,
    FieldError,
    Reader,
    Writer,
    read_compact_length,
    read_length16,
    read_length32,
    write_compact_length,
    write_length16,
    write_length32,
)

# Kafka refuses longer strings in both directions, compact ones too.
MAX_STRING = 0x7FFF


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
    """See `string_reader`."""
    write_length = write_compact_length if flexible else write_length16

    def write(value: str | None, parts: list[bytes]) -> None:
        if value is None:
            return _write_null(nullable, write_length, parts)
        raw = value.encode() if value.isascii() else value.encode("utf-8", "surrogateescape")
        size = len(raw)
        if size < 0x7F:  # nearly always
            return parts.append((ONE_BYTE[size + 1] if flexible else TWO_BYTES[size]) + raw)
        if size > MAX_STRING:
            raise ValueError(f"must have at most {MAX_STRING} bytes in UTF-8")
        write_length(size, parts)
        return parts.append(raw)

    return write


def bytes_writer(flexible: bool, nullable: bool) -> Writer:
    """See `bytes_reader`."""
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
