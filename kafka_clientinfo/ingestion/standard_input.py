"""Standard input as a log file: its bytes come once, and may come slowly.

The layout of a file is found from its first bytes, and then the file is read from the beginning. So a stream holds its
first bytes until they have been read again; all later bytes are read once.
"""

import os
import select
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

from ..config.settings import Settings
from ..logs.compression import SNIFFED
from ..logs.content import RawBytes
from ..logs.reader import FileHead, file_id, head
from .planned import PlannedFile, Split
from .storage import StoredFile

NAME = "-"
"""The name of standard input in LOGS."""
BROKER = "stdin"
"""The broker of a log without a folder."""
_QUIET_SECONDS = 0.5
"""After so long a silence, the layout is found from the bytes that have come."""
_TICK_SECONDS = 0.2
_MOST_KEPT = 64 << 20
"""The most first bytes to hold: a stream may contain no record."""


class Stream:
    """The bytes of a descriptor, the first of which can be read again.

    Args:
        descriptor: an open pipe, terminal or file; read, never closed.
        waiting: called before every read, and several times a second while nothing comes.
    """

    def __init__(self, descriptor: int, waiting: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._waiting = waiting
        self._kept = bytearray()
        self._at = 0
        self._is_looked_at = True
        self.is_ended = False

    def read(self, size: int, /) -> bytes:
        """Return up to `size` of the next bytes, none at the end."""
        while self._at == 0 and len(self._kept) < SNIFFED and self._keep(max(SNIFFED, size)):
            pass  # the first bytes show the compression, and may come one by one
        if self._at == len(self._kept):
            if not self._is_looked_at:
                self._kept.clear()
                self._at = 0
                return self._next(size)
            if self._at < _MOST_KEPT:
                self._keep(size)
        piece = bytes(self._kept[self._at : self._at + size])
        self._at += len(piece)
        return piece

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go back to an offset among the first bytes; the end of a stream is not known, and its size is returned as 0.

        Raises:
            OSError: these bytes are gone.
        """
        if whence == os.SEEK_END:
            return 0
        if offset > len(self._kept):
            raise OSError(f"a stream cannot be read from byte {offset} on")
        self._at = offset
        return offset

    def begin(self) -> None:
        """End the look at the first bytes: the bytes after them are not held."""
        self._is_looked_at = False

    def _keep(self, size: int) -> bool:
        piece = self._next(size)
        self._kept += piece
        return bool(piece)

    def _next(self, size: int) -> bytes:
        quiet_from = time.monotonic()
        self._waiting()
        while not self.is_ended and not select.select([self._descriptor], [], [], _TICK_SECONDS)[0]:
            is_quiet = time.monotonic() - quiet_from > _QUIET_SECONDS
            if self._is_looked_at and is_quiet and b"\n" in self._kept:
                return b""
            self._waiting()
        piece = b"" if self.is_ended else os.read(self._descriptor, size)
        self.is_ended = not piece
        return piece


@dataclass(frozen=True, slots=True)
class StandardInput(StoredFile):
    """A stream in place of a file: it is opened once, and its size is not known."""

    stream: RawBytes | None = field(default=None, repr=False)

    is_stream: ClassVar[bool] = True

    def open(self) -> AbstractContextManager[RawBytes]:
        """Return the stream, which stays open."""
        assert self.stream is not None
        return nullcontext(self.stream)


def planned_stream(stream: Stream, settings: Settings) -> tuple[Split, FileHead]:
    """Read a stream's first bytes, and plan to read all of it; return the plan, and what the first bytes show.

    Raises:
        OSError: it cannot be read.
    """
    file = StandardInput(NAME, NAME, stream=stream)
    beginning = head(file, name=settings.log_layout, latest=datetime.now(UTC))
    stream.begin()
    where = (file_id(settings.cluster, BROKER, beginning.first_record or b""), file, settings.cluster, BROKER)
    layout, first_offset = beginning.layout, beginning.first_offset
    planned = PlannedFile(*where, 0, 0, beginning.compressed, None, layout=layout, first_offset=first_offset)
    return Split(planned, 0, None), beginning
