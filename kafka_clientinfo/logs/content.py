"""Log files as streams of decompressed bytes; any byte range can be read.

A `LogFile` opens the file, local or on an object store. A plain file is read in the requested range only, in blocks
that begin small, so that reading the beginning of a file on an object store costs kilobytes.
"""

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from .compression import SNIFFED, decompressed, is_compressed

BLOCK = 4 << 20


class RawBytes(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def seek(self, offset: int, whence: int = 0, /) -> int: ...


class LogFile(Protocol):
    """A log file, on any storage.

    Attributes:
        size: read at most this many bytes on disk, so that a growing file gives the same bytes twice; None for all.
            Reading a shorter file raises OSError.
    """

    @property
    def size(self) -> int | None: ...

    def open(self) -> AbstractContextManager[RawBytes]: ...


def open_regular(path: str | Path) -> io.FileIO:
    """Open a local file without a buffer; an OSError refuses folders, pipes, sockets and devices, and waits for none of them."""
    file = io.FileIO(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return file


class Content:
    def __init__(self, raw: RawBytes, limit: int | None) -> None:
        self._raw = raw
        self._limit = limit
        self._seek(0)
        self.compressed = is_compressed(self._read(SNIFFED))

    @property
    def size(self) -> int:
        return self._raw.seek(0, os.SEEK_END) if self._limit is None else self._limit

    def _seek(self, at: int) -> None:
        self._raw.seek(at)
        self._at = at

    def _read(self, size: int) -> bytes:
        if self._limit is not None:
            size = min(size, self._limit - self._at)
        if size <= 0:
            return b""
        data = self._raw.read(size)
        if not data and self._limit is not None:
            raise OSError(errno.ESTALE, f"it has become shorter than the {self._limit} bytes that were found before")
        self._at += len(data)
        return data

    def blocks(self, start: int, end: int | None = None, first: int = BLOCK) -> Iterator[bytes]:
        """Return decompressed bytes from `start` up to `end` (the file's end if None); see `reader.read_blocks`."""
        return self._unpacked(start, end) if self.compressed else self._plain(start, end, first)

    def _plain(self, start: int, end: int | None, first: int) -> Iterator[bytes]:
        self._seek(start)
        size = first
        while block := self._read(size if end is None else min(size, end - self._at)):
            yield block
            size = min(size * 2, BLOCK)

    def _unpacked(self, start: int, end: int | None) -> Iterator[bytes]:
        self._seek(0)
        at = 0
        for block in decompressed(self._read):
            if piece := block[max(0, start - at) : None if end is None else end - at]:
                yield piece
            at += len(block)
            if end is not None and at >= end:
                return


@contextmanager
def opened(file: str | Path | LogFile) -> Iterator[Content]:
    if isinstance(file, (str, Path)):
        with open_regular(file) as raw:
            yield Content(raw, None)
    else:
        with file.open() as stored:
            yield Content(stored, file.size)
