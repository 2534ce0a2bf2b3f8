"""Excerpts of a cluster run as in the field are read whole, and nothing is concluded that their logs do not show."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.in_process import Reading
from kafka_clientinfo.runs import run as pipeline
from tests.equality import assert_same_tables
from tests.field.conftest import ALONE, FOLDERS
from tests.scanned import OfCluster


@pytest.mark.parametrize("name", FOLDERS)
def test_every_record_of_an_excerpt_is_read(name: str, unpacked: Path, settings_of_the_run: Settings) -> None:
    reading = Reading([str(unpacked / name)], settings_of_the_run, with_servers=True)
    assert "request" in [part.kind for part in reading.parts()]
    assert not reading.problems
    for file in reading.files:
        assert file["rejected"] == 0
        assert file["records"] == file["requests"] + sum(dict(file["ignored"]).values())


# folder: roles by client id, and rules that are broken with whom they blame
CLIENT, BROKER = {"client"}, {"broker"}
SAID: dict[str, tuple[dict[str, set[str]], set[tuple[str, str]]]] = {
    "peers-add-partitions": (
        {f"AddPartitionsManager-client-{node}": BROKER for node in (1, 2, 3)}
        | dict.fromkeys(("adminclient-1", "batch-poller", "orders"), CLIENT), set(),
    ),
    "at-the-controller": ({"1": BROKER, "adminclient-1": CLIENT}, set()),
    "client-id-42": ({"42": CLIENT}, set()),
    "nat": ({"orders": CLIENT}, set()),
    "wrong-port": ({"console-consumer": CLIENT, "misled": CLIENT}, {("wrong_listener", "client")}),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_brokers_are_brokers_clients_are_clients_and_nobody_is_blamed_for_less(
    excerpts: dict[str, OfCluster], name: str
) -> None:
    roles: dict[str, set[str]] = {}
    for client_id, role in excerpts[name].query("SELECT client_id, role FROM {connections}").rows:
        roles.setdefault(client_id, set()).add(role)
    broken = excerpts[name].query("SELECT rule, blames FROM {violations}").rows
    assert (roles, {(rule, blames) for rule, blames in broken}) == SAID[name]


@pytest.mark.kip("KIP-1313", 8, 30)
def test_an_id_that_a_broker_gave_is_not_taken_for_the_clients_own(excerpts: dict[str, OfCluster]) -> None:
    """Broker-3 gave the id; a log of broker-2 alone does not show that."""
    query = "SELECT telemetry_scenario, scenario_certain, client_by_kip FROM {client_instances}"
    expected: dict[str, tuple[Any, ...]] = {
        "telemetry-on-three-brokers": ("UUID-B", True, "old"),
        "telemetry-on-three-brokers/broker-2": ("UUID-R", False, "either"),
    }
    for name, row in expected.items():
        assert [tuple(one) for one in excerpts[name].query(query).rows] == [row], name


Row = tuple[Any, ...]
# per excerpt and end of a connection id: start, outcome of ApiVersions and requests of its connections
SHOWN: dict[str, dict[str, list[Row]]] = {
    "level-switched": {
        ".254:30010-6": [("before_log", "not_observed", 16)], ".3:41000-0": [("before_log", None, 12)],
        ".13:59470-1": [("before_log", "not_observed", 22)], ".4:41002-4": [("before_log", "not_observed", 14)],
    },
    "begins-with-switch": {
        ".1:41002-0": [("before_log", None, 8)], ".3:41002-0": [("before_log", None, 10)],
        ".254:30000-1": [("before_log", "not_observed", 5)], ".254:30010-5": [("before_log", "not_observed", 4)],
        ".12:41290-0": [("observed", "negotiated", 2)],
    },
    "slow-client": {
        ".6:45026-1": [("observed", "negotiated", 4)], ".6:49204-0-8": [("observed", "negotiated", 3)],
    },
    # one id is two connections, also without the broker's own log
    "killed-and-restarted": {".7:33333-0": [("before_log", "not_observed", 8), ("observed", "not_sent", 9)]},
    ALONE: {".7:33333-0": [("before_log", "not_observed", 8), ("observed", "not_sent", 9)]},
    "same-id-within-a-second": {".5:41006-12": [("observed", "negotiated", 1), ("observed", "negotiated", 10)]},
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_a_log_shows_no_more_than_it_holds_and_one_id_is_two_connections(
    excerpts: dict[str, OfCluster], name: str
) -> None:
    """Also while the log's level is switched."""
    columns = "connection_id, start, api_versions_outcome, requests"
    found: dict[str, list[Row]] = {}
    for connection_id, *row in excerpts[name].query(f"SELECT {columns} FROM {{connections}} ORDER BY session_no").rows:
        found.setdefault(connection_id, []).append(tuple(row))
    ends = {end: [rows for connection_id, rows in found.items() if connection_id.endswith(end)] for end in SHOWN[name]}
    assert ends == {end: [rows] for end, rows in SHOWN[name].items()}
    if name == "begins-with-switch":
        assert [row[0] for rows in found.values() for row in rows].count("observed") == 1


FINDINGS = {
    "wrong-port": {("wrong_listener", "client"): 15},
    "upgraded-under-its-client": {
        ("version_refused_without_offer", "nobody"): 6, ("request_version_refused", "client"): 3,
    },
}  # fmt: skip
"""Per excerpt: rules that refused requests break, and whom they blame."""


@pytest.mark.parametrize("name", FINDINGS)
def test_a_refusal_blames_only_who_did_it(name: str, excerpts: dict[str, OfCluster]) -> None:
    found = excerpts[name].query("SELECT rule, blames FROM {violations} WHERE opened_at IS NULL").rows
    assert Counter(map(tuple, found)) == FINDINGS[name]


@pytest.mark.long
def test_a_server_log_that_comes_later_changes_what_was_built(
    spark: Any, unpacked: Path, settings_of_the_run: Settings, tmp_path: Path
) -> None:
    """Also the refusals, which are in no request log, and what is concluded of connections by when the broker started."""
    for name in ("killed-and-restarted", "upgraded-under-its-client"):
        logs, late, whole = (tmp_path / name / one for one in ("broker-1", "late", "whole"))
        logs.mkdir(parents=True)
        files = sorted((unpacked / name).iterdir())
        first = [file for file in files if "server" not in file.name]
        for arrived, lake in ((first, late), (files, late), (files, whole)):
            for file in arrived:
                shutil.copy(file, logs)
            pipeline.run(spark, [str(logs)], str(lake), settings=settings_of_the_run)
        assert_same_tables(spark, late, whole)
