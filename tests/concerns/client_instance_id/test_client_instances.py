"""One client instance by its id, across connections, brokers and encodings."""

import base64
import uuid
from typing import Any

import pytest

from kafka_clientinfo.transforms import client_instances
from tests.frames import at, frame

BITS = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")


def kafka_id(number: int) -> str:
    return base64.urlsafe_b64encode(number.to_bytes(16, "big")).rstrip(b"=").decode()


def carries(
    connection: str, opened: float = 0, last: float = 10, **given: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    key = {"cluster": "c", "broker": "b", "connection_id": connection, "opened_at": at(opened), "opened_seq": 0}
    ids = {"different": 0, "other_ids": [], "member_ids": [], "member_id_alignment": "none"}
    session = {"last_request_at": at(last), "requests": 1, "start": "observed", "remote_host": "h1", "client_id": "a"}
    session |= {"client_software_name": "kgo", "client_software_version": "1"}
    known = {name: value for name, value in given.items() if name in session or name == "broker"}
    return key | ids | {k: v for k, v in given.items() if k not in known}, key | session | known


MOVED, SHARED, THIRD, SENT, GIVEN, HEADER, CHANGED, LATE = (kafka_id(n) for n in range(1, 9))
SAME = base64.urlsafe_b64encode(BITS.bytes).rstrip(b"=").decode()
ROWS = [
    carries("1", client_instance_id=MOVED),
    carries("2", 20, 30, client_instance_id=MOVED, remote_host="h2"),
    carries("3", 0, 50, client_instance_id=SHARED),
    carries("4", 10, 20, client_instance_id=SHARED, remote_host="h2"),
    carries("5", 0, 50, client_instance_id=THIRD),
    carries("6", 10, 70, client_instance_id=THIRD),
    carries("7", 60, 65, client_instance_id=THIRD, remote_host="h3"),
    carries("8", client_instance_id=SAME, member_ids=[str(BITS)], member_id_alignment="same_uuid_other_encoding"),
    carries("9", telemetry_request_id=SENT, telemetry_response_id=SENT),  # brokers send it back
    carries("10", telemetry_response_id=GIVEN, telemetry_request_id=GIVEN, telemetry_scenario="UUID-B"),
    carries("11", 20, telemetry_request_id=GIVEN),
    carries("12", client_instance_id=HEADER, telemetry_scenario="UUID-H", member_ids=["my-member"]),
    carries("13", client_instance_id=CHANGED, other_ids=[MOVED], different=1),
    carries("14", telemetry_request_id=LATE, start="before_log"),
]
EXPECTED: dict[str, dict[str, Any]] = {
    MOVED: {"connections": 3, "hosts": ["h1", "h2"], "two_hosts_at_once": False, "id_kinds": ["header"]},
    SHARED: {"connections": 2, "host_count": 2, "two_hosts_at_once": True},
    THIRD: {"connections": 3, "hosts": ["h1", "h3"], "two_hosts_at_once": True},
    SAME: {
        "id_kinds": ["header", "member"],
        "encodings": [str(BITS), SAME],
        "connections": 1,
        "member_id_alignment": "same_uuid_other_encoding",
        "other_ids": [],
    },
    SENT: {"telemetry_scenario": "UUID-R", "scenario_certain": True, "client_by_kip": "new", "broker_by_kip": "old"},
    LATE: {"telemetry_scenario": "UUID-R", "scenario_certain": False},
    GIVEN: {
        "telemetry_scenario": "UUID-B",
        "client_by_kip": "old",
        "broker_by_kip": "either",
        "connections": 2,
        "id_kinds": ["telemetry"],
    },
    HEADER: {
        "telemetry_scenario": "UUID-H",
        "client_by_kip": "new",
        "broker_by_kip": "new",
        "other_ids": ["my-member"],
        "software": ["kgo 1"],
    },
    "my-member": {"id_kinds": ["member"], "telemetry_scenario": None, "other_ids": [HEADER]},
    CHANGED: {"changed_on_connections": 1, "other_ids": [MOVED]},
}


@pytest.fixture(scope="module")
def found(spark: Any) -> dict[str, dict[str, Any]]:
    ids = frame(spark, "client_instance_ids", [ids for ids, _ in ROWS])
    sessions = frame(spark, "connection_sessions", [session for _, session in ROWS])
    relation = client_instances.transform(ids, sessions)
    return {row["instance_id"]: row.asDict(recursive=True) for row in relation.collect()}


@pytest.mark.parametrize("name", EXPECTED)
def test_it_follows_an_instance(found: dict[str, dict[str, Any]], name: str) -> None:
    assert {key: found[name][key] for key in EXPECTED[name]} == EXPECTED[name]


@pytest.mark.parametrize(("name", "connection", "hosts"), [(SHARED, "4", ("h2", "h1")), (THIRD, "7", ("h3", "h1"))])
def test_it_names_the_connection_that_met_another_host(
    found: dict[str, dict[str, Any]], name: str, connection: str, hosts: tuple[str, str]
) -> None:
    (met,) = found[name]["two_hosts_sessions"]
    assert (met["broker"], met["connection_id"], met["opened_seq"]) == ("b", connection, 0)
    assert (met["remote_host"], met["other_host"]) == hosts
    assert all(row["two_hosts_sessions"] == [] for row in found.values() if not row["two_hosts_at_once"])


def test_there_is_one_row_per_id(found: dict[str, dict[str, Any]]) -> None:
    assert set(found) == set(EXPECTED)
