"""What is known of a connection's start, who is on its other end, and which thread served it."""

from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.table import connections, shown_as_brokers
from tests.engines import collected, on
from tests.frames import (
    api_versions,
    at,
    background,
    by_connection,
    frame,
    in_time,
    judge_requests,
    log,
    named,
    relation,
    request,
)

LOCAL = "10.0.0.1:9092-10.0.0.1:40000-5"
REMOTE = "10.0.0.1:9092-10.0.0.7:40000-5"
ELSEWHERE = {"remote_host": "10.0.0.7"}
"""A host without a broker; on that of other requests are brokers too."""
FETCHER = "broker-2-fetcher-0"
NAMED = {"client_software_name": "kgo"}
JAVA = named("apache-kafka-java", "4.4.0")
LIMIT = 600
"""The seconds for which a broker lets a connection be idle."""
LATE = 900  # seconds after the log's first record: longer than a broker lets a connection be idle
WHOLE_LOG = {"broker": "whole", "file_id": "whole"}
"""Of a broker whose log covers its start."""
INFO_LOG = {"broker": "info", "file_id": "info"}
"""Of a broker that logs at INFO only."""
SAMPLED = {"broker": "sampled", "file_id": "sampled"}
"""The log leaves out requests, as correlation ids show; ApiVersions is in it."""
FILTERED = {"broker": "filtered", "file_id": "filtered"}
"""The log holds no ApiVersions request, though a client had stated its name."""
UNNAMED = {"broker": "unnamed", "file_id": "unnamed", "client_software_name": None, "log_generation": "api_key_struct"}
"""The records show no names, and the log holds no ApiVersions request."""
OLD_CLIENTS = {"broker": "old clients", "file_id": "old clients"}
"""The records show names, and only clients without one use the broker."""

STARTS: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "a handshake comes first": ([api_versions("?", 20, 3)], ["observed"]),
    "correlation ids begin at 1": ([request("?", 20, correlation_id=1)], ["observed"]),
    "correlation ids begin at 1, just as the log does": ([request("?", 0.9, correlation_id=1)], ["before_log"]),
    "a name is known before ApiVersions": ([api_versions("?", 20, 3, client_software_name="kgo")], ["before_log"]),
    "a name is known at correlation id 1":
        ([request("?", 20, correlation_id=1, client_software_name="kgo")], ["before_log"]),
    "a client's name is known on a forwarded request":
        ([request("?", 20, correlation_id=1, client_software_name="kgo", is_forwarded=True)], ["observed"]),
    "in the middle": ([request("?", 20)], ["before_log"]),
    "first heard of after the idle limit": ([request("?", LATE)], ["observed"]),
    "first heard of when the log is as old as the idle limit": ([request("?", LIMIT)], ["observed"]),
    "first heard of when the log is younger": ([request("?", LIMIT - 0.001)], ["before_log"]),
    "SASL hides the handshake":
        ([request("?", 20, security_protocol="SASL_SSL", correlation_id=0)], ["hidden_by_sasl"]),
    "INFO shows too little": ([request("?", 20, correlation_id=1, log_level="INFO", **INFO_LOG)], ["before_log"]),
    "INFO shows too little of a handshake": ([api_versions("?", 20, 3, log_level="INFO", **INFO_LOG)], ["before_log"]),
    "INFO from the first correlation id":
        ([request("?", 20, correlation_id=0, log_level="INFO", **INFO_LOG)], ["observed"]),
    "INFO while all is logged": ([request("?", 20, correlation_id=1, log_level="INFO")], ["observed"]),
    "a client that sends 0 forever": ([request("?", s, correlation_id=0) for s in (20, 21)], ["before_log"]),
    "requests are left out after 1":
        ([request("?", s, correlation_id=c) for s, c in ((20, 1), (21, 9))], ["before_log"]),
    "one request is left out although the log is old enough":
        ([request("?", LATE + s, correlation_id=c) for s, c in ((0, 5), (1, 7))], ["before_log"]),
    "requests are left out although the log is old enough":
        ([request("?", LATE + s, correlation_id=c) for s, c in ((0, 5), (1, 9))], ["before_log"]),
    "no request is left out and the log is old enough":
        ([request("?", LATE + s, correlation_id=c) for s, c in ((0, 5), (1, 6))], ["observed"]),
    "a connection that outlasts the idle limit":
        ([request("?", LATE + s, correlation_id=c) for s, c in ((0, 5), (700, 6))], ["before_log"]),
    "a log that covers the broker's start": ([request("?", 0, correlation_id=50, **WHOLE_LOG)], ["observed"]),
    "a handshake in a sampled log": ([api_versions("?", 20, 3, correlation_id=1, **SAMPLED)], ["before_log"]),
    "ids that begin at 1 in a sampled log": ([request("?", 20, correlation_id=1, **SAMPLED)], ["before_log"]),
    "first heard of after the idle limit in a sampled log": ([request("?", LATE, **SAMPLED)], ["before_log"]),
    "ids that begin at 0 in a sampled log":
        ([request("?", s, correlation_id=c, **SAMPLED) for s, c in ((20, 0), (21, 9))], ["observed"]),
    "ids 0 and 1 in a sampled log":
        ([request("?", s, correlation_id=c, **SAMPLED) for s, c in ((20, 0), (21, 1))], ["observed"]),
    "a single id 0 in a sampled log": ([request("?", 20, correlation_id=0, **SAMPLED)], ["before_log"]),
    "ids that begin at 1 in a log without ApiVersions":
        ([request("?", 20, correlation_id=1, **FILTERED)], ["before_log"]),
    "first heard of after the idle limit in a log without ApiVersions":
        ([request("?", LATE, **FILTERED)], ["before_log"]),
    "ids that begin at 1 in a log without ApiVersions and names":
        ([request("?", 20, correlation_id=1, **UNNAMED)], ["before_log"]),
    "ids that begin at 1 in a log of old clients only":
        ([request("?", 20, correlation_id=1, **OLD_CLIENTS)], ["observed"]),
    "the second connection of an id": (
        [request("?", 0, correlation_id=50), request("?", 1, correlation_id=40, client_id="other")],
        ["before_log", "observed"]),
    "the second connection of an id, with correlation ids that are higher by more than one": (
        [request("?", 0, correlation_id=50), request("?", 1, correlation_id=60, principal="User:other")],
        ["before_log", "observed"]),
    "forwarded requests, with the ids of several clients":
        ([request("?", LATE + s, correlation_id=c, is_forwarded=True) for s, c in ((0, 5), (1, 9))], ["observed"]),
}  # fmt: skip
ROLES: dict[str, tuple[dict[str, Any], str]] = {
    "a client": ({}, "client"),
    "a broker's API under a node id": ({"api": "UPDATE_METADATA", "client_id": "1"}, "broker"),
    "a broker's API under a client's name": ({"api": "UPDATE_METADATA", "client_id": "app"}, "client"),
    "a replica": ({"api": "FETCH", "client_id": FETCHER, "replica_id": 2}, "broker"),
    "a replica of the broker 0": ({"api": "FETCH", "client_id": "broker-0-fetcher-0", "replica_id": 0}, "broker"),
    "a consumer, which is no replica": ({"api": "FETCH", "replica_id": -1}, "client"),
    "a node's id and a client's API": ({"client_id": "42"}, "client"),
    "a node's id and a client's API on the broker's host":
        ({"connection": LOCAL.replace("40000", "40002"), "remote_host": "10.0.0.1", "client_id": "42"}, "client"),
    "a verified transaction":
        ({"api": "ADD_PARTITIONS_TO_TXN", "version": 4, "client_id": "AddPartitionsManager-client-2"}, "broker"),
    "a transaction that a client begins": (
        {"api": "ADD_PARTITIONS_TO_TXN", "version": 3, "client_id": "AddPartitionsManager-client-2", **ELSEWHERE},
        "client"),
    "a client that verifies transactions":
        ({"api": "ADD_PARTITIONS_TO_TXN", "version": 5, "client_id": "app"}, "client"),
    "a broker's API on a controller's listener":
        ({"api": "BROKER_HEARTBEAT", "listener": "CONTROLLER", "client_id": "any"}, "broker"),
    "a broker's name on a controller's listener": (
        {"api": "AV", "version": 3, "listener": "CONTROLLER", "client_id": "raft-client-3", "request": JAVA}, "broker"),
    "a node's id on a controller's listener":
        ({"api": "AV", "version": 3, "listener": "CONTROLLER", "client_id": "3", "request": JAVA}, "broker"),
    "a tool on a controller's listener": (
        {"api": "AV", "version": 3, "listener": "CONTROLLER", "client_id": "adminclient-1", "request": JAVA}, "client"),
    "a client's library on a controller's listener": (
        {"api": "AV", "version": 3, "listener": "CONTROLLER", "client_id": "42", "request": named("librdkafka", "2")},
        "client"),
    "a client's library, named before, on a controller's listener":
        ({"listener": "CONTROLLER", "client_id": "raft-client-3", "client_software_name": "kgo"}, "client"),
    "nobody on a controller's listener": ({"listener": "CONTROLLER", "client_id": None}, "client"),
    "forwarded": ({"is_forwarded": True}, "forwarding"),
    "a broker's name from the broker's host":
        ({"connection": LOCAL, "remote_host": "10.0.0.1", "client_id": "AddPartitionsManager-client-1"}, "broker"),
    "a broker's sender that asks as clients do": (
        {"connection": LOCAL.replace("40000", "40003"), "remote_host": "10.0.0.1", "api": "LIST_OFFSETS",
         "client_id": "NetworkPartitionMetadataClient-client-1"}, "broker"),
    "a broker's name under a client's library from the broker's host": (
        {"connection": LOCAL.replace("40000", "40004"), "remote_host": "10.0.0.1", "client_id": "broker-1-x",
         "client_software_name": "kgo"}, "client"),
    "a broker's name and a line end from the broker's host": (
        {"connection": LOCAL.replace("40000", "40001"), "remote_host": "10.0.0.1", "client_id": "raft-client-1\n"},
        "client"),
    "a broker's name from elsewhere": ({"connection": REMOTE, "client_id": FETCHER, **ELSEWHERE}, "client"),
    "a broker's name from the host of another broker": ({"client_id": FETCHER}, "broker"),
}  # fmt: skip
# connection id and the form of its record: the number of the network processor
PROCESSORS: dict[tuple[str, str], int | None] = {
    ("10.0.0.1:9092-10.0.0.2:40000-3-17", "json"): 3,
    ("10.0.0.1:9092-10.0.0.2:40000-0-0", "json"): 0,
    ("[2001:db8::1]:9092-[2001:db8::2]:40000-11-5", "json"): 11,
    ("10.0.0.1:9092-10.0.0.2:40000-17", "json"): None,  # before 4.0
    ("10.0.0.1:9092-10.0.0.2:40001-3-17", "request_header_struct"): None,
    ("/10.0.0.2:40000", "name_text"): None,
    ("10.0.0.1:9092-10.0.0.2:40000-99999999999-1", "json"): None,
}


@pytest.fixture(scope="module")
def found(rules_session: Any) -> dict[str, list[Any]]:
    """All cases in one log; what a connection is follows from no concern."""
    rows = [request("opens the log", 0, correlation_id=77)]
    rows += [row | {"connection_id": name} for name, (requests, _) in STARTS.items() for row in requests]
    for name, (given, _) in ROLES.items():
        values = dict(given)
        rows.append(request(values.pop("connection", name), 0, values.pop("api", "METADATA"), **values))
    rows += [request(name, 0, log_generation=generation) for name, generation in PROCESSORS]
    rows += [api_versions("asks", 0, 3, **SAMPLED), request("stated its name", 0, **{**FILTERED, **NAMED})]
    for of_broker in ({}, SAMPLED, FILTERED, UNNAMED, OLD_CLIENTS):
        rows += background(LATE + 800, **of_broker)
    shown = {"sampled": "omission"}
    tables = log(
        rules_session, in_time(rows), lambda row: shown.get(row["broker"]), whole={"covers_broker_start": True}
    )
    with on(rules_session):
        judged = judge_requests(*tables, Settings(), ())
        return by_connection(connections(judged, Settings(), ()))


@pytest.mark.parametrize("name", STARTS)
def test_it_tells_what_the_log_shows_of_a_start(found: dict[str, list[Any]], name: str) -> None:
    assert [row["start"] for row in found[name]] == STARTS[name][1]


@pytest.mark.kip("KIP-511", 25, case="a broker's name on a controller's listener")
@pytest.mark.parametrize("name", ROLES)
def test_it_tells_brokers_by_what_they_do(found: dict[str, list[Any]], name: str) -> None:
    given, role = ROLES[name]
    assert found[given.get("connection", name)][0]["role"] == role


@pytest.mark.kip("KIP-511", 13)
@pytest.mark.parametrize(("connection", "generation"), PROCESSORS)
def test_the_network_processor_stands_in_connection_ids_from_4_0_on(
    found: dict[str, list[Any]], connection: str, generation: str
) -> None:
    assert found[connection][0]["network_processor"] == PROCESSORS[connection, generation]


def test_a_connection_is_what_its_first_request_shows(found: dict[str, list[Any]]) -> None:
    first, second = found["the second connection of an id"]
    assert first["byte_offset"] < second["byte_offset"]
    assert first["file_id"] == second["file_id"] == "f"
    assert (first["remote_host"], first["listener"], first["log_generation"]) == ("10.0.0.9", "PLAINTEXT", "json")


BY_HOST = {
    "a broker's name from a broker's host": ({"client_id": FETCHER}, True),
    "another name from a broker's host": ({"client_id": "app"}, False),
    "a broker's name from elsewhere": ({"client_id": FETCHER, "remote_host": "10.0.0.7"}, False),
    "a broker's name from the host of another cluster's broker": ({"client_id": FETCHER, "cluster": "d"}, False),
}
"""Connections from the host 10.0.0.9, of which earlier requests showed that it is a broker's in the cluster c."""


def test_a_brokers_name_counts_on_the_hosts_of_its_clusters_brokers(rules_session: Any) -> None:
    rows = [request(name, 0, **{"file_id": given.get("cluster", "f")} | given) for name, (given, _) in BY_HOST.items()]
    hosts = relation(rules_session, [("c", "10.0.0.9")], "cluster string, host string")
    with on(rules_session):
        judged = judge_requests(*log(rules_session, rows), Settings(), ())
        found = by_connection(connections(judged, Settings(), (), hosts))
    roles = {name: row["role"] for name, (row,) in found.items()}
    assert roles == {name: "broker" if is_broker else "client" for name, (_, is_broker) in BY_HOST.items()}


def test_new_requests_show_which_clients_were_brokers(rules_session: Any) -> None:
    """Of each connection id once, however many connections and requests there are."""
    key = {"cluster": "c", "broker": "b", "opened_at": at(0), "opened_seq": 0, "remote_host": "10.0.0.9"}
    known = [
        key | {"connection_id": name, "role": "client"} | given | {"opened_seq": number}
        for name, (given, _) in BY_HOST.items()
        for number in (0, 1)
    ]
    known.append(key | {"connection_id": "a broker", "role": "broker", "client_id": FETCHER})
    new = [request("x", second, "FETCH", 12, client_id=FETCHER, replica_id=2) for second in (1, 2)]
    new += [
        request("x", 3, "FETCH", 12, client_id=FETCHER, replica_id=2, remote_host="10.0.0.7", is_forwarded=True),
        request("x", 4, "FETCH", 12, client_id=FETCHER, replica_id=-1, remote_host="10.0.0.7"),
    ]
    with on(rules_session):
        tables = frame(rules_session, "connections", known), frame(rules_session, "requests", new)
        found = collected(shown_as_brokers(*tables))
    assert [tuple(row) for row in found] == [("c", "b", "a broker's name from a broker's host")]
