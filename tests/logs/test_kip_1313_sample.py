"""The KIP-1313 sample: a log as KIP-1313 brokers will write it."""

from collections import defaultdict
from pathlib import Path

import pytest

from kafka_clientinfo.logs import RequestEvent
from tests.builders import ZERO_UUID
from tests.logs.excerpts import parse, requests

SAMPLE = Path(__file__).resolve().parents[2] / "sample_logs" / "kip-1313-made" / "kafka-request.log"


@pytest.fixture(scope="module")
def sessions() -> dict[str, list[RequestEvent]]:
    """Requests by the connection's client id, which its first request always carries."""
    by_connection: dict[str, list[RequestEvent]] = defaultdict(list)
    for event in requests(parse(SAMPLE.read_bytes())):
        by_connection[event.connection_id].append(event)
    return {events[0].client_id or "": events for events in by_connection.values()}


HEADERS = {
    "conforming-null-after-first": [3, 3, 3, 3, 3, 3],
    "conforming-client-id-always-sent": [3, 3, 3],
    "missing-id-later": [3, 3, 2],
    "sasl-handshake-between": [3, 1, 3],
    "first-request-not-v3": [2, 3, 3, 2],
    "telemetry-id-from-broker": [2, 2, 2, 2],
}
DISTINCT_AND_ZERO_IDS = {
    "conforming-null-after-first": (1, 0),
    "zero-id-first": (2, 1),
    "different-id-later": (2, 0),
    "zero-id-later": (2, 1),
    "telemetry-id-from-client": (0, 0),
}


@pytest.mark.kip("KIP-1313", 53)
def test_it_logs_the_header_versions_of_each_session(sessions: dict[str, list[RequestEvent]]) -> None:
    assert {name: [event.header_version for event in sessions[name]] for name in HEADERS} == HEADERS


@pytest.mark.kip("KIP-1313", 1, 2)
@pytest.mark.parametrize("client", DISTINCT_AND_ZERO_IDS)
def test_it_logs_the_instance_ids_of_each_session(sessions: dict[str, list[RequestEvent]], client: str) -> None:
    ids = [event.client_instance_id for event in sessions[client] if event.client_instance_id]
    assert (len(set(ids)), ids.count(ZERO_UUID)) == DISTINCT_AND_ZERO_IDS[client]


def test_it_sends_the_client_id_once_or_always(sessions: dict[str, list[RequestEvent]]) -> None:
    assert {event.client_id for event in sessions["conforming-null-after-first"][1:]} == {None}
    assert None not in {event.client_id for event in sessions["conforming-client-id-always-sent"]}
