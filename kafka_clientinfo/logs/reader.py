"""Log files to streams of bytes: compression, byte ranges, and what makes a file the same file.

A file is known by its first complete record (and its cluster and broker), so a renamed, grown or compressed file
stays the same file. Offsets are those of the decompressed content. A plain file can be read in ranges: a record
belongs to the range that holds its first byte, and a range that starts inside a file first finds a line that
starts a record behind a line that is a whole record.
"""

import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .framing import PREFIX, REQUEST_LOG, Framing, RawRecord, is_finished, split_records

BLOCK = 4 << 20
RESUME_WINDOW = 64 << 10
"""Bytes before the resume offset whose hash tells a grown file from a rewritten one."""

_GZIP_MAGIC = b"\x1f\x8b"
_LINE = re.compile(rb"\n(?=\[)")


class CorruptFile(Exception):
    """Compressed bytes that cannot be read on; never leaves the reader's callers in this package.

    Attributes:
        offset: decompressed bytes that were read before.
    """

    def __init__(self, offset: int, detail: str) -> None:
        """Keep where reading stopped and why."""
        self.offset = offset
        self.detail = detail
        super().__init__(detail)


@dataclass(frozen=True, slots=True)
class FileHead:
    """What planning knows of a file without reading it whole.

    Attributes:
        first_record: its first complete record, None while it holds none.
        size: bytes on disk.
        compressed: whether its offsets are not those on disk.
    """

    first_record: bytes | None
    size: int
    compressed: bool


def is_compressed(path: Path) -> bool:
    """Whether the file is gzip, by its first bytes and not by its name."""
    with path.open("rb") as file:
        return file.read(2) == _GZIP_MAGIC


def open_decompressed(path: Path) -> io.BufferedReader | gzip.GzipFile:
    """The file's decompressed content, as a stream of bytes."""
    if is_compressed(path):
        return gzip.open(path, "rb")
    return io.BufferedReader(path.open("rb", buffering=0), BLOCK)


def read_blocks(path: Path, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Blocks of decompressed bytes from `start` up to `end` (the end of the file when None).

    Raises:
        CorruptFile: where the compressed bytes are damaged or stop too early; all before has been yielded.
        OSError: where the file cannot be opened or read.
    """
    at = start
    try:
        with open_decompressed(path) as file:
            file.seek(start)
            while end is None or at < end:
                # read1 gives what is there: read would lose it where the compressed bytes are damaged behind it
                block = file.read1(BLOCK if end is None else min(BLOCK, end - at))
                if not block:
                    return
                at += len(block)
                yield block
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CorruptFile(at, str(error)) from error


def head(path: Path, framing: Framing = REQUEST_LOG) -> FileHead:
    """Read as much of a file as its first record takes."""
    first: bytes | None = None
    try:
        for record in split_records(_head_blocks(path), 0, framing):
            if record.finished:
                first = record.data
            break
    except CorruptFile:
        first = None
    return FileHead(first, path.stat().st_size, is_compressed(path))


def _head_blocks(path: Path) -> Iterator[bytes]:
    """The first blocks in growing pieces: most first records fit into a few KB."""
    blocks = read_blocks(path)
    for block in blocks:
        view = io.BytesIO(block)
        size = 64 << 10
        while piece := view.read(size):
            yield piece
            size *= 2


def file_id(cluster: str, broker: str, first_record: bytes) -> str:
    """Identity of a log file: 32 hex digits from its cluster, its broker and its first complete record."""
    digest = hashlib.sha256()
    for part in (cluster.encode(), broker.encode()):
        digest.update(len(part).to_bytes(4, "big") + part)
    digest.update(first_record.rstrip(b"\r\n"))
    return digest.hexdigest()[:32]


def resume_hash(path: Path, offset: int) -> str | None:
    """Hash of the bytes before `offset` (up to `RESUME_WINDOW`); None where the file does not reach it."""
    start = max(0, offset - RESUME_WINDOW)
    try:
        content = b"".join(read_blocks(path, start, offset))
    except CorruptFile:
        return None
    if len(content) < offset - start:
        return None
    return hash_bytes(content)


def hash_bytes(content: bytes) -> str:
    """The hash that `resume_hash` compares."""
    return hashlib.sha256(content).hexdigest()[:32]


def range_records(path: Path, start: int, end: int | None, framing: Framing = REQUEST_LOG) -> Iterator[RawRecord]:
    """The records whose first byte lies in [start, end); the last one is read to its end.

    Args:
        path: a file.
        start: 0, the end of an earlier read, or any byte of a plain file.
        end: None for the file's end.
        framing: how records of this log end.

    Raises:
        CorruptFile, OSError: as `read_blocks`.
    """
    for record in split_records(read_blocks(path, start), start, framing):
        if end is not None and record.offset >= end:
            return
        yield record


def record_start(path: Path, near: int) -> int | None:
    """First position at or behind `near` of a plain file where a record starts for sure; None where none does.

    For sure means: the line before is a whole record, with prefix and logger, so no forged text is taken for one.
    """
    at, before = near, b""
    for block in read_blocks(path, near):
        text = before + block
        for newline in _LINE.finditer(text):
            line_start = text.rfind(b"\n", 0, newline.start()) + 1
            line = text[line_start : newline.end()]
            whole = line_start and PREFIX.match(line) and is_finished(line, 0, len(line))
            if whole and PREFIX.match(text, newline.end()):
                return at - len(before) + newline.end()
        at += len(block)
        keep = text.rfind(b"\n", 0, max(0, text.rfind(b"\n"))) + 1
        before = text[keep:] if len(text) - keep < BLOCK else b""
    return None
