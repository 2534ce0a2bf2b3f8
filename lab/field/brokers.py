"""Three KRaft nodes, each broker and controller in one on a host of its own, and the tools that administer them."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ..upgrade_oracle.real_broker import CACHE, ready_made
from .hosts import BROKERS, inside

HERE = Path(__file__).parent
OLD, NEW = "3.9.1", "4.4.0"
CLUSTER_ID = "ZmllbGQtb3JhY2xlLTAwMQ"
CLIENT_PORT, CONTROLLER_PORT, SECOND_PORT = 9092, 9093, 9094
REQUEST_LOGGER = "kafka.request.logger"
SMALL_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
BANNER = """===> User
uid=1000(appuser) gid=1000(appuser) groups=1000(appuser)
===> Setting default values of environment variables if not already set.
===> Configuring ...
===> Launching ...
===> Launching kafka ...
"""
"""What a container prints before its broker's first record."""
CONTAINER = "broker-3"
IDLE_MS = {"broker-3": 180_000}
STOCK_IDLE_MS = 45_000
_PATTERN = "[%d] %p %m (%c)%n"


def jars(release: str) -> Path:
    """Return the folder with a release's jars, brokers' and tools', fetched the first time."""
    copy = ["mvn", "-q", "-B", "-f", HERE / "pom.xml", "dependency:copy-dependencies", "-DincludeScope=runtime"]
    profile = "log4j1" if release < "4" else "log4j2"
    return ready_made(f"field-{release}", [*copy, f"-Dkafka.version={release}", f"-P{profile}", "-DoutputDirectory={}"])


def plugin() -> Path:
    """Return the folder with the class that makes brokers offer telemetry."""
    source = HERE / "java" / "FieldTelemetry.java"
    compile_ = ["javac", "-nowarn", "-cp", f"{jars(OLD)}/*", "-d", "{}", source]
    return ready_made("field-telemetry", compile_, fetches=False)


def java(release: str, *arguments: str) -> list[str]:
    return ["java", *SMALL_JVM, "-cp", f"{plugin()}:{jars(release)}/*", *arguments]


def end(process: subprocess.Popen[bytes], signal_number: int = signal.SIGTERM, patience: float = 30) -> None:
    """End a process and those that it started; it was started in a session of its own."""
    if process.poll() is None:
        os.killpg(process.pid, signal_number)
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@dataclass
class Node:
    """A broker on its host: its folder holds data, kafka-request.log, server.log, and stdout.log for the container."""

    host: str
    folder: Path
    release: str = OLD
    level: str = "INFO"
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    expected_starts: int = 0

    @property
    def number(self) -> str:
        return self.host.rpartition("-")[2]

    @property
    def address(self) -> str:
        return BROKERS[self.host]

    @property
    def bootstrap(self) -> str:
        return f"{self.address}:{CLIENT_PORT}"

    def format(self) -> None:
        self.folder.mkdir(parents=True)
        (self.folder / "server.properties").write_text(self._properties())
        command = java(OLD, "-Xmx96m", "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID)
        configuration = str(self.folder / "server.properties")
        subprocess.run([*command, "-c", configuration], check=True, capture_output=True)

    def launch(self) -> None:
        """Start the broker in its release; `wait` says when it answers."""
        self.expected_starts = self._starts() + 1
        option = self._logging()
        heap = ("-Xmx256m", f"-Djava.io.tmpdir={self.folder}")
        command = java(self.release, *heap, option, "kafka.Kafka", str(self.folder / "server.properties"))
        with self._stdout() as output:
            if self.host == CONTAINER:
                output.write(BANNER.encode())
                output.flush()
            self.process = subprocess.Popen(
                inside(self.host, *command),
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                start_new_session=True,
            )

    def wait(self) -> None:
        """Wait until the broker's log says once more that it has started."""
        assert self.process is not None
        deadline = time.monotonic() + 120
        while self._starts() < self.expected_starts:
            assert self.process.poll() is None, f"{self.host} ended: see {self.folder}"
            assert time.monotonic() < deadline, f"{self.host} has not started: see {self.folder}"
            time.sleep(0.3)

    def ask_to_end(self) -> None:
        """Tell the broker to end; `stop` waits for it."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)

    def stop(self, signal_number: int = signal.SIGTERM) -> None:
        """End the broker; without a quorum it would wait long for its controlled shutdown."""
        if self.process is not None:
            end(self.process, signal_number, 20)
            self.process = None

    def _stdout(self) -> IO[bytes]:
        return (self.folder / ("stdout.log" if self.host == CONTAINER else "console.out")).open("ab")

    def _starts(self) -> int:
        log = self.folder / ("stdout.log" if self.host == CONTAINER else "server.log")
        return log.read_text(errors="replace").count("Kafka Server started") if log.exists() else 0

    def _properties(self) -> str:
        replicated = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
        listeners = {"PLAINTEXT": CLIENT_PORT, "BACKOFFICE": SECOND_PORT, "CONTROLLER": CONTROLLER_PORT}
        addresses = {name: f"{name}://{self.address}:{port}" for name, port in listeners.items()}
        lines = [
            "process.roles=broker,controller",
            f"node.id={self.number}",
            "controller.listener.names=CONTROLLER",
            "controller.quorum.voters="
            + ",".join(f"{host[-1]}@{address}:{CONTROLLER_PORT}" for host, address in BROKERS.items()),
            f"listeners={','.join(addresses.values())}",
            f"advertised.listeners={addresses['PLAINTEXT']},{addresses['BACKOFFICE']}",
            "inter.broker.listener.name=PLAINTEXT",
            "listener.security.protocol.map=" + ",".join(f"{name}:PLAINTEXT" for name in listeners),
            f"log.dirs={self.folder}/data",
            f"connections.max.idle.ms={IDLE_MS.get(self.host, STOCK_IDLE_MS)}",
            "metric.reporters=FieldTelemetry",
            "group.initial.rebalance.delay.ms=0",
            "default.replication.factor=3",
            "num.partitions=3",
            *(f"{topic}.replication.factor=3" for topic in replicated),
            *(f"{topic}.min.isr=1" for topic in replicated),
            *(f"{topic}.num.partitions=3" for topic in replicated),
        ]
        return "\n".join(lines) + "\n"

    def _logging(self) -> str:
        """Write the logs' configuration; return the JVM's option that names it.

        The request log is a file of its own, but for the container, where all loggers go to the console.
        """
        console = self.host == CONTAINER
        if self.release < "4":
            path = self.folder / "log4j.properties"
            path.write_text(self._log4j1(console))
            return f"-Dlog4j.configuration=file:{path}"
        path = self.folder / "log4j2.xml"
        path.write_text(self._log4j2(console))
        return f"-Dlog4j2.configurationFile={path}"

    def _log4j1(self, console: bool) -> str:
        files = {"server": self.folder / "server.log", "requests": self.folder / "kafka-request.log"}
        lines = ["log4j.rootLogger=INFO, server"]
        for name, file in files.items():
            appender = f"log4j.appender.{name}"
            lines += [
                f"{appender}.layout=org.apache.log4j.PatternLayout",
                f"{appender}.layout.ConversionPattern={_PATTERN}",
            ]
            kind = "ConsoleAppender" if console else "FileAppender"
            lines += [f"{appender}=org.apache.log4j.{kind}"] + ([] if console else [f"{appender}.File={file}"])
        lines += [f"log4j.logger.{REQUEST_LOGGER}={self.level}, requests", f"log4j.additivity.{REQUEST_LOGGER}=false"]
        return "\n".join(lines) + "\n"

    def _log4j2(self, console: bool) -> str:
        files = {"server": self.folder / "server.log", "requests": self.folder / "kafka-request.log"}
        layout = f'<PatternLayout pattern="{_PATTERN}"/>'
        appenders = "".join(
            f'<Console name="{name}">{layout}</Console>'
            if console
            else f'<File name="{name}" fileName="{file}">{layout}</File>'
            for name, file in files.items()
        )
        return (
            f'<Configuration status="WARN"><Appenders>{appenders}</Appenders><Loggers>'
            '<Root level="INFO"><AppenderRef ref="server"/></Root>'
            f'<Logger name="{REQUEST_LOGGER}" level="{self.level}" additivity="false"><AppenderRef ref="requests"/>'
            "</Logger></Loggers></Configuration>"
        )


def tool(release: str, *arguments: str, host: str = "admin", patience: float = 60) -> str:
    """Run one of Kafka's command line tools on a host to its end; return what it printed."""
    command = inside(host, *java(release, "-Xmx96m", *arguments))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=patience)
    return done.stdout


def configs(release: str) -> str:
    """Return the class of kafka-configs.sh."""
    return "kafka.admin.ConfigCommand" if release < "4" else "org.apache.kafka.tools.ConfigCommand"


def switch_level(node: Node, level: str) -> str:
    """Switch a broker's request log to another level, as operators do (kafka-configs.sh)."""
    entity = ("--entity-type", "broker-loggers", "--entity-name", node.number)
    change = ("--alter", *entity, "--add-config", f"{REQUEST_LOGGER}={level}")
    return tool(node.release, configs(node.release), "--bootstrap-server", node.bootstrap, *change)


def python_library(wanted: str) -> Path:
    """Return the folder with a Python library, installed the first time."""
    return ready_made(f"python-{wanted}", ["python3.11", "-m", "pip", "install", "-q", "--target", "{}", wanted])


def install(libraries: Sequence[str]) -> None:
    """Fetch and build everything beforehand, so that nothing is fetched beside the running cluster."""
    CACHE.mkdir(parents=True, exist_ok=True)
    for release in (OLD, NEW):
        jars(release)
    plugin()
    for wanted in libraries:
        python_library(wanted)
