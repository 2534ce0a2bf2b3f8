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
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal
from uuid import uuid4

from ..errors import WarehouseError
from ..spark.failures import failure_message
from ..spark.features import jvm_of
from .address import address_in, address_of, local_folder
from .progress import say

LOCK_NAME = ".kafka_clientinfo.lock"
JVM_LOCK_NAME = ".kafka_clientinfo.jvm.lock"
"""A separate file: NFS maps flock to fcntl locks, so the driver would block its own JVM."""
_POLL_SECONDS = 0.5
_Attempt = Literal["held", "busy", "unsupported"]
"""The outcome of one attempt to lock a file; some file systems have no locks."""


@contextmanager
def exclusive(root: str, wait_seconds: float, spark: Any = None) -> Iterator[bool]:
    """Hold the warehouse's locks, of driver and JVM, in the block; yield whether both together keep other runs out.

    Raises:
        ConfigError: `root` names neither a folder nor a schema.
        WarehouseError: another run holds the lock for longer, the folder cannot be written, or it does not take Delta's
            commits.
    """
    folder = (address_of(root) if spark is None else address_in(spark, root)).folder
    if folder is None:
        yield False
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Truncate: mounts of buckets refuse other ways to open a file that exists.
        (folder / JVM_LOCK_NAME).open("w").close()  # with this process's permissions: those of the JVM may be narrower
        file = (folder / LOCK_NAME).open("w")
    except OSError as error:
        raise WarehouseError(f"the warehouse {root} cannot be written: {error.strerror or error}") from None
    wait = _Patience(root, wait_seconds)
    with file:
        by_driver = wait.until(lambda: _lock_by_driver(file))
        with _held_by_jvm(folder / JVM_LOCK_NAME, wait, jvm_of(spark)) as by_jvm:
            is_real = by_driver and by_jvm and not _is_fuse(folder)
            if not is_real:
                _check_takes_commits(folder, spark)
            yield is_real


class _Patience:
    """Tries again until a file is locked, logs once that it waits, and gives up at the deadline."""

    def __init__(self, root: str, wait_seconds: float) -> None:
        self.root, self.wait_seconds, self.has_said = root, wait_seconds, False
        self.deadline = time.monotonic() + wait_seconds

    def until(self, attempt: Callable[[], _Attempt]) -> bool:
        """Return True when the lock is held; False if the file system has no locks."""
        while (outcome := attempt()) == "busy":
            if time.monotonic() >= self.deadline:
                waited = f" and did not end in {self.wait_seconds:g} s" if self.wait_seconds else ""
                raise WarehouseError(f"another run is at work on {self.root}{waited}; wait for it or stop it")
            if not self.has_said:
                say("waiting for another run on this warehouse")
                self.has_said = True
            time.sleep(_POLL_SECONDS)
        return outcome == "held"


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


def _lock_by_driver(file: IO[str]) -> _Attempt:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "busy"
    except OSError:  # a file system without locks, such as some network mounts
        return "unsupported"
    return "held"


@contextmanager
def _held_by_jvm(path: Path, wait: _Patience, jvm: Any) -> Iterator[bool]:
    if jvm is None:
        yield False
        return
    try:
        channel = jvm.java.io.FileOutputStream(str(path.absolute())).getChannel()
    except Exception as error:
        raise WarehouseError(f"Spark's JVM cannot write: {failure_message(error, str(path))}") from error
    try:
        yield wait.until(lambda: _lock_by_jvm(channel))
    finally:
        with suppress(Exception):  # a JVM that is gone holds nothing
            channel.close()


def _lock_by_jvm(channel: Any) -> _Attempt:
    try:
        return "held" if channel.tryLock() is not None else "busy"
    except Exception as error:
        # Both a lock of another thread of this JVM and a file system without locks raise an exception.
        is_busy = "OverlappingFileLockException" in str(error)
        return "busy" if is_busy else "unsupported"


def _is_fuse(folder: Path) -> bool:
    """Return whether a folder is on a FUSE mount; False if the system cannot tell."""
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    with suppress(OSError):  # only Linux has this list: proc_pid_mountinfo(5)
        for line in Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines():
            mount, _, system = line.partition(" - ")
            if mount.split()[2] == number:
                kind = system.split()[0]
                return kind == "fuse" or kind.startswith("fuse.")  # fuseblk is a disk of this machine
    return False


def _check_takes_commits(folder: Path, spark: Any) -> None:
    """Refuse a folder in which files can't be renamed or given permissions, if Spark reaches it through the same mount.

    If Hadoop can't rename a commit of Delta, it copies it: readers may see a part, and a killed run may leave one.
    Hadoop also sets the permissions of every file that it makes.

    Raises:
        WarehouseError: Delta's commits cannot be written there, or not as a whole.
    """
    probe = folder / f".kafka_clientinfo.{uuid4().hex}"
    renamed = probe.with_suffix(".renamed")
    try:
        probe.touch()
        probe.chmod(0o600)
        probe.rename(renamed)
    except OSError as error:
        if not _is_local_to(spark, folder):
            return
        raise WarehouseError(
            f"the warehouse {folder} cannot be written: files there cannot be renamed or given permissions "
            f"({error.strerror}), as Delta's commits are; give the URI of the store that is mounted there (s3://…, gs://…, "
            "abfss://…), CATALOG.SCHEMA, or another folder"
        ) from None
    finally:
        for path in (probe, renamed):
            with suppress(OSError):
                path.unlink()


def _is_local_to(spark: Any, folder: Path) -> bool:
    """Return whether the session's JVM reads this path on this machine; platforms may have their own file system."""
    jvm = jvm_of(spark)
    with suppress(Exception):  # no session, or one without a JVM
        system = jvm.org.apache.hadoop.fs.Path(str(folder)).getFileSystem(  # type: ignore[union-attr]
            jvm.org.apache.spark.deploy.SparkHadoopUtil.get().conf()  # type: ignore[union-attr]
        )
        return str(system.getUri().getScheme()) == "file"
    return False
