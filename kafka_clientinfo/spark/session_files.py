"""The files that make sessions start fast, in the user's cache folder: Delta's jars, and an archive of loaded classes.

Spark's own Ivy fetches the jars once. To resolve them again for every session, as `configure_spark_with_delta_pip`
does, costs some seconds and can need the network. Only jars that Spark lacks are fetched: Spark would never load an
artifact that it already has in another version.

Half of a session's start is loading and verifying some 20,000 classes from jars. Java can write the classes that it has
loaded (`-XX:ArchiveClassesAtExit`) and map that file at the next start (`-XX:SharedArchiveFile`), which saves 5 s and 10 s
of CPU time on two cores. Java starts without the file if it does not fit its build or the time and size of a jar.
"""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, STDOUT
from typing import IO
from urllib.parse import unquote, urlsplit

from pyspark import SparkConf
from pyspark import __version__ as spark_version
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from ..errors import WarehouseError
from .features import is_one_process
from .java import Java, end_jvm

CACHE = "KAFKA_CLIENTINFO_CACHE"
"""The environment variable that names the cache folder."""
_CLASS_PATH = "spark.driver.extraClassPath"
_IVY_KEYS = ("spark.jars.ivy", "spark.jars.ivySettings", "spark.jars.repositories")
_KEYS_THAT_MAY_BRING_DELTA = ("spark.jars", "spark.jars.packages", _CLASS_PATH)
_OPTIONS = "spark.driver.extraJavaOptions"
_QUIET = '"-Xlog:cds*=off" "-Xlog:class+path=off"'
"""Turns off Java's warning about an archive that does not fit, which a user need not know."""
_KEPT = 4
"""The number of archives to keep, of some 200 MB each: another Spark, Delta or Java makes another."""

Log = IO[bytes] | int | None
"""The destination of a process's output, as for `subprocess`; None lets it print."""


def coordinate() -> str:
    """Return the Maven coordinate of Delta that fits the installed delta-spark and pyspark."""
    from delta import configure_spark_with_delta_pip

    builder = configure_spark_with_delta_pip(SparkSession.Builder())
    return str(builder._options["spark.jars.packages"])


def cache_folder() -> Path:
    """Return the user's cache folder, which may not exist: `CACHE`, else $XDG_CACHE_HOME or ~/.cache."""
    given = os.environ.get(CACHE)
    base = given or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "kafka-clientinfo")
    return Path(base).expanduser().absolute()


def jars_folder() -> Path:
    """Return the folder of the jars for the installed Delta and Spark; it exists only when it is complete."""
    _, artifact, version = coordinate().split(":")
    return cache_folder() / "jars" / f"{artifact}-{version}-spark-{spark_version}"


def spark_jars() -> Path:
    """Return the folder of Spark's own jars."""
    return Path(_find_spark_home()) / "jars"  # type: ignore[no-untyped-call]


def delta_is_given(conf: Mapping[str, str]) -> bool:
    """Return whether a session with this conf gets Delta without us: from its conf, or from Spark's own folder."""
    if any("delta-spark" in conf.get(key, "") for key in _KEYS_THAT_MAY_BRING_DELTA):
        return True
    return any(spark_jars().glob("delta-spark_*.jar"))


def ensure_jars(conf: Mapping[str, str], log: Log = DEVNULL) -> list[Path]:
    """Return the stored jars, sorted; fetch and store them first if they are missing.

    Args:
        conf: conf of the session; if it names Ivy's folder, settings or repositories, these are used.
        log: receives Ivy's output; None lets it print.

    Raises:
        WarehouseError: the jars cannot be fetched, or the cache folder cannot be written.
    """

    def fetch(folder: Path) -> None:
        folder.mkdir()
        for jar in _resolve(conf, log):
            shutil.copyfile(jar, folder / jar.name)

    stored = jars_folder()
    if not any(stored.glob("*.jar")):  # a cleaned cache may still have the empty folder
        try:
            make_whole(stored, fetch)
        except OSError as error:
            raise WarehouseError(
                f"the cache folder {cache_folder()} cannot be written ({error.strerror}); name another in {CACHE}"
            ) from error
    return sorted(stored.glob("*.jar"))


def to_be_fetched(conf: Mapping[str, str]) -> str | None:
    """Return a sentence about the jars that a session with this conf fetches first; None if it needs none."""
    if delta_is_given(conf) or any(jars_folder().glob("*.jar")):
        return None
    return (
        f"fetching Delta's jars ({coordinate()}, 13 MB) from a Maven repository into {jars_folder()}, once; on a machine "
        "without network, put that folder of another one there"
    )


def make_whole(path: Path, make: Callable[[Path], None]) -> None:
    """Make a file or folder of the cache in a scratch folder, then move it to `path`; if that fails, leave nothing.

    Raises:
        OSError: the cache folder cannot be written, or `make` made nothing.
    """
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

    In local mode they go on the class path of the one JVM: that is faster, and an archive of classes can hold theirs. A
    cluster's workers need them shipped.
    """
    key, separator = (_CLASS_PATH, os.pathsep) if is_local(conf) else ("spark.jars", ",")
    given = [conf[key]] if conf.get(key) else []
    return {**conf, key: separator.join([*given, *map(str, jars)])}


def is_local(conf: Mapping[str, str]) -> bool:
    """Return whether driver and workers are one JVM."""
    return is_one_process(conf.get("spark.master", "local[*]"))


def _resolve(conf: Mapping[str, str], log: Log) -> list[Path]:
    """Let Spark's launcher resolve Delta's coordinate without starting a session; return paths in Ivy's folder."""
    entries = {key: conf[key] for key in _IVY_KEYS if key in conf}
    entries |= {"spark.jars.packages": coordinate(), "spark.jars.excludes": ",".join(_artifacts_of_spark())}
    try:
        gateway = launch_gateway(  # type: ignore[no-untyped-call]
            SparkConf(loadDefaults=False).setAll(list(entries.items())),
            {"stdout": log, "stderr": STDOUT if log is not None else None},
        )
    except Exception as error:
        raise WarehouseError(
            f"Delta's jars ({coordinate()}) are not in {jars_folder()} and could not be fetched; run `make setup` (or"
            " `python -m kafka_clientinfo.commands.prepare`) where the network reaches a Maven repository, or name them in spark.jars"
        ) from error
    try:
        listed = str(gateway.jvm.java.lang.System.getProperty("spark.jars"))
    finally:
        gateway.shutdown()
        end_jvm(gateway, 60)
    return [Path(unquote(urlsplit(jar).path)) for jar in listed.split(",")]


def _artifacts_of_spark() -> list[str]:
    """Return Ivy patterns for every artifact that Spark brings itself, such as `*:parquet-column`."""
    names = {re.sub(r"-\d.*$", "", jar.stem) for jar in spark_jars().glob("*.jar")}
    return [f"*:{name}" for name in sorted(names)]


def archive_path(java: Java, class_path: str) -> Path:
    """Return the path of the archive for this Java, the installed Spark and this extra class path; it may not exist."""
    jars = spark_jars()
    installed = jars.stat().st_mtime_ns if jars.exists() else 0
    key = hashlib.sha256(repr((java.build, str(jars), installed, class_path)).encode()).hexdigest()
    return cache_folder() / "classes" / f"java-{java.major}-{key[:16]}.jsa"


def with_archive(conf: dict[str, str], java: Java) -> dict[str, str]:
    """Return the conf with the option that uses the archive, if there is one; options of the conf come after it."""
    path = archive_path(java, conf.get(_CLASS_PATH, ""))
    return _with_options(conf, f'"-XX:SharedArchiveFile={path}"') if path.is_file() else conf


def with_recording(conf: dict[str, str], target: Path) -> dict[str, str]:
    """Return the conf with the option that writes an archive to `target` when the JVM ends."""
    return _with_options(conf, f'"-XX:ArchiveClassesAtExit={target}"')


def _with_options(conf: dict[str, str], options: str) -> dict[str, str]:
    return {**conf, _OPTIONS: f"{options} {_QUIET} {conf.get(_OPTIONS, '')}".strip()}


def make_archive(path: Path, train: Callable[[Path], None]) -> None:
    """Have `train` write an archive, and put it at `path` (see `make_whole`); remove the oldest ones."""
    make_whole(path, train)
    newest_first = sorted(path.parent.glob("*.jsa"), key=lambda other: other.stat().st_mtime, reverse=True)
    for other in newest_first[_KEPT:]:
        other.unlink(missing_ok=True)
