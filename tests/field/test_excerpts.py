"""Excerpts of a cluster run as in the field are read whole, and nothing is concluded that their logs do not show."""

from pathlib import Path

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.in_process import Reading
from tests.field.conftest import FOLDERS
from tests.scanned import OfCluster


@pytest.mark.parametrize("name", FOLDERS)
def test_every_record_of_an_excerpt_is_read(name: str, unpacked: Path, settings_of_the_run: Settings) -> None:
    reading = Reading([str(unpacked / name)], settings_of_the_run, with_servers=True)
    kinds = [part.kind for part in reading.parts()]
    assert "request" in kinds
    assert not reading.problems
    assert sum(file["rejected"] for file in reading.files) == 0
    for file in reading.files:
        assert file["records"] == file["requests"] + file["rejected"] + sum(dict(file["ignored"]).values())


# folder: roles by client id, and rules that are broken with whom they blame
SAID: dict[str, tuple[dict[str, set[str]], set[tuple[str, str]]]] = {
    "peers-add-partitions": (
        {f"AddPartitionsManager-client-{node}": {"broker"} for node in (1, 2, 3)}
        | {name: {"client"} for name in ("adminclient-1", "batch-poller", "orders")},
        set(),
    ),
    "at-the-controller": ({"1": {"broker"}, "adminclient-1": {"client"}}, set()),
    "client-id-42": ({"42": {"client"}}, set()),
    "nat": ({"orders": {"client"}}, set()),
    "wrong-port": ({"console-consumer": {"client"}, "misled": {"client"}}, {("wrong_listener", "client")}),
}


@pytest.mark.parametrize("name", SAID)
def test_brokers_are_brokers_clients_are_clients_and_nobody_is_blamed_for_less(
    excerpts: dict[str, OfCluster], name: str
) -> None:
    tables = excerpts[name]
    roles: dict[str, set[str]] = {}
    for row in tables.query("SELECT client_id, role FROM {connections}").dicts():
        roles.setdefault(row["client_id"], set()).add(row["role"])
    broken = tables.query("SELECT DISTINCT rule, blames FROM {violations}").dicts()
    assert (roles, {(row["rule"], row["blames"]) for row in broken}) == SAID[name]


SCENARIO = "SELECT telemetry_scenario, scenario_certain, client_by_kip FROM {client_instances}"


@pytest.mark.kip("KIP-1313", 8, 30)
def test_an_id_that_a_broker_gave_is_not_taken_for_the_clients_own(excerpts: dict[str, OfCluster]) -> None:
    """Broker-3 gave the id; a log of broker-2 alone does not show that."""
    (row,) = excerpts["telemetry-on-three-brokers"].query(SCENARIO).dicts()
    assert row == {"telemetry_scenario": "UUID-B", "scenario_certain": True, "client_by_kip": "old"}
    (row,) = excerpts["telemetry-on-three-brokers/broker-2"].query(SCENARIO).dicts()
    assert row == {"telemetry_scenario": "UUID-R", "scenario_certain": False, "client_by_kip": "either"}


Row = tuple[str, str, int]
LEVELS: dict[str, dict[str, list[Row]]] = {
    "level-switched": {
        "254:30010-6": [("before_log", "not_observed", 16)],
        "3:41000-0": [("before_log", "", 12)],
        "13:59470-1": [("before_log", "not_observed", 22)],
        "4:41002-4": [("before_log", "not_observed", 14)],
    },
    "begins-with-switch": {
        "1:41002-0": [("before_log", "", 8)],
        "3:41002-0": [("before_log", "", 10)],
        "254:30000-1": [("before_log", "not_observed", 5)],
        "254:30010-5": [("before_log", "not_observed", 4)],
        "12:41290-0": [("observed", "negotiated", 2)],
    },
    "slow-client": {
        "6:45026-1": [("observed", "negotiated", 4)],
        "6:49204-0-8": [("observed", "negotiated", 3)],
    },
}
"""Per excerpt and end of a connection id: start, outcome of ApiVersions (none of brokers') and requests of its connections."""


@pytest.mark.parametrize("name", LEVELS)
def test_a_log_shows_no_more_than_it_holds_while_its_level_is_switched(
    excerpts: dict[str, OfCluster], name: str
) -> None:
    tables = excerpts[name]
    columns = "connection_id, start, coalesce(api_versions_outcome, ''), requests"
    found: dict[str, list[Row]] = {}
    for connection_id, *row in tables.query(f"SELECT {columns} FROM {{connections}} ORDER BY session_no").rows:
        end = next((end for end in LEVELS[name] if connection_id.endswith(f".{end}")), None)
        if end is not None:
            found.setdefault(end, []).append(tuple(row))
    assert found == LEVELS[name]
    if name == "begins-with-switch":
        observed = tables.query("SELECT count(*) FROM {connections} WHERE start = 'observed'").rows
        assert observed == [(1,)]
