"""Locks that allow one run at a time on a local warehouse: two at once would both read the same new bytes.

The driver takes a lock of the operating system on a file in the warehouse's folder, so a killed run leaves no lock.
Spark's JVM takes a second one: it is the process that writes, and it can outlive a killed driver for a while and finish
a commit. Only both together keep other runs out. If one of them can't be had (object stores, file systems without
locks, schemas of catalogs, Spark Connect with its server in another process), `claims` keeps the runs apart. The same
goes for FUSE mounts: the kernel grants their locks, but other machines mostly do not see them.
"""

import fcntl
import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from ..errors import WarehouseError
from ..spark.failures import failure_message
from ..spark.features import jvm_of
from .address import address_in, address_of, local_folder
from .progress import say

LOCK_NAME = ".kafka_clientinfo.lock"
JVM_LOCK_NAME = ".kafka_clientinfo.jvm.lock"
"""A separate file: NFS maps flock to fcntl locks, so the driver would block its own JVM."""
_POLL_SECONDS = 0.5


@contextmanager
def exclusive(root: str, wait_seconds: float, spark: Any = None) -> Iterator[bool]:
    """Hold the warehouse's locks, of driver and JVM, in the block; yield whether both together keep other runs out.

    Raises:
        ConfigError: `root` names neither a folder nor a schema.
        WarehouseError: another run holds the lock for longer, or the folder cannot be written.
    """
    folder = (address_of(root) if spark is None else address_in(spark, root)).folder
    if folder is None:
        yield False
        return
    jvm, waits = jvm_of(spark), partial(_wait, root, wait_seconds)
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Truncate: mounts of buckets refuse other ways to open a file that exists.
            (folder / JVM_LOCK_NAME).open(
                "w"
            ).close()  # with this process's permissions: those of the JVM may be narrower
            file = held.enter_context((folder / LOCK_NAME).open("w"))
        except OSError as error:
            raise WarehouseError(f"the warehouse {root} cannot be written: {error.strerror or error}") from None
        is_held = waits(lambda: _lock_by_driver(file))
        if jvm is not None:
            channel = held.enter_context(_channel(jvm, folder / JVM_LOCK_NAME))
            is_held &= waits(lambda: _lock_by_jvm(channel))
        yield is_held and jvm is not None and not _is_fuse(folder)


def _wait(root: str, seconds: float, attempt: Callable[[], bool | None]) -> bool:
    """Wait for a lock. An attempt returns whether it is held, or None if the file system has no locks; return the same as bool.

    Raises:
        WarehouseError: somebody else holds it for longer.
    """
    deadline = time.monotonic() + seconds
    while (outcome := attempt()) is False:
        if time.monotonic() >= deadline:
            waited = f" and did not end in {seconds:g} s" if seconds else ""
            raise WarehouseError(f"another run is at work on {root}{waited}; wait for it or stop it")
        say("waiting for another run on this warehouse")
        time.sleep(_POLL_SECONDS)
    return bool(outcome)


def _lock_by_driver(file: IO[str]) -> bool | None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks, such as some network mounts
        return None
    return True


@contextmanager
def _channel(jvm: Any, path: Path) -> Iterator[Any]:
    """Open a file in the JVM; closing it releases its lock."""
    try:
        channel = jvm.java.io.FileOutputStream(str(path.absolute())).getChannel()
    except Exception as error:
        raise WarehouseError(f"Spark's JVM cannot write: {failure_message(error, str(path))}") from error
    try:
        yield channel
    finally:
        with suppress(Exception):  # a JVM that is gone holds nothing
            channel.close()


def _lock_by_jvm(channel: Any) -> bool | None:
    try:
        return channel.tryLock() is not None
    except Exception as error:
        # Both a lock of another thread of this JVM and a file system without locks raise an exception.
        return False if "OverlappingFileLockException" in str(error) else None


def is_at_work(root: str) -> bool:
    """Return whether a run is at work on a warehouse on this machine; False if that can't be seen.

    It reads who holds the JVM's lock, and does not take it: that would refuse a run that is about to begin.
    """
    folder = local_folder(root)
    if folder is None or not sys.platform.startswith("linux"):
        return False
    # struct flock of Linux: type, whence, start, length (0: to the end), process.
    wanted = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        with (folder / JVM_LOCK_NAME).open() as file:
            answer = fcntl.fcntl(file, fcntl.F_GETLK, wanted)
    except OSError:
        return False
    return bool(struct.unpack("hhqqi", answer)[0] != fcntl.F_UNLCK)


def _is_fuse(folder: Path) -> bool:
    """Return whether a folder is on a FUSE mount; False if the system cannot tell."""
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    with suppress(OSError):  # only Linux has this list: proc_pid_mountinfo(5)
        for line in Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines():
            mount, _, system = line.partition(" - ")
            if mount.split()[2] == number:
                return system.split()[0] == "fuse" or system.startswith("fuse.")  # fuseblk is a disk of this machine
    return False
