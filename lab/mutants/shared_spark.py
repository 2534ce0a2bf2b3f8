"""One JVM with a Spark session that the processes of all mutants use, one after the other.

A process of its own starts it, on the unchanged package; each mutant's process connects to it and takes a new session.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .explained import ROOT
from .in_children.sitecustomize import VARIABLE

_SESSIONS = 60
"""How many mutants use one JVM: what their processes do not give back stays in its memory."""


class SharedSpark:
    """A JVM that is started when it is first needed, and anew when it no longer answers."""

    def __init__(self) -> None:
        self.scratch = Path(tempfile.mkdtemp(prefix="mutants-"))
        self._host: subprocess.Popen[str] | None = None
        self._address: dict[str, Any] = {}
        self._sessions = 0

    def start(self, with_samples: bool) -> None:
        """Start the JVM if it isn't there or has served long; build the warehouse of the samples if it is asked for."""
        self._sessions += 1
        if self._sessions > _SESSIONS or not self._asked("SELECT 1"):
            self.stop()
            command = [sys.executable, "-m", "lab.mutants.shared_spark", str(self.scratch)]
            self._host = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert self._host.stdout is not None
            self._address = json.loads(self._host.stdout.readline())
            self._sessions = 1
        if with_samples and not self.samples().exists() and not self._asked("samples"):
            raise SystemExit("mutants: the warehouse of the sample logs could not be built")

    def _asked(self, wish: str) -> bool:
        if self._host is None or self._host.poll() is not None:
            return False
        assert self._host.stdin is not None
        assert self._host.stdout is not None
        try:
            self._host.stdin.write(f"{wish}\n")
            self._host.stdin.flush()
            return self._host.stdout.readline() == "done\n"
        except OSError:
            return False

    def samples(self) -> Path:
        """Return the path of the warehouse of the sample logs."""
        return self.scratch / "samples"

    def session(self) -> Any:
        """Return a new session of the JVM, for this process; its Python workers import what this process imports."""
        from pyspark import SparkContext
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_GATEWAY_PORT"] = str(self._address["port"])
        os.environ["PYSPARK_GATEWAY_SECRET"] = self._address["secret"]
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        gateway = launch_gateway()
        java_context = gateway.jvm.JavaSparkContext(gateway.jvm.org.apache.spark.SparkContext.getOrCreate())
        context = SparkContext(gateway=gateway, jsc=java_context)
        if VARIABLE in os.environ:  # other variables, and so other workers than those of the mutant before
            context.environment |= {VARIABLE: os.environ[VARIABLE], "PYTHONPATH": os.environ["PYTHONPATH"]}
            context.environment["MUTANT_PROCESS"] = str(os.getpid())
        default = SparkSession._get_j_spark_session_class(gateway.jvm).getDefaultSession().get()
        return SparkSession(context, jsparkSession=default.newSession())

    def tidy(self) -> None:
        """End the Python workers that a mutant's session started, and what it still computes."""
        self._asked("tidy")
        for process in _children(self._address.get("jvm", 0)):
            try:
                if b"MUTANT_PROCESS=" in Path(f"/proc/{process}/environ").read_bytes():
                    os.kill(process, signal.SIGTERM)
            except OSError:
                continue

    def stop(self) -> None:
        """End the JVM, and forget nothing of what it built."""
        if self._host is not None:
            if self._host.stdin is not None:
                self._host.stdin.close()
            try:
                self._host.wait(30)
            except subprocess.TimeoutExpired:
                self._host.kill()
            self._host = None

    def end(self) -> None:
        """End the JVM, and remove its scratch."""
        self.stop()
        shutil.rmtree(self.scratch, ignore_errors=True)


def _children(process: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return found


def _host(scratch: Path) -> None:
    """Start the session, print how to reach its JVM, and do what standard input asks for until it ends."""
    from conftest import classic_session
    from kafka_clientinfo.config.settings import load_settings
    from kafka_clientinfo.runs import run as pipeline

    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    settings = load_settings()
    session = classic_session(settings, scratch)
    gateway = session.sparkContext._gateway
    address = {"port": gateway.gateway_parameters.port, "secret": gateway.gateway_parameters.auth_token}
    print(json.dumps({**address, "jvm": gateway.proc.pid}), file=answers)
    for wish in sys.stdin:
        try:
            if wish == "samples\n":
                pipeline.run(session, [str(ROOT / "sample_logs")], str(scratch / "building"), settings)
                (scratch / "building").rename(scratch / "samples")
            elif wish == "tidy\n":
                session.sparkContext.cancelAllJobs()
                session.catalog.clearCache()
            else:
                session.sql(wish).collect()
            print("done", file=answers)
        except Exception as error:
            print(f"failed: {error!r}"[:200].replace("\n", " "), file=answers)
    session.stop()


if __name__ == "__main__":
    _host(Path(sys.argv[1]))
