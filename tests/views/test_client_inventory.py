"""Who uses the cluster: one row per principal, client id and software."""

from typing import Any

import pytest

from tests.asking import asked
from tests.frames import assert_table, at, frame

KGO = {"client_software_name": "kgo", "client_software_version": "1"}
NAMELESS = {"principal": None, "client_id": None}


def _key(name: str, opened: float) -> dict[str, Any]:
    return {"cluster": "c", "broker": "b", "connection_id": name, "opened_at": at(opened), "opened_seq": 0}


def connection(name: str, opened: float, last: float, requests: int, **given: Any) -> dict[str, Any]:
    return _key(name, opened) | {
        "last_request_at": at(last), "requests": requests, "role": "client", "remote_host": "10.0.0.9",
        "listener": "PLAINTEXT", "security_protocol": "PLAINTEXT", "principal": "User:alice", "client_id": "app",
        "client_software_name": "unknown", "client_software_version": "unknown",
    } | given  # fmt: skip


def used(name: str, opened: float, api: tuple[int, str], version: int, requests: int) -> dict[str, Any]:
    use = {"api_key": api[0], "api_name": api[1], "api_version": version, "requests": requests}
    return _key(name, opened) | use


def member(name: str, opened: float, group: str, takes_part: bool = True) -> dict[str, Any]:
    return _key(name, opened) | {"group_id": group, "takes_part": takes_part}


FETCH, METADATA = (1, "FETCH"), (3, "METADATA")
CONNECTIONS = [
    connection("one", 0, 2, 3, **KGO, client_instance_id="i"),
    connection("two", 3, 4, 2, **KGO, remote_host="10.0.0.8"),
    connection("three", 5, 5, 1, **NAMELESS),
    connection("four", 6, 6, 1, **NAMELESS),
    connection("broker", 7, 7, 1, role="broker", client_id="1"),
]
USED = [
    used("one", 0, METADATA, 0, 1), used("one", 0, FETCH, 4, 1), used("one", 0, FETCH, 11, 1),
    used("two", 3, FETCH, 5, 2), used("three", 5, METADATA, 0, 1), used("four", 6, METADATA, 0, 1),
    used("broker", 7, METADATA, 0, 1),
]  # fmt: skip
GROUPS = [member("two", 3, "g"), member("two", 3, "only described", takes_part=False), member("one", 0, "g")]
EXPECTED = [
    {"cluster": "c", "principal": "User:alice", "client_id": "app", **KGO, "connections": 2, "requests": 5,
        "first_seen": at(0), "last_seen": at(4), "host_count": 2, "hosts": ["10.0.0.8", "10.0.0.9"], "brokers": ["b"],
        "listeners": ["PLAINTEXT"], "security_protocols": ["PLAINTEXT"], "instance_count": 1,
        "apis": [(1, "FETCH", 4, 11, 4), (3, "METADATA", 0, 0, 1)], "group_count": 1, "groups": ["g"]},
    {"cluster": "c", **NAMELESS, "client_software_name": "unknown", "client_software_version": "unknown",
        "connections": 2, "requests": 2, "first_seen": at(5), "last_seen": at(6), "host_count": 1,
        "hosts": ["10.0.0.9"], "brokers": ["b"], "listeners": ["PLAINTEXT"], "security_protocols": ["PLAINTEXT"],
        "instance_count": 0, "apis": [(3, "METADATA", 0, 0, 2)], "group_count": 0, "groups": []},
]  # fmt: skip


@pytest.mark.kip("KIP-511", 26)
def test_a_client_is_a_principal_client_id_and_software_with_what_it_uses(rules_session: Any) -> None:
    """Brokers are no clients, those without names are one, and a group that is only described is not a client's own."""
    tables = {"connections": CONNECTIONS, "api_usage": USED, "connection_groups": GROUPS}
    given = {name: frame(rules_session, name, rows) for name, rows in tables.items()}
    found = asked(rules_session, "client_inventory", **given)
    assert_table(found, rules_session, "client_inventory", EXPECTED)
