"""Finds the Java that Spark will use, and refuses a version that Spark does not run on."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import __version__ as spark_version

from ..errors import WarehouseError

# Spark's documentation names these releases of Java: for 3.5: 8, 11 and 17; for 4.0 and 4.1: 17 and 21; for 4.2: 17, 21
# and 25. The releases between them work; those on which Spark fails are refused below.
_OLDEST = 17
_TOO_NEW = (
    # Spark's Arrow, which carries rows from Python, makes buffers with a constructor that is gone
    (21, (4, 0), "17"),
    # Spark's Hadoop asks for a subject by the security manager's call, which Java refuses since 23 (HADOOP-19212)
    (23, (4, 2), "17 or 21"),
)
"""A release of Java, the first Spark that runs on it and on later ones, and the releases for earlier Sparks."""
_VERSION = re.compile(r'version "((?:1\.)?(\d+)[^"]*)')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation.

    Attributes:
        path: its executable.
        major: its version's first number, such as 17.
        build: its version text, which differs between any two builds.
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
    for first_bad_java, first_good_spark, advice in _TOO_NEW:
        if java.major >= first_bad_java and spark < first_good_spark:
            raise WarehouseError(
                f"Spark {spark_version} does not run on Java {first_bad_java} or later: {java.path} is version {java.major};"
                f" install Java {advice}, or set JAVA_HOME to one"
            )
    return java


def spark_release() -> tuple[int, ...]:
    """Return the installed Spark's first two numbers, such as (4, 1)."""
    return tuple(map(int, re.findall(r"\d+", spark_version)[:2]))


def end_jvm(gateway: Any, seconds: float) -> None:
    """Close the standard input of pyspark's JVM, so that it ends, and wait for that; kill it if it takes longer.

    Args:
        gateway: pyspark's connection to the JVM; if another process started the JVM, this does nothing.
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
    """Find the executable as Spark's start script does: JAVA_HOME before PATH."""
    home = os.environ.get("JAVA_HOME")
    path = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not path or not Path(path).exists():
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "no java is on the PATH"
        raise WarehouseError(f"Spark needs Java {_OLDEST} or later: {where}; install one or set JAVA_HOME")
    return Path(path)


def _ask(executable: Path) -> Java:
    """Start Java and read the version that it prints. That takes some 0.1 s and proves that it runs."""
    try:
        done = subprocess.run([executable, "-version"], capture_output=True, text=True, errors="replace", check=False)
        lines = [line for line in done.stderr.splitlines() if not line.startswith(("Picked up ", "NOTE: Picked up "))]
        answer, problem = "\n".join(lines).strip(), f"exit code {done.returncode}"
    except OSError as error:
        answer, problem = "", error.strerror or str(error)
    version = _VERSION.search(answer)
    if version is None:
        reason = answer.splitlines()[0] if answer else problem
        raise WarehouseError(
            f"Spark needs Java {_OLDEST} or later: {executable} does not run ({reason}); install one, or set JAVA_HOME to one"
        )
    return Java(executable, int(version[2]), answer)
