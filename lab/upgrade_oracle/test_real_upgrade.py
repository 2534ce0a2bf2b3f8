"""A real upgrade from 2.8.2 to 4.0.1: who is named as breaking is exactly who fails.

The clients of the 2.8.2 log among the samples come again, in the same libraries, versions and roles and under the same
client ids: first to a real 2.8.2 broker, then to a real 4.0.1 broker. Failing means: what the client did against 2.8.2 it
cannot do against 4.0.1. The verdicts are those on the log that the 2.8.2 broker wrote, and on the sample itself.

Needs Maven and a JDK 17, Go, Node and Python 3.11, and the package registries; what is missing skips. Installed things
stay in ~/.cache/kafka-clientinfo-oracle, or in $KAFKA_CLIENTINFO_ORACLE_CACHE.
"""

import socket
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_clientinfo.questions.filters import Scope
from kafka_clientinfo.questions.impact import impact
from kafka_clientinfo.questions.spark_tables import SparkTables
from kafka_clientinfo.runs import run as pipeline

from . import fleet, real_broker
from .raw_clients import Client

pytestmark = pytest.mark.oracle

SAMPLE = Path(__file__).parents[2] / "sample_logs" / "kafka-2.8.2"
NOW, TARGET = "2.8.2", "4.0.1"
BREAKING = {
    ("producer-1", "unknown", "unknown"),  # Java 0.10.2.2: Produce v2
    ("consumer-1", "unknown", "unknown"),  # Java 0.10.2.2: Fetch v3
    ("j01022-c1", "unknown", "unknown"),
    ("oldprod", "raw-lib", "1.2.3"),  # by hand: Produce v0
}


class Replay(NamedTuple):
    """What went wrong per operation against either broker (None: nothing), and the log of the first."""

    before: dict[fleet.Operation, str | None]
    after: dict[fleet.Operation, str | None]
    request_log: Path


class Verdict(NamedTuple):
    """All clients that were judged, and those named as breaking."""

    judged: set[Client]
    named: set[Client]


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Replay:
    fleet.install()
    for release in (NOW, TARGET):
        real_broker.jars(release)
    folder = tmp_path_factory.mktemp("upgrade")
    with real_broker.running(NOW, folder / NOW) as broker:
        before, request_log = fleet.played(broker.address), broker.request_log
    with real_broker.running(TARGET, folder / TARGET) as broker:
        after = fleet.played(broker.address)
    return Replay(before, after, request_log)


def verdict_on(spark: Any, log: Path, warehouse: Path) -> Verdict:
    pipeline.run(spark, [str(log)], str(warehouse))
    found = impact(Scope(SparkTables(spark, str(warehouse))), TARGET)
    rows = SparkTables(spark, str(warehouse)).relation("upgrade_impact")
    name = ("client_id", "client_software_name", "client_software_version")
    judged = {tuple(row) for row in rows.select(*name).distinct().collect()}
    named = {tuple(row[column] for column in name) for row in found.rows if row["verdict"] == "refused"}
    assert found.clients == {
        "refused": len(named),
        "deprecated": 0,
        "undecided": 0,
        "accepted": len(judged) - len(named),
    }
    return Verdict(judged, named)


def failing(replay: Replay) -> dict[Client, list[str]]:
    """Clients that cannot do any more what they did, with what went wrong."""
    found = defaultdict(list)
    for operation, error in replay.after.items():
        if error is not None and replay.before[operation] is None:
            found[operation.client].append(f"{operation.program} {operation.name}: {error}")
    return found


def test_clients_of_today_all_work_today(replay: Replay) -> None:
    failed = {operation: error for operation, error in replay.before.items() if error is not None}
    assert {operation.program for operation in failed} == {"hand-made"}
    # Those that no broker understands, whatever its release.
    asked = {operation.name.partition(": ")[2] for operation in failed}
    assert asked == {"api 18 v99", "api 3 v99", "api 3 v1", "api 999 v0", "api 71 v0"}
    assert replay.before.keys() == replay.after.keys()


@pytest.mark.kip("KIP-511", 27)
def test_who_is_named_is_who_fails(spark: Any, replay: Replay, tmp_path: Path) -> None:
    verdict = verdict_on(spark, replay.request_log, tmp_path / "warehouse")
    failed = failing(replay)
    print(f"\n{len(verdict.judged)} clients, named as breaking at {TARGET}:", *sorted(map(str, verdict.named)))
    for client, errors in failed.items():
        print("fails:", client, *errors, sep="\n  ")
    assert verdict.judged == {operation.client for operation in replay.before}
    assert verdict.named == set(failed) == BREAKING
    # Three programs call themselves producer-1 and three consumer-1: one of them fails.
    assert {error.split()[0] for errors in failed.values() for error in errors} == {"java-0.10.2.2", "hand-made"}


def test_the_sample_names_who_fails(spark: Any, replay: Replay, tmp_path: Path) -> None:
    verdict = verdict_on(spark, SAMPLE, tmp_path / "warehouse")
    here, there = f"@{socket.gethostname()} (", "@vm ("  # in kafka-go's own client id
    clients = {operation.client for operation in replay.before}
    assert verdict.judged == {(name and name.replace(here, there), *software) for name, *software in clients}
    assert len(verdict.judged) == 86
    assert verdict.named == set(failing(replay))
