"""A client that states its id on a connection's first request only is the same client in every answer (KIP-1313)."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from tests.builders import json_record
from tests.ingestion.test_topic_mentions import produce
from tests.scanned import scanned

QUESTIONS = {
    "topics": "SELECT client_id, operation, topic, requests FROM {topic_usage} ORDER BY ALL",
    "activity": "SELECT client_id, api_name, requests, requests_by_minute FROM {client_activity} ORDER BY ALL",
    "inventory": "SELECT client_id, client_software_name, connections FROM {client_inventory} ORDER BY ALL",
    "members": "SELECT client.client_id, member_id, generation FROM {group_members} ORDER BY ALL",
    "impact": "SELECT DISTINCT client_id, api_name FROM {upgrade_impact} ORDER BY ALL",
}


def fetch(epoch: int, topics: tuple[str, ...], **given: Any) -> bytes:
    listed = [{"topic": topic, "partitions": [{"partition": 0}]} for topic in topics]
    rows = [{"topic": topic, "partitions": [{"partitionIndex": 0, "errorCode": 0}]} for topic in topics]
    request = {
        "replicaId": -1,
        "sessionId": epoch and 7,
        "sessionEpoch": epoch,
        "topics": listed,
        "forgottenTopicsData": [],
    }
    response = {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 7, "responses": rows}
    return json_record(api="FETCH", version=11, request=request, response=response, **given)


def joined(**given: Any) -> bytes:
    request = {"groupId": "g", "memberId": "m", "groupInstanceId": None, "protocolType": "consumer", "protocols": []}
    response = {"errorCode": 0, "generationId": 3, "leader": "m", "memberId": "m", "members": [{"memberId": "m"}]}
    return json_record(api="JOIN_GROUP", version=7, request=request, response=response, **given)


def heartbeat(**given: Any) -> bytes:
    request = {"groupId": "g", "generationId": 3, "memberId": "m", "groupInstanceId": None}
    return json_record(api="HEARTBEAT", version=3, request=request, response={"errorCode": 0}, **given)


def records(later: str | None) -> list[bytes]:
    """Return what two clients send on their connections; `later` is the client id after the first request, if not theirs."""
    made: dict[float, bytes] = {}
    for number, client in enumerate(("billing", "orders")):
        calls: list[Any] = [
            lambda **given: json_record(api="METADATA", version=12, request={}, response={"topics": []}, **given),
            partial(produce, f"t{number}"),
            lambda **given: fetch(0, ("a", "b"), **given),
            lambda **given: fetch(1, (), **given),
            joined,
            heartbeat,
            lambda **given: fetch(2, (), **given),
        ]
        for place, call in enumerate(calls):
            client_id = client if place == 0 or later == "its own" else later
            connection = f"10.0.0.1:9092-10.0.0.{2 + number}:40000-0"
            at = 60.0 * place + number
            made[at] = call(at=at, correlation_id=place, client_id=client_id, connection=connection)
    return [made[at] for at in sorted(made)]


def answers(folder: Path, later: str | None, *ends: int) -> dict[str, list[tuple[Any, ...]]]:
    """Return what the questions answer to the log, cut into files that begin at `ends`."""
    made = records(later)
    for number, (begin, end) in enumerate(zip((0, *ends), (*ends, len(made)), strict=True)):
        log = folder / "b1" / f"kafka-request.log.{number}"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"".join(made[begin:end]))
    tables = scanned([folder], Settings())
    return {name: tables.query(question).rows for name, question in QUESTIONS.items()}


@pytest.mark.parametrize("later", [None, ""])
@pytest.mark.parametrize("ends", [(), (2, 5, 11)])
def test_requests_without_a_client_id_count_for_the_client_of_their_connection(
    tmp_path: Path, later: str | None, ends: tuple[int, ...]
) -> None:
    expected = answers(tmp_path / "stated", "its own", *ends)
    assert answers(tmp_path / "left_out", later, *ends) == expected
    assert {row[0] for rows in expected.values() for row in rows} == {"billing", "orders"}


def test_a_connection_that_the_log_shows_from_its_middle_has_the_client_id_that_it_states_again(tmp_path: Path) -> None:
    log = tmp_path / "b1" / "kafka-request.log"
    log.parent.mkdir()
    stated = (None, "app", None)  # an older header states the id again
    made = [produce(at=at, correlation_id=7 + at, client_id=client_id) for at, client_id in enumerate(stated)]
    log.write_bytes(b"".join(made))
    tables = scanned([tmp_path], Settings())
    assert tables.query("SELECT client_id, client_id_verdict FROM {connections}").rows == [("app", "not_observed")]
    assert tables.query("SELECT DISTINCT client_id FROM {client_activity}").rows == [("app",)]
