"""A real single-node broker from Maven Central, with its request log, for the length of a with block.

Releases before 4 run beside a ZooKeeper from the same jars, later ones as broker and controller in one.
Both listen on 127.0.0.1 only, in small heaps; all that they write is in the folder given. Needs `mvn` and a JDK 17.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("KAFKA_CLIENTINFO_ORACLE_CACHE") or "~/.cache/kafka-clientinfo-oracle").expanduser()
HOST = "127.0.0.1"
PATTERN = "[%d] %p %m (%c)%n"
STARTED = " started (kafka.server"
REQUEST_LOGGER = "kafka.request.logger"
BACKENDS = {"2.8.2": "log4j1", "3.9.1": "log4j1", "4.0.1": "log4j2", "4.4.0": "log4j2"}
CLUSTER_ID = "dXBncmFkZS1vcmFjbGUtMQ"


class Broker(NamedTuple):
    """A broker that answers: `address` for clients, its two logs, the port of its metrics (JMX), and that of ZooKeeper or
    the controller.
    """

    address: str
    request_log: Path
    server_log: Path
    metrics_port: int
    coordination_port: int


def ready_made(name: str, command: Sequence[str | Path], folder: Path = HERE, fetches: bool = True) -> Path:
    """The folder `name` of the cache, made the first time by a command that fills {}.

    Skips where the tool is missing, or where a command that fetches from a registry fails; any other must not fail.
    """
    target = CACHE / name
    done = target / ".complete"
    if not done.exists():
        tool = str(command[0])
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed; it is needed for {name}")
        target.mkdir(parents=True, exist_ok=True)
        words = [str(word).replace("{}", str(target)) for word in command]
        made = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert fetches or made.returncode == 0, f"{name} does not build: {made.stdout[-2000:]}"
        if made.returncode:
            pytest.skip(f"{name} cannot be installed, is its registry within reach? {made.stdout[-800:]}")
        done.touch()
    return target


def jars(release: str) -> Path:
    pom = HERE / "broker" / "pom.xml"
    copy = ["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DincludeScope=runtime"]
    options = [f"-Dkafka.version={release}", f"-P{BACKENDS[release]}", "-DoutputDirectory={}"]
    return ready_made(f"broker-{release}", [*copy, *options])


@contextlib.contextmanager
def running(release: str, folder: Path) -> Iterator[Broker]:
    """A broker of this release, which keeps its data and logs in the folder."""
    port, metrics = free_ports(2)
    with coordinator(release, folder) as other, node(release, folder, 1, port, other, metrics) as broker:
        yield broker


@contextlib.contextmanager
def coordinator(release: str, folder: Path) -> Iterator[int]:
    """The port of ZooKeeper, which runs until the end of the block, or the one where the first broker will be controller."""
    folder.mkdir(parents=True)
    (port,) = free_ports(1)
    with contextlib.ExitStack() as processes:
        if release < "4":
            zookeeper = folder / "zookeeper.properties"
            zookeeper.write_text(f"dataDir={folder}/zookeeper\nclientPort={port}\nadmin.enableServer=false\n")
            command = [*java(release), "-Xmx96m", "org.apache.zookeeper.server.quorum.QuorumPeerMain", zookeeper]
            processes.enter_context(process(command, folder / "zookeeper.out", lambda: answers(port)))
        yield port


@contextlib.contextmanager
def second(release: str, folder: Path, first: Broker) -> Iterator[Broker]:
    """Another broker of the cluster of a running one, with the id 2."""
    port, metrics = free_ports(2)
    with node(release, folder, 2, port, first.coordination_port, metrics) as broker:
        yield broker


def free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as taken:
        return [taken.enter_context(socket.create_server((HOST, 0))).getsockname()[1] for _ in range(number)]


def java(release: str) -> list[str]:
    return ["java", "-Djava.awt.headless=true", "-XX:+UseSerialGC", "-cp", f"{jars(release)}/*"]


@contextlib.contextmanager
def node(release: str, folder: Path, number: int, port: int, other: int, metrics: int) -> Iterator[Broker]:
    """The process of one broker, which goes on with what it left in the folder; `other` is the port of ZooKeeper or the
    controller.
    """
    folder.mkdir(parents=True, exist_ok=True)
    server = folder / "server.properties"
    server.write_text(properties(release, folder, port, other, number))
    if release >= "4" and not (folder / "data").exists():
        format_ = [*java(release), "-Xmx96m", "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(server)]
        subprocess.run(format_, check=True, capture_output=True)
    command = [*java(release), "-Xmx384m", *metrics_options(metrics), logging_option(release, folder)]
    log = folder / "server.log"
    starts = read(log).count(STARTED)
    ready = lambda: read(log).count(STARTED) > starts and answers(port)  # noqa: E731
    with process([*command, "kafka.Kafka", server], folder / "broker.out", ready):
        yield Broker(f"{HOST}:{port}", folder / "kafka-request.log", log, metrics, other)


def metrics_options(port: int) -> list[str]:
    """Let a broker answer questions for its metrics on this port, to this machine only."""
    prefix = "-Dcom.sun.management.jmxremote"
    hosts = [f"{prefix}.host={HOST}", f"-Djava.rmi.server.hostname={HOST}"]
    return [
        f"{prefix}.port={port}",
        f"{prefix}.rmi.port={port}",
        f"{prefix}.authenticate=false",
        f"{prefix}.ssl=false",
        *hosts,
    ]


def topic_bytes(broker: Broker) -> dict[tuple[str, str], int]:
    """The broker's own counts of bytes: by metric (BytesInPerSec or BytesOutPerSec) and topic."""
    return {(metric, topic): int(count) for metric, topic, count in metrics(broker, "topics")}


def request_times(broker: Broker) -> dict[str, tuple[int, float]]:
    """The broker's own number of requests and their mean TotalTimeMs: by API.

    Fetch is counted again as FetchConsumer or FetchFollower, and AddPartitionsToTxnVerification is counted alone.
    """
    counted: dict[str, tuple[int, float]] = {}
    for metric, number, mean in metrics(broker, "requests"):
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", metric.removesuffix("Verification")).upper()
        if int(number) and name not in ("FETCH_CONSUMER", "FETCH_FOLLOWER"):
            count, milliseconds = counted.get(name, (0, 0.0))
            counted[name] = (count + int(number), milliseconds + int(number) * float(mean))
    return {name: (count, milliseconds / count) for name, (count, milliseconds) in counted.items()}


def metrics(broker: Broker, kind: str) -> list[list[str]]:
    command = ["java", str(HERE / "broker" / "BrokerMetrics.java"), HOST, str(broker.metrics_port), kind]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return [line.split("\t") for line in done.stdout.splitlines()]


def properties(release: str, folder: Path, port: int, other: int, number: int = 1) -> str:
    """Stock settings but for what few nodes need; `other` is the port of ZooKeeper or the controller, which is node 1."""
    lines = [
        f"log.dirs={folder}/data",
        f"advertised.listeners=PLAINTEXT://{HOST}:{port}",
        "num.partitions=1",
        "offsets.topic.num.partitions=3",
        "offsets.topic.replication.factor=1",
        "transaction.state.log.num.partitions=3",
        "transaction.state.log.replication.factor=1",
        "transaction.state.log.min.isr=1",
        "group.initial.rebalance.delay.ms=0",
    ]
    if release < "4":
        lines += [f"broker.id={number}", f"zookeeper.connect={HOST}:{other}", f"listeners=PLAINTEXT://{HOST}:{port}"]
    else:
        own = f"listeners=PLAINTEXT://{HOST}:{port}"
        lines += [
            "process.roles=broker,controller" if number == 1 else "process.roles=broker",
            f"node.id={number}",
            "controller.listener.names=CONTROLLER",
            f"controller.quorum.voters=1@{HOST}:{other}",
            f"{own},CONTROLLER://{HOST}:{other}" if number == 1 else own,
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "share.coordinator.state.topic.num.partitions=3",
            "share.coordinator.state.topic.replication.factor=1",
            "share.coordinator.state.topic.min.isr=1",
        ]
    return "\n".join(lines) + "\n"


def logging_option(release: str, folder: Path) -> str:
    """The request log at DEBUG, all else at INFO into server.log."""
    logs = {"server": folder / "server.log", "requests": folder / "kafka-request.log"}
    if BACKENDS[release] == "log4j1":
        lines = ["log4j.rootLogger=INFO, server", f"log4j.logger.{REQUEST_LOGGER}=DEBUG, requests"]
        lines.append(f"log4j.additivity.{REQUEST_LOGGER}=false")
        for name, path in logs.items():
            appender = f"log4j.appender.{name}"
            lines += [f"{appender}=org.apache.log4j.FileAppender", f"{appender}.File={path}"]
            lines += [f"{appender}.layout=org.apache.log4j.PatternLayout"]
            lines += [f"{appender}.layout.ConversionPattern={PATTERN}"]
        (folder / "log4j.properties").write_text("\n".join(lines) + "\n")
        return f"-Dlog4j.configuration=file:{folder}/log4j.properties"
    appenders = "".join(
        f'<File name="{name}" fileName="{path}"><PatternLayout pattern="{PATTERN}"/></File>'
        for name, path in logs.items()
    )
    (folder / "log4j2.xml").write_text(
        f'<Configuration status="WARN"><Appenders>{appenders}</Appenders><Loggers>'
        '<Root level="INFO"><AppenderRef ref="server"/></Root>'
        f'<Logger name="{REQUEST_LOGGER}" level="DEBUG" additivity="false"><AppenderRef ref="requests"/></Logger>'
        "</Loggers></Configuration>"
    )
    return f"-Dlog4j2.configurationFile={folder}/log4j2.xml"


@contextlib.contextmanager
def process(command: Sequence[str | Path], output: Path, ready: Callable[[], bool]) -> Iterator[None]:
    """A process until the end of the block, from the moment that it is ready."""
    with output.open("wb") as said:
        child = subprocess.Popen([str(word) for word in command], stdout=said, stderr=said, cwd=output.parent)
    try:
        deadline = time.monotonic() + 300
        while not ready():
            assert child.poll() is None, f"ended before it was ready: {read(output)[-2000:]}"
            assert time.monotonic() < deadline, f"not ready after five minutes: {read(output)[-2000:]}"
            time.sleep(0.25)
        yield
    finally:
        child.terminate()
        try:
            child.wait(30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=2):
        return True
    return False


def read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
