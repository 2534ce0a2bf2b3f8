"""How far a reading is, in bytes as they lie in the files, while it goes on.

Spark tells of a task when it ends, and a reading has about one task per core. So each task writes what it has read into
a file of its own, which the driver looks at once a second. Where they share no folder nobody counts.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

_EVERY = 0.5
"""Seconds between two writes of a task."""
_SHOWN_EVERY = 1.0
_SETTLED = 2.0
"""Seconds until a rate is worth telling."""
_MB = 1_000_000
_MINUTES_FROM = 120
"""Seconds."""


class TaskCounter:
    """Counts what a task reads, in a file that is named after its number; nowhere where there is no such folder."""

    def __init__(self, folder: str, number: int) -> None:
        self._file: IO[bytes] | None = None
        if folder:
            with suppress(OSError):
                self._file = (Path(folder) / str(number)).open("wb", buffering=0)
        self._count, self._written = 0, 0.0

    def add(self, count: int) -> None:
        """Count bytes in."""
        self._count += count
        if time.monotonic() - self._written >= _EVERY:
            self._write()

    def close(self) -> None:
        """Write the last count."""
        self._write()
        if self._file is not None:
            self._file.close()

    def _write(self) -> None:
        self._written = time.monotonic()
        if self._file is not None:
            with suppress(OSError):
                self._file.seek(0)
                self._file.write(self._count.to_bytes(8, "little"))


@contextmanager
def watched(total: int, say: Callable[[str], None] | None) -> Iterator[str]:
    """Say how far the tasks of a reading of so many bytes are, once a second; `total` is 0 where that is not known.

    Yields:
        The folder for `TaskCounter`; empty where nobody is told.
    """
    if say is None:
        yield ""
        return
    over = threading.Event()
    with TemporaryDirectory(prefix="kafka-clientinfo-read-") as folder:
        watcher = threading.Thread(target=_watch, args=(Path(folder), total, say, over), daemon=True)
        watcher.start()
        try:
            yield folder
        finally:
            over.set()
            watcher.join()


def _watch(folder: Path, total: int, say: Callable[[str], None], over: threading.Event) -> None:
    began = None
    while not over.wait(_SHOWN_EVERY):
        if done := _sum(folder):
            began = began or time.monotonic() - _SHOWN_EVERY  # before that, Spark plans and starts its workers
            say(progress_text(done, total, time.monotonic() - began))


def _sum(folder: Path) -> int:
    found = 0
    for path in folder.iterdir():
        with suppress(OSError):
            found += int.from_bytes(path.read_bytes(), "little")
    return found


def progress_text(done: int, total: int, seconds: float) -> str:
    """Text of how far a reading is, such as `312 of 1,024 MB, 25 MB/s, 28 s left`.

    Args:
        done: bytes read; some are read twice, where a file is cut.
        total: bytes to read; 0 where that is not known.
        seconds: since the reading began.
    """
    done = min(done, total) if total else done
    text = f"{done / _MB:,.0f} of {total / _MB:,.0f} MB" if total else f"{done / _MB:,.0f} MB"
    if seconds < _SETTLED or not done:
        return text
    text = f"{text}, {done / seconds / _MB:,.1f} MB/s"
    if not total:
        return text
    left = (total - done) * seconds / done
    return f"{text}, {left:,.0f} s left" if left < _MINUTES_FROM else f"{text}, {left / 60:,.0f} min left"
