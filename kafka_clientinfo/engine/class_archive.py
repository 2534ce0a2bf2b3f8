"""The archive of loaded classes, with which Spark's JVM starts in half the time.

Half of a session's start is loading and verifying some 20,000 classes from jars. Java can write what it has loaded
(`-XX:ArchiveClassesAtExit`) and map that file at the next start (`-XX:SharedArchiveFile`). Java checks the file itself,
against its own build and the time and size of every jar, and starts without it when it does not fit; our key only keeps
archives of several installations apart. Options are no part of it: tried on Java 17, one archive serves the parallel,
the serial and the G1 collector and heaps of several sizes, and is passed over with ZGC or a heap of 32 GB and more.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .jars import cache_folder, make_whole, spark_jars
from .java import Java

_OPTIONS = "spark.driver.extraJavaOptions"
_QUIET = '"-Xlog:cds*=off" "-Xlog:class+path=off"'
"""Java warns of an archive that does not fit; for a user that is no news."""
_KEPT = 4


def archive_path(java: Java, class_path: str) -> Path:
    """Where the archive lies for this Java, the installed Spark and this extra class path; it may not exist."""
    jars = spark_jars()
    installed = jars.stat().st_mtime_ns if jars.exists() else 0
    key = hashlib.sha256(repr((java.build, str(jars), installed, class_path)).encode()).hexdigest()
    return cache_folder() / "classes" / f"java-{java.major}-{key[:16]}.jsa"


def with_archive(conf: dict[str, str], java: Java) -> dict[str, str]:
    """Return the conf with the option that uses the archive, where there is one and the conf has no such option."""
    options = conf.get(_OPTIONS, "")
    path = archive_path(java, conf.get("spark.driver.extraClassPath", ""))
    if any(name in options for name in ("-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-Xshare")):
        return conf
    if ":" in str(path) or not path.is_file():  # a colon separates a base archive from one on top of it
        return conf
    with suppress(OSError):  # the time of its last use, by which others are forgotten first
        os.utime(path)
    return {**conf, _OPTIONS: f'{options} "-XX:SharedArchiveFile={path}" {_QUIET}'.strip()}


def with_recording(conf: dict[str, str], target: Path) -> dict[str, str]:
    """Return the conf with the option that writes an archive to `target` when the JVM ends."""
    return {**conf, _OPTIONS: f'{conf.get(_OPTIONS, "")} "-XX:ArchiveClassesAtExit={target}" {_QUIET}'.strip()}


def make_archive(path: Path, train: Callable[[Path], None]) -> None:
    """Put an archive at `path` that `train` writes to the file it is given; see `make_whole`."""
    make_whole(path, train)
    _forget_oldest(path.parent)


def _forget_oldest(folder: Path) -> None:
    """Remove all but those that were used last: each has some 200 MB, and another Spark, Delta or Java makes another."""
    last_used_first = sorted(folder.glob("*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in last_used_first[_KEPT:]:
        path.unlink(missing_ok=True)
