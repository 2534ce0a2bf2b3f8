"""Blocks of bytes to physical lines or journald's entries, and bytes that grow line by line, all in bounded memory.

Of what is longer than `framing.MAX_RECORD` only head and tail are kept, beside the true length.
"""

from collections.abc import Iterator

from . import framing


class PhysicalLines:
    """Blocks to physical lines with their line ends; of a line that is too long only head and tail.

    Attributes:
        rest: the bytes behind the last line end.
        truncated: how many more they are, which are not kept.
    """

    def __init__(self, encoding: str) -> None:
        self._newline = "\n".encode(encoding)
        self._width = len(self._newline)
        self.rest = b""
        self.truncated = 0
        self._searched = 0

    def feed(self, block: bytes) -> Iterator[tuple[bytes, int]]:
        """The lines that end in the block, with their true lengths; to be taken up to the last one."""
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
            kept = shortened(self.rest)
            self.truncated += len(self.rest) - len(kept)
            self.rest, self._searched = kept, len(kept) - self._width + 1

    def _next(self, buffer: bytes, start: int, at: int) -> int:
        newline = buffer.find(self._newline, at)
        while newline >= 0 and (newline - start) % self._width:
            newline = buffer.find(self._newline, newline + 1)
        return newline


class ExportEntries:
    """Blocks to the entries of `journalctl -o export`, with the empty line behind each; as `PhysicalLines` gives lines.

    Attributes:
        rest: the bytes behind the last entry; none are truncated.
    """

    def __init__(self) -> None:
        self.rest = b""
        self.truncated = 0
        self._field = 0

    def feed(self, block: bytes) -> Iterator[tuple[bytes, int]]:
        """The entries that end in the block, with their lengths; to be taken up to the last one."""
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
                behind = end + 9 + (length if length <= framing.MAX_RECORD else 0)  # else it is damaged
                if behind >= len(buffer):
                    break
                at = behind + 1
        self.rest, self._field = buffer[start:], at - start
        if len(self.rest) > 2 * framing.MAX_RECORD:
            yield self.rest, len(self.rest)
            self.rest, self._field = b"", 0


_LONGEST_NAME = 64
"""Journald takes no field whose name is longer."""


def shortened(data: bytes) -> bytes:
    """Head and tail of what is too long; what is left out is a multiple of four bytes, so UTF-16 stays aligned."""
    dropped = (len(data) - framing.KEPT_HEAD - framing.KEPT_TAIL) & ~3
    return data[: framing.KEPT_HEAD] + data[framing.KEPT_HEAD + dropped :]


class Kept:
    """Bytes that grow line by line; beyond `MAX_RECORD` only head and tail are kept, beside the true `length`."""

    __slots__ = ("_bytes", "length")

    def __init__(self) -> None:
        self._bytes: bytes | bytearray = b""
        self.length = 0

    def add(self, data: bytes, length: int | None = None) -> None:
        """Put bytes behind; `length` is their true length where some are truncated."""
        if not self.length:
            self._bytes = data  # most records are one line: no copy
        elif isinstance(self._bytes, bytearray):
            self._bytes += data
        else:
            self._bytes = bytearray(self._bytes)
            self._bytes += data
        self.length += len(data) if length is None else length
        if len(self._bytes) > framing.MAX_RECORD:
            self._bytes = bytearray(shortened(bytes(self._bytes)))

    def join(self) -> bytes:
        """What is held."""
        return bytes(self._bytes)
