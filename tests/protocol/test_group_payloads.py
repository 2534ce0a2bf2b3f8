"""What group members put into bytes: by the consumers' and by Kafka Connect's protocol.

Connect's bytes were made with org.apache.kafka:connect-runtime 3.9.1; kafka-go's come from a broker's log.
"""

import base64
from typing import Any

import pytest

from kafka_clientinfo import protocol
from kafka_clientinfo.errors import DecodeError, EncodeError, SchemaError

WORKER: dict[str, Any] = {"url": "http://w1:8083/", "configOffset": 42}
ASSIGNED_0 = "AAAAAAAIbGVhZGVyLTEAD2h0dHA6Ly93MTo4MDgzLwAAAAAAAAAqAAAAAgACYzEAAAAC/////wAAAAAAAmMyAAAAAQAAAAE="
ASSIGNED_1 = (
    "AAEAAAAIbGVhZGVyLTEAD2h0dHA6Ly93MTo4MDgzLwAAAAAAAAAqAAAAAQACYzEAAAAC/////wAAAAAAAAABAAJjMgAAAAL/////AAAAAQAEk+A="
)
CONNECT_METADATA = {
    "AAAAD2h0dHA6Ly93MTo4MDgzLwAAAAAAAAAq": (0, WORKER),
    "AAEAD2h0dHA6Ly93MTo4MDgzLwAAAAAAAAAq/////w==": (1, {**WORKER, "allocation": None}),
    "AAIAD2h0dHA6Ly93MTo4MDgzLwAAAAAAAAAq/////w==": (2, {**WORKER, "allocation": None}),
}
ASSIGNMENT = {"error": 0, "leader": "leader-1", "leaderUrl": WORKER["url"], "configOffset": 42}
CONNECT_ASSIGNMENT = {
    ASSIGNED_0: (0,
        {**ASSIGNMENT, "assignment": [{"connector": "c1", "tasks": [-1, 0]}, {"connector": "c2", "tasks": [1]}]}),
    ASSIGNED_1: (1, {**ASSIGNMENT, "assignment": [{"connector": "c1", "tasks": [-1, 0]}],
            "revoked": [{"connector": "c2", "tasks": [-1, 1]}], "delay": 300000}),
}  # fmt: skip
SUBSCRIPTION: dict[str, Any] = {"topics": ["t1", "t2"], "userData": None}
SUBSCRIPTION |= {"ownedPartitions": [{"topic": "t1", "partitions": [0, 2]}], "generationId": 5, "rackId": "r1"}


@pytest.mark.parametrize("version", range(4))
def it_reads_consumer_assignments(version: int) -> None:
    body = {"assignedPartitions": [{"topic": "t", "partitions": [1]}], "userData": b"\x01"}
    raw = protocol.encode_group_payload("ConsumerProtocolAssignment", version, body)
    payload = protocol.decode_member_assignment("consumer", raw)
    assert (payload.message, payload.version, payload.body) == ("ConsumerProtocolAssignment", version, body)


def it_reads_newer_versions_as_the_newest_known() -> None:
    raw = b"\x00\x09" + protocol.encode_group_payload("ConsumerProtocolSubscription", 3, SUBSCRIPTION)[2:] + b"more"
    payload = protocol.decode_member_metadata("consumer", raw)
    assert (payload.version, payload.layout_version, payload.body) == (9, 3, SUBSCRIPTION)


@pytest.mark.kip("KIP-559", 8)
@pytest.mark.parametrize("sent", range(4))
@pytest.mark.parametrize("stated", range(4))
def it_reads_the_newest_layout_that_takes_all_bytes(stated: int, sent: int) -> None:
    """Also of clients that state a newer version than they send."""
    body = dict(list(SUBSCRIPTION.items())[: sent + 2 if sent else 2])
    raw = b"\0%c" % stated + protocol.encode_group_payload("ConsumerProtocolSubscription", sent, body)[2:]
    if sent > stated:
        with pytest.raises(DecodeError):
            protocol.decode_member_metadata("consumer", raw)
        return
    payload = protocol.decode_member_metadata("consumer", raw)
    assert (payload.version, payload.layout_version, payload.body, payload.known) == (stated, sent, body, True)
    assert protocol.decode_member_metadata("consumer", base64.b64encode(raw).decode()) == payload


@pytest.mark.kip("KIP-559", 8)
@pytest.mark.parametrize(("text", "expected"), [*CONNECT_METADATA.items(), *CONNECT_ASSIGNMENT.items()])
def it_reads_connect_workers_and_assignments(text: str, expected: tuple[int, dict[str, Any]]) -> None:
    is_worker = text in CONNECT_METADATA
    payload = (protocol.decode_member_metadata if is_worker else protocol.decode_member_assignment)("connect", text)
    assert (payload.version, payload.body) == expected
    name = "ConnectWorkerMetadata" if is_worker else "ConnectWorkerAssignment"
    assert protocol.encode_group_payload(name, *expected) == payload.raw


def it_reads_the_allocation_inside_a_worker() -> None:
    raw = base64.b64decode(ASSIGNED_1)
    worker = protocol.encode_group_payload("ConnectWorkerMetadata", 1, {**WORKER, "allocation": raw})
    body = protocol.decode_member_metadata("connect", worker).body
    assert body is not None
    assert protocol.decode_member_assignment("connect", body["allocation"]).body == CONNECT_ASSIGNMENT[ASSIGNED_1][1]


@pytest.mark.parametrize("kind", ["sr", "", "Consumer"])
def it_leaves_unknown_types_as_bytes_and_says_so(kind: str) -> None:
    payload = protocol.decode_member_metadata(kind, b"\x00\x01{}")
    assert (payload.known, payload.message, payload.version, payload.body) == (False, None, None, None)
    assert payload.raw == b"\x00\x01{}"
    payload = protocol.decode_member_assignment("consumer", "")  # no assignment
    assert (payload.known, payload.version, payload.body, payload.raw) == (True, None, None, b"")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x00", "ConsumerProtocolSubscription.version: at byte 0 expected 2 bytes of int16"),
        (b"\xff\xff", "ConsumerProtocolSubscription.version: at byte 0 expected a version of 0-3, found -1"),
        (b"\x00\x00\x7f\xff\xff\xff", "topics: at byte 2 expected a length of array from 0 to 0, found 2147483647"),
        (b"\x00\x01\x00\x00\x00\x00", "ConsumerProtocolSubscription.userData: at byte 6 expected 4 bytes"),
        ("no base64!", "payload of consumer: at byte 0 expected base64"),
        ("AAA", "payload of consumer: at byte 0 expected base64"),
        ("ü", "payload of consumer: at byte 0 expected base64"),
    ],
)
def it_says_what_is_wrong(raw: bytes | str, text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        protocol.decode_member_metadata("consumer", raw)
    assert text in str(caught.value)


def it_refuses_to_write_what_it_does_not_know() -> None:
    for name, version in (("Streams", 0), ("ConsumerProtocolSubscription", 9)):
        with pytest.raises(SchemaError):
            protocol.encode_group_payload(name, version, {})
    with pytest.raises(EncodeError):
        protocol.encode_group_payload("ConsumerProtocolSubscription", 0, {"topics": "t"})
