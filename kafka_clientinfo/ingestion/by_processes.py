"""Reads splits with several processes of this machine, where there is no Spark."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from ..config.settings import Settings
from .arrow_schema import Part
from .planned import PlannedFile, Split, in_tasks, splits_of
from .worker import SplitReader

_LEAST_BYTES = 32 << 20
"""Bytes of log for which another process pays: it costs a tenth of a second, and these take half a second."""
_MOST_BYTES = 256 << 20
"""Bytes of log in a task, if they can be divided: all its rows are in memory at once, and it reads some bytes before it, too."""
_MOST_PROCESSES = 8


class Done(NamedTuple):
    """What a task has read: the rows, the statistics of its splits among them, and how many bytes on disk they were."""

    parts: list[Part]
    bytes_read: int


def processes_for(size: int) -> int:
    """Return how many processes should read so many bytes; 1 is this one alone."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, min(cores, _MOST_PROCESSES, size // _LEAST_BYTES))


class Processes:
    """Processes that read tasks from when this is made."""

    def __init__(self, count: int, tasks: Sequence[Sequence[Split]], settings: Settings) -> None:
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self._executor = ProcessPoolExecutor(count, context, _begin)
        self._tasks: set[Future[Done]] = {
            self._executor.submit(_read, task, settings.log_zone, settings.topics) for task in tasks
        }

    def done(self) -> Iterator[Done]:
        """Yield what the tasks have read, as they end; raise the error of the first one that fails."""
        try:
            for task in as_completed(self._tasks):
                self._tasks.discard(task)  # its rows need no memory any more
                yield task.result()
        finally:
            self._executor.shutdown(cancel_futures=True)


def started(files: Sequence[PlannedFile], size: int, settings: Settings) -> Processes | None:
    """Let processes begin to read files of so many bytes; return None if this process should read alone.

    It should if there is little to read, if a file is in a store, as its client does not survive a fork, if a file that
    cannot be divided is so large that memory may not hold its rows, or if no process can be made. Call it before there are
    other threads: on Linux the processes are forked.
    """
    count = processes_for(size)
    number = count * -(-size // (count * _MOST_BYTES))
    finely = replace(settings, split_bytes=_LEAST_BYTES)
    splits = [split for file in files for split in splits_of(file, finely, number)]
    fits = not any(split.file.file.root or split.size > 2 * _MOST_BYTES for split in splits)
    if min(count, len(splits)) > 1 and fits:
        with suppress(OSError, NotImplementedError):
            return Processes(count, in_tasks(splits, number), settings)
    return None


def _begin() -> None:
    """Let Ctrl-C end the process at once, and the end of its parent, however that ends."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def _read(splits: Sequence[Split], zone: str, reads_topics: bool) -> Done:
    parts, sizes = list[Part](), list[int]()
    for split in splits:
        reader = SplitReader(split, zone, sizes.append, reads_topics)
        parts += [*reader.parts(), reader.statistics()]
    return Done(parts, sum(sizes))
