"""Which bytes of which files are new: files to splits, on the driver, reading only the files' heads.

A file that was read before is resumed where that ended, if the bytes before that place are still the same. What
cannot be read is a problem that is reported and does not stop the rest. What a run reads is settled here: a file
that grows meanwhile is read up to the size that it has now, and one that another file has replaced is noticed.

A file is cut into splits where a record starts (`reader.record_start`). A cut behind JSON may be wrong; that shows when it
is read: `split_statistics.wrongly_cut` names such files, and `Plan.uncut` gives the plan to read instead.

A file of which an earlier run could not read the rest (a copy that is not complete yet, damage, a failing disk) has
one rejected record for that rest, at the place where it resumes. A run that resumes it takes that record back
(`PlannedFile.was_damaged`): what it stood for is read now, or gets one of its own.
"""

import errno
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..logs.layouts import KAFKA, Layout
from ..logs.reader import file_id, hash_bytes, head, readable_bytes, record_start, resume_point
from ..settings import Settings
from .discovery import framing_of, is_server_log
from .storage import StoredFile, local_file

_COMPRESSION = 20
"""How often a request log goes into its archive, at least: 30 to 120 times were seen for whole logs."""


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file with new bytes, from `resume_at` on.

    Attributes:
        known: its row in ingested_files without the mark of an unreadable rest, None for a new file.
        was_damaged: whether such a mark was taken off it.
        first_record: hash of its first record.
        layout: how its records are laid out.
    """

    file_id: str
    file: StoredFile
    cluster: str
    broker: str
    resume_at: int
    size_on_disk: int
    compressed: bool
    known: Mapping[str, Any] | None
    was_damaged: bool = False
    first_record: str = ""
    layout: Layout = KAFKA

    @property
    def path(self) -> str:
        """Where it lies, for tables and messages."""
        return self.file.path


class Split(NamedTuple):
    """A range of a file for one task: bytes [start, end) of the decompressed content.

    Where `end` is None it is the file's end, and this split knows what is pending there.
    """

    file: PlannedFile
    start: int
    end: int | None


_FAILURES = frozenset({"unreadable", "rewritten"})
"""Kinds of problems with which a command does not end well."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that was passed over, or a view that could not be made.

    Attributes:
        kind: empty, unreadable, damaged (as before), rewritten, shorter, copy, or rotated (after it was planned); or view.
    """

    path: str
    kind: str
    detail: str


def is_incomplete(problems: Iterable[Problem], files: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a log could not be read, or not to its end; `files` are as a run reports them."""
    return any(problem.kind in _FAILURES for problem in problems) or any(file["error"] for file in files)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will read.

    Attributes:
        files: files with new bytes.
        unchanged: paths of files without any.
        problems: files passed over, with reasons.
        splits: the work, one list per task.
        batch_id: identity of this input: the same bytes give the same id.
        packed: new rows of ingested_files for unchanged files that have been compressed since they were read: with their
            new paths, which are known then, they are unpacked once only.
    """

    files: tuple[PlannedFile, ...]
    unchanged: tuple[str, ...]
    problems: tuple[Problem, ...]
    splits: tuple[tuple[Split, ...], ...]
    batch_id: str
    packed: tuple[Mapping[str, Any], ...] = ()

    @property
    def size(self) -> int:
        """Bytes of log that it reads, roughly where they are compressed."""
        return sum(
            file.size_on_disk * _COMPRESSION if file.compressed else max(0, file.size_on_disk - file.resume_at)
            for file in self.files
        )

    @property
    def size_on_disk(self) -> int:
        """Bytes on disk that its tasks read; of a compressed file all, as that is read from its beginning."""
        size = 0
        for file, start, end in (split for content in self.splits for split in content):
            begin, end = (0, None) if file.compressed else (start, end)
            size += max(0, (file.size_on_disk if end is None else end) - begin)
        return size

    def uncut(self, file_ids: Collection[str]) -> "Plan":
        """The same plan with one split for each of these files."""
        bins = (
            tuple(
                split._replace(end=None) if split.file.file_id in file_ids else split
                for split in content
                if split.file.file_id not in file_ids or split.start == split.file.resume_at
            )
            for content in self.splits
        )
        return replace(self, splits=tuple(content for content in bins if content))


def make_plan(
    files: Sequence[StoredFile | Path], known: Mapping[str, Mapping[str, Any]], settings: Settings, tasks: int
) -> Plan:
    """Compare files with what was read of them before, the rows of ingested_files by file_id; divide what is new."""
    found = _Found()
    for item in files:
        found.add(*_planned(item if isinstance(item, StoredFile) else local_file(item), known, settings))
    splits: list[Split] = []
    for file in list(found.files.values()):
        try:
            splits += splits_of(file, settings, tasks)
        except OSError as error:
            del found.files[file.file_id]
            found.problems.append(Problem(file.path, "unreadable", _said(error)))
    chosen = tuple(found.files.values())
    bins, batch_id = _bins(splits, tasks), _batch_id(chosen)
    return Plan(chosen, tuple(found.unchanged), tuple(found.problems), bins, batch_id, tuple(found.moved()))


class _Packed(NamedTuple):
    """A file without new bytes that has been compressed: where it was read, and its row from now on."""

    original: str
    row: Mapping[str, Any]


_Outcome = PlannedFile | Problem | _Packed | None
"""What comes of a file: None where it has nothing new."""


@dataclass
class _Found:
    files: dict[str, PlannedFile] = field(default_factory=dict)
    unchanged: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    packed: list[_Packed] = field(default_factory=list)

    def moved(self) -> Iterable[Mapping[str, Any]]:
        """Rows of files that were compressed, unless the original is still there: its copy may soon be gone."""
        here = set(self.unchanged).union(file.path for file in self.files.values())
        by_id = {packed.row["file_id"]: packed.row for packed in self.packed if packed.original not in here}
        return [row for file_id, row in by_id.items() if file_id not in self.files]

    def add(self, path: str, outcome: _Outcome) -> None:
        if isinstance(outcome, Problem):
            self.problems.append(outcome)
        elif outcome is None or isinstance(outcome, _Packed):
            self.unchanged.append(path)
            self.packed += [] if outcome is None else [outcome]
        elif outcome.file_id in self.files:
            self._settle_copy(outcome)
        else:
            self.files[outcome.file_id] = outcome

    def _settle_copy(self, other: PlannedFile) -> None:
        """Of two copies of a file keep the one with more bytes; compressed ones count by what they hold."""
        kept = self.files[other.file_id]
        try:
            longer, shorter = (other, kept) if _content_size(other) > _content_size(kept) else (kept, other)
        except OSError as error:
            self.problems.append(Problem(other.path, "unreadable", _said(error)))
            return
        self.files[other.file_id] = longer
        self.problems.append(Problem(shorter.path, "copy", f"the same log as {longer.path}"))


def _said(error: OSError) -> str:
    return error.strerror or str(error)


def _planned(file: StoredFile, known: Mapping[str, Mapping[str, Any]], settings: Settings) -> tuple[str, _Outcome]:
    try:
        try:
            return file.path, _compared(file.measured(), known, settings)
        except OSError as error:
            if error.errno != errno.ESTALE:
                raise
            return file.path, _compared(file.measured(), known, settings)  # rotated since it was measured
    except OSError as error:
        return file.path, Problem(file.path, "unreadable", _said(error))


def _compared(file: StoredFile, known: Mapping[str, Mapping[str, Any]], settings: Settings) -> _Outcome:
    beginning = head(file, framing_of(file), name=settings.log_layout, latest=file.modified)
    first = beginning.first_record
    if first is None:
        kind = "empty" if beginning.empty else "unreadable"
        return Problem(file.path, kind, beginning.error or "it holds no complete record yet")
    broker = settings.broker_of(file.folders)
    identity = file_id(settings.cluster, broker, first)
    row = known.get(identity)
    damaged = row is not None and bool(row.get("damage"))
    planned = PlannedFile(
        file_id=identity,
        file=file,
        cluster=settings.cluster,
        broker=broker,
        resume_at=0 if row is None else int(row["bytes_ingested"]),
        size_on_disk=beginning.size,
        compressed=beginning.compressed,
        known=_without_placeholder(row) if row is not None and damaged else row,
        was_damaged=damaged,
        first_record=hash_bytes(first),
        layout=beginning.layout,
    )
    return planned if row is None else _against(planned, row)


def _without_placeholder(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**row, "records": int(row["records"]) - 1, "rejected": int(row["rejected"]) - 1, "damage": None}


def _against(planned: PlannedFile, row: Mapping[str, Any]) -> _Outcome:
    """What comes of a file of which an earlier run has made this row: the plan itself where it has new bytes."""
    file, resume_at = planned.file, planned.resume_at
    is_same_archive = (
        row["compressed"] and row["path"] == file.path and int(row["size_on_disk"]) == planned.size_on_disk
    )
    if planned.compressed and is_same_archive and not planned.was_damaged:
        return None  # archives are written once, and to look inside costs reading them whole
    place = resume_point(file, resume_at)
    if place.hash is None:
        detail = f"{resume_at} bytes of it were read before; this is an older copy, or it was truncated"
        return Problem(file.path, "shorter", detail)
    if place.hash != row["resume_hash"]:
        return Problem(file.path, "rewritten", f"the bytes before offset {resume_at} are not those read before")
    if planned.was_damaged:
        return _still_damaged(planned, row) if planned.compressed else planned
    if planned.compressed:
        archive = {**row, "path": file.path, "size_on_disk": planned.size_on_disk, "compressed": True}
        return planned if place.has_more else _Packed(row["path"], archive)
    is_rotated = row["path"] != file.path and is_server_log(file)  # what waited for its stack trace is whole now
    pending = int(row["pending_bytes"])
    return planned if planned.size_on_disk != resume_at + pending or (pending and is_rotated) else None


def _still_damaged(planned: PlannedFile, row: Mapping[str, Any]) -> _Outcome:
    """Whether a damaged archive ends where it ended before; it may have been replaced by one of the same size."""
    readable, damage = readable_bytes(planned.file)
    if damage and readable == planned.resume_at + int(row["pending_bytes"]):
        said = f"nothing new; {damage} behind byte {readable} of its content, as before"
        return Problem(planned.path, "damaged", said)
    return planned


def _content_size(file: PlannedFile) -> int:
    return readable_bytes(file.file)[0] if file.compressed else file.size_on_disk


def splits_of(file: PlannedFile, settings: Settings, tasks: int) -> Iterator[Split]:
    """One split per task and file at most, and none below split_bytes: few large tasks are fast."""
    starts = [file.resume_at]
    if file.layout.splittable and not file.compressed and not is_server_log(file.file):
        new_bytes = file.size_on_disk - file.resume_at
        starts += _cuts(file, max(settings.split_bytes, -(-new_bytes // max(tasks, 1))))
    ends: list[int | None] = [*starts[1:], None]
    yield from (Split(file, start, end) for start, end in zip(starts, ends, strict=True))


def _cuts(file: PlannedFile, step: int) -> Iterator[int]:
    at = file.resume_at + step
    last = file.resume_at
    while at < file.size_on_disk:
        cut = record_start(file.file, at, file.layout.json_requests)
        if cut is None:
            return
        if cut > last:
            yield cut
            last = cut
        at = max(cut, at) + step


def _bins(splits: Sequence[Split], tasks: int) -> tuple[tuple[Split, ...], ...]:
    """Splits to tasks of about the same bytes; a task costs a tenth of a second before it reads anything."""

    def size(split: Split) -> int:
        end = split.end if split.end is not None else max(split.file.size_on_disk, split.start + 1)
        return end - split.start

    bins: list[tuple[int, list[Split]]] = [(0, []) for _ in range(max(1, min(tasks, len(splits))))]
    for split in sorted(splits, key=lambda item: (-size(item), item.file.path, item.start)):
        lightest = min(range(len(bins)), key=lambda index: bins[index][0])
        total, content = bins[lightest]
        content.append(split)
        bins[lightest] = (total + size(split), content)
    return tuple(tuple(content) for _, content in bins if content)


def _batch_id(files: Iterable[PlannedFile]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda item: item.file_id):
        digest.update(f"{file.file_id}:{file.resume_at}:{file.size_on_disk}".encode())
        if file.was_damaged and file.known:  # the same bytes once more, and another batch
            digest.update(f":{file.known.get('batch_id')}".encode())
        digest.update(b"\n")
    return digest.hexdigest()[:32]
