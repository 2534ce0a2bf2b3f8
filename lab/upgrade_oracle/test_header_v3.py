"""What released brokers make of KIP-1313's header v3 on ApiVersions: the id stands where header v2 has its tags.

Most ids are no tags: the broker closes the connection before it knows which version was asked. Only an id that happens to
look like tags, such as one that begins with 0, gets the answer from which a client could fall back (KIP-511).
"""

import random
import socket
import struct
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from kafka_clientinfo.protocol import Request, decode_response, drafts, encode_request

from .real_broker import Broker, running

pytestmark = pytest.mark.oracle

LOOKS_LIKE_TAGS = [bytes(16), bytes(range(16)), b"\1\5\x0d" + bytes(13)]
ANSWERED = "answered"
CLOSED = "closed"


def ask(broker: Broker, instance_id: bytes) -> str:
    """Sends ApiVersions in the version that KIP-1313 adds, with this id; tells what came back."""
    text = urlsafe_b64encode(instance_id).decode().rstrip("=")
    header = {"requestApiKey": 18, "requestApiVersion": 6, "correlationId": 7, "clientId": "app"}
    body = {"clientSoftwareName": "made", "clientSoftwareVersion": "1"}
    frame = encode_request(Request(header | {"clientInstanceId": text}, body, 3), registry=drafts("KIP-1313"))
    host, _, port = broker.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        answer = connection.makefile("rb")
        size = answer.read(4)
        if not size:
            return CLOSED
        response = decode_response(answer.read(struct.unpack(">i", size)[0]), 18, 6, registry=drafts("KIP-1313"))
    assert isinstance(response.body, dict)
    assert response.body["errorCode"] == 35
    return ANSWERED


@pytest.mark.kip("KIP-1313", 44)
@pytest.mark.parametrize("release", ["2.8.2", "4.0.1"])
def test_an_older_broker_cannot_read_most_ids(release: str, tmp_path: Path) -> None:
    chance = random.Random(1313)
    with running(release, tmp_path / "broker") as broker:
        assert {ask(broker, instance_id) for instance_id in LOOKS_LIKE_TAGS} == {ANSWERED}
        found = [ask(broker, chance.randbytes(16)) for _ in range(40)]
    assert found.count(CLOSED) >= 35
    assert broker.server_log.read_text().count("Error parsing request header") >= found.count(CLOSED)
