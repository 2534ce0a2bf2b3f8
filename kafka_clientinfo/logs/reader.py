"""The reader of log files: records in a byte range, damage, and the identity of a file.

The first complete record with a time and level identifies a file, so a renamed, grown or compressed file stays the same
file. Bytes before that record do not count: a container's banner, an empty line, a byte order mark, or the zeros of a
file that was truncated while it was written. Logs of different brokers may have the same first record;
`ingestion.copies` decides whether two such files are one log.

Offsets are those of the decompressed content. A plain file can be read in ranges. A record belongs to the range that
holds its first byte, and a range begins at the start of a record (`record_start`).
"""

import codecs
import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from .clock import LogClock
from .compression import CorruptFile
from .content import BLOCK, LogFile, opened
from .content import RawBytes as RawBytes
from .framing import IDENTITY, REQUEST_LOG, SERVER_LOG, Framing, RawRecord, is_sure_end
from .layouts import KAFKA, Layout, check_form, detect, is_enough
from .record_marks import COMPLETED, LINE_WITH_PREFIX, PREFIX
from .unwrapping import split_records

FIRST_BLOCK = 64 << 10
RESUME_WINDOW = 64 << 10
"""Bytes before the resume offset that are hashed, to distinguish a grown file from a rewritten one."""
IDENTITY_BYTES = 1 << 20
BEGINNING_DIGITS = 16
"""Number of digits of a file_id that are equal for all logs with the same first record, of any broker."""
START_WINDOW = 64 << 20
"""Bytes after which the search for the start of a record ends."""

OPENING_BYTES = 4 << 10
"""Bytes from the first record on that distinguish logs with the same first record."""

_HEAD_BYTES = IDENTITY_BYTES + 4096
_RESUME_BLOCK = RESUME_WINDOW + 1
_LINE = re.compile(rb"\n(?=\[)")
_BEGUN = re.compile(rb"[^\x00-\x08\x0a-\x1f]*")
_ZEROS = bytes(BLOCK)
_UNKNOWN_FORM = (
    "it holds requests in a form that is not read; write each on a line of its own, in UTF-8 and with a date and time, "
    "JSON as one event a line (`jq -c`)"
)


@dataclass(frozen=True, slots=True)
class FileHead:
    """The facts about a file that planning needs, read from its beginning.

    Attributes:
        first_record: its first complete record with time and level, at most `IDENTITY_BYTES`; None if it has none yet.
        compressed: whether it is compressed, so that offsets are not positions on disk.
        error: why no first record can be read: damaged compressed bytes, or none starts in `START_WINDOW`; else None.
        empty: whether its decompressed content is empty or only the beginning of a line, as in a new log, or of a
            server.log that is still written only the first record, which waits for its stack trace.
        opening: its first `OPENING_BYTES` from the first record on, or as many as it has.
    """

    first_record: bytes | None
    size: int
    compressed: bool
    error: str | None = None
    empty: bool = False
    layout: Layout = KAFKA
    first_offset: int = 0
    opening: bytes = field(default=b"", compare=False, repr=False)
    first_time: tuple[bytes, bytes | None] | None = field(default=None, compare=False)

    @property
    def opening_hash(self) -> str | None:
        """The hash of the opening; None if it may still grow."""
        return hash_bytes(self.opening) if len(self.opening) == OPENING_BYTES else None

    def has_ambiguous_hour(self, zone: str) -> bool:
        return self.first_time is not None and LogClock(zone).is_repeated(*self.first_time)


def read_blocks(
    file: str | Path | LogFile, start: int = 0, end: int | None = None, first: int | None = None
) -> Iterator[bytes]:
    """Yield blocks of decompressed bytes from `start` up to `end` (the end of the file if None).

    The first block of a plain file has `first` bytes (`BLOCK` if None); each further block has twice as many, up to
    `BLOCK`.
    """
    with opened(file) as content:
        yield from content.blocks(start, end, first or BLOCK)


def _begin(blocks: Iterator[bytes], is_known: bool) -> tuple[bytes, Iterator[bytes]]:
    damage: CorruptFile | None = None
    sample = b""
    try:
        for block in blocks:
            sample += block
            if len(sample) >= FIRST_BLOCK and (is_known or is_enough(sample)):
                break
    except CorruptFile as error:
        damage = error

    def again() -> Iterator[bytes]:
        yield sample
        yield from blocks
        if damage is not None:
            raise damage

    return sample, again()


def without_filler(blocks: Iterator[bytes]) -> tuple[int, Iterator[bytes]]:
    """Skip a UTF-8 byte order mark and the zeros after it, perhaps a gigabyte; return their number and the rest."""
    skipped = 0
    for block in blocks:
        rest = block if skipped else block.removeprefix(codecs.BOM_UTF8)
        if rest == _ZEROS[: len(rest)]:  # much faster than lstrip
            rest = b""
        rest = rest.lstrip(b"\0")
        skipped += len(block) - len(rest)
        if rest:
            return skipped, chain([rest], blocks)
    return skipped, iter(())


def head(
    file: str | Path | LogFile,
    framing: Framing = REQUEST_LOG,
    layout: Layout | None = None,
    latest: datetime | None = None,
) -> FileHead:
    """Read a file up to the end of its first record, usually some kilobytes.

    This reads at most `START_WINDOW` bytes before the record, not counting zeros, and not much more than
    `IDENTITY_BYTES` of the record. If `layout` is None it is detected, in as many bytes as `layouts.is_enough` asks for;
    `latest` is that of `layouts.detect`.
    """
    first, opening = None, b""
    error, empty, first_offset, first_time = None, False, 0, None
    with opened(file) as content:
        try:
            skipped, blocks = without_filler(content.blocks(0, None, FIRST_BLOCK))
            is_known = layout is not None or framing is not REQUEST_LOG
            sample, blocks = _begin(blocks, is_known)
            check_form(sample, latest)
            if not is_known:
                beginning = sample[:FIRST_BLOCK]  # of a compressed file the sample is larger
                layout = detect(beginning if is_enough(beginning) else sample, latest)
            has_several = sample.count(COMPLETED) > 1
            waits = framing is SERVER_LOG and PREFIX.match(sample) is not None
            is_begun = waits or (_BEGUN.fullmatch(sample) is not None and not has_several)
            empty = skipped in (0, len(codecs.BOM_UTF8)) and is_begun
            first, first_offset, first_time, error = _first_record(sample, blocks, skipped, framing, layout or KAFKA)
            if first is None and has_several:
                error = error or _UNKNOWN_FORM
            if first is not None:
                opening = sample[first_offset - skipped :][:OPENING_BYTES]
                if len(opening) < OPENING_BYTES and len(sample) >= FIRST_BLOCK:
                    opening = b"".join(content.blocks(first_offset, first_offset + OPENING_BYTES, OPENING_BYTES))
        except CorruptFile as damage:
            error = str(damage)
        none = empty and first is None and error is None
        of_record = (first_offset, opening, first_time)
        return FileHead(first, content.size, content.compressed, error, none, layout or KAFKA, *of_record)


def _first_record(
    sample: bytes, blocks: Iterator[bytes], at: int, framing: Framing, layout: Layout
) -> tuple[bytes | None, int, tuple[bytes, bytes | None] | None, str | None]:
    """Return the record that identifies a file, its offset and time, and None; else None, 0, None and why the search was given up."""
    kind = IDENTITY if framing is REQUEST_LOG else framing
    stop = at + (_HEAD_BYTES if PREFIX.match(sample) else START_WINDOW)

    def window() -> Iterator[bytes]:
        reached = at
        for block in blocks:
            reached += len(block)
            yield block
            if reached >= stop:
                return

    end = at
    for record in split_records(window(), at, layout, kind):
        end = record.offset + record.length
        if record.text is None and (start := LINE_WITH_PREFIX.search(record.data)):
            before = start.end()  # other programs' output and filler
            record = record._replace(
                offset=record.offset + before, data=record.data[before:], length=record.length - before
            )
        if prefix := PREFIX.match(record.kafka_text):
            if (identifying := _identifying(record, kind)) is not None:
                return identifying, record.offset, (prefix[1], prefix[3]), None
            continue  # the file ends here, or its damage is raised
        if layout.splittable:
            stop = end + _HEAD_BYTES  # a record starts there
    is_given_up = end - at >= START_WINDOW
    return None, 0, None, f"no record starts in its first {START_WINDOW >> 20} MiB" if is_given_up else None


def _identifying(record: RawRecord, kind: Framing) -> bytes | None:
    """Return the bytes of a first record that do not change as the file grows; None if it is not complete yet.

    A stack trace after the record is left out, because it may be written later.
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

    The first `BEGINNING_DIGITS` are a hash of the first record alone, so that files that may be the same log are found
    among those of all brokers. The other digits are a hash of cluster and broker, and of `number` if that is not 0;
    different logs of one broker with the same first record have different numbers.
    """
    digest = hashlib.sha256()
    for part in (cluster.encode(), broker.encode()):
        digest.update(len(part).to_bytes(4, "big") + part)
    digest.update(str(number).encode() if number else b"")
    return beginning_of(first_record) + digest.hexdigest()[: 32 - BEGINNING_DIGITS]


def beginning_of(first_record: bytes) -> str:
    return hash_bytes(first_record.rstrip(b"\r\n"))[:BEGINNING_DIGITS]


class ResumePoint(NamedTuple):
    """The bytes around the offset at which an earlier read ended.

    Attributes:
        hash: hash of at most `RESUME_WINDOW` bytes before the offset, from the first record on; None if the file ends
            before the offset.
    """

    hash: str | None
    has_more: bool


def resume_point(file: str | Path | LogFile, offset: int, first_offset: int = 0) -> ResumePoint:
    """Read the bytes around the offset at which an earlier read ended; `first_offset` is that of the first record."""
    start = min(offset, max(first_offset, offset - RESUME_WINDOW))
    wanted, content = offset - start, bytearray()
    with suppress(CorruptFile):
        for block in read_blocks(file, start, offset + 1, _RESUME_BLOCK):
            content += block
    before = hash_bytes(bytes(content[:wanted])) if len(content) >= wanted else None
    return ResumePoint(before, len(content) > wanted)


def hash_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def readable_bytes(file: str | Path | LogFile) -> tuple[int, str | None]:
    """Return the number of readable decompressed bytes, and the damage after them, or None if there is none."""
    total = 0
    try:
        for block in read_blocks(file):
            total += len(block)
    except CorruptFile as damage:
        return total, str(damage)
    return total, None


def range_records(
    file: str | Path | LogFile, start: int, end: int | None, framing: Framing = REQUEST_LOG, layout: Layout = KAFKA
) -> Iterator[RawRecord]:
    """Yield the records that begin in [start, end); the last one is read to its end.

    `start` is 0, the end of an earlier read, or any byte of a plain file; `end` is None for the file's end. The layout
    is that of the file's `head`.

    Raises:
        CorruptFile: after all records before the damage, including the one that it cuts off.
        OSError: as `read_blocks`.
    """
    for record in split_records(read_blocks(file, start), start, layout, framing):
        if end is not None and record.offset >= end:
            return
        yield record


def record_start(file: str | Path | LogFile, near: int, json_requests: bool) -> int | None:
    """Return the first position at or after `near` of a plain file where a record starts; None if none is found.

        the position follows                          | it is the start of a record
        ----------------------------------------------|----------------------------------------------------
        connection, times and logger                  | certainly
        a request in JSON, if `json_requests` is true | unless the line is text in an open request in text

    In the exception the range before reads that request beyond its own end, which shows that the position was wrong.
    `json_requests` is that of `layouts.Layout`.
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
