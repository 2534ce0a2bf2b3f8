"""The Java that Spark will run on: where it is, which version, and whether Spark runs on it."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import __version__ as spark_version

from ..errors import WarehouseError

# Releases of Spark and the releases of Java that their documentation names: 3.5 has 8, 11 and 17; 4.0 and 4.1 have
# 17 and 21; 4.2 has 17, 21 and 25. What lies between them runs; what they fail on is refused.
_OLDEST = 17
_TOO_NEW = (
    # its Arrow, by which rows of Python come, makes buffers with a constructor that is gone
    (21, (4, 0), "17"),
    # its Hadoop asks for a subject in the way of the security manager, which is refused, and removed in 24 (HADOOP-19212)
    (23, (4, 2), "17 or 21"),
)
"""A release of Java, the first Spark that runs on it and on later ones, and what those before that do run on."""
_VERSION = re.compile(r'version "((?:1\.)?(\d+)[^"]*)')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation.

    Attributes:
        path: its executable.
        major: its version's first number, such as 17.
        build: what it says of itself, which differs between any two builds.
    """

    path: Path
    major: int
    build: str


def check_java() -> Java:
    """Find the Java that Spark will use and refuse one that Spark does not run on.

    Raises:
        WarehouseError: no Java, one that does not run, one older than 17, or one too new for the installed Spark.
    """
    java = _ask(_executable())
    if java.major < _OLDEST:
        raise WarehouseError(
            f"Spark needs Java {_OLDEST} or later: {java.path} is version {java.major}; install one or set JAVA_HOME"
        )
    spark = spark_release()
    for too_new, runs_on_it, others in _TOO_NEW:
        if java.major >= too_new and spark < runs_on_it:
            raise WarehouseError(
                f"Spark {spark_version} does not run on Java {too_new} or later: {java.path} is version {java.major};"
                f" install Java {others}, or set JAVA_HOME to one"
            )
    return java


def spark_release() -> tuple[int, ...]:
    """The installed Spark's first two numbers, such as (4, 1)."""
    return tuple(map(int, re.findall(r"\d+", spark_version)[:2]))


def end_jvm(gateway: Any, seconds: float) -> None:
    """Close the standard input of pyspark's JVM, at which it ends, and wait for that; kill it where it takes longer.

    Args:
        gateway: what pyspark speaks to the JVM through; nothing is done where another process has started the JVM.
        seconds: how long to wait.
    """
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    process.stdin.close()
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()


def _executable() -> Path:
    """Choose as Spark's start script does: JAVA_HOME before PATH."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not found or not Path(found).exists():
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "no java is on the PATH"
        raise WarehouseError(f"Spark needs Java {_OLDEST} or later: {where}; install one or set JAVA_HOME")
    return Path(found)


def _ask(executable: Path) -> Java:
    """Start Java and read the version that it prints, which takes some 0.1 s: so it is known to run, too."""
    try:
        done = subprocess.run([executable, "-version"], capture_output=True, text=True, errors="replace", check=False)
        lines = [line for line in done.stderr.splitlines() if not line.startswith(("Picked up ", "NOTE: Picked up "))]
        answer, problem = "\n".join(lines).strip(), f"exit code {done.returncode}"
    except OSError as error:
        answer, problem = "", error.strerror or str(error)
    found = _VERSION.search(answer)
    if found is None:
        said = answer.splitlines()[0] if answer else problem
        raise WarehouseError(
            f"Spark needs Java {_OLDEST} or later: {executable} does not run ({said}); install one, or set JAVA_HOME to one"
        )
    return Java(executable, int(found[2]), answer)
