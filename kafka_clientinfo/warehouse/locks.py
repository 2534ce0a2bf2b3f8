"""The lock that allows one run at a time on a local warehouse; the next one waits, or says so.

It is a lock of the operating system on a file in the warehouse's folder, so that a killed run leaves none. What it leaves is
another file: Spark's JVM can outlive a killed driver for a while and finish a commit (see `claims`).
"""

import fcntl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

from ..errors import WarehouseError
from .address import local_folder
from .stages import say

LOCK_NAME = ".kafka_clientinfo.lock"
AT_WORK_NAME = ".kafka_clientinfo.at_work"
"""A file that a run makes when it has the lock, and removes when it ends."""
_POLL_SECONDS = 0.1
"""Also the least time to wait for the lock: `is_at_work` holds it for an instant."""


@contextmanager
def exclusive(root: str, wait_seconds: float) -> Iterator[bool]:
    """Hold the lock of a warehouse on this machine in the block; yield whether the run before may have been killed."""
    folder = local_folder(root)
    if folder is None:
        yield False
        return
    at_work = folder / AT_WORK_NAME
    with ExitStack() as until_over:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = until_over.enter_context((folder / LOCK_NAME).open("w"))  # mounts of buckets refuse other ways
            _wait_for(file, root, wait_seconds)
            after_kill = at_work.exists()
            at_work.write_bytes(b"")
        except OSError as error:
            raise WarehouseError(f"the warehouse {root} cannot be written: {error.strerror or error}") from None
        is_over = True
        try:
            yield after_kill
        except BaseException as error:
            is_over = isinstance(error, Exception) and not after_kill  # what Ctrl-C interrupts goes on in Spark's JVM
            raise
        finally:
            if is_over:
                at_work.unlink(missing_ok=True)


def _wait_for(file: IO[str], root: str, seconds: float) -> None:
    deadline = time.monotonic() + max(seconds, _POLL_SECONDS)
    while _is_held(file, fcntl.LOCK_EX):
        if time.monotonic() >= deadline:
            waited = f" and did not end in {seconds:g} s" if seconds else ""
            raise WarehouseError(f"another run is at work on {root}{waited}; wait for it or stop it")
        say("waiting for another run on this warehouse")
        time.sleep(_POLL_SECONDS)


def is_at_work(root: str) -> bool:
    """Return whether a run is at work on a warehouse on this machine; False if that can't be seen."""
    folder = local_folder(root)
    with suppress(OSError):
        if folder is not None:
            with (folder / LOCK_NAME).open() as file:
                return _is_held(file, fcntl.LOCK_SH)
    return False


def _is_held(file: IO[str], kind: int) -> bool:
    """Take a lock; return whether somebody else holds it. A file system without locks lets everybody go on."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
