"""The plan of a run: files with new bytes, the splits that its tasks read, and the files that it does not read.

A file is cut into splits where a record starts (`reader.record_start`). A cut may be wrong if JSON precedes it. Reading
shows that: `split_statistics.files_cut_inside_records` names such files, and `Plan.with_whole_files` returns the plan
to read instead.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..config.settings import Settings
from ..logs.compression import CorruptFile
from ..logs.content import LogFile
from ..logs.framing import RawRecord, is_sure_end
from ..logs.layouts import KAFKA, Layout
from ..logs.reader import range_records, readable_bytes, record_start
from .discovery import framing_of, is_server_log
from .storage import StoredFile

_COMPRESSION = 20
"""The least compression ratio that is assumed for a request log: whole logs had 30 to 120."""
LOOKBACK = 4 << 20
"""Bytes before an offset that are read first; more of them if no record among them certainly is one."""
_FAILURES = frozenset({"unreadable", "damaged", "rewritten", "shorter", "late", "other_cluster"})
"""Kinds of problems after which a command does not succeed: something was not read, or perhaps not."""
REPLACED = "another file has taken its place since it was planned"
"""The error of a file that was rotated: nothing of it is rejected, as the next run reads it under its new name."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that is not read, a log that overlaps another one of its broker or changes its layout, or a view that could not be made.

    Attributes:
        kind: empty, unreadable, damaged (as before), rewritten, shorter, late (older than what retention has deleted),
            other_cluster (it was read before as the log of another cluster), copy, or rotated (after planning); overlap; layout; or view.
    """

    path: str
    kind: str
    detail: str


def is_incomplete(problems: Iterable[Problem], files: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a log could not be read, or not to its end; `files` are the reports of a run."""
    return any(problem.kind in _FAILURES for problem in problems) or any(file["error"] for file in files)


def rotated(path: str) -> Problem:
    return Problem(path, "rotated", f"{REPLACED}; if it was rotated, the next run reads it under its new name")


def relaid(path: str, offset: int) -> Problem:
    """Return the note that a file's layout changes, as if log4j was configured anew or two sources write one file."""
    return Problem(path, "layout", f"from byte {offset} on it has another layout; each line is read as what it is")


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file with new bytes, from `resume_at` on.

    Attributes:
        ledger_row: its row in ingested_files, without the rejected record for an unreadable rest; None for a new file.
        was_damaged: whether `ledger_row` had such a record.
        ambiguous_hour: whether it begins in an hour that its zone repeats; None if that is not known.
        is_over: whether nothing is added to it any more, so that no record at its end waits for more bytes.
    """

    file_id: str
    file: StoredFile
    cluster: str
    broker: str
    resume_at: int
    size_on_disk: int
    compressed: bool
    ledger_row: Mapping[str, Any] | None
    was_damaged: bool = False
    first_record: str = ""
    layout: Layout = KAFKA
    first_offset: int = 0
    ambiguous_hour: bool | None = False
    opening_hash: str | None = None
    is_over: bool = False
    principal_patterns: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def where(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "cluster": self.cluster,
            "broker": self.broker,
            "compressed": self.compressed,
            "size_on_disk": self.size_on_disk,
            "first_record_offset": self.first_offset,
            "ambiguous_hour": self.ambiguous_hour,
            "opening_hash": self.opening_hash,
        }


class Split(NamedTuple):
    """A range of a file for one task: bytes [start, end) of the decompressed content.

    If `end` is None, the split reads to the file's end, and reports the bytes of an incomplete last record.
    """

    file: PlannedFile
    start: int
    end: int | None

    @property
    def size(self) -> int:
        """The bytes of log that it reads, estimated for a compressed file."""
        if self.file.compressed:
            return self.file.size_on_disk * _COMPRESSION
        return max(0, (self.file.size_on_disk if self.end is None else self.end) - self.start)


@dataclass(frozen=True, slots=True)
class Plan:
    """The work of a run.

    Attributes:
        packed: new ledger rows of unchanged files that were compressed since they were read; with their new paths
            stored, later runs need not decompress them again.
        logs: the file_id of each log that the files hold.
    """

    files: tuple[PlannedFile, ...]
    unchanged: tuple[str, ...]
    problems: tuple[Problem, ...]
    splits: tuple[tuple[Split, ...], ...]
    packed: tuple[Mapping[str, Any], ...] = ()
    logs: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        return sum(split.size for content in self.splits for split in content)

    @property
    def size_on_disk(self) -> int:
        """The bytes on disk that the tasks read; compressed files count whole, as they are read from the beginning."""
        splits = (split for content in self.splits for split in content)
        return sum(split.file.size_on_disk if split.file.compressed else split.size for split in splits)

    def with_whole_files(self, file_ids: Collection[str]) -> "Plan":
        splits = [split for content in self.splits for split in content if split.file.file_id not in file_ids]
        splits += [Split(file, file.resume_at, None) for file in self.files if file.file_id in file_ids]
        return replace(self, splits=in_tasks(splits, len(self.splits)))


def splits_of(file: PlannedFile, settings: Settings, tasks: int) -> Iterator[Split]:
    """Yield at most one split per task and file, and none below split_bytes: few large tasks are fast."""
    starts = [file.resume_at]
    if file.layout.splittable and not file.compressed and not is_server_log(file.file):
        new_bytes = file.size_on_disk - file.resume_at
        step = max(settings.split_bytes, -(-new_bytes // max(tasks, 1)))
        at = file.resume_at + step
        while at < file.size_on_disk and (cut := record_start(file.file, at, file.layout.json_requests)) is not None:
            starts.append(cut)
            at = cut + step
    ends: list[int | None] = [*starts[1:], None]
    yield from (Split(file, start, end) for start, end in zip(starts, ends, strict=True))


def in_tasks(splits: Sequence[Split], tasks: int) -> tuple[tuple[Split, ...], ...]:
    """Divide splits among tasks of about equal bytes; a task costs a tenth of a second before it reads anything."""
    bins: list[list[Split]] = [[] for _ in range(max(1, min(tasks, len(splits))))]
    sizes = [0] * len(bins)
    for split in sorted(splits, key=lambda item: (-item.size, item.file.path, item.start)):
        lightest = sizes.index(min(sizes))
        bins[lightest].append(split)
        sizes[lightest] += max(1, split.size)
    return tuple(tuple(content) for content in bins if content)


def sure_records(
    planned: PlannedFile, begin: int, end: int | None, file: LogFile | None = None
) -> Iterator[tuple[RawRecord, bool]]:
    """Yield the records in [begin, end), and whether each certainly is one, not text inside an earlier record.

    `begin` is 0, the end of an earlier read, or any byte of a plain file; `file` is its content, if it is open already.
    """
    is_sure = begin == 0
    for record in range_records(file or planned.file, begin, end, framing_of(planned.file), planned.layout):
        yield record, is_sure
        if not is_sure:
            text = record.kafka_text
            last_line = text.rfind(b"\n", 0, -1) + 1
            json_requests = planned.layout.json_requests
            is_sure = is_server_log(planned.file) or is_sure_end(text, last_line, len(text), json_requests)


def record_boundary(planned: PlannedFile, near: int) -> int:
    """Return the first offset from `near` on, in a plain file's new bytes, that lies inside no record."""
    last = _last_record(planned, near, near)
    return near if last is None else max(near, last.offset + last.length)


def complete_until(planned: PlannedFile) -> int:
    """Return the end of the last complete record of a file; what follows may still be written."""
    end = readable_bytes(planned.file)[0] if planned.compressed else planned.size_on_disk
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
