"""A Spark Connect server with Delta: a process of its own on this machine, as a client would find one elsewhere."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from kafka_clientinfo.spark.session import local_conf
from kafka_clientinfo.spark.session_files import spark_jars

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_STARTS_WITHIN_SECONDS = 300
_ENDS_WITHIN_SECONDS = 30
_CLIENTS_OWN = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_LOCAL_REMOTE")


@contextmanager
def connect_server(conf: Mapping[str, str], log: Path, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Serve in here, with this conf beside what brings Delta; writes to the log, and yields the URL."""
    port = free_port()
    entries = local_conf({"spark.master": "local[2]", **conf})
    entries |= {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": str(port)}
    jars = spark_jars()
    command = [str(jars.parent / "bin" / "spark-submit"), "--class", _CLASS]
    for key, value in entries.items():
        command += ["--conf", f"{key}={value}"]
    command.append(str(next(jars.glob("spark-connect_*.jar"))))
    server = {"PYSPARK_PYTHON": sys.executable} | {
        name: value for name, value in environment.items() if name not in _CLIENTS_OWN
    }
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=server)
        try:
            _wait_for(port, process, log)
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_ENDS_WITHIN_SECONDS)
            process.kill()
            process.wait()


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the Spark Connect server ended: {log.read_text()[-2000:]}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise RuntimeError(f"the Spark Connect server did not start: {log.read_text()[-2000:]}")
