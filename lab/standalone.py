"""A standalone cluster of Spark: a master and two workers, each a process of this machine, to which jobs are submitted.

Executors run a Python that has what a platform brings, and not this package: a job has to ship it.
"""

import importlib.metadata
import json
import os
import shutil
import socket
import subprocess
import tarfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from kafka_clientinfo.spark.session_files import ensure_jars, spark_jars
from tests.connect_server import free_port

from .soak.processes import children, kill, session

ROOT = Path(__file__).resolve().parent.parent
WORKERS = 2
ENVIRONMENT = "environment"
"""Name of the folder that executors unpack an archive into."""
_PLATFORM = ("pyarrow", "numpy", "pandas", "zstandard", "lz4")
_NOT_NEEDED = ("tests", "include", "__pycache__")
_OTHERS = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME", "SPARK_REMOTE", "VIRTUAL_ENV")
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
_STARTS_WITHIN_SECONDS = 120
_ENDS_WITHIN_SECONDS = 1200


def platform_python(folder: Path) -> Path:
    """Make an environment of Python with what a platform has, copied from this one; returns its executable."""
    venv.create(folder, symlinks=True)
    target = _packages(folder)
    for name in _with_requirements(_PLATFORM):
        found = importlib.metadata.distribution(name)
        for file in found.files or ():
            if not {"..", *_NOT_NEEDED}.intersection(file.parts):
                copy = target / file
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(Path(str(found.locate_file(file))), copy)
    return folder / "bin" / "python"


@dataclass(frozen=True)
class Shipping:
    """How a job brings this package to executors.

    Attributes:
        arguments: of spark-submit.
        driver: the executable of the driver's Python.
        executors: that of the executors', as they find it.
    """

    arguments: Sequence[str]
    driver: str
    executors: str


def by_py_files(wheel: Path, platform: Path) -> Shipping:
    """Ship a wheel; pyspark puts nothing on a path whose name does not end in .zip, .egg or .jar."""
    zipped = shutil.copyfile(wheel, f"{wheel}.zip")
    return Shipping(["--py-files", zipped], str(platform), str(platform))


def by_archives(wheel: Path, platform: Path, folder: Path) -> Shipping:
    """Ship a packed environment: a copy of a platform's, into which a wheel is installed."""
    made = folder / ENVIRONMENT
    shutil.copytree(platform.parent.parent, made, symlinks=True)
    shutil.unpack_archive(wheel, _packages(made), "zip")
    archive = folder / f"{ENVIRONMENT}.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as file:
        file.add(made, ".")
    python = f"{ENVIRONMENT}/bin/python"
    return Shipping(["--archives", f"{archive}#{ENVIRONMENT}"], str(folder / python), f"./{python}")


def _packages(environment: Path) -> Path:
    (found,) = environment.glob("lib/python*/site-packages")
    return found


def _with_requirements(names: Sequence[str]) -> list[str]:
    """Names of distributions with all that they need, without extras."""
    found, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            required = map(Requirement, importlib.metadata.requires(name) or ())
            waiting += [one.name for one in required if one.marker is None or one.marker.evaluate({"extra": ""})]
    return sorted(found)


@dataclass(frozen=True)
class Job:
    """A job that is under way."""

    process: "subprocess.Popen[str]"
    log: Path

    def report(self) -> dict[str, Any]:
        """Wait for its end; returns what it printed as JSON: spark-submit joins its standard error to that."""
        output, _ = self.process.communicate(timeout=_ENDS_WITHIN_SECONDS)
        assert self.process.returncode == 0, (output, self.log.read_text()[-4000:])
        found: dict[str, Any] = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
        return found


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs.

    Attributes:
        url: of the master.
        workers: process ids of the workers, of which executors are children.
        folder: for logs, and the event logs of the applications.
        cores: of each worker.
    """

    url: str
    workers: tuple[int, ...]
    folder: Path
    cores: int

    @property
    def events(self) -> Path:
        """The folder of event logs."""
        return self.folder / "events"

    def executors(self) -> list[int]:
        """Process ids of the executors that live."""
        return [pid for worker in self.workers for pid in children(worker)]

    def python_workers(self, executor: int) -> list[int]:
        """Process ids of the Python workers of an executor."""
        return [worker for daemon in children(executor) for worker in children(daemon)]

    @contextmanager
    def submit(
        self,
        job: Sequence[str],
        shipping: Shipping,
        conf: Mapping[str, str] | None = None,
    ) -> Iterator[Job]:
        """Submit a job of the folder jobs/, and end it if it has not ended in here.

        Args:
            job: name of its module, and its arguments.
            shipping: how it brings this package.
            conf: entries beside those of conf/spark-defaults.conf.
        """
        entries = {
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": _JAVA,
            "spark.executor.extraJavaOptions": _JAVA,
            "spark.log.level": "ERROR",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "1g",
            "spark.executor.cores": str(self.cores),
            "spark.cores.max": str(self.cores * WORKERS),
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.dir": self.events.as_uri(),
            "spark.ui.enabled": "false",
            **(conf or {}),
        }
        jars = ",".join(map(str, ensure_jars({})))
        command = [str(spark_jars().parent / "bin" / "spark-submit"), "--master", self.url, "--jars", jars]
        command += ["--properties-file", str(ROOT / "conf" / "spark-defaults.conf"), *shipping.arguments]
        for key, value in entries.items():
            command += ["--conf", f"{key}={value}"]
        command += [str(ROOT / "jobs" / f"{job[0]}.py"), *job[1:]]
        command += ["--conf", str(ROOT / "conf" / "cluster.toml"), "--json"]
        pythons = {"PYSPARK_DRIVER_PYTHON": shipping.driver, "PYSPARK_PYTHON": shipping.executors}
        log = self.folder / f"driver-{time.monotonic_ns()}.log"
        with (
            log.open("w") as errors,
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=self.folder,
                env=_environment() | pythons,
                start_new_session=True,
            ) as process,
        ):
            try:
                yield Job(process, log)
            finally:
                kill(session(process.pid))


@contextmanager
def standalone_cluster(folder: Path, cores: int = 1, memory: str = "1200m") -> Iterator[Cluster]:
    """Run a cluster in here.

    Args:
        folder: for its logs and what executors work in.
        cores: of each worker.
        memory: of each worker, for executors' JVMs.
    """
    (folder / "events").mkdir(parents=True)
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    here = ("--host", "127.0.0.1", "--webui-port", "0")
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(_started("master.Master", *here, "--port", str(port), log=folder / "master.log"))
        _wait(lambda: _answers(port), started, folder)
        for number in range(WORKERS):
            where = ("--work-dir", str(folder / f"worker-{number}"), "--cores", str(cores), "--memory", memory)
            started.append(_started("worker.Worker", *here, *where, url, log=folder / f"worker-{number}.log"))
        _wait(lambda: (folder / "master.log").read_text().count("Registering worker") == WORKERS, started, folder)
        yield Cluster(url, tuple(process.pid for process in started[1:]), folder, cores)
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
            kill(session(process.pid))
            process.wait()


def _environment() -> dict[str, str]:
    """This process's, without what names a Python or a Spark; only what is shipped reaches executors."""
    kept = {name: value for name, value in os.environ.items() if name not in _OTHERS}
    return kept | {"SPARK_HOME": str(spark_jars().parent)}


def _started(name: str, *arguments: str, log: Path) -> "subprocess.Popen[bytes]":
    command = [str(spark_jars().parent / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    environment = _environment() | {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": _JAVA}
    with log.open("w") as output:
        return subprocess.Popen(
            command, stdout=output, stderr=output, cwd=log.parent, env=environment, start_new_session=True
        )


def _wait(is_up: Any, started: Sequence["subprocess.Popen[bytes]"], folder: Path) -> None:
    until = time.monotonic() + _STARTS_WITHIN_SECONDS
    while not is_up():
        if time.monotonic() > until or any(process.poll() is not None for process in started):
            logs = "\n".join(path.read_text()[-1000:] for path in sorted(folder.glob("*.log")))
            raise RuntimeError(f"the cluster did not start: {logs}")
        time.sleep(0.2)


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
