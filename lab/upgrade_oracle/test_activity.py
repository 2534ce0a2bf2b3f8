"""Clients that misbehave for minutes on two real brokers are found, each with its cause; ordinary clients beside them are not.

On 4.4.0 a client also means another cluster (KIP-1242). Needs what test_real_upgrade needs; it takes six minutes a release.
"""

import json
import os
import re
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import Popen
from time import monotonic, sleep
from typing import Any, NamedTuple

import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.config.settings import Settings
from tests.scanned import scanned

from . import fleet, misbehaving, real_broker

pytestmark = pytest.mark.oracle

RULES = set(tomllib.loads((resources.schemas() / "rules" / "activity.toml").read_text("utf-8")))
QUOTA = 20_000
"""Bytes a second that the client `slow` may produce; it tries to send three times as many."""
LASTS, AFTERWARDS = 250, 75
"""Seconds for which clients misbehave, so that three whole minutes are among them, and for which others then go on."""
STEADY = {"slow": 3 * QUOTA, "writer": 2000, "reader": 0}
ORDINARY = (fleet.FILLER, *(one for one in fleet.OTHERS if one.prefix in ("j332", "ckn", "kpn", "gs")))
BY_BROKERS = ("FETCH", "BROKER_HEARTBEAT", "ALTER_PARTITION", "METADATA", "UPDATE_METADATA")
"""APIs that brokers use among themselves, also after the clients have ended."""
GOING_ON = 30
SETTLES = 10
"""Seconds after which the brokers have answered what clients asked last, also those that a quota delays."""
EXPECTED = {
    ("looper", "reconnect_storm"),
    ("scanner", "handshake_only_connections"),
    ("flooder", "request_flood"),
    ("insister", "not_leader"),
    ("asker", "persistent_error"),
    ("slow", "throttled"),
}


class Played(NamedTuple):
    """The release, the tables of both brokers' logs, and of the first one its log, and its own count and mean time by API."""

    release: str
    tables: Any
    request_log: Path
    metrics: dict[str, tuple[int, float]]


@pytest.fixture(scope="module", params=["3.9.1", "4.4.0"])
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    release, folder = request.param, tmp_path_factory.mktemp("activity")
    for program in ORDINARY:
        fleet.command(program, "")
    real_broker.jars(release)
    with (
        real_broker.running(release, folder / "first") as first,
        real_broker.second(release, folder / "second", first) as second,
    ):
        play(release, first.address)
        sleep(SETTLES)
        metrics = real_broker.request_times(first)
    tables = scanned([first.request_log, second.request_log], Settings(), "violations", "client_activity")
    return Played(release, tables, first.request_log, metrics)


def play(release: str, address: str) -> None:
    misbehaving.create(address, {fleet.TOPIC: [[1]], "elsewhere": [[2]]})
    misbehaving.limit(address, "slow", QUOTA)
    (librdkafka,) = (program for program in ORDINARY if program.prefix == "ckn")
    (python, *_), environment = fleet.command(librdkafka, address)
    script = str(fleet.CLIENTS / "python" / "steady_client.py")
    steady = [
        Popen([python, script, address, client_id, fleet.TOPIC, str(LASTS + AFTERWARDS), str(size)], env=os.environ | environment)
        for client_id, size in STEADY.items()
    ]  # fmt: skip
    until = monotonic() + LASTS
    with ThreadPoolExecutor(8) as pool:
        doing = [
            pool.submit(misbehaving.reconnect, address, "looper", until),
            pool.submit(misbehaving.shake_hands, address, "scanner", until),
            pool.submit(misbehaving.check_health, address, "health", until),
            pool.submit(misbehaving.flood, address, "flooder", until),
            pool.submit(misbehaving.insist, address, "insister", until, "elsewhere"),
            pool.submit(misbehaving.insist, address, "asker", until, "no-such-topic"),
            *(pool.submit(lambda program=program: list(fleet.outcome(program, address))) for program in ORDINARY),
        ]
        for done in doing:
            done.result()
    if release >= "4.4":
        misbehaving.mistake_the_cluster(address, "lost")
    assert [process.wait(120) for process in steady] == [0] * len(steady)


def findings(played: Played) -> list[tuple[str, str, str, str]]:
    rows = played.tables.query("SELECT client_id, rule, broker, message FROM {violations} ORDER BY 1, 2").rows
    return [row for row in rows if row[1] in RULES]


def test_those_who_misbehave_are_found_with_their_cause_and_nobody_else(played: Played) -> None:
    lost = {("lost", "wrong_cluster_or_broker")} if played.release >= "4.4" else set()
    assert {(client_id, rule) for client_id, rule, _, _ in findings(played)} == EXPECTED | lost
    assert {broker for _, _, broker, _ in findings(played)} == {"first"}


def test_a_finding_names_the_error_and_the_quota(played: Played) -> None:
    messages = {client_id: message for client_id, _, _, message in findings(played)}
    assert "6 NOT_LEADER_OR_FOLLOWER" in messages["insister"]
    assert "3 UNKNOWN_TOPIC_OR_PARTITION" in messages["asker"]
    assert "METADATA requests" in messages["flooder"]
    assert "by producer_byte_rate or request_percentage" in messages["slow"]


def test_a_quota_shows_as_the_throttle_time_of_its_client(played: Played) -> None:
    rows = played.tables.query(
        "SELECT client_id, sum(throttle_time_ms_sum) FROM {client_activity} WHERE throttle_time_ms_sum > 0 GROUP BY 1"
    ).rows
    counted = sum(
        json.loads(record)["throttleTimeMs"]
        for record in re.findall(
            r'Completed request:(\{.*"clientId":"slow".*\}) \(kafka', played.request_log.read_text()
        )
    )
    assert dict(rows) == {"slow": pytest.approx(counted)}
    assert counted > LASTS * 1000 / 4


def test_requests_and_their_mean_times_are_those_of_the_brokers_metrics(played: Played) -> None:
    """Brokers go on to fetch and to send heartbeats while the metrics are read; the metrics round times to milliseconds."""
    own = played.tables.query("""
        SELECT api_name, sum(n), sum(ms) FROM (
            SELECT api_name, sum(requests) AS n, sum(total_time_ms_sum) AS ms FROM {client_activity}
            WHERE broker = 'first' AND requests > 0 GROUP BY 1
            UNION ALL
            SELECT api_name, count(*), sum(total_time_ms) FROM {requests}
            WHERE broker = 'first' AND is_forwarded GROUP BY 1
        ) GROUP BY 1
        """).rows
    assert {name for name, *_ in own} - {"CONTROLLED_SHUTDOWN"} == played.metrics.keys()
    for name, requests, milliseconds in own:
        if name == "CONTROLLED_SHUTDOWN":
            continue  # of the second broker, after the metrics were read
        count, mean = played.metrics[name]
        assert requests == pytest.approx(count, abs=GOING_ON if name in BY_BROKERS else 0), name
        assert milliseconds / requests == pytest.approx(mean, rel=0.01 if name in BY_BROKERS else 0, abs=0.5), name
