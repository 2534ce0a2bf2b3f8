"""Finds where records begin and end in a part of a file, without reading what comes before it."""

from collections.abc import Iterator
from contextlib import suppress

from ..logs.compression import CorruptFile
from ..logs.content import LogFile
from ..logs.framing import RawRecord, is_sure_end
from ..logs.reader import range_records, readable_bytes
from .discovery import framing_of, is_server_log
from .planned import PlannedFile

LOOKBACK = 4 << 20
"""Bytes before an offset that are read first; more of them if no record among them certainly is one."""


def sure_records(
    planned: PlannedFile, begin: int, end: int | None, file: LogFile | None = None
) -> Iterator[tuple[RawRecord, bool]]:
    """Yield the records in [begin, end), and whether each certainly is one, not text inside an earlier record.

    Args:
        planned: the file.
        begin: 0, the end of an earlier read, or any byte of a plain file.
        end: None for the file's end.
        file: its opened content; by default it is opened.
    """
    is_sure = begin == 0
    for record in range_records(file or planned.file, begin, end, framing_of(planned.file), planned.layout):
        yield record, is_sure
        is_sure = is_sure or _is_sure_end(planned, record.kafka_text)


def _is_sure_end(planned: PlannedFile, text: bytes) -> bool:
    last_line = text.rfind(b"\n", 0, -1) + 1
    return is_server_log(planned.file) or is_sure_end(text, last_line, len(text), planned.layout.json_requests)


def record_boundary(planned: PlannedFile, near: int) -> int:
    """Return the first offset at or after `near` of a plain file's new bytes where no record that began before goes on."""
    last = _last_record(planned, near, near)
    return near if last is None else max(near, last.offset + last.length)


def complete_until(planned: PlannedFile) -> int:
    """Return the end of the last complete record of a file; what follows may still be written."""
    end = readable_bytes(planned.file)[0] if planned.compressed else planned.end
    last = _last_record(planned, end, None)
    if last is None:
        return planned.resume_at
    return last.offset + last.length if last.finished or planned.is_over else last.offset


def _last_record(planned: PlannedFile, near: int, end: int | None) -> RawRecord | None:
    """Return the last record of a file's new bytes that begins before `end`, looking from `near` backwards."""
    step = LOOKBACK
    while True:
        begin = max(planned.resume_at, near - step)
        last, is_sure = None, begin == planned.resume_at
        with suppress(CorruptFile):
            for record, is_record in sure_records(planned, begin, end):
                last, is_sure = record, is_sure or is_record
        if is_sure or begin == planned.resume_at:
            return last
        step *= 2
