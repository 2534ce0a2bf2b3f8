"""What is known of a session's start, and who is on its other end."""

from typing import Any

import pytest

from tests.frames import api_versions, by_connection, derive, request

LOCAL = "10.0.0.1:9092-10.0.0.1:40000-5"
REMOTE = "10.0.0.1:9092-10.0.0.9:40000-5"
LATE = 900  # seconds after the log's first record: longer than a broker lets a connection be idle

STARTS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a handshake comes first": ([api_versions("?", 20, 3)], "observed"),
    "correlation ids begin at 1": ([request("?", 20, correlation_id=1)], "observed"),
    "a name is known before ApiVersions": ([api_versions("?", 20, 3, client_software_name="kgo")], "before_log"),
    "in the middle": ([request("?", 20)], "before_log"),
    "first heard of after the idle limit": ([request("?", LATE)], "observed"),
    "SASL hides the handshake": ([request("?", 20, security_protocol="SASL_SSL", correlation_id=0)], "hidden_by_sasl"),
    "INFO shows too little": ([request("?", 20, correlation_id=1, log_level="INFO")], "before_log"),
    "INFO from the first correlation id": ([request("?", 20, correlation_id=0, log_level="INFO")], "observed"),
}

ROLES: dict[str, tuple[dict[str, Any], str]] = {
    "a client": ({}, "client"),
    "a broker's API under a node id": ({"api": "UPDATE_METADATA", "client_id": "1"}, "broker"),
    "a broker's API under a client's name": ({"api": "UPDATE_METADATA", "client_id": "app"}, "client"),
    "a replica": ({"api": "FETCH", "client_id": "broker-2-fetcher-0", "replica_id": 2}, "broker"),
    "the controller listener": ({"listener": "CONTROLLER"}, "broker"),
    "forwarded": ({"is_forwarded": True}, "forwarding"),
    "a broker's name from the broker's host": (
        {"connection": LOCAL, "remote_host": "10.0.0.1", "client_id": "AddPartitionsManager-client-1"},
        "broker",
    ),
    "a broker's name from elsewhere": ({"connection": REMOTE, "client_id": "broker-1-fetcher-0"}, "client"),
}


@pytest.fixture(scope="module")
def started(spark: Any) -> dict[str, list[Any]]:
    rows = [request("opens the log", 0, correlation_id=77)]
    rows += [row | {"connection_id": name} for name, (requests, _) in STARTS.items() for row in requests]
    return by_connection(derive(spark, rows)["connection_sessions"])


@pytest.mark.parametrize("name", STARTS)
def test_it_tells_what_the_log_shows_of_a_start(started: dict[str, list[Any]], name: str) -> None:
    assert started[name][0]["start"] == STARTS[name][1]


@pytest.fixture(scope="module")
def roles(spark: Any) -> dict[str, list[Any]]:
    rows = []
    for name, (given, _) in ROLES.items():
        values = dict(given)
        rows.append(request(values.pop("connection", name), 0, values.pop("api", "METADATA"), **values))
    return by_connection(derive(spark, rows)["connection_sessions"])


@pytest.mark.parametrize("name", ROLES)
def test_it_tells_brokers_by_what_they_do(roles: dict[str, list[Any]], name: str) -> None:
    given, role = ROLES[name]
    assert roles[given.get("connection", name)][0]["role"] == role


def test_a_log_that_covers_the_brokers_start_shows_all_starts(spark: Any) -> None:
    found = by_connection(derive(spark, [request("s", 0, correlation_id=50)], covers_start=True)["connection_sessions"])
    assert found["s"][0]["start"] == "observed"


def test_the_second_connection_of_a_string_has_its_start_in_the_log(spark: Any) -> None:
    rows = [request("s", 0, correlation_id=50), request("s", 1, correlation_id=40, client_id="other")]
    found = by_connection(derive(spark, rows)["connection_sessions"])["s"]
    assert [row["start"] for row in found] == ["before_log", "observed"]
