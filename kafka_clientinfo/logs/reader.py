"""Log files to streams of bytes: byte ranges, damage, and what makes a file the same file.

A file is known by its first complete record (and its cluster and broker), so a renamed, grown or compressed file
stays the same file. Offsets are those of the decompressed content. A plain file can be read in ranges: a record
belongs to the range that holds its first byte, and a range begins where a record does (`record_start`).

Where a file lies is not known here: a `LogFile` opens it. Of a plain file only the bytes that are asked for are
read, in blocks that begin small, so that a look at a file on an object store costs kilobytes.
"""

import errno
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from .compression import SNIFFED, CorruptFile, decompressed, is_compressed
from .framing import IDENTITY, REQUEST_LOG, Framing, RawRecord, Take, is_sure_end
from .layouts import KAFKA, SAMPLE, Layout, detect
from .record_marks import PREFIX
from .unwrapping import layout_records

BLOCK = 4 << 20
FIRST_BLOCK = 64 << 10
RESUME_WINDOW = 64 << 10
"""Bytes before the resume offset whose hash tells a grown file from a rewritten one."""
IDENTITY_BYTES = 1 << 20
"""A longer first record identifies its file by so many of its first bytes."""
START_WINDOW = 64 << 20
"""Where so many bytes show no start of a record, none is looked for further on."""

_HEAD_BYTES = IDENTITY_BYTES + 4096
_RESUME_BLOCK = RESUME_WINDOW + 1
_LINE = re.compile(rb"\n(?=\[)")
_BEGUN = re.compile(rb"[^\x00-\x08\x0a-\x1f]*")


class RawBytes(Protocol):
    """A file's bytes as they are on disk."""

    def read(self, size: int, /) -> bytes:
        """Up to so many of the next bytes, none at the end."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a place; gives it."""


class LogFile(Protocol):
    """A file somewhere.

    Attributes:
        size: bytes on disk that are read at most, so that a file that grows meanwhile reads the same twice; None
            where its end decides. Fewer bytes than that are an OSError.
    """

    @property
    def size(self) -> int | None: ...

    def open(self) -> AbstractContextManager[RawBytes]:
        """Its bytes as they are on disk, seekable; raises OSError."""


@dataclass(frozen=True, slots=True)
class FileHead:
    """What planning knows of a file without reading it whole.

    Attributes:
        first_record: its first complete record, up to `IDENTITY_BYTES` of it; None while it holds none.
        size: bytes on disk.
        compressed: whether its offsets are not those on disk.
        error: why it cannot be decompressed further than its beginning, None where nothing is wrong so far.
        empty: whether it holds nothing, decompressed, or only the beginning of a line, as a log that was just begun.
        layout: how its records are laid out.
    """

    first_record: bytes | None
    size: int
    compressed: bool
    error: str | None = None
    empty: bool = False
    layout: Layout = KAFKA


def open_regular(path: str | Path) -> io.FileIO:
    """A local file's bytes, without a buffer.

    Raises:
        OSError: where it cannot be opened, or is a folder, pipe, socket or device, without waiting for any of them.
    """
    file = io.FileIO(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return file


class _Content:
    """An open file: what its first bytes say, and its decompressed bytes from anywhere."""

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

    def blocks(self, start: int, end: int | None, first: int) -> Iterator[bytes]:
        content = self._unpacked(start) if self.compressed else self._plain(start, end, first)
        at = start
        for block in content:
            piece = block if end is None or at + len(block) <= end else block[: end - at]
            at += len(piece)
            if piece:
                yield piece
            if at == end:
                return

    def _plain(self, start: int, end: int | None, first: int) -> Iterator[bytes]:
        self._seek(start)
        size = first
        while block := self._read(size if end is None else min(size, end - self._at)):
            yield block
            size = min(size * 2, BLOCK)

    def _unpacked(self, start: int) -> Iterator[bytes]:
        self._seek(0)
        at = 0
        for block in decompressed(self._read):
            yield block[max(0, start - at) :]
            at += len(block)


@contextmanager
def _opened(file: Path | LogFile) -> Iterator[_Content]:
    if isinstance(file, Path):
        with open_regular(file) as raw:
            yield _Content(raw, None)
    else:
        with file.open() as stored:
            yield _Content(stored, file.size)


def read_blocks(
    file: Path | LogFile, start: int = 0, end: int | None = None, first: int | None = None
) -> Iterator[bytes]:
    """Blocks of decompressed bytes from `start` up to `end` (the end of the file when None).

    The first block of a plain file has `first` bytes (`BLOCK` when None), and every other twice as many up to `BLOCK`.

    Raises:
        CorruptFile: where the compressed bytes are damaged or stop too early; all before has been yielded.
        OSError: where the file cannot be opened or read.
    """
    with _opened(file) as content:
        yield from content.blocks(start, end, first or BLOCK)


def _readable(blocks: Iterator[bytes], damage: list[CorruptFile]) -> Iterator[bytes]:
    """The blocks up to the damage, which is put into the list."""
    try:
        yield from blocks
    except CorruptFile as error:
        damage.append(error)


def _records(
    blocks: Iterator[bytes], offset: int, framing: Framing, layout: Layout, take: Take | None = None
) -> Iterator[RawRecord]:
    """Records up to the damage, the one that is cut there among them, and then the damage."""
    damage: list[CorruptFile] = []
    yield from layout_records(_readable(blocks, damage), offset, layout, framing, take)
    if damage:
        raise damage[0]


def _begin(blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """So much of the beginning as shows a file's layout, and all blocks from the beginning on."""
    damage: list[CorruptFile] = []
    readable = _readable(blocks, damage)
    sample = b""
    for block in readable:
        sample += block
        if len(sample) >= SAMPLE or (len(sample) >= FIRST_BLOCK and b"\n" in block):
            break

    def again() -> Iterator[bytes]:
        yield sample
        yield from readable
        if damage:
            raise damage[0]

    return sample, again()


def head(
    file: Path | LogFile,
    framing: Framing = REQUEST_LOG,
    layout: Layout | None = None,
    name: str = "auto",
    latest: datetime | None = None,
) -> FileHead:
    """Read as much of a file as its first record takes, and never much more than `IDENTITY_BYTES`.

    The layout is found in its first bytes where None; `name` and `latest` are those of `layouts.detect`.

    Raises:
        OSError: where the file cannot be opened or read.
    """
    first: bytes | None = None
    error, empty = None, True
    with _opened(file) as content:
        try:
            blocks = content.blocks(0, _HEAD_BYTES, FIRST_BLOCK)
            if layout is None and framing is REQUEST_LOG:
                sample, blocks = _begin(blocks)
                layout = detect(sample, name, latest)
            kind = IDENTITY if framing is REQUEST_LOG else framing
            for record in _records(blocks, 0, kind, layout or KAFKA):
                empty = _BEGUN.fullmatch(record.data) is not None
                if record.finished or record.length > IDENTITY_BYTES:
                    first = record.data[:IDENTITY_BYTES]
                    break
        except CorruptFile as damage:
            error = str(damage)
        none = empty and error is None
        return FileHead(first, content.size, content.compressed, error, none, layout or KAFKA)


def file_id(cluster: str, broker: str, first_record: bytes) -> str:
    """Identity of a log file: 32 hex digits from its cluster, its broker and its first complete record."""
    digest = hashlib.sha256()
    for part in (cluster.encode(), broker.encode()):
        digest.update(len(part).to_bytes(4, "big") + part)
    digest.update(first_record.rstrip(b"\r\n"))
    return digest.hexdigest()[:32]


class ResumePoint(NamedTuple):
    """What stands around the place where an earlier read ended.

    Attributes:
        hash: of the bytes before it (up to `RESUME_WINDOW`); None where the file does not reach it.
        has_more: whether bytes follow.
    """

    hash: str | None
    has_more: bool


def resume_point(file: Path | LogFile, offset: int) -> ResumePoint:
    """Look at the place where an earlier read ended, in one pass.

    Raises:
        OSError: where the file cannot be opened or read.
    """
    start = max(0, offset - RESUME_WINDOW)
    wanted, content = offset - start, bytearray()
    try:
        for block in read_blocks(file, start, offset + 1, _RESUME_BLOCK):
            content += block
    except CorruptFile:
        pass
    known = hash_bytes(bytes(content[:wanted])) if len(content) >= wanted else None
    return ResumePoint(known, len(content) > wanted)


def hash_bytes(content: bytes) -> str:
    """The hash by which a file is recognised where it is resumed."""
    return hashlib.sha256(content).hexdigest()[:32]


def readable_bytes(file: Path | LogFile) -> tuple[int, str | None]:
    """Bytes of decompressed content, and why there are no more of them where the file is damaged.

    Raises:
        OSError: where the file cannot be opened or read.
    """
    total = 0
    try:
        for block in read_blocks(file):
            total += len(block)
    except CorruptFile as damage:
        return total, str(damage)
    return total, None


def range_records(
    file: Path | LogFile,
    start: int,
    end: int | None,
    framing: Framing = REQUEST_LOG,
    layout: Layout = KAFKA,
    take: Take | None = None,
) -> Iterator[RawRecord]:
    """The records whose first byte lies in [start, end); the last one is read to its end.

    `start` is 0, the end of an earlier read, or any byte of a plain file; None as `end` is the file's. The layout is that
    of the file's `head`. `take` is that of `framing.split_records`, and keeps to the range itself.

    Raises:
        CorruptFile: behind all records that stand before the damage, the one that it cuts included.
        OSError: as `read_blocks`.
    """
    for record in _records(read_blocks(file, start), start, framing, layout, take):
        if end is not None and record.offset >= end:
            return
        yield record


def record_start(file: Path | LogFile, near: int, json_requests: bool) -> int | None:
    """First position at or behind `near` of a plain file where a record starts; None where none is found.

    It is one for sure behind connection, times and logger of a request in text. Behind a line of JSON, which counts in
    a file that begins with requests in JSON (`layouts.Layout`), it is one unless a request in text is open there: then
    the range before reads that request beyond its own end, which shows that the start was none.
    """
    at, before = near, b""
    for block in read_blocks(file, near, near + START_WINDOW, min(FIRST_BLOCK, BLOCK)):
        text = before + block
        for newline in _LINE.finditer(text):
            line_start = text.rfind(b"\n", 0, newline.start()) + 1
            line = text[line_start : newline.end()]
            ends = line_start and is_sure_end(line, 0, len(line), json_requests)
            if ends and PREFIX.match(text, newline.end()):
                return at - len(before) + newline.end()
        at += len(block)
        keep = max(0, text.rfind(b"\n", 0, max(0, text.rfind(b"\n"))))  # the last whole line and the line end before it
        before = text[keep:] if len(text) - keep < BLOCK else b""
    return None
