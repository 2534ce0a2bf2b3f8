"""A splitter of byte blocks into physical lines, and a buffer for lines, in bounded memory.

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

    def __init__(self) -> None:
        self.rest = b""
        self.truncated = 0
        self._searched = 0

    def feed(self, block: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield the lines that end in the block, with their true lengths; the caller must take all of them."""
        buffer = self.rest + block if self.rest else block
        start, at = 0, self._searched
        while (end := buffer.find(b"\n", at) + 1) > 0:
            yield buffer[start:end], end - start + self.truncated
            self.truncated = 0
            start = at = end
        self.rest = buffer[start:]
        self._searched = len(self.rest)
        if len(self.rest) > framing.MAX_RECORD:
            head_and_tail = shortened(self.rest)
            self.truncated += len(self.rest) - len(head_and_tail)
            self.rest, self._searched = head_and_tail, len(head_and_tail)


def shortened(data: bytes) -> bytes:
    """Return head and tail of bytes that are too many."""
    return data[: framing.KEPT_HEAD] + data[len(data) - framing.KEPT_TAIL :]


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
