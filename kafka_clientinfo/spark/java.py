"""Finds the Java that Spark will use, and refuses a version that Spark does not run on."""

import os
import re
import subprocess
from dataclasses import dataclass
from typing import Any

from pyspark import __version__ as spark_version

from ..errors import WarehouseError

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation: its version's first number, such as 17, and a text that differs between any two builds."""

    major: int
    build: str


def check_java() -> Java:
    """Find the Java that Spark will use, as Spark's start script does: JAVA_HOME before PATH.

    Raises:
        WarehouseError: there is none, or the installed Spark does not run on it.
    """
    home = os.environ.get("JAVA_HOME")
    path = f"{home}/bin/java" if home else "java"
    try:
        said = subprocess.run([path, "-version"], capture_output=True, text=True, errors="replace", check=False).stderr
    except OSError as error:
        said = error.strerror or str(error)
    # Spark 3 has an Arrow that fails since Java 21, and Spark before 4.2 a Hadoop that fails since Java 23 (HADOOP-19212).
    too_new = 21 if spark_release() < (4, 0) else 23 if spark_release() < (4, 2) else None
    version = _VERSION.search(said)
    if version is None or int(version[1]) < 17 or (too_new is not None and int(version[1]) >= too_new):
        found = f"is version {version[1]}" if version else f"does not run ({(said.splitlines() or ['no output'])[0]})"
        wanted = "17 or later" if too_new is None else f"17 to {too_new - 1}"
        raise WarehouseError(
            f"Spark {spark_version} needs Java {wanted}: {path} {found}; install one, or set JAVA_HOME to one"
        )
    return Java(int(version[1]), said[version.start() :])


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
