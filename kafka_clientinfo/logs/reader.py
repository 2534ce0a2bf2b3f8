"""Log files to streams of bytes: byte ranges, damage, and what makes a file the same file.

A file is known by its first complete record that begins with a time and level, not by what stands before it: a
container's banner, an empty line, a byte order mark, or the zeros of a file that was truncated under its writer. So a
renamed, grown or compressed file stays the same file. Brokers may start alike: whether two files with one first record
are one log is decided by `ingestion.copies`. Offsets are those of the decompressed content, or of the log that the file
continues with another beginning (`content.Alignment`). A plain file can be read in ranges: a record
belongs to the range that holds its first byte, and a range begins where a record does (`record_start`).
"""

import codecs
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from .compression import CorruptFile
from .content import BLOCK, LogFile, opened
from .content import RawBytes as RawBytes
from .content import open_regular as open_regular
from .framing import IDENTITY, REQUEST_LOG, Framing, RawRecord, Take, is_sure_end
from .layouts import KAFKA, SAMPLE, Layout, detect
from .record_marks import LINE_WITH_PREFIX, PREFIX
from .unwrapping import layout_records

FIRST_BLOCK = 64 << 10
RESUME_WINDOW = 64 << 10
"""Bytes before the resume offset whose hash tells a grown file from a rewritten one."""
IDENTITY_BYTES = 1 << 20
"""A longer first record identifies its file by so many of its first bytes."""
BEGINNING_DIGITS = 16
"""So many digits of a file_id are the same for all logs that begin with one record, whichever broker wrote them."""
START_WINDOW = 64 << 20
"""Where so many bytes show no start of a record, none is looked for further on."""

_HEAD_BYTES = IDENTITY_BYTES + 4096
_RESUME_BLOCK = RESUME_WINDOW + 1
_LINE = re.compile(rb"\n(?=\[)")
_BEGUN = re.compile(rb"[^\x00-\x08\x0a-\x1f]*")
_ZEROS = bytes(BLOCK)


@dataclass(frozen=True, slots=True)
class FileHead:
    """What planning knows of a file without reading it whole.

    Attributes:
        first_record: its first complete record with a time and level, up to `IDENTITY_BYTES` of it; None while it holds
            none.
        size: bytes on disk.
        compressed: whether its offsets are not those on disk.
        error: why no first record can be read: damaged compressed bytes, or none starts in `START_WINDOW`; else None.
        empty: whether it holds nothing, decompressed, or only the beginning of a line, as a log that was just begun.
        layout: how its records are laid out.
        first_offset: offset of the first record, 0 if there is none.
    """

    first_record: bytes | None
    size: int
    compressed: bool
    error: str | None = None
    empty: bool = False
    layout: Layout = KAFKA
    first_offset: int = 0


def read_blocks(
    file: Path | LogFile, start: int = 0, end: int | None = None, first: int | None = None
) -> Iterator[bytes]:
    """Blocks of decompressed bytes from `start` up to `end` (the end of the file when None).

    The first block of a plain file has `first` bytes (`BLOCK` when None), and every other twice as many up to `BLOCK`.

    Raises:
        CorruptFile: where the compressed bytes are damaged or stop too early; all before has been yielded.
        OSError: where the file cannot be opened or read.
    """
    with opened(file) as content:
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


def without_filler(blocks: Iterator[bytes]) -> tuple[int, Iterator[bytes]]:
    """Skip a byte order mark of UTF-8 and the zeros after it, which may be a gigabyte; return their number and the rest."""
    skipped = 0
    for block in blocks:
        rest = block if skipped else block.removeprefix(codecs.BOM_UTF8)
        if rest == _ZEROS[: len(rest)]:  # many times as fast as stripping them
            rest = b""
        rest = rest.lstrip(b"\0")
        skipped += len(block) - len(rest)
        if rest:
            return skipped, chain([rest], blocks)
    return skipped, iter(())


class _Window:
    """Blocks up to the first one that reaches `end`, which may change while they are read."""

    def __init__(self, blocks: Iterator[bytes], at: int, end: int) -> None:
        self._blocks, self._at, self.end = blocks, at, end

    def __iter__(self) -> Iterator[bytes]:
        for block in self._blocks:
            self._at += len(block)
            yield block
            if self._at >= self.end:
                return


def head(
    file: Path | LogFile,
    framing: Framing = REQUEST_LOG,
    layout: Layout | None = None,
    name: str = "auto",
    latest: datetime | None = None,
) -> FileHead:
    """Read a file up to the end of its first record, mostly some kilobytes.

    What stands before the record is read too, at most `START_WINDOW` of it beside zeros; of the record itself not much
    more than `IDENTITY_BYTES`. If `layout` is None it is found in the first bytes; `name` and `latest` are those of
    `layouts.detect`.

    Raises:
        OSError: where the file cannot be opened or read.
    """
    first: bytes | None = None
    error, empty, first_offset = None, False, 0
    with opened(file) as content:
        try:
            skipped, blocks = without_filler(content.blocks(0, None, FIRST_BLOCK))
            sample, blocks = _begin(blocks)
            if layout is None and framing is REQUEST_LOG:
                layout = detect(sample, name, latest)
            empty = skipped in (0, len(codecs.BOM_UTF8)) and _BEGUN.fullmatch(sample) is not None
            first, first_offset, error = _first_record(sample, blocks, skipped, framing, layout or KAFKA)
        except CorruptFile as damage:
            error = str(damage)
        none = empty and first is None and error is None
        return FileHead(first, content.size, content.compressed, error, none, layout or KAFKA, first_offset)


def _first_record(
    sample: bytes, blocks: Iterator[bytes], at: int, framing: Framing, layout: Layout
) -> tuple[bytes | None, int, str | None]:
    """Return the first record that identifies a file, and its offset; or None, 0 and, if the search was given up, why."""
    kind = IDENTITY if framing is REQUEST_LOG else framing
    size = _HEAD_BYTES if PREFIX.match(sample) else START_WINDOW
    window = _Window(blocks, at, at + size)
    end = at
    for record in _records(iter(window), at, kind, layout):
        end = record.offset + record.length
        if record.text is None and (start := LINE_WITH_PREFIX.search(record.data)):
            before = start.end()  # other output and filler
            record = record._replace(
                offset=record.offset + before, data=record.data[before:], length=record.length - before
            )
        if PREFIX.match(record.data if record.text is None else record.text):
            identifying = _identifying(record, kind)
            return identifying, 0 if identifying is None else record.offset, None
        if layout.splittable:
            window.end = end + _HEAD_BYTES  # a record starts there
    return None, 0, f"no record starts in its first {START_WINDOW >> 20} MiB" if end - at >= START_WINDOW else None


def _identifying(record: RawRecord, kind: Framing) -> bytes | None:
    """Return the bytes of a first record that stay the same while the file grows; None while there are too few.

    A stack trace after the record's end may be written later, so it does not count.
    """
    if kind is IDENTITY and record.text is None:
        end = record.data.find(b"\n") + 1
        while 0 < end <= IDENTITY_BYTES:
            if kind.is_finished(record.data, 0, end):
                return record.data[:end]
            end = record.data.find(b"\n", end) + 1
    return record.data[:IDENTITY_BYTES] if record.finished or record.length > IDENTITY_BYTES else None


def file_id(cluster: str, broker: str, first_record: bytes, number: int = 0) -> str:
    """Return the identity of a log file, 32 hex digits.

    The first `BEGINNING_DIGITS` are a hash of its first record alone: by them, files that may be the same log are found
    among those of all brokers. The others are a hash of cluster and broker, and of `number` if that is not 0: logs of one
    broker that begin alike and are not the same are numbered.
    """
    digest = hashlib.sha256()
    for part in (cluster.encode(), broker.encode()):
        digest.update(len(part).to_bytes(4, "big") + part)
    digest.update(str(number).encode() if number else b"")
    return beginning_of(first_record) + digest.hexdigest()[: 32 - BEGINNING_DIGITS]


def beginning_of(first_record: bytes) -> str:
    """Return the digits with which the file_ids of all logs begin that have this first record."""
    return hash_bytes(first_record.rstrip(b"\r\n"))[:BEGINNING_DIGITS]


class ResumePoint(NamedTuple):
    """What stands around the place where an earlier read ended.

    Attributes:
        hash: of the bytes before it, up to `RESUME_WINDOW` and from the first record on; None where the file does not reach it.
        has_more: whether bytes follow.
    """

    hash: str | None
    has_more: bool


def resume_point(file: Path | LogFile, offset: int, first_offset: int = 0) -> ResumePoint:
    """Look at the place where an earlier read ended, in one pass; `first_offset` is that of the first record.

    Raises:
        OSError: where the file cannot be opened or read.
    """
    start = min(offset, max(first_offset, offset - RESUME_WINDOW))
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
