"""One run at a time on a local warehouse: two at once would both read the same new bytes.

The lock is the operating system's, on a file in the warehouse's folder, so a run that is killed leaves none behind.
Spark's JVM holds a second one: it is the process that writes, and it can outlive a killed driver for a while, with a
commit under way. Only both together are a real lock. Where one of them can't be had (object stores, file systems
without locks, schemas of catalogs, Spark Connect, whose server is another process) `claims` keeps the runs apart.
"""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import IO, Any

from ..address import address_in, address_of
from ..errors import WarehouseError
from .abilities import jvm_of

LOCK_NAME = ".kafka_clientinfo.lock"
JVM_LOCK_NAME = ".kafka_clientinfo.jvm.lock"
"""A separate file: NFS maps flock to fcntl locks, so the driver would block its own JVM."""
_POLL_SECONDS = 0.5


class _Attempt(Enum):
    """What came of one attempt to lock a file."""

    HELD = "held"
    BUSY = "busy"
    UNSUPPORTED = "unsupported"


@contextmanager
def exclusive(
    root: str, wait_seconds: float, progress: Callable[[str], None] | None = None, spark: Any = None
) -> Iterator[bool]:
    """Hold the warehouse's lock; yields whether it is a real one, which keeps every other run out.

    Args:
        root: the warehouse.
        wait_seconds: how long to wait for another run.
        progress: called once with a text when this run has to wait.
        spark: the session whose JVM holds the lock too.

    Raises:
        ConfigError: the text may mean a folder as well as a schema.
        WarehouseError: another run holds the lock for longer, or the folder cannot be written.
    """
    folder = (address_of(root) if spark is None else address_in(spark, root)).folder
    if folder is None:
        yield False
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / LOCK_NAME).open("a")
        (folder / JVM_LOCK_NAME).touch()  # with this process's permissions: those of Spark's JVM may be narrower
    except OSError as error:
        raise WarehouseError(f"the warehouse {root} cannot be written: {error.strerror or error}") from None
    wait = _Patience(root, wait_seconds, progress)
    with file:
        by_driver = wait.until(lambda: _lock_by_driver(file))
        with _held_by_jvm(folder / JVM_LOCK_NAME, wait, jvm_of(spark)) as by_jvm:
            yield by_driver and by_jvm


class _Patience:
    """Tries again until a file is locked, says once that it waits, and gives up in time."""

    def __init__(self, root: str, wait_seconds: float, progress: Callable[[str], None] | None) -> None:
        self.root, self.wait_seconds, self.progress = root, wait_seconds, progress
        self.deadline = time.monotonic() + wait_seconds

    def until(self, attempt: Callable[[], _Attempt]) -> bool:
        """Whether the lock is held; False where the file system has no locks."""
        while (outcome := attempt()) is _Attempt.BUSY:
            if time.monotonic() >= self.deadline:
                waited = f" and did not end in {self.wait_seconds:g} s" if self.wait_seconds else ""
                raise WarehouseError(f"another run is at work on {self.root}{waited}; wait for it or stop it")
            if self.progress is not None:
                self.progress("waiting for another run on this warehouse")
                self.progress = None
            time.sleep(_POLL_SECONDS)
        return outcome is _Attempt.HELD


def _lock_by_driver(file: IO[str]) -> _Attempt:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _Attempt.BUSY
    except OSError:  # a file system without locks, such as some network mounts
        return _Attempt.UNSUPPORTED
    return _Attempt.HELD


@contextmanager
def _held_by_jvm(path: Path, wait: _Patience, jvm: Any) -> Iterator[bool]:
    if jvm is None:
        yield False
        return
    try:
        channel = jvm.java.io.RandomAccessFile(str(path.absolute()), "rw").getChannel()
    except Exception as error:
        raise WarehouseError(f"{path} cannot be written by Spark's JVM; give it to the user that runs this") from error
    try:
        yield wait.until(lambda: _lock_by_jvm(channel))
    finally:
        with suppress(Exception):  # a JVM that is gone holds nothing
            channel.close()


def _lock_by_jvm(channel: Any) -> _Attempt:
    try:
        return _Attempt.HELD if channel.tryLock() is not None else _Attempt.BUSY
    except Exception as error:
        # A lock of another thread of this JVM comes as an exception, as does a file system without locks.
        is_busy = "OverlappingFileLockException" in str(error)
        return _Attempt.BUSY if is_busy else _Attempt.UNSUPPORTED
