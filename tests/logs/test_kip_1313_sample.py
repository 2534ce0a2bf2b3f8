"""The KIP-1313 sample: what is committed is what the builder makes, and its headers are the protocol's own."""

from collections import defaultdict

import pytest

from kafka_clientinfo.logs import RequestEvent
from tests.builders import ZERO_UUID, header_json
from tests.kip_1313_log import KIP_1313_SAMPLE, kip_1313_log
from tests.logs.excerpts import parse, requests


@pytest.fixture(scope="module")
def sessions() -> dict[str, list[RequestEvent]]:
    """Requests by the connection's client id, which its first request always carries."""
    by_connection: dict[str, list[RequestEvent]] = defaultdict(list)
    for event in requests(parse(b"".join(kip_1313_log()))):
        by_connection[event.connection_id].append(event)
    return {events[0].client_id or "": events for events in by_connection.values()}


def test_it_is_the_committed_sample() -> None:
    # `python -m tests.kip_1313_log` writes it again.
    assert KIP_1313_SAMPLE.read_bytes() == b"".join(kip_1313_log())


def test_it_prints_header_v3_as_the_schema_says() -> None:
    header = header_json("OFFSET_DELETE", 1, 5, None, ZERO_UUID)
    expected = {"requestApiKey": 47, "requestApiVersion": 1, "correlationId": 5, "clientId": None}
    assert header == expected | {"clientInstanceId": ZERO_UUID}
    assert list(header)[-1] == "clientInstanceId"


@pytest.mark.kip("KIP-1313", 53)
@pytest.mark.parametrize(
    ("client", "headers"),
    [
        ("conforming-null-after-first", [3, 3, 3, 3, 3, 3]),
        ("conforming-client-id-always-sent", [3, 3, 3]),
        ("missing-id-later", [3, 3, 2]),
        ("sasl-handshake-between", [3, 1, 3]),
        ("first-request-not-v3", [2, 3, 3, 2]),
        ("telemetry-id-from-broker", [2, 2, 2, 2]),
    ],
)
def test_it_logs_the_header_versions_of_each_session(
    sessions: dict[str, list[RequestEvent]], client: str, headers: list[int]
) -> None:
    assert [event.header_version for event in sessions[client]] == headers


@pytest.mark.kip("KIP-1313", 1, 2)
@pytest.mark.parametrize(
    ("client", "distinct", "zero"),
    [
        ("conforming-null-after-first", 1, 0),
        ("zero-id-first", 2, 1),
        ("different-id-later", 2, 0),
        ("zero-id-later", 2, 1),
        ("telemetry-id-from-client", 0, 0),
    ],
)
def test_it_logs_the_instance_ids_of_each_session(
    sessions: dict[str, list[RequestEvent]], client: str, distinct: int, zero: int
) -> None:
    ids = [event.client_instance_id for event in sessions[client] if event.client_instance_id]
    assert (len(set(ids)), ids.count(ZERO_UUID)) == (distinct, zero)


def test_it_sends_the_client_id_once_or_always(sessions: dict[str, list[RequestEvent]]) -> None:
    assert {event.client_id for event in sessions["conforming-null-after-first"][1:]} == {None}
    assert None not in {event.client_id for event in sessions["conforming-client-id-always-sent"]}
