"""The end of what was read of a file, by which a later run knows the file again."""

from collections import deque

from ..logs.reader import RESUME_WINDOW, hash_bytes


class Tail:
    """The last records read, `RESUME_WINDOW` bytes of them: a later run compares their hash before it resumes."""

    def __init__(self) -> None:
        self.records: deque[bytes] = deque()
        self._bytes = 0

    def add(self, record: bytes) -> None:
        """Add the next record, and drop the first ones that are no longer needed."""
        self.records.append(record)
        self._bytes += len(record)
        while self._bytes - len(self.records[0]) >= RESUME_WINDOW:
            self._bytes -= len(self.records.popleft())

    def hash(self, size: int) -> str:
        """Return the hash of the last bytes, so many of them as there are."""
        content = b"".join(self.records)
        return hash_bytes(content[max(0, len(content) - size) :])
