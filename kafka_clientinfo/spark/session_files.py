"""The files that make sessions start fast, in the user's cache folder: Delta's jars, and an archive of loaded classes.

Measured on two cores, for a session's start with its first Delta table: 7.0 s with both, 10.7 s without the archive, 14.0 s if
Ivy also resolves the jars again for each session.

Java writes the classes that it has loaded (`-XX:ArchiveClassesAtExit`) and maps that file at the next start
(`-XX:SharedArchiveFile`). It starts without the file if that does not fit its build or the time and size of a jar.
"""

import hashlib
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

from pyspark import __version__ as spark_version
from pyspark.find_spark_home import _find_spark_home

from ..errors import WarehouseError
from .features import is_one_process

CACHE = "KAFKA_CLIENTINFO_CACHE"
OPTIONS = "spark.driver.extraJavaOptions"
_CLASS_PATH = "spark.driver.extraClassPath"
_IVY_KEYS = ("spark.jars.ivy", "spark.jars.ivySettings", "spark.jars.repositories")
_KEYS_THAT_MAY_BRING_DELTA = ("spark.jars", "spark.jars.packages", _CLASS_PATH)
_FETCH = """
import json, sys
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession
builder = SparkSession.builder.config(map=json.loads(sys.argv[1]))
print(configure_spark_with_delta_pip(builder).getOrCreate().conf.get("spark.jars"))
"""
"""A program that starts a session with Delta from a Maven repository and prints the jars that Ivy has stored."""

Log = IO[bytes] | int | None
"""The destination of a process's output, as for `subprocess`; None lets it print."""


def cache_folder() -> Path:
    """Return the user's cache folder, which may not exist: `CACHE`, else $XDG_CACHE_HOME or ~/.cache."""
    given = os.environ.get(CACHE)
    base = given or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "kafka-clientinfo")
    return Path(base).expanduser().absolute()


def jars_folder() -> Path:
    return cache_folder() / "jars" / f"delta-{version('delta-spark')}-spark-{spark_version}"


def spark_jars() -> Path:
    return Path(_find_spark_home()) / "jars"  # type: ignore[no-untyped-call]


def delta_is_given(conf: Mapping[str, str]) -> bool:
    """Return whether a session with this conf gets Delta without us: from its conf, or from Spark's own folder."""
    if any("delta-spark" in conf.get(key, "") for key in _KEYS_THAT_MAY_BRING_DELTA):
        return True
    return any(spark_jars().glob("delta-spark_*.jar"))


def ensure_jars(conf: Mapping[str, str], log: Log = subprocess.DEVNULL) -> list[Path]:
    """Return the stored jars, sorted; have Ivy fetch them first if they are missing, as the session's conf says."""
    stored = jars_folder()
    if not any(stored.glob("*.jar")):  # a cleaned cache may still have the empty folder
        says = "fetching Delta's jars (13 MB) from a Maven repository, once"
        logging.getLogger("kafka_clientinfo").warning(says, extra={"stage": says})
        try:
            make_whole(stored, lambda folder: _fetch(folder, conf, log))
        except OSError as error:
            raise WarehouseError(
                f"the cache folder {cache_folder()} cannot be written ({error.strerror}); name another in {CACHE}"
            ) from error
    return sorted(stored.glob("*.jar"))


def _fetch(folder: Path, conf: Mapping[str, str], log: Log) -> None:
    """Make a folder of Delta's jars, without those that Spark brings itself: Spark would never load them."""
    of_spark = sorted({re.sub(r"-\d.*$", "", jar.stem) for jar in spark_jars().glob("*.jar")})
    entries = {key: conf[key] for key in _IVY_KEYS if key in conf}
    entries |= {"spark.master": "local[1]", "spark.ui.enabled": "false"}
    entries["spark.jars.excludes"] = ",".join(f"*:{name}" for name in of_spark)
    command = [sys.executable, "-c", _FETCH, json.dumps(entries)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, text=True, check=False)
    if done.returncode:
        raise WarehouseError(
            f"Delta's jars are not in {jars_folder()} and could not be fetched; run `make setup` (or `python -m "
            "kafka_clientinfo.commands.prepare`) where the network reaches a Maven repository, put that folder of another "
            "machine there, or name them in spark.jars"
        )
    folder.mkdir()
    for jar in done.stdout.splitlines()[-1].split(","):
        shutil.copy(unquote(urlsplit(jar).path), folder)


def make_whole(path: Path, make: Callable[[Path], None]) -> None:
    """Make a file or folder of the cache in a scratch folder, then move it to `path`; raise OSError, and leave nothing, if that fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=path.parent) as scratch:
        made = Path(scratch) / path.name
        make(made)
        try:
            os.replace(made, path)
        except OSError:
            if not path.is_dir():  # else another process was faster
                raise


def with_jars(conf: Mapping[str, str], jars: Sequence[Path]) -> dict[str, str]:
    """Return the conf with these jars for the session to load, after those that it names itself.

    In local mode they go on the class path of the one JVM, so that the archive holds their classes. A cluster's workers need
    them shipped.
    """
    is_local = is_one_process(conf.get("spark.master", "local[*]"))
    key, separator = (_CLASS_PATH, os.pathsep) if is_local else ("spark.jars", ",")
    given = [conf[key]] if conf.get(key) else []
    return {**conf, key: separator.join([*given, *map(str, jars)])}


def archive_path(conf: Mapping[str, str]) -> Path:
    home = os.environ.get("JAVA_HOME")
    java = Path(f"{home}/bin/java" if home else shutil.which("java") or "java").resolve()
    installed = [(str(path), path.stat().st_mtime_ns) for path in (java, spark_jars()) if path.exists()]
    key = hashlib.sha256(repr((installed, conf.get(_CLASS_PATH, ""))).encode()).hexdigest()
    return cache_folder() / "classes" / f"{key[:16]}.jsa"


def with_archive(conf: Mapping[str, str]) -> dict[str, str]:
    path = archive_path(conf)
    return with_option(conf, f"-XX:SharedArchiveFile={path}") if path.is_file() else {**conf}


def with_option(conf: Mapping[str, str], option: str) -> dict[str, str]:
    return {**conf, OPTIONS: f'"{option}" {conf.get(OPTIONS, "")}'.strip()}
