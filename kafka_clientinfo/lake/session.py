"""A local Spark session with Delta, for runs without a cluster."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from ..errors import WarehouseError
from ..settings import Settings

_MINIMUM_JAVA = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def check_java() -> None:
    """Make sure that Spark will find a Java that it runs on.

    Raises:
        WarehouseError: no Java, or one older than 17.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not java or not Path(java).exists():
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "no java is on the PATH"
        raise WarehouseError(f"Spark needs Java {_MINIMUM_JAVA} or later: {where}; install one or set JAVA_HOME")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = _VERSION.search(said)
    if found and int(found[1]) < _MINIMUM_JAVA:
        raise WarehouseError(
            f"Spark needs Java {_MINIMUM_JAVA} or later: {java} is version {found[1]}; install one or set JAVA_HOME"
        )


def local_session(settings: Settings, app_name: str = "kafka_clientinfo", log_file: str | None = None) -> SparkSession:
    """Start (or get) a local session with Delta.

    Args:
        settings: `spark` is the session's conf.
        app_name: name of the application.
        log_file: where what Spark's JVM writes (vacuum to standard output, all else to standard error) goes; to the terminal
            when None.

    Raises:
        WarehouseError: when Java is missing or the session cannot start.
    """
    check_java()
    from delta import configure_spark_with_delta_pip

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.appName(app_name)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.session.timeZone", "UTC")
    )
    for key, value in settings.spark.items():
        builder = builder.config(key, value)
    try:
        with _output_to(log_file):
            return configure_spark_with_delta_pip(builder).getOrCreate()
    except Exception as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        where = f" (see {log_file})" if log_file else ""
        raise WarehouseError(f"the local Spark session did not start: {first_line}{where}") from error


@contextmanager
def _output_to(path: str | None) -> Iterator[None]:
    """Let a process that is started in here inherit a file as its standard output and error."""
    if path is None:
        yield
        return
    sys.stdout.flush()
    sys.stderr.flush()
    kept = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    target = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        for descriptor in kept:
            os.dup2(target, descriptor)
        yield
    finally:
        for descriptor, before in kept.items():
            os.dup2(before, descriptor)
            os.close(before)
        os.close(target)
