"""setuptools' build backend, with source archives that are equal byte for byte whoever builds them.

setuptools takes the times of a wheel's files from SOURCE_DATE_EPOCH, and writes what it finds on disk into a source archive:
times, owners and modes of files, and the time of the build.
"""

import gzip
import os
import tarfile
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

_EARLIEST = 315532800
"""1980-01-01, the first time that a zip file can hold; used where SOURCE_DATE_EPOCH is not set."""


def build_sdist(sdist_directory: str, config_settings: build_meta._ConfigSettings = None) -> str:
    """Build a source archive whose entries are sorted and have one time, no owner and plain modes."""
    name = build_meta.build_sdist(sdist_directory, config_settings)
    _normalise(Path(sdist_directory) / name, int(os.environ.get("SOURCE_DATE_EPOCH", _EARLIEST)))
    return name


def _normalise(archive: Path, seconds: int) -> None:
    rewritten = archive.with_suffix(".new")
    with (
        tarfile.open(archive) as source,
        rewritten.open("wb") as raw,
        gzip.GzipFile("", "wb", mtime=seconds, fileobj=raw) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        for entry in sorted(source.getmembers(), key=lambda entry: entry.name):
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = seconds, 0, 0, "", ""
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            entry.pax_headers = {}
            target.addfile(entry, source.extractfile(entry) if entry.isfile() else None)
    rewritten.replace(archive)
