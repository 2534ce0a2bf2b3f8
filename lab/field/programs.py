"""The client programs of the run: what each host runs, and how it is started and ended."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .brokers import CLIENT_PORT, CONTROLLER_PORT, NEW, OLD, SECOND_PORT, end, java, python_library
from .hosts import BROKERS, inside

CLIENTS = Path(__file__).parent / "clients"
ALL = ",".join(f"{address}:{CLIENT_PORT}" for address in BROKERS.values())
KAFKA_PYTHON, OLD_KAFKA_PYTHON, LIBRDKAFKA = "kafka-python==3.0.12", "kafka-python==2.0.2", "confluent-kafka==2.16.1"
LIBRARIES = (KAFKA_PYTHON, OLD_KAFKA_PYTHON, LIBRDKAFKA)
SLOW_SECONDS = 80
"""Longer than max_idle_ms of most brokers, shorter than that of the one that the client uses."""


@dataclass
class Programs:
    """The programs that run; `folder` gets what they print."""

    folder: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, host: str, command: list[str], **environment: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{name}.out").open("ab") as output:
            self.running[name] = subprocess.Popen(
                inside(host, *command),
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **environment},
                start_new_session=True,
            )

    def stop(self, *names: str) -> None:
        for name in names:
            end(self.running.pop(name), patience=10)

    def python(self, name: str, host: str, library: str, script: str, *arguments: str) -> None:
        command = ["python3.11", str(CLIENTS / f"{script}.py"), *arguments]
        self.start(name, host, command, PYTHONPATH=str(python_library(library)))

    def poller(self, name: str, host: str, *arguments: str, **environment: str) -> None:
        self.start(name, host, ["python3.11", str(CLIENTS / "poller.py"), *arguments], **environment)

    def console(self, name: str, host: str, release: str, kind: str, bootstrap: str, *options: str) -> None:
        """Start a console client: `Consumer`, `ShareConsumer` or `Producer`, which gets a line twice a second."""
        main = "kafka.tools.ConsoleProducer" if kind == "Producer" else f"org.apache.kafka.tools.consumer.Console{kind}"
        command = [*java(release, "-Xmx64m", main), "--bootstrap-server", bootstrap, "--topic", "t1", *options]
        if kind == "Producer":
            command = ["bash", "-c", 'while sleep 0.5; do echo x; done | "$@"', "feed", *command]
        self.start(name, host, command)

    def steady_producer(self, name: str, host: str, release: str, rate: int, *options: str) -> None:
        """Start a Java producer that sends so many records a second."""
        main = java(release, "-Xmx64m", "org.apache.kafka.tools.ProducerPerformance", "--topic", "t1")
        pace = ("--num-records", "1000000", "--record-size", "50", "--throughput", str(rate))
        self.start(name, host, [*main, *pace, *options, "--producer-props", f"bootstrap.servers={ALL}"])


@contextlib.contextmanager
def programs(folder: Path) -> Iterator[Programs]:
    """The programs of a run, all ended at the end of the block."""
    running = Programs(folder)
    try:
        yield running
    finally:
        running.stop(*list(running.running))


def start_at_first(run: Programs) -> None:
    """Start the clients that live all the time, through the kill and the upgrade."""
    run.console("java-old-producer", "java-old", OLD, "Producer", ALL)
    run.console("java-old-consumer", "java-old", OLD, "Consumer", ALL, "--group", "g-old")
    run.python("kafka-python", "kafka-python", KAFKA_PYTHON, "kafka_python_client", ALL, "reports", "g-reports")
    run.python("number", "number", LIBRDKAFKA, "librdkafka_client", ALL, "42", "g-number")
    in_transactions = ("--transactional-id", "tx-1", "--transaction-duration-ms", "2000")
    run.steady_producer("transactions", "transactions", OLD, 10, *in_transactions)
    run.poller(
        "slow", "slow", BROKERS["broker-3"], str(CLIENT_PORT), str(SLOW_SECONDS), "batch-poller", "yes", "metadata"
    )
    second = (BROKERS["broker-2"], str(SECOND_PORT))
    first = (BROKERS["broker-1"], str(CLIENT_PORT))
    run.poller("legacy", "legacy", *first, "4", "ledger", "once", "offsets")
    run.poller("probe", "probe", *second, "10", "monitoring", "no", "metadata", "33333")
    run.python("nat-a", "nat-a", KAFKA_PYTHON, "kafka_python_client", ALL, "orders", "g-orders")
    run.python("nat-b", "nat-b", OLD_KAFKA_PYTHON, "kafka_python_client", ALL, "orders", "g-orders-2", "2.5")


def start_new_java(run: Programs) -> None:
    run.steady_producer("java-new-producer", "java-new", NEW, 2)
    run.console("java-new-consumer", "java-new", NEW, "Consumer", ALL, "--group", "g-new")


def start_at_wrong_port(run: Programs) -> list[str]:
    """Start clients that bootstrap at a controller's port by mistake; return their names."""
    wrong = f"{BROKERS['broker-2']}:{CONTROLLER_PORT}"
    run.python("wrong-librdkafka", "wrong-port", LIBRDKAFKA, "librdkafka_client", wrong, "misled", "")
    run.python("wrong-python", "wrong-port", OLD_KAFKA_PYTHON, "kafka_python_client", wrong, "misled-2", "g-x", "2.5")
    run.console("wrong-java", "wrong-port", OLD, "Consumer", wrong, "--group", "g-misled")
    return ["wrong-librdkafka", "wrong-python", "wrong-java"]


def start_with_log(run: Programs, log: Path) -> None:
    """Start a client that opens broker-2's second listener at the moment that its request log gets its first record."""
    second = (BROKERS["broker-2"], str(SECOND_PORT))
    run.poller("late-poller", "late-poller", *second, "10", "reconciler", "yes", "metadata", START_WITH=str(log))


def start_late(run: Programs) -> None:
    """Start the first clients ever of the second listener of two brokers."""
    run.console("late-java", "late", OLD, "Consumer", f"{BROKERS['broker-1']}:{SECOND_PORT}", "--group", "g-late")
    third = f"{BROKERS['broker-3']}:{SECOND_PORT}"
    run.python("late-python", "late", KAFKA_PYTHON, "kafka_python_client", third, "backoffice", "g-late-2")


def start_share(run: Programs) -> None:
    """Start the clients of the new group protocols, which the upgraded cluster has."""
    run.console("share", "share", NEW, "ShareConsumer", ALL, "--group", "g-share")
    new = ("--group", "g-next", "--consumer-property", "group.protocol=consumer")
    run.console("next", "share", NEW, "Consumer", ALL, *new)
