"""Ordinary clients raise no finding of activity, whatever happens to their brokers and to themselves.

Two brokers, clients of eight libraries: services that write and read, groups of both protocols with members that are
deployed anew or killed, jobs that come and go, an exporter and a health check. Both brokers restart, the second one twice; leaders
and coordinators move. KAFKA_CLIENTINFO_ORACLE_MINUTES says how long it lasts, 12 minutes where it is not set.
"""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired, run
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from tests.scanned import scanned

from . import fleet, misbehaving, real_broker
from .test_activity import RULES
from .test_rebalances import command

pytestmark = pytest.mark.oracle

SECONDS = 60 * int(os.environ.get("KAFKA_CLIENTINFO_ORACLE_MINUTES", "12"))
JOBS = (fleet.FILLER, *(one for one in fleet.OTHERS if one.prefix in ("j01022", "j332", "ckn", "kpn", "aio", "kjs", "gs", "gf", "gk")))  # fmt: skip
RESTARTS = ((2, 0.2), (1, 0.45), (2, 0.7))
"""Which broker restarts, and after which share of the time; it is away for DOWN seconds."""
DOWN = 10
EVERYWHERE = [[1, 2], [2, 1], [1, 2], [2, 1]]
"""Partitions with a replica on each broker."""


class Cluster:
    """Two brokers of which each can be stopped and started again."""

    def __init__(self, release: str, folder: Path, coordination_port: int) -> None:
        self._release, self._folder = release, folder
        ports = real_broker.free_ports(4)
        self._ports = {number: (ports[number - 1], coordination_port, ports[number + 1]) for number in (1, 2)}
        self._running: dict[int, ExitStack] = {}
        self.address = f"{real_broker.HOST}:{ports[0]},{real_broker.HOST}:{ports[1]}"
        self.first = f"{real_broker.HOST}:{ports[0]}"
        self.request_logs: list[Path] = []

    def start(self, number: int) -> None:
        folder = self._folder / f"broker-{number}"
        with ExitStack() as started:
            broker = started.enter_context(real_broker.node(self._release, folder, number, *self._ports[number]))
            self._running[number] = started.pop_all()
        if broker.request_log not in self.request_logs:
            self.request_logs.append(broker.request_log)

    def stop(self, number: int) -> None:
        self._running.pop(number).close()

    def stop_all(self) -> None:
        for number in list(self._running):
            self.stop(number)


@contextmanager
def cluster(release: str, folder: Path) -> Iterator[Cluster]:
    with real_broker.coordinator(release, folder / "coordinator") as port:
        brokers = Cluster(release, folder, port)
        try:
            brokers.start(1)
            brokers.start(2)
            yield brokers
        finally:
            brokers.stop_all()


def services(address: str) -> list[Popen[bytes]]:
    """Clients that go on until the end: two that write, three that read."""
    steady = {"orders": 20_000, "audit": 200, "billing": 0, "search": 0, "archive": 0}
    return [
        script("steady_client", address, client_id, "everywhere", str(SECONDS), str(size))
        for client_id, size in steady.items()
    ]


def script(name: str, *arguments: str) -> Popen[bytes]:
    """A running script of librdkafka."""
    (librdkafka,) = (program for program in JOBS if program.prefix == "ckn")
    (python, *_), environment = fleet.command(librdkafka, "")
    return Popen([python, str(fleet.CLIENTS / "python" / f"{name}.py"), *arguments], env=os.environ | environment)


def export(address: str, until: float) -> None:
    """Run the exporter, as a supervisor does: librdkafka's admin requests may abort while a broker restarts."""
    while (left := until - time.monotonic()) > 0:
        script("exporter", address, "exporter", str(int(left))).wait()
        time.sleep(1)


def deploy(address: str, protocol: str, until: float) -> None:
    """Run a group of three members, of which each in turn is stopped, or killed, and started again every 40 seconds."""
    settings = ["group.protocol=consumer"] if protocol == "consumer" else ["session.timeout.ms=12000"]
    settings += [f"group.id=deployed-{protocol}"]

    def start(number: int) -> Popen[bytes]:
        words, environment = command("java", address, "everywhere", *settings, f"client.id={protocol}-{number}")
        return Popen(words, env=os.environ | environment, stdin=PIPE, stdout=DEVNULL)

    members = [start(number) for number in range(3)]
    for turn, _ in enumerate(misbehaving.ticks(1 / 40, until)):
        number, is_killed = turn % 3, turn % 4 == 3
        if is_killed:
            members[number].kill()
        else:
            members[number].communicate(b"close\n")
        members[number].wait(120)
        members[number] = start(number)
    for member in members:
        member.communicate(b"close\n")
        member.wait(120)


def jobs(address: str, until: float) -> None:
    """Run the programs one after the other, as a scheduler does, whatever becomes of them while a broker restarts."""
    while time.monotonic() < until:
        for program in JOBS:
            if time.monotonic() < until:
                words, environment = fleet.command(program, address)
                with suppress(TimeoutExpired):
                    run(words, env=os.environ | environment, stdout=DEVNULL, stderr=DEVNULL, timeout=fleet.LIMIT)
                time.sleep(3)


def check_health(address: str, until: float) -> None:
    """Connect to a broker every two seconds, while it is up."""
    while time.monotonic() < until:
        try:
            misbehaving.check_health(address, "health", until)
        except OSError:
            time.sleep(2)


def restart(brokers: Cluster, began: float) -> None:
    for number, share in RESTARTS:
        time.sleep(max(0.0, began + SECONDS * share - time.monotonic()))
        brokers.stop(number)
        time.sleep(DOWN)
        brokers.start(number)


@pytest.fixture(scope="module", params=["3.9.1", "4.4.0"])
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    release, folder = request.param, tmp_path_factory.mktemp("ordinary")
    for program in JOBS:
        fleet.command(program, "")
    command("java")
    real_broker.jars(release)
    with cluster(release, folder) as brokers:
        began = time.monotonic()
        until = began + SECONDS
        misbehaving.create(brokers.first, {fleet.TOPIC: [[1], [2], [1]], "everywhere": EVERYWHERE})
        running = services(brokers.address)
        protocols = ["classic"] if release < "4" else ["classic", "consumer"]
        with ThreadPoolExecutor(8) as pool:
            doing = [
                pool.submit(jobs, brokers.address, until),
                pool.submit(export, brokers.address, until),
                pool.submit(check_health, brokers.first, until),
                pool.submit(restart, brokers, began),
                *(pool.submit(deploy, brokers.address, protocol, until) for protocol in protocols),
            ]
            for done in doing:
                done.result()
        assert [service.wait(120) for service in running] == [0] * len(running)
        return scanned(brokers.request_logs, Settings(), "violations", "client_activity", "group_rebalances")


def test_nobody_is_accused(tables: Any) -> None:
    rows = tables.query("SELECT rule, client_id, broker, message FROM {violations}").rows
    assert [row for row in rows if row[0] in RULES] == []


def test_the_log_shows_what_happened_to_them(tables: Any) -> None:
    """Without errors, reconnects and rebalances there would be nothing to be wrong about."""
    errors, clients, opened = tables.query(
        "SELECT sum(error_count), count(DISTINCT client_id), sum(connections_opened) FROM {client_activity}"
    ).rows[0]
    assert errors > 0
    assert clients > len(JOBS)
    assert opened > clients
    causes = dict(tables.query("SELECT cause, count(*) FROM {group_rebalances} GROUP BY 1").rows)
    assert {"member_left", "member_joined", "member_expired"} <= causes.keys()
