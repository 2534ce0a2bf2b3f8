"""Consumers built on Kafka's Java client are known as that: Connect, alone and distributed, and Spring, on a real broker.

Producers often number nothing before their first request, so they may stay unknown; nothing is another library's. The
releases are so old that they state no name. Needs what test_real_upgrade needs.
"""

import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.releases.broker_releases import release_numbers
from tests.scanned import scanned

from . import fleet, real_broker

pytestmark = pytest.mark.oracle

HERE = fleet.CLIENTS / "built_on"
TOPIC, LINES = "built-on", "first\nsecond\nthird\n"
CONVERTER = "org.apache.kafka.connect.storage.StringConverter"
WORKER = f"bootstrap.servers={{address}}\nkey.converter={CONVERTER}\nvalue.converter={CONVERTER}\nrest.port={{port}}\n"
FILES = {
    "alone.properties": WORKER + "offset.storage.file.filename={folder}/offsets\noffset.flush.interval.ms=2000\n",
    "source.properties": "name=source\nconnector.class=FileStreamSource\nfile={folder}/in\ntopic=" + TOPIC,
    "sink.properties": "name=sink\nconnector.class=FileStreamSink\nfile={folder}/out\ntopics=" + TOPIC,
    "distributed.properties": WORKER
    + "group.id=workers\n"
    + "".join(
        f"{name}.storage.topic={name}s\n{name}.storage.replication.factor=1\n"
        for name in ("config", "offset", "status")
    ),
}
CLIENTS = {"connector-producer", "connector-consumer", "connect", "spring-p", "spring-c"}
"""How client ids of producers, consumers and workers begin."""
CONSUMER = re.compile("connector-consumer|spring-c")
RELEASES = {"spring": "2.0.1", "connect": "2.3.1"}
"""The releases of the Java client that they have."""


def jars(profile: str) -> Path:
    copy = ["mvn", "-q", "-B", "-f", HERE / "pom.xml", "dependency:copy-dependencies", f"-P{profile}"]
    return real_broker.ready_made(
        f"built-on-{profile}-{fleet.digest(HERE / 'pom.xml')}", [*copy, "-DoutputDirectory={}"]
    )


def connect(address: str, folder: Path) -> None:
    """Copy lines of a file through the broker into another, and join the group of distributed workers."""
    given: dict[str, Any] = {"address": address, "port": real_broker.free_ports(1)[0], "folder": folder}
    for name, text in FILES.items():
        (folder / name).write_text(text.format(**given))
    (folder / "in").write_text(LINES)
    words = ["java", "-Xmx256m", "-cp", f"{jars('connect')}/*"]
    alone = [*words, "org.apache.kafka.connect.cli.ConnectStandalone", "alone.properties", "source.properties"]
    copied, started = folder / "out", time.monotonic()
    with real_broker.process(
        [*alone, "sink.properties"],
        folder / "alone.log",
        lambda: copied.exists() and copied.read_text().endswith(LINES),
    ):
        time.sleep(max(0, 10 - (time.monotonic() - started)))  # the sink commits
    distributed = [*words, "org.apache.kafka.connect.cli.ConnectDistributed", "distributed.properties"]
    with real_broker.process(distributed, folder / "distributed.log", lambda: real_broker.answers(given["port"])):
        time.sleep(10)  # it joins the group, and sends heartbeats


def spring(address: str) -> None:
    """Send and read records."""
    classes = real_broker.ready_made(
        f"built-on-spring-classes-{fleet.digest(HERE / 'SpringClient.java')}",
        ["javac", "-nowarn", "-cp", f"{jars('spring')}/*", "-d", "{}", HERE / "SpringClient.java"],
        fetches=False,
    )
    words = ["java", "-cp", f"{classes}:{jars('spring')}/*", "SpringClient", address, TOPIC]
    subprocess.run(words, check=True, timeout=120, capture_output=True)


@pytest.fixture(scope="module")
def connections(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    root = tmp_path_factory.mktemp("built-on")
    with real_broker.running("2.8.2", root / "b") as broker:
        spring(broker.address)
        connect(broker.address, root)
        time.sleep(1)
    tables = scanned([broker.request_log], Settings(server_logs=False))
    return tables.query("SELECT * FROM {probable_connections} AS c").dicts()


def test_their_consumers_are_the_java_clients(connections: list[dict[str, Any]]) -> None:
    own = [row for row in connections if any((row["client_id"] or "").startswith(name) for name in CLIENTS)]
    assert {name for name in CLIENTS for row in own if row["client_id"].startswith(name)} == CLIENTS
    assert {row["probable_software_name"] for row in own} <= {"apache-kafka-java", None}
    known = [row for row in own if row["probable_software_name"] is not None]
    assert {row["client_id"] for row in known} >= {row["client_id"] for row in own if CONSUMER.search(row["client_id"])}
    for row in known:
        release = release_numbers(next(release for name, release in RELEASES.items() if name in row["client_id"]))
        assert release_numbers(row["probable_versions_from"]) <= release <= release_numbers(row["probable_versions_to"])
