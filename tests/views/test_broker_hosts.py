"""Which hosts are a broker's, by requests that only brokers and controllers send."""

from typing import Any

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.table import connections
from tests.asking import asked
from tests.engines import computed, on
from tests.frames import START, as_stored, assert_table, at, frame, in_time, judge_requests, log, request

FETCHER = {"client_id": "broker-0-fetcher-0"}


def sent(host: str | None, seconds: float, api: str = "FETCH", version: int = 12, **given: Any) -> dict[str, Any]:
    return request(f"of {host}", seconds, api, version, remote_host=host, **given)


REQUESTS = [
    sent("replica", 5, replica_id=0, **FETCHER),
    sent("replica", 3, replica_id=0, **FETCHER),
    sent("replica", 4, replica_id=0, **FETCHER),
    sent("replica", 9, replica_id=0, is_duplicate=True, **FETCHER),
    sent("replica", 10, **FETCHER),
    sent("a node", 1, "UPDATE_METADATA", 0, client_id="1"),
    sent("a node without a name", 1, "UPDATE_METADATA", 0, client_id=None),
    sent("verifies transactions", 1, "ADD_PARTITIONS_TO_TXN", 4, client_id="AddPartitionsManager-client-2"),
    # These show no broker.
    sent("consumer", 1, replica_id=-1),
    sent("begins transactions", 1, "ADD_PARTITIONS_TO_TXN", 3, client_id="AddPartitionsManager-client-2"),
    sent("client with a broker's request", 1, "UPDATE_METADATA", 0, client_id="app"),
    sent("forwards", 1, "UPDATE_METADATA", 0, client_id="1", is_forwarded=True),
    sent(None, 1, replica_id=0, **FETCHER),
]


def host(name: str, first: float = 1, last: float = 1, requests: int = 1, **given: Any) -> dict[str, Any]:
    row = {"cluster": "c", "host": name, "first_seen": at(first), "last_seen": at(last), "requests": requests}
    return row | {"ingested_at": START} | given


EXPECTED = [host("replica", 3, 5, 3), host("a node"), host("a node without a name"), host("verifies transactions")]


def test_a_host_is_a_brokers_if_it_sends_what_only_brokers_send(rules_session: Any) -> None:
    with on(rules_session):
        requests, files = log(rules_session, in_time(REQUESTS), f={"ingested_at": START})
        judged = computed(judge_requests(requests, files, Settings(), concerns()))
        rows = computed(as_stored(connections(judged, Settings(), concerns()), "connections"))
    ledger = frame(rules_session, "ingested_files", files)
    found = asked(rules_session, "broker_hosts", connections=rows, ingested_files=ledger)
    assert_table(found, rules_session, "broker_hosts", EXPECTED)
