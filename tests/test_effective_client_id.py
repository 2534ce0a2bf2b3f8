"""A client that states its id on a connection's first request only is the same client in every answer (KIP-1313)."""

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from tests.builders import json_record
from tests.ingestion.stored_logs import save
from tests.ingestion.test_topic_mentions import produce
from tests.scanned import OfCluster, by_cluster, scanned

QUESTIONS = {
    "topics": "SELECT client_id, operation, topic, requests FROM {topic_usage} ORDER BY ALL",
    "activity": "SELECT client_id, api_name, requests, requests_by_minute FROM {client_activity} ORDER BY ALL",
    "inventory": "SELECT client_id, client_software_name, connections FROM {client_inventory} ORDER BY ALL",
    "members": "SELECT client.client_id, member_id, generation FROM {group_members} ORDER BY ALL",
    "impact": "SELECT DISTINCT client_id, api_name FROM {upgrade_impact} ORDER BY ALL",
}


def fetch(epoch: int, topics: str, **given: Any) -> bytes:
    listed = [{"topic": topic, "partitions": [{"partition": 0}]} for topic in topics]
    rows = [{"topic": topic, "partitions": [{"partitionIndex": 0, "errorCode": 0}]} for topic in topics]
    request: dict[str, Any] = {"replicaId": -1, "sessionId": epoch and 7, "sessionEpoch": epoch, "topics": listed}
    response = {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 7, "responses": rows}
    request |= {"forgottenTopicsData": []}
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
    metadata = partial(json_record, api="METADATA", version=12, request={}, response={"topics": []})
    fetches = [partial(fetch, epoch, topics) for epoch, topics in enumerate(("ab", "", ""))]
    made: dict[float, bytes] = {}
    for number, client in enumerate(("billing", "orders")):
        calls = [metadata, partial(produce, f"t{number}"), *fetches[:2], joined, heartbeat, fetches[2]]
        for place, call in enumerate(calls):
            client_id = client if place == 0 or later == "its own" else later
            connection = f"10.0.0.1:9092-10.0.0.{2 + number}:40000-0"
            at = 60.0 * place + number
            made[at] = call(at=at, correlation_id=place, client_id=client_id, connection=connection)
    return [made[at] for at in sorted(made)]


def written(folder: Path, made: list[bytes], ends: tuple[int, ...] = ()) -> Path:
    """Write a log, cut into files that begin at `ends`, and return its folder."""
    for number, (begin, end) in enumerate(zip((0, *ends), (*ends, len(made)), strict=True)):
        save(folder / "b1" / f"kafka-request.log.{number}", b"".join(made[begin:end]))
    return folder


ENDS: dict[str, tuple[int, ...]] = {"one file": (), "several files": (2, 5, 11)}
LATER: dict[str, str | None] = {"stated": "its own", "null": None, "empty": ""}
"""The client id of all requests but the first."""


def in_turn(hours: float) -> list[bytes]:
    """Return what two clients send that have one connection id, the second one so many hours after the first."""
    calls: list[Any] = [partial(produce, "t"), partial(produce, "t"), partial(fetch, 0, "a"), joined]
    return [
        call(at=number * hours * 3600 + place, correlation_id=place, client_id=None if place else client)
        for number, client in enumerate(("billing", "orders"))
        for place, call in enumerate(calls)
    ]


COUNTS: dict[float, tuple[dict[Any, int], dict[Any, int]]] = {
    0.5: ({"billing": 1, "orders": 1, None: 6}, {"billing": 1, "orders": 1, None: 4}),
    2: ({"billing": 4, "orders": 4}, {"billing": 1, "orders": 1, None: 4}),
    30: ({"billing": 4, "orders": 4}, {"billing": 3, "orders": 3}),
}
"""By the hours between the clients: requests in `client_activity` and in `topic_usage`."""


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, OfCluster]:
    made = {f"{of}, {ends}": (records(LATER[of]), ENDS[ends]) for of, ends in product(LATER, ENDS)}
    made |= {f"{hours} {ends}": (in_turn(hours), ends) for hours, ends in product(COUNTS, ((), (2, 6)))}
    return by_cluster({name: written(tmp_path_factory.mktemp("log"), *cut) for name, cut in made.items()}, Settings())


@pytest.mark.parametrize("later", ["null", "empty"])
@pytest.mark.parametrize("ends", ENDS)
def test_requests_without_a_client_id_count_for_the_client_of_their_connection(
    read: dict[str, OfCluster], later: str, ends: str
) -> None:
    expected, found = (
        {name: read[f"{of}, {ends}"].query(question).rows for name, question in QUESTIONS.items()}
        for of in ("stated", later)
    )
    assert found == expected
    assert {row[0] for rows in expected.values() for row in rows} == {"billing", "orders"}


def test_a_connection_that_the_log_shows_from_its_middle_has_the_client_id_that_it_states_again(tmp_path: Path) -> None:
    stated = (None, "app", None)  # an older header states the id again
    made = [produce(at=at, correlation_id=7 + at, client_id=client_id) for at, client_id in enumerate(stated)]
    tables = scanned([written(tmp_path, made)], Settings(), "connections", "client_activity")
    assert tables.query("SELECT client_id, client_id_verdict FROM {connections}").rows == [("app", "not_observed")]
    assert tables.query("SELECT DISTINCT client_id FROM {client_activity}").rows == [("app",)]


@pytest.mark.parametrize("ends", [(), (2, 6)])
@pytest.mark.parametrize("hours", COUNTS)
def test_what_two_clients_of_one_connection_id_sent_is_theirs_only_if_it_is_counted_apart(
    read: dict[str, OfCluster], ends: tuple[int, ...], hours: float
) -> None:
    """Sums are by hour and by day; members of groups are known by single requests."""
    tables = read[f"{hours} {ends}"]
    for view, expected in zip(("client_activity", "topic_usage"), COUNTS[hours], strict=True):
        counted = tables.query(f"SELECT client_id, CAST(sum(requests) AS BIGINT) FROM {{{view}}} GROUP BY ALL").rows
        assert {client: number for client, number in counted if number} == expected
    assert tables.query("SELECT client.client_id FROM {group_members}").rows == [("orders",)]
