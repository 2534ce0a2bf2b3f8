"""Rebalances of real groups on real brokers: each has the cause that the test made, and there are no others.

Members of Kafka's own consumer and of librdkafka join, leave, are killed, and subscribe to other topics, in classic
groups, cooperative ones, and groups of KIP-848. Needs what test_real_upgrade needs.
"""

import os
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from tests.scanned import scanned

from . import fleet, real_broker

pytestmark = pytest.mark.oracle

JAVA, LIBRDKAFKA = "4.4.0", "confluent-kafka==2.16.1"
PATIENCE = 120
"""Seconds; brokers wait for 45 until a silent member of KIP-848 expires."""
HEARTBEAT = 4
"""Seconds, and somewhat longer than Kafka's clients wait between two heartbeats."""
GROUPS = {
    "range": ("java", {"session.timeout.ms": "12000"}),
    "cooperative": (
        "java",
        {
            "session.timeout.ms": "12000",
            "partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        },
    ),
    "librdkafka": ("librdkafka", {"session.timeout.ms": "12000"}),
    "epochs": ("java", {"group.protocol": "consumer"}),
}
"""By group: the library of its members and their settings."""
EXPECTED = [
    ("member_joined", False, "first"),
    ("member_joined", False, "second"),
    ("member_left", False, "second"),
    ("member_joined", False, "third"),
    ("member_expired", True, "third"),
    ("subscription_changed", False, "first"),
    ("metadata_changed", None, None),
    ("member_joined", False, "static"),
    ("member_expired", True, "static"),
    ("member_left", False, "first"),
]
"""Cause, whether it is inferred, and the client id of who started it; None where it depends on the client."""


class Member:
    """A running member; `partitions` is the number that it has now."""

    def __init__(self, address: str, group: str, topic: str, client_id: str, **more: str) -> None:
        library, settings = GROUPS[group]
        given = settings | {"group.id": group, "client.id": client_id} | more
        words, environment = command(library, address, topic, *(f"{name}={value}" for name, value in given.items()))
        self.partitions = -1
        self._child = subprocess.Popen(
            words, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            if line.strip().isdigit():
                self.partitions = int(line)

    def tell(self, text: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(text + "\n")
        self._child.stdin.flush()

    def close(self) -> None:
        self.tell("close")
        self._child.wait(PATIENCE)

    def kill(self) -> None:
        self._child.kill()
        self._child.wait(PATIENCE)


def command(library: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    if library == "java":
        sources = [fleet.CLIENTS / "java" / f"{name}.java" for name in ("CorpusClient", "Member")]
        compile_ = ["javac", "-nowarn", "-cp", f"{fleet.java_jars(JAVA)}/*", "-d", "{}", *sources]
        classes = real_broker.ready_made(f"java-member-{JAVA}-{fleet.digest(*sources)}", compile_, fetches=False)
        return [
            "java",
            "-Xmx64m",
            "-XX:+UseSerialGC",
            "-cp",
            f"{classes}:{fleet.java_jars(JAVA)}/*",
            "Member",
            *arguments,
        ], {}
    pip = ["python3.11", "-m", "pip", "install", "-q", "--target", "{}", LIBRDKAFKA]
    modules = real_broker.ready_made(f"python-{LIBRDKAFKA}", pip)
    return ["python3.11", str(fleet.CLIENTS / "python" / "member.py"), *arguments], {"PYTHONPATH": str(modules)}


def until(step: str, holds: Callable[[], bool]) -> None:
    """Wait until a step is done, and a heartbeat longer."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"not within {PATIENCE} seconds: {step}"
        time.sleep(0.1)
    time.sleep(HEARTBEAT)


def played(address: str, group: str) -> None:
    """Do what EXPECTED says; each step ends when the members have all partitions."""
    topic, other = f"{group}-t", f"{group}-u"
    administer(address, f"{topic},{other}")
    with ExitStack() as running:

        def start(client_id: str, **more: str) -> Member:
            member = Member(address, group, topic, client_id, **more)
            running.callback(member.kill)
            return member

        first = start("first")
        until("one member", lambda: first.partitions == 4)
        second = start("second")
        until("two members", lambda: (first.partitions, second.partitions) == (2, 2))
        second.close()
        until("one left", lambda: first.partitions == 4)
        third = start("third")
        until("two members again", lambda: (first.partitions, third.partitions) == (2, 2))
        third.kill()
        until("one expired", lambda: first.partitions == 4)
        first.tell(f"subscribe {topic} {other}")
        until("another topic", lambda: first.partitions == 8)
        administer(address, f"{topic}+")
        until("another partition", lambda: first.partitions == 9)
        static = start("static", **{"group.instance.id": "s"})
        until("a static member", lambda: static.partitions > 0 and first.partitions + static.partitions == 9)
        static.close()
        again = start("static", **{"group.instance.id": "s"})
        until("the static member is back", lambda: again.partitions == static.partitions)
        again.kill()
        until("the static member expired", lambda: first.partitions == 9)
        first.close()


def administer(address: str, topics: str) -> None:
    words, _ = command("java", address, topics)
    subprocess.run(words, check=True, timeout=PATIENCE, capture_output=True)


@pytest.fixture(scope="module", params=["3.9.1", "4.4.0"])
def rebalances(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The rows of each group's rebalances, in order."""
    for library in ("java", "librdkafka"):
        command(library)
    real_broker.jars(request.param)
    groups = [name for name in GROUPS if name != "epochs" or request.param >= "4"]
    with real_broker.running(request.param, tmp_path_factory.mktemp("rebalances") / "broker") as broker:
        with ThreadPoolExecutor(len(groups)) as pool:
            list(pool.map(lambda group: played(broker.address, group), groups))
        tables = scanned([broker.request_log], Settings(), "group_rebalances")
    rows = tables.query("SELECT * FROM {group_rebalances} ORDER BY group_id, generation")
    found: dict[str, list[Any]] = {name: [] for name in groups}
    for row in rows.rows:
        one = dict(zip(rows.names, row, strict=True))
        found[one["group_id"]].append(one)
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_each_rebalance_has_the_cause_that_was_made(rebalances: dict[str, list[Any]], group: str) -> None:
    if group not in rebalances:
        pytest.skip("3.9.1 has no groups of KIP-848")
    # A cooperative assignor needs a second rebalance where partitions move.
    rows = [row for row in rebalances[group] if row["cause"] != "partitions_revoked"]
    assert [row["cause"] for row in rows] == [cause for cause, *_ in EXPECTED]
    for row, (cause, is_inferred, client_id) in zip(rows, EXPECTED, strict=True):
        assert client_id in (None, row["client_id"]), row
        assert is_inferred in (None, row["inferred"]), row
        assert cause != "member_left" or group == "librdkafka" or group == "epochs" or row["reason"], row
    assert [row["members_after"] for row in rows] == [1, 2, 1, 2, 1, 1, 1, 2, 1, 0]


@pytest.mark.parametrize("group", GROUPS)
def test_only_cooperative_members_join_twice(rebalances: dict[str, list[Any]], group: str) -> None:
    if group not in rebalances:
        pytest.skip("3.9.1 has no groups of KIP-848")
    revoked = [row for row in rebalances[group] if row["cause"] == "partitions_revoked"]
    assert bool(revoked) == (group == "cooperative")
    assert all(row["members_before"] == row["members_after"] for row in revoked)
    assert all(row["stable_at"] >= row["began_at"] for row in rebalances[group] if row["stable_at"] is not None)
