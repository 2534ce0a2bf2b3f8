"""The plan of a run: files with new bytes, and the splits that its tasks read."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..logs.layouts import KAFKA, Layout
from .problems import Problem
from .storage import StoredFile

_COMPRESSION = 20
"""The least compression ratio that is assumed for a request log: whole logs had 30 to 120."""


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file with new bytes, from `resume_at` on.

    Attributes:
        ledger_row: its row in ingested_files, without the rejected record for an unreadable rest; None for a new file.
        was_damaged: whether `ledger_row` had such a record.
        first_record: hash of its first record.
        layout: how its records are laid out.
        first_offset: offset of its first record in the log.
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
    is_over: bool = False

    @property
    def path(self) -> str:
        """Its path, for tables and messages."""
        return self.file.path

    @property
    def where(self) -> dict[str, Any]:
        """The columns of ingested_files that say where its log is."""
        return {
            "path": self.path,
            "cluster": self.cluster,
            "broker": self.broker,
            "compressed": self.compressed,
            "size_on_disk": self.size_on_disk,
            "first_record_offset": self.first_offset,
        }

    @property
    def end(self) -> int:
        """The offset in the log at which the file ends, if it is not compressed."""
        return self.size_on_disk + (self.file.alignment.shift if self.file.alignment else 0)


class Split(NamedTuple):
    """A range of a file for one task: bytes [start, end) of the decompressed content.

    If `end` is None, the split reads to the file's end, and reports the bytes of an incomplete last record.
    """

    file: PlannedFile
    start: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The work of a run.

    Attributes:
        files: files with new bytes.
        unchanged: paths of files without any.
        problems: files that are not read, with reasons.
        splits: the work, one list per task.
        batch_id: identity of this input: the same bytes give the same id.
        packed: new ledger rows of unchanged files that were compressed since they were read; with their new paths
            stored, later runs need not decompress them again.
        logs: the file_id of each log that the files hold.
    """

    files: tuple[PlannedFile, ...]
    unchanged: tuple[str, ...]
    problems: tuple[Problem, ...]
    splits: tuple[tuple[Split, ...], ...]
    batch_id: str
    packed: tuple[Mapping[str, Any], ...] = ()
    logs: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """The bytes of log to read, roughly for compressed files."""
        return sum(
            file.size_on_disk * _COMPRESSION if file.compressed else max(0, file.end - file.resume_at)
            for file in self.files
        )

    @property
    def size_on_disk(self) -> int:
        """The bytes on disk that the tasks read; compressed files count whole, as they are read from the beginning."""
        size = 0
        for file, start, end in (split for content in self.splits for split in content):
            size += file.size_on_disk if file.compressed else max(0, (file.end if end is None else end) - start)
        return size

    def with_whole_files(self, file_ids: Collection[str]) -> "Plan":
        """Return the same plan with one split for each of these files."""
        bins = (
            tuple(
                split._replace(end=None) if split.file.file_id in file_ids else split
                for split in content
                if split.file.file_id not in file_ids or split.start == split.file.resume_at
            )
            for content in self.splits
        )
        return replace(self, splits=tuple(content for content in bins if content))
