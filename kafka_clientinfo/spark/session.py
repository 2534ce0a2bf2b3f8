"""A local Spark session with Delta, for runs without a cluster."""

import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from ..config.settings import Settings
from ..errors import WarehouseError
from .failures import failure_message
from .features import is_one_process
from .session_files import Log, delta_is_given, ensure_jars, with_archive, with_jars

_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # Else PySpark records the line of code of every column that it makes: six calls of the JVM, of a first run's seven.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Our tables are stored by path; without this, Spark makes a folder for other tables in the working folder.
    "spark.sql.warehouse.dir": Path(tempfile.gettempdir()).as_uri(),
}
_LAUNCHER_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For the small JVM that only builds the command line of Spark's own JVM."""


def local_session(settings: Settings, log_file: str | None = None) -> SparkSession:
    """Start (or get) a local session with Delta.

    Args:
        settings: `spark` is the session's conf.
        log_file: file for the output of Spark's JVM; None leaves it on the terminal.

    Raises:
        WarehouseError: Java is missing or does not fit, Delta's jars are missing, or the session cannot start.
    """
    os.environ.pop("SPARK_REMOTE", None)  # with it, PySpark would ask a server of Spark Connect for the session
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", _LAUNCHER_OPTIONS)
    where = f" (see {log_file})" if log_file else ""
    is_first = SparkContext._gateway is None
    try:
        with _appended(log_file) as log:
            conf = local_conf(settings.spark, is_first, log)
            if is_first:
                _start_jvm(conf, settings.private_raw_bytes, log)
        return SparkSession.builder.appName("kafka_clientinfo").config(map={**conf}).getOrCreate()
    except WarehouseError as error:
        raise WarehouseError(f"{error}{where}") from error
    except Exception as error:
        reason = failure_message(error, "its scratch folder")
        raise WarehouseError(f"the local Spark session did not start: {reason}{where}") from error


def end_session() -> None:
    """End the JVM that this process has started, if any, and wait until it has deleted its scratch files."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        process.stdin.close()  # the JVM ends when it can read no more
        process.wait()


def local_conf(given: Mapping[str, str], is_first: bool = True, log: Log = None) -> dict[str, str]:
    """Return the conf of a local session: ours for Delta, overridden by the one given, with Delta's jars and the archive of classes.

    If `is_first` is false, this process has a JVM, with a fixed class path. `log` receives the output of fetching jars.
    """
    conf = {**_DELTA, **given}
    if not is_first:
        return conf
    if not delta_is_given(conf):
        conf = with_jars(conf, ensure_jars(conf, log))
    return with_archive(conf) if is_one_process(conf.get("spark.master", "local[*]")) else conf


def _appended(path: str | None) -> AbstractContextManager[IO[bytes] | None]:
    return nullcontext() if path is None else open(path, "ab", opener=partial(os.open, mode=0o600))


def _start_jvm(conf: Mapping[str, str], is_private: bool, log: Log) -> None:
    """Start the JVM of this process's sessions, with scratch files that only their owner reads: they hold rows.

    The umask does not affect tables: Hadoop's conf sets their permissions.
    """
    options = {"stdout": log, "stderr": log, "umask": 0o077 if is_private else -1}
    gateway = launch_gateway(SparkConf(loadDefaults=False).setAll(list(conf.items())), options)  # type: ignore[no-untyped-call]
    SparkContext._ensure_initialized(gateway=gateway)
