"""Mounts folders as mounts of buckets are (tests/bucket_mount.py), and skips with the reason where that cannot be."""

import os
import subprocess
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from pathlib import Path
from shutil import which

import pytest

_FILE_SYSTEM = Path(__file__).with_name("bucket_mount.py")
_NEEDS = {
    "/dev/fuse": os.path.exists("/dev/fuse"),
    "fusermount3": which("fusermount3"),
    "libfuse 3": find_library("fuse3"),
}


def python_that_mounts(place: Path) -> str:
    """A Python with what the file system needs, in a new environment; fetched."""
    missing = ", ".join(name for name, found in _NEEDS.items() if not found)
    if missing:
        pytest.skip(f"there is no {missing} (Debian: the package fuse3, and a machine whose kernel has FUSE)")
    venv.create(place, with_pip=True)
    python = str(place / "bin" / "python")
    if subprocess.run([python, "-m", "pip", "install", "-qq", "mfusepy>=3"], check=False).returncode:
        pytest.skip("mfusepy cannot be fetched")
    return python


@contextmanager
def mounted(python: str, stored: Path, at: Path, *without: str) -> Iterator[Path]:
    """Mount a folder at another; `without` names what the mount refuses besides."""
    command = [python, str(_FILE_SYSTEM), str(stored), str(at), *without]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        while server.poll() is None and not os.path.ismount(at):
            time.sleep(0.1)
        if server.poll() is not None:
            assert server.stderr is not None
            pytest.skip(f"nothing can be mounted here: {server.stderr.read()}")
        try:
            yield at
        finally:
            subprocess.run(["fusermount3", "-u", "-z", str(at)], check=False)
            server.terminate()
