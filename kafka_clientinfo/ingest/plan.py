"""Which bytes of which files are new: paths to splits, on the driver, reading only the files' heads.

A file that was read before is resumed where that ended, if the bytes before that place are still the same. What
cannot be read is a problem that is reported and does not stop the rest.
"""

import glob
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..logs.framing import REQUEST_LOG, SERVER_LOG
from ..logs.reader import CorruptFile, FileHead, file_id, head, read_blocks, record_start, resume_hash
from ..settings import Settings

LOG_NAMES = "kafka-request.log*"
SERVER_LOG_NAMES = "server.log*"


class Split(NamedTuple):
    """A range of a file for one task: bytes [start, end) of the decompressed content; end None is the file's end.

    `is_last` marks the split that reads up to the file's end and so knows what is pending.
    """

    path: str
    file_id: str
    cluster: str
    broker: str
    start: int
    end: int | None
    is_last: bool


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file with new bytes, from `resume_at` on; `known` is its row in ingested_files, None for a new file."""

    file_id: str
    path: Path
    cluster: str
    broker: str
    resume_at: int
    size_on_disk: int
    compressed: bool
    known: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that was passed over: `kind` is empty, unreadable, rewritten, shorter or copy."""

    path: str
    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will read.

    Attributes:
        files: files with new bytes.
        unchanged: paths of files without any.
        problems: files passed over, with reasons.
        splits: the work, one list per task.
        batch_id: identity of this input: the same bytes give the same id.
    """

    files: tuple[PlannedFile, ...]
    unchanged: tuple[str, ...]
    problems: tuple[Problem, ...]
    splits: tuple[tuple[Split, ...], ...]
    batch_id: str


def find_logs(logs: Sequence[str]) -> list[Path]:
    """Files that LOGS name: files, folders (every `kafka-request.log*` below), globs.

    Raises:
        InputError: when one of them names nothing.
    """
    found: dict[Path, None] = {}
    for item in logs:
        paths = [path for path in _expand(item) if path.is_file()]
        if not paths:
            hint = f"no {LOG_NAMES} below this folder" if Path(item).is_dir() else "no such file, folder or match"
            raise InputError(f"{item}: {hint}; give log files, folders that hold {LOG_NAMES}, or quoted globs")
        found.update(dict.fromkeys(path.absolute() for path in paths))
    return list(found)


def _expand(item: str) -> Iterable[Path]:
    path = Path(item)
    if path.is_dir():
        return sorted(path.rglob(LOG_NAMES))
    if path.exists():
        return [path]
    return [
        match
        for name in sorted(glob.glob(item, recursive=True))
        for match in (sorted(Path(name).rglob(LOG_NAMES)) if Path(name).is_dir() else [Path(name)])
    ]


def is_server_log(path: Path) -> bool:
    """Whether a log is a broker's server.log, by its name."""
    return path.match(SERVER_LOG_NAMES)


def with_server_logs(paths: Sequence[Path]) -> list[Path]:
    """The logs and every server.log that lies beside one of them."""
    folders = dict.fromkeys(path.parent for path in paths)
    beside = [found for folder in folders for found in sorted(folder.glob(SERVER_LOG_NAMES)) if found.is_file()]
    return list(dict.fromkeys([*paths, *beside]))


def make_plan(paths: Sequence[Path], known: Mapping[str, Mapping[str, Any]], settings: Settings, tasks: int) -> Plan:
    """Compare files with what was read of them before.

    Args:
        paths: log files.
        known: rows of ingested_files by file_id.
        settings: cluster, broker_pattern and split_bytes are used.
        tasks: tasks that run at once.
    """
    files: dict[str, PlannedFile] = {}
    unchanged: list[str] = []
    problems: list[Problem] = []
    for path in paths:
        outcome = _plan_file(path, known, settings)
        if isinstance(outcome, Problem):
            problems.append(outcome)
        elif outcome is None:
            unchanged.append(str(path))
        elif outcome.file_id in files:
            problems.append(_settle_copy(files, outcome))
        else:
            files[outcome.file_id] = outcome
    splits: list[Split] = []
    for file in list(files.values()):
        try:
            splits += _splits(file, settings, tasks)
        except OSError as error:
            del files[file.file_id]
            problems.append(Problem(str(file.path), "unreadable", error.strerror or str(error)))
    chosen = tuple(files.values())
    return Plan(chosen, tuple(unchanged), tuple(problems), _bins(splits, files, tasks), _batch_id(chosen))


def _plan_file(path: Path, known: Mapping[str, Mapping[str, Any]], settings: Settings) -> PlannedFile | Problem | None:
    try:
        beginning = head(path, SERVER_LOG if is_server_log(path) else REQUEST_LOG)
        if beginning.first_record is None:
            kind = "empty" if beginning.size == 0 else "unreadable"
            return Problem(str(path), kind, "it holds no complete record yet")
        broker = settings.broker_of(path)
        identity = file_id(settings.cluster, broker, beginning.first_record)
        row = known.get(identity)
        if row is not None and (seen := _seen_before(path, row, beginning)) is not _HAS_MORE:
            return seen
    except OSError as error:
        return Problem(str(path), "unreadable", error.strerror or str(error))
    resume_at = 0 if row is None else int(row["bytes_ingested"])
    return PlannedFile(identity, path, settings.cluster, broker, resume_at, beginning.size, beginning.compressed, row)


_HAS_MORE = Problem("", "", "")


def _seen_before(path: Path, row: Mapping[str, Any], beginning: FileHead) -> Problem | None:
    """None where a known file has nothing new, `_HAS_MORE` where it has, else what is wrong with it."""
    resume_at = int(row["bytes_ingested"])
    if _is_same_archive(row, path, beginning):
        return None
    found = resume_hash(path, resume_at)
    if found is None:
        detail = f"{resume_at} bytes of it were read before; this is an older copy, or it was truncated"
        return Problem(str(path), "shorter", detail)
    if found != row["resume_hash"]:
        return Problem(str(path), "rewritten", f"the bytes before offset {resume_at} are not those read before")
    if beginning.compressed:
        return _HAS_MORE if _has_bytes_behind(path, resume_at) else None
    return None if beginning.size == resume_at + int(row["pending_bytes"]) else _HAS_MORE


def _is_same_archive(row: Mapping[str, Any], path: Path, beginning: FileHead) -> bool:
    """Whether it is the same compressed file: those are written once, and to look inside costs reading them whole."""
    was_read_here = bool(row["compressed"]) and row["path"] == str(path)
    return beginning.compressed and was_read_here and int(row["size_on_disk"]) == beginning.size


def _has_bytes_behind(path: Path, offset: int) -> bool:
    try:
        return bool(next(read_blocks(path, offset), b""))
    except CorruptFile:
        return False


def _settle_copy(files: dict[str, PlannedFile], other: PlannedFile) -> Problem:
    """Of two copies of a file keep the one with more bytes; compressed ones count by what they hold."""
    kept = files[other.file_id]
    longer, shorter = (other, kept) if _content_size(other) > _content_size(kept) else (kept, other)
    files[other.file_id] = longer
    return Problem(str(shorter.path), "copy", f"the same log as {longer.path}")


def _content_size(file: PlannedFile) -> int:
    if not file.compressed:
        return file.size_on_disk
    total = 0
    try:
        for block in read_blocks(file.path):
            total += len(block)
    except CorruptFile:
        pass
    return total


def _splits(file: PlannedFile, settings: Settings, tasks: int) -> Iterator[Split]:
    """One split per task and file at most, and none below split_bytes: few large tasks are fast."""
    starts = [file.resume_at]
    if not file.compressed and not is_server_log(file.path):
        new_bytes = file.size_on_disk - file.resume_at
        starts += _cuts(file, max(settings.split_bytes, -(-new_bytes // max(tasks, 1))))
    ends: list[int | None] = [*starts[1:], None]
    for start, end in zip(starts, ends, strict=True):
        yield Split(str(file.path), file.file_id, file.cluster, file.broker, start, end, end is None)


def _cuts(file: PlannedFile, step: int) -> Iterator[int]:
    at = file.resume_at + step
    last = file.resume_at
    while at < file.size_on_disk:
        cut = record_start(file.path, at)
        if cut is None:
            return
        if cut > last:
            yield cut
            last = cut
        at = max(cut, at) + step


def _bins(splits: Sequence[Split], files: Mapping[str, PlannedFile], tasks: int) -> tuple[tuple[Split, ...], ...]:
    """Splits to tasks of about the same bytes; a task costs a tenth of a second before it reads anything."""

    def size(split: Split) -> int:
        end = split.end if split.end is not None else max(files[split.file_id].size_on_disk, split.start + 1)
        return end - split.start

    bins: list[tuple[int, list[Split]]] = [(0, []) for _ in range(max(1, min(tasks, len(splits))))]
    for split in sorted(splits, key=lambda item: (-size(item), item.path, item.start)):
        lightest = min(range(len(bins)), key=lambda index: bins[index][0])
        total, content = bins[lightest]
        content.append(split)
        bins[lightest] = (total + size(split), content)
    return tuple(tuple(content) for _, content in bins if content)


def _batch_id(files: Iterable[PlannedFile]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda item: item.file_id):
        digest.update(f"{file.file_id}:{file.resume_at}:{file.size_on_disk}\n".encode())
    return digest.hexdigest()[:32]
