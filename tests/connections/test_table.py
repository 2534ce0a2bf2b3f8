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

Row = dict[str, Any]
ELSEWHERE = {"remote_host": "10.0.0.7"}
"""A host without a broker; on that of other requests are brokers too."""
FETCHER = "broker-2-fetcher-0"
INFO, NAMED = {"log_level": "INFO"}, {"client_software_name": "kgo"}
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


def r(seconds: float, number: int | None = None, **given: Any) -> Row:
    """A request with a correlation id."""
    return request("?", seconds, **({} if number is None else {"correlation_id": number}) | given)


def av(seconds: float, **given: Any) -> Row:
    return api_versions("?", seconds, 3, **given)


def sent(api: str = "METADATA", version: int = 0, **given: Any) -> Row:
    return request("?", 0, api, version, **given)


STARTS: dict[str, tuple[list[Row], str]] = {
    "a handshake comes first": ([av(20)], "observed"),
    "correlation ids begin at 1": ([r(20, 1)], "observed"),
    "correlation ids begin at 1, just as the log does": ([r(0.9, 1)], "before_log"),
    "a name is known before ApiVersions": ([av(20, **NAMED)], "before_log"),
    "a name is known at correlation id 1": ([r(20, 1, **NAMED)], "before_log"),
    "a client's name is known on a forwarded request": ([r(20, 1, **NAMED, is_forwarded=True)], "observed"),
    "first heard of when the log is as old as the idle limit": ([r(LIMIT)], "observed"),
    "first heard of when the log is younger": ([r(LIMIT - 0.001)], "before_log"),
    "SASL hides the handshake": ([r(20, 0, security_protocol="SASL_SSL")], "hidden_by_sasl"),
    "INFO shows too little": ([r(20, 1, **INFO, **INFO_LOG)], "before_log"),
    "INFO from the first correlation id": ([r(20, 0, **INFO, **INFO_LOG)], "observed"),
    "INFO while all is logged": ([r(20, 1, **INFO)], "observed"),
    "a client that sends 0 forever": ([r(20, 0), r(21, 0)], "before_log"),
    "requests are left out after 1": ([r(20, 1), r(21, 9)], "before_log"),
    "one request is left out although the log is old enough": ([r(LATE, 5), r(LATE + 1, 7)], "before_log"),
    "no request is left out and the log is old enough": ([r(LATE, 5), r(LATE + 1, 6)], "observed"),
    "a connection that outlasts the idle limit": ([r(LATE, 5), r(LATE + 700, 6)], "before_log"),
    "a log that covers the broker's start": ([r(0, 50, **WHOLE_LOG)], "observed"),
    "a handshake in a sampled log": ([av(20, correlation_id=1, **SAMPLED)], "before_log"),
    "ids that begin at 1 in a sampled log": ([r(20, 1, **SAMPLED)], "before_log"),
    "first heard of after the idle limit in a sampled log": ([r(LATE, **SAMPLED)], "before_log"),
    "ids that begin at 0 in a sampled log": ([r(20, 0, **SAMPLED), r(21, 9, **SAMPLED)], "observed"),
    "a single id 0 in a sampled log": ([r(20, 0, **SAMPLED)], "before_log"),
    "first heard of after the idle limit in a log without ApiVersions": ([r(LATE, **FILTERED)], "before_log"),
    "ids that begin at 1 in a log without ApiVersions and names": ([r(20, 1, **UNNAMED)], "before_log"),
    "ids that begin at 1 in a log of old clients only": ([r(20, 1, **OLD_CLIENTS)], "observed"),
    "the second connection of an id": ([r(0, 50), r(1, 40, client_id="other")], "before_log observed"),
    "the second connection of an id, with correlation ids that are higher by more than one":
        ([r(0, 50), r(1, 60, principal="User:other")], "before_log observed"),
    "forwarded, with ids of several": ([r(LATE, 5, is_forwarded=True), r(LATE + 1, 9, is_forwarded=True)], "observed"),
}  # fmt: skip
ON_ITS_HOST = {"remote_host": "10.0.0.1"}
"""On the host of the broker that the connection is to."""
CONTROLLER = {"listener": "CONTROLLER"}
MANAGER = "AddPartitionsManager-client-2"
ROLES: dict[str, tuple[str, Row]] = {
    "a client": ("client", sent()),
    "a broker's API under a node id": ("broker", sent("UPDATE_METADATA", client_id="1")),
    "a replica of the broker 0": ("broker", sent("FETCH", client_id="broker-0-fetcher-0", replica_id=0)),
    "a consumer, which is no replica": ("client", sent("FETCH", replica_id=-1)),
    "a node's id and a client's API": ("client", sent(client_id="42")),
    "a node's id and a client's API on the broker's host": ("client", sent(client_id="42", **ON_ITS_HOST)),
    "a verified transaction": ("broker", sent("ADD_PARTITIONS_TO_TXN", 4, client_id=MANAGER)),
    "a transaction that a client begins": ("client", sent("ADD_PARTITIONS_TO_TXN", 3, client_id=MANAGER, **ELSEWHERE)),
    "a client that verifies transactions": ("client", sent("ADD_PARTITIONS_TO_TXN", 5, client_id="app")),
    "a broker's API on a controller's listener": ("broker", sent("BROKER_HEARTBEAT", client_id="any", **CONTROLLER)),
    "a broker's name on a controller's listener":
        ("broker", av(0, client_id="raft-client-3", request=JAVA, **CONTROLLER)),
    "a tool on a controller's listener": ("client", av(0, client_id="adminclient-1", request=JAVA, **CONTROLLER)),
    "a client's library on CONTROLLER":
        ("client", av(0, client_id="42", request=named("librdkafka", "2"), **CONTROLLER)),
    "a client's library, named before, on CONTROLLER":
        ("client", sent(client_id="raft-client-3", **NAMED, **CONTROLLER)),
    "nobody on a controller's listener": ("client", sent(client_id=None, **CONTROLLER)),
    "forwarded": ("forwarding", sent(is_forwarded=True)),
    "a broker's name from the broker's host": ("broker", sent(client_id=MANAGER, **ON_ITS_HOST)),
    "a broker's sender that asks as clients do":
        ("broker", sent("LIST_OFFSETS", client_id="NetworkPartitionMetadataClient-client-1", **ON_ITS_HOST)),
    "a broker's name and a line end from its host": ("client", sent(client_id="raft-client-1\n", **ON_ITS_HOST)),
    "a broker's name under a client's library": ("client", sent(client_id="broker-1-x", **NAMED, **ON_ITS_HOST)),
    "a broker's name from elsewhere": ("client", sent(client_id=FETCHER, **ELSEWHERE)),
    "a broker's name from the host of another broker": ("broker", sent(client_id=FETCHER)),
}  # fmt: skip


def id_of(name: str) -> str:
    """The connection id of a case of `ROLES`, in which stand the hosts of both sides."""
    host = ROLES[name][1]["remote_host"]
    return name if host == "10.0.0.9" else f"10.0.0.1:9092-{host}:{40_000 + list(ROLES).index(name)}-5"


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
    rows += [row | {"connection_id": id_of(name)} for name, (_, row) in ROLES.items()]
    rows += [request(name, 0, log_generation=generation) for name, generation in PROCESSORS]
    rows += [api_versions("asks", 0, 3, **SAMPLED), request("stated its name", 0, **{**FILTERED, **NAMED})]
    for of_broker in ({}, SAMPLED, FILTERED, UNNAMED, OLD_CLIENTS):
        rows += background(LATE + 800, **of_broker)
    whole = {"covers_broker_start": True}
    with on(rules_session):
        tables = log(rules_session, in_time(rows), lambda row: {"sampled": "omission"}.get(row["broker"]), whole=whole)
        judged = judge_requests(*tables, Settings(), ())
        return by_connection(connections(judged, Settings(), ()))


@pytest.mark.parametrize("name", STARTS)
def test_it_tells_what_the_log_shows_of_a_start(found: dict[str, list[Any]], name: str) -> None:
    assert " ".join(row["start"] for row in found[name]) == STARTS[name][1]


@pytest.mark.kip("KIP-511", 25, case="a broker's name on a controller's listener")
@pytest.mark.parametrize("name", ROLES)
def test_it_tells_brokers_by_what_they_do(found: dict[str, list[Any]], name: str) -> None:
    assert found[id_of(name)][0]["role"] == ROLES[name][0]


@pytest.mark.kip("KIP-511", 13)
@pytest.mark.parametrize(("connection", "generation"), PROCESSORS)
def test_the_network_processor_stands_in_connection_ids_from_4_0_on(
    found: dict[str, list[Any]], connection: str, generation: str
) -> None:
    assert found[connection][0]["network_processor"] == PROCESSORS[connection, generation]


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
    fetch = sent("FETCH", 12, client_id=FETCHER, replica_id=2)
    new = [fetch, fetch, fetch | ELSEWHERE | {"is_forwarded": True}, fetch | ELSEWHERE | {"replica_id": -1}]
    with on(rules_session):
        tables = frame(rules_session, "connections", known), frame(rules_session, "requests", new)
        found = collected(shown_as_brokers(*tables))
    assert [tuple(row) for row in found] == [("c", "b", "a broker's name from a broker's host")]
