"""Small logs that came out wrong once, made from sentences of the KIPs or posted: what is certain, and who is not to blame."""

from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from tests.ingestion.stored_logs import save
from tests.ingestion.test_topic_mentions import produce
from tests.scanned import by_cluster, scanned
from tests.sections import sections

LOGS = Path(__file__).parent / "cases.log"
ME = "arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_nonprod_0123456789abcdef/me@example.com"
ORDERS = "arn:aws:sts::111122223333:assumed-role/orders-service/i-0abc"
MASKED = ("orders-svc", "billing-svc")
CASES: dict[str, tuple[list[dict[str, Any]], str]] = {
    # Null ids, ids that descend, and a SaslHandshake that states the id again (KIP-1313): one connection.
    "descending_ids": ([{"requests": 5, "client_id": "app", "client_id_verdict": "sent_once"}], ""),
    # Its first correlation id on this broker follows the last one of another process by chance.
    "another_run_of_a_tool": ([{"requests": 4}, {"requests": 2}], ""),
    # Admin.abortTransaction sends WriteTxnMarkers, without a client id after the first request (KIP-1313).
    "admin_aborts_a_transaction": (
        [{"role": "client", "client_id": "adminclient-1", "instance_id_verdict": "conforming"}, {"role": "client"}],
        ""),
    # The broker takes the name of a valid ApiVersions before it answers that it is of another cluster (KIP-1242).
    "another_cluster": ([{"client_software_name": "apache-kafka-java", "api_versions_outcome": "rejected_other"}, {}],
        ""),
    # Metadata, sent together with an ApiVersions that is refused (KIP-511).
    "sent_together": ([{"api_versions_outcome": "rejected_invalid_request"}], "invalid_software_name client"),
    # The client closes its connection, and opens another one of the same id (KIP-511).
    "closed_and_opened_again": (
        [{"api_versions_outcome": "rejected_invalid_request"}, {"api_versions_outcome": "negotiated"}],
        "invalid_software_name client"),
    # A version that is not offered, sent before the offer came.
    "sent_with_api_versions": ([{"api_versions_outcome": "negotiated"}], ""),
    # So are requests that wait for others that were sent before the answer came, or while the broker throttles the client.
    "waits_behind_others": ([{"api_versions_outcome": "rejected_invalid_request"}], "invalid_software_name client"),
    "waits_while_throttled": ([{"api_versions_outcome": "negotiated"}], ""),
    # ApiVersions with header v3 is refused, and what is offered has an older one (KIP-1313).
    "older_header_is_asked_for": ([{"instance_id_verdict": "conforming", "fallback_kind": "to_highest_offered"}], ""),
    # KIP-511's own pattern takes this name, that of brokers does not: who refuses it is wrong.
    "name_of_the_kip": ([{"software_valid_by_kip": True}], "invalid_software_name broker"),
    # What a broker refuses that it offers is its own affair, however soon after the offer it is asked for.
    "feature_is_off": ([{"api_versions_outcome": "negotiated"}], "advertised_version_unsupported nobody"),
    # ApiVersions v3 and v0, sent together: how the client falls back is a fact, that it ignores the offer is not.
    "versions_tried_together": ([{"fallback_kind": "to_zero_although_more_was_offered"}],
        "fallback_ignores_offer nobody"),
    # INCONSISTENT_GROUP_PROTOCOL for what JoinGroup answered to the same member in this generation (KIP-559).
    "coordinator_refuses_its_answer": ([{"client_id": "app"}], "inconsistent_group_protocol broker"),
    # The same for a SyncGroup v5 that states neither: the client's, but no sign of two applications.
    "sync_without_type": ([{"client_id": "app"}], "inconsistent_group_protocol client"),
    # A member is refused that has the type and the name of the only other one.
    "joins_as_its_group_does": ([{"client_id": "a"}, {"client_id": "b"}], "inconsistent_group_protocol either"),
    # No other member is known: the log may lack those that have another protocol, or the coordinator may be wrong.
    "joins_alone": ([{"client_id": "app"}], "inconsistent_group_protocol either"),
    # One member that states two types is no second application.
    "member_of_two_types": ([{"client_id": "app"}], "inconsistent_group_protocol client"),
    # SyncGroup is refused on another connection than JoinGroup was answered on: who is wrong is not known.
    "sync_on_another_connection": ([{"client_id": "x"}] * 2, "inconsistent_group_protocol either"),
    # JoinGroup is answered with a name that the member did not offer, and SyncGroup repeats it.
    "answer_is_repeated": ([{"client_id": "x"}], "group_name_mismatch broker, protocol_nobody_offered broker"),
    # The same answer, and SyncGroup states what was offered, which is refused: nobody knows what the group's protocol is.
    "offer_is_refused": ([{"client_id": "app"}],
        "group_name_mismatch either, inconsistent_group_protocol either, protocol_nobody_offered broker"),
    # A name that KIP-511 allows and stock brokers refuse; this broker took it.
    "accepted_name": ([{"client_software_name": ".foo-", "software_valid_by_broker": True}], ""),
    # ApiVersions states a broker's id, and WriteTxnMarkers leaves it out (KIP-1313).
    "broker_leaves_its_id_out": ([{"role": "broker", "client_id": "broker-2-txn-marker-sender"}], ""),
    # Only brokers ask for producer ids; the log lacks the request with the client id (KIP-1313).
    "broker_from_its_middle": ([{"role": "broker", "start": "before_log"}], ""),
    # A tool with a number as its id asks a controller (KIP-919).
    "number_at_a_controller": ([{"role": "client", "client_id": "3"}], ""),
    # A client may have any id: a library that states itself is no broker, whatever it sends.
    "librdkafka_named_as_a_broker": ([{"role": "client", "client_software_name": "librdkafka"}],
        "broker_like_client_id either"),
    # A load balancer with two addresses, or NAT with several, shows a process as two hosts at once.
    "one_process_from_two_addresses": ([{"client_id": "app"}] * 2, "client_instance_id_on_two_hosts nobody"),
    # SASL hides the first request; the ids are empty, a, b and none: the last one's is a.
    "other_ids_after_sasl": ([{"client_id": "a", "start": "hidden_by_sasl"}], "client_id_changed either"),
    # Amazon MSK masks private addresses with their ports: two connections, of one principal, have one id.
    "masked_ends": ([{"start": "before_log", "requests": 6, "client_id": one, "remote_host": None} for one in MASKED],
        ""),
    "masked_local_end": ([{"requests": 6, "client_id": one, "remote_host": "192.0.2.7"} for one in MASKED], ""),
    "masked_hosts": (
        [{"requests": 3, "client_id": one, "client_id_verdict": "not_observed"} for one in ("orders", "billing")], ""),
    # Correlation ids that go on show no new id of one process if nobody knows which connection has them.
    "masked_new_id": ([{"instance_id_verdict": "start_not_observed", "remote_host": None}] * 2, ""),
    # Both ends are masked with the same text, ports and all.
    "masked_alike": ([{"start": "before_log", "client_id": one, "remote_host": None} for one in ("orders", "billing")],
        ""),
    # Principals that name a connection or a session: two clients of five connections, and one of three that logs in again.
    "msk_iam": ([{"principal": f"[IAM]:[{arn}]"} for arn in (ME, ME, ME, ORDERS, ORDERS)], ""),
    "strimzi_oauth": ([{"principal": "User:service-account-orders"}] * 3, ""),
    "oauth_without_token": ([{"principal": "User:x", "requests": 2}], ""),
}  # fmt: skip


def test_a_setting_adds_forms_of_principals_that_name_a_session(tmp_path: Path) -> None:
    made = [produce(at=at, correlation_id=at, principal=f"Custom:orders/session-{at}") for at in range(3)]
    save(tmp_path / "b1" / "kafka-request.log", b"".join(made))
    settings = Settings(principal_patterns=("^(Custom:[^/]+)/session-[0-9]+$",))
    tables = scanned([tmp_path], settings, "connections", "topic_usage")
    assert tables.query("SELECT principal, requests FROM {connections}").rows == [("Custom:orders", 3)]
    assert tables.query("SELECT DISTINCT principal FROM {topic_usage}").rows == [("Custom:orders",)]
    assert tables.query("SELECT count(DISTINCT principal) FROM {requests}").rows == [(3,)]  # as logged


def test_a_request_that_server_log_shows_is_of_the_principal_that_all_connections_share(tmp_path: Path) -> None:
    session = f"[IAM]:[{ORDERS}]:[10.0.0.1:9092-10.0.0.2:4000-9]:[00079d61-baba-497e-87c2-80c46608f1d0]"
    closed = (
        "[2026-11-21 12:00:00,000] ERROR Closing socket for 10.0.0.1:9092-10.0.0.2:4000-9 because of error "
        "(kafka.network.Processor)\norg.apache.kafka.common.errors.InvalidRequestException: Error getting request for apiKey: "
        f"PRODUCE, apiVersion: 2, connectionId: 10.0.0.1:9092-10.0.0.2:4000-9, listenerName: ListenerName(SASL), "
        f"principal: {session}\n"
    )
    save(tmp_path / "b1" / "server.log.1", closed.encode())
    save(tmp_path / "b1" / "kafka-request.log", produce(at=0, principal=session))
    tables = scanned([tmp_path], Settings(), "connections", "violations")
    for relation in ("failed_requests", "connections", "violations"):
        assert tables.query(f"SELECT DISTINCT principal FROM {{{relation}}}").rows == [(f"[IAM]:[{ORDERS}]",)], relation


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The rows of connections and violations of all cases, in their order."""
    logs = {name: tmp_path_factory.getbasetemp() / f"{name}.log" for name in CASES}
    for name, text in sections(LOGS).items():
        logs[name].write_bytes(text)
    tables = by_cluster(logs, Settings(), "connections", "violations")
    any_of = next(iter(tables.values())).tables
    orders = {"connections": "opened_at, connection_id", "violations": "rule"}
    return {name: any_of.query(f"SELECT * FROM {{{name}}} ORDER BY {by}").dicts() for name, by in orders.items()}


@pytest.mark.parametrize("name", CASES)
def test_what_is_certain_is_said_and_nobody_else_is_accused(read: dict[str, list[dict[str, Any]]], name: str) -> None:
    rows, accused = CASES[name]
    connections, violations = ([row for row in of_all if row["cluster"] == name] for of_all in read.values())
    assert [{key: row[key] for key in wanted} for row, wanted in zip(connections, rows, strict=True)] == rows
    assert ", ".join(f"{row['rule']} {row['blames']}" for row in violations) == accused
