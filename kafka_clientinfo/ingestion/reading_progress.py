"""Shows how far a reading is, in bytes on disk, while it goes on.

Spark reports a task only when it ends, and a reading has about one task per core. So each task writes its count of
bytes to a file, which the driver reads once a second. Without a shared folder nothing is shown.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

_SHOWN_EVERY = 1.0
_MB = 1_000_000


class TaskCounter:
    """Counts the bytes that a task reads, in a file named after its number; without a folder it writes nothing."""

    def __init__(self, folder: str, number: int) -> None:
        self._file: IO[bytes] | None = None
        self._count = 0
        if folder:
            with suppress(OSError):
                self._file = (Path(folder) / str(number)).open("wb", buffering=0)

    def add(self, count: int) -> None:
        self._count += count
        if self._file is not None:
            with suppress(OSError):
                self._file.seek(0)
                self._file.write(self._count.to_bytes(8, "little"))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


@contextmanager
def watched(total: int, say: Callable[[str], None] | None) -> Iterator[str]:
    """Report the progress of the block's tasks to `say` once a second; yield the folder for `TaskCounter`, "" if nobody asks."""
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
    while not over.wait(_SHOWN_EVERY):
        done = 0
        for path in folder.iterdir():
            with suppress(OSError):
                done += int.from_bytes(path.read_bytes(), "little")
        if done:
            say(progress_text(done, total))


def progress_text(done: int, total: int) -> str:
    """Return the bytes read and to read as text, such as `312 of 1,024 MB`; a `total` of 0 is not known.

    Some bytes are read twice where a file is cut into splits.
    """
    return f"{min(done, total) / _MB:,.0f} of {total / _MB:,.0f} MB" if total else f"{done / _MB:,.0f} MB"
