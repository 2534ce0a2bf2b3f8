"""Splitters of byte blocks into physical lines and journald's entries, and a buffer for lines, in bounded memory.

A line or buffer above `framing.MAX_RECORD` bytes keeps only its head and tail; its true length is reported.
"""

from collections.abc import Iterator

from . import framing


class PhysicalLines:
    """Splitter of blocks into physical lines, with their line ends.

    Attributes:
        rest: the bytes after the last line end.
        truncated: number of bytes dropped from the middle of `rest`.
    """

    def __init__(self, encoding: str) -> None:
        self._newline = "\n".encode(encoding)
        self._width = len(self._newline)
        self.rest = b""
        self.truncated = 0
        self._searched = 0

    def feed(self, block: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield the lines that end in the block, with their true lengths; the caller must take all of them."""
        buffer = self.rest + block if self.rest else block
        start, at = 0, self._searched
        while (newline := self._next(buffer, start, at)) >= 0:
            end = newline + self._width
            yield buffer[start:end], end - start + self.truncated
            self.truncated = 0
            start = at = end
        self.rest = buffer[start:]
        self._searched = max(0, len(self.rest) - self._width + 1)
        if len(self.rest) > framing.MAX_RECORD:
            head_and_tail = shortened(self.rest)
            self.truncated += len(self.rest) - len(head_and_tail)
            self.rest, self._searched = head_and_tail, len(head_and_tail) - self._width + 1

    def _next(self, buffer: bytes, start: int, at: int) -> int:
        newline = buffer.find(self._newline, at)
        while newline >= 0 and (newline - start) % self._width:
            newline = buffer.find(self._newline, newline + 1)
        return newline


class ExportEntries:
    """Splitter of blocks into entries of `journalctl -o export`, each with the empty line after it.

    Attributes:
        rest: the bytes after the last entry.
        truncated: 0, because an entry that is too long is yielded in pieces; it is there as in `PhysicalLines`.
    """

    def __init__(self) -> None:
        self.rest = b""
        self.truncated = 0
        self._field = 0

    def feed(self, block: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield the entries that end in the block, with their lengths; the caller must take all of them."""
        buffer = self.rest + block
        start, at = 0, self._field
        while (end := buffer.find(b"\n", at)) >= 0:
            if end == at:
                yield buffer[start : end + 1], end + 1 - start
                start = at = end + 1
            elif buffer.find(b"=", at, end) >= 0 or end - at > _LONGEST_NAME:
                at = end + 1
            else:
                length = int.from_bytes(buffer[end + 1 : end + 9], "little")
                value_end = end + 9 + (length if length <= framing.MAX_RECORD else 0)  # a greater length is damaged
                if value_end >= len(buffer):
                    break
                at = value_end + 1
        self.rest, self._field = buffer[start:], at - start
        if len(self.rest) > 2 * framing.MAX_RECORD:
            yield self.rest, len(self.rest)
            self.rest, self._field = b"", 0


_LONGEST_NAME = 64
"""Bytes of the longest name of a field that journald accepts."""


def shortened(data: bytes) -> bytes:
    """Return head and tail of bytes that are too many; a multiple of four is dropped, so UTF-16 stays aligned."""
    dropped = (len(data) - framing.KEPT_HEAD - framing.KEPT_TAIL) & ~3
    return data[: framing.KEPT_HEAD] + data[framing.KEPT_HEAD + dropped :]


class Kept:
    """A buffer to which lines are added; above `MAX_RECORD` bytes it keeps head and tail, and the true `length`."""

    __slots__ = ("_bytes", "length")

    def __init__(self) -> None:
        self._bytes: bytes | bytearray = b""
        self.length = 0

    def add(self, data: bytes, length: int | None = None) -> None:
        """Append bytes; `length` is their true length if some were dropped from them."""
        if not self.length:
            self._bytes = data  # most records are one line, which needs no copy
        elif isinstance(self._bytes, bytearray):
            self._bytes += data
        else:
            self._bytes = bytearray(self._bytes)
            self._bytes += data
        self.length += len(data) if length is None else length
        if len(self._bytes) > framing.MAX_RECORD:
            self._bytes = bytearray(shortened(bytes(self._bytes)))

    def join(self) -> bytes:
        """Return the bytes that are kept."""
        return bytes(self._bytes)
