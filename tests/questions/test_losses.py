"""Which topics and groups lose a client: those of connections that sent a request which the target refuses, not of all with its id."""

from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.questions.filters import Scope
from kafka_clientinfo.questions.impact import clients_by_verdict
from kafka_clientinfo.questions.losses import Lost, losses, lost_by_client
from tests.builders import json_record
from tests.scanned import scanned

TARGET = "4.0.1"
OFFERED = [
    {"apiKey": key, "minVersion": 0, "maxVersion": highest}
    for key, highest in ((0, 11), (1, 17), (8, 9), (11, 9), (18, 4))
]
SHARED = "producer-1"


class Log:
    """The records of one broker, in order of time."""

    def __init__(self) -> None:
        self._records: list[tuple[float, bytes]] = []

    def add(self, number: int, at: float, api: str, version: int, client: str = SHARED, **given: Any) -> None:
        """A request of connection `number`, each from a port of its own."""
        host = given.pop("host", "10.0.0.9")
        record = json_record(
            at=at, api=api, version=version, client_id=client, connection=f"10.0.0.1:9092-{host}:{40000 + number}-{number}",
            correlation_id=int(at * 10), **given,
        )  # fmt: skip
        self._records.append((at, record))

    def asks(self, number: int, at: float, client: str = SHARED, **given: Any) -> None:
        response = {"errorCode": 0, "apiKeys": OFFERED}
        self.add(number, at, "API_VERSIONS", 2, client, request={}, response=response, **given)

    def produces(self, number: int, at: float, topic: str, version: int, client: str = SHARED, **given: Any) -> None:
        request = {"topicData": [{"name": topic, "partitionData": [{"index": 0, "recordsSizeInBytes": 5}]}]}
        response = {"responses": [{"name": topic, "partitionResponses": [{"index": 0, "errorCode": 0}]}]}
        self.add(number, at, "PRODUCE", version, client, request=request, response=response, **given)

    def fetches(self, number: int, at: float, topic: str, version: int, client: str = SHARED, **given: Any) -> None:
        request = {"replicaId": -1, "topics": [{"topic": topic, "partitions": []}]}
        response = {"responses": [{"topic": topic, "partitions": []}]}
        self.add(number, at, "FETCH", version, client, request=request, response=response, **given)

    def joins(self, number: int, at: float, group: str, client: str = SHARED, **given: Any) -> None:
        request = {"groupId": group, "memberId": "", "protocolType": "consumer", "protocols": []}
        response = {"errorCode": 0, "generationId": 1, "leader": "m", "memberId": "m", "members": []}
        response |= {"protocolName": "range"}
        self.add(number, at, "JOIN_GROUP", 5, client, request=request, response=response, **given)

    def scope(self, folder: Path) -> Scope:
        log = folder / "b1" / "kafka-request.log"
        log.parent.mkdir()
        log.write_bytes(b"".join(record for _, record in sorted(self._records, key=lambda pair: pair[0])))
        return Scope(scanned([folder], Settings()))


@pytest.fixture(scope="module")
def scope(tmp_path_factory: pytest.TempPathFactory) -> Scope:
    log = Log()
    for number, at in enumerate((0, 100, 200, 200.5, 300, 301, 300, 500, 501, 400)):
        log.asks(number, at, host="10.0.0.8" if number == 6 else "10.0.0.9")
    # One after the other
    log.produces(0, 1, "old", 2)
    log.produces(0, 50, "old", 2)
    log.produces(1, 101, "new", 9)
    # At the same time: only the first request is certainly that of the connection that breaks.
    log.produces(2, 201, "first", 2)
    log.produces(3, 202, "either", 9)
    log.produces(2, 210, "either", 2)
    log.produces(3, 211, "first", 9)
    # A consumer has its group on another connection than its fetches; another host's consumer has its own.
    for at in (302, 350):
        log.fetches(4, at, "read", 3)
        log.joins(5, at + 1, "its group")
        log.joins(6, at + 1, "of another host", host="10.0.0.8")
    log.fetches(8, 502, "read by new ones", 12)
    log.joins(7, 502, "of new ones")
    log.produces(9, 403, "broken group", 2)
    log.joins(9, 404, "same connection")
    return log.scope(tmp_path_factory.mktemp("losses"))


def test_topics_of_connections_that_break_lose_a_client(scope: Scope) -> None:
    assert clients_by_verdict(scope, TARGET)["refused"] == 1
    columns = ("producers_that_break", "consumers_that_break", "producers_that_may_break", "consumers_that_may_break")
    figures = {row["topic"]: tuple(row[name] for name in columns) for row in losses(scope, TARGET).dicts()}
    assert figures == {
        "old": (1, 0, 0, 0), "read": (0, 1, 0, 0), "broken group": (1, 0, 0, 0), "first": (1, 0, 0, 0), "either": (0, 0, 1, 0),
    }  # fmt: skip


def test_groups_of_other_connections_of_a_client_that_breaks_may_break(scope: Scope) -> None:
    lost = lost_by_client(scope, TARGET)
    (client,) = lost.topics
    assert client[2] == SHARED
    assert lost == Lost(
        {client: ["broken group", "first", "old", "read"]}, {client: ["same connection"]}, {client: ["either"]},
        {client: ["its group"]},
    )  # fmt: skip
