"""One run at a time on a local warehouse: two at once would both read the same new bytes.

The lock is the operating system's, on a file in the warehouse's folder, so a run that is killed leaves none behind.
Spark's JVM holds a second one: it is the process that writes, and it can outlive a killed driver for a while, with a
commit under way. Warehouses on object stores have no such locks; `fence` keeps their runs apart.
"""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ..errors import WarehouseError

LOCK_NAME = ".kafka_clientinfo.lock"
JVM_LOCK_NAME = ".kafka_clientinfo.jvm.lock"
"""Another file: on network mounts both kinds of lock are one, and the driver's would keep out its own JVM."""
_POLL_SECONDS = 0.5


def local_folder(root: str) -> Path | None:
    """The folder of a warehouse on this machine, None for any other."""
    if root.startswith("file:"):
        return Path("/" + root.removeprefix("file:").lstrip("/"))
    return None if "://" in root or root.startswith("dbfs:") else Path(root)


@contextmanager
def exclusive(
    root: str, wait_seconds: float, progress: Callable[[str], None] | None = None, spark: Any = None
) -> Iterator[None]:
    """Hold the warehouse's lock.

    Args:
        root: the warehouse.
        wait_seconds: how long to wait for another run.
        progress: told once that this run waits.
        spark: the session whose JVM holds the lock too; none where it is not given or is a Spark Connect session.

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
    wait = _Patience(root, wait_seconds, progress)
    with file:
        wait.until(lambda: _locked_by_driver(file))
        with _held_by_jvm(folder / JVM_LOCK_NAME, wait, getattr(spark, "_jvm", None)):
            yield


class _Patience:
    """Tries again until it works, tells once that it waits, and gives up in time."""

    def __init__(self, root: str, wait_seconds: float, progress: Callable[[str], None] | None) -> None:
        self.root, self.wait_seconds, self.progress = root, wait_seconds, progress
        self.deadline = time.monotonic() + wait_seconds

    def until(self, works: Callable[[], bool]) -> None:
        while not works():
            if time.monotonic() >= self.deadline:
                waited = f" and did not end in {self.wait_seconds:g} s" if self.wait_seconds else ""
                raise WarehouseError(f"another run is at work on {self.root}{waited}; wait for it or stop it")
            if self.progress is not None:
                self.progress("waiting for another run on this warehouse")
                self.progress = None
            time.sleep(_POLL_SECONDS)


def _locked_by_driver(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks, such as some network mounts
    return True


@contextmanager
def _held_by_jvm(path: Path, wait: _Patience, jvm: Any) -> Iterator[None]:
    if jvm is None:
        yield
        return
    try:
        channel = jvm.java.io.RandomAccessFile(str(path.absolute()), "rw").getChannel()
    except Exception as error:
        raise WarehouseError(f"{path} cannot be written by Spark's JVM; give it to the user that runs this") from error
    try:
        wait.until(lambda: _locked_by_jvm(channel))
        yield
    finally:
        with suppress(Exception):  # a JVM that is gone holds nothing
            channel.close()


def _locked_by_jvm(channel: Any) -> bool:
    try:
        return channel.tryLock() is not None
    except Exception as error:
        # What another thread of this JVM holds comes as an exception, as does a file system without locks.
        return "OverlappingFileLockException" not in str(error)
