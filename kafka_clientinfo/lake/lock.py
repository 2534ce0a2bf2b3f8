"""One run at a time on a local warehouse: two at once would both read the same new bytes.

The lock is the operating system's, on a file in the warehouse's folder, so a run that is killed leaves none behind.
Warehouses on object stores have no such lock; schedule their runs one after the other.
"""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import WarehouseError

LOCK_NAME = ".kafka_clientinfo.lock"
_POLL_SECONDS = 0.5


def local_folder(root: str) -> Path | None:
    """The folder of a warehouse on this machine, None for any other."""
    if root.startswith("file:"):
        return Path("/" + root.removeprefix("file:").lstrip("/"))
    return None if "://" in root or root.startswith("dbfs:") else Path(root)


@contextmanager
def exclusive(root: str, wait_seconds: float, progress: Callable[[str], None] | None = None) -> Iterator[None]:
    """Hold the warehouse's lock.

    Args:
        root: the warehouse.
        wait_seconds: how long to wait for another run.
        progress: told once that this run waits.

    Raises:
        WarehouseError: another run holds the lock for longer, or the folder cannot be written.
    """
    folder = local_folder(root)
    if folder is None:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK_NAME).open("a")
    except OSError as error:
        raise WarehouseError(f"the warehouse {root} cannot be written: {error.strerror or error}") from None
    with file:
        _acquire(file, root, wait_seconds, progress)
        yield


def _acquire(file: IO[str], root: str, wait_seconds: float, progress: Callable[[str], None] | None) -> None:
    until = time.monotonic() + wait_seconds
    told = False
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise WarehouseError(
                    f"another run is at work on {root} for more than {wait_seconds:.0f} s; wait for it or stop it"
                ) from None
        except OSError:
            return  # a file system without locks, such as some network mounts
        if progress is not None and not told:
            progress("waiting for another run on this warehouse")
            told = True
        time.sleep(_POLL_SECONDS)
