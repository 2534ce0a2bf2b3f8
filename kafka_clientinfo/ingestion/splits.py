"""Divides the new bytes of files into splits, and splits among tasks.

A file is cut into splits where a record starts (`reader.record_start`). A cut may be wrong if JSON precedes it. Reading
shows that: `split_statistics.files_cut_inside_records` names such files, and `Plan.with_whole_files` returns the plan
to read instead.
"""

from collections.abc import Iterator, Sequence

from ..config.settings import Settings
from ..logs.reader import record_start
from .discovery import is_server_log
from .planned import PlannedFile, Split


def splits_of(file: PlannedFile, settings: Settings, tasks: int) -> Iterator[Split]:
    """Yield at most one split per task and file, and none below split_bytes: few large tasks are fast."""
    starts = [file.resume_at]
    if file.layout.splittable and not file.compressed and not is_server_log(file.file):
        new_bytes = file.end - file.resume_at
        starts += _cuts(file, max(settings.split_bytes, -(-new_bytes // max(tasks, 1))))
    ends: list[int | None] = [*starts[1:], None]
    yield from (Split(file, start, end) for start, end in zip(starts, ends, strict=True))


def _cuts(file: PlannedFile, step: int) -> Iterator[int]:
    at = file.resume_at + step
    while at < file.end and (cut := record_start(file.file, at, file.layout.json_requests)) is not None:
        yield cut
        at = cut + step


def in_tasks(splits: Sequence[Split], tasks: int) -> tuple[tuple[Split, ...], ...]:
    """Divide splits among tasks of about equal bytes; a task costs a tenth of a second before it reads anything."""

    def size(split: Split) -> int:
        end = split.end if split.end is not None else max(split.file.end, split.start + 1)
        return end - split.start

    bins: list[tuple[int, list[Split]]] = [(0, []) for _ in range(max(1, min(tasks, len(splits))))]
    for split in sorted(splits, key=lambda item: (-size(item), item.file.path, item.start)):
        lightest = min(range(len(bins)), key=lambda index: bins[index][0])
        total, content = bins[lightest]
        content.append(split)
        bins[lightest] = (total + size(split), content)
    return tuple(tuple(content) for _, content in bins if content)
