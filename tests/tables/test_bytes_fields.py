"""KIP-559's gap analysis: complete, and true of the schemas."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.protocol import api_key, api_name, fields
from tests.bytes_fields import BytesField, bytes_fields

GAPS = [field for field in bytes_fields() if field.gap and field.api in ("JOIN_GROUP", "SYNC_GROUP")]
OF_THE_KIP = {
    ("CREATE_DELEGATION_TOKEN", "response", "hmac"), ("DESCRIBE_DELEGATION_TOKEN", "response", "tokens.hmac"),
    ("EXPIRE_DELEGATION_TOKEN", "request", "hmac"), ("RENEW_DELEGATION_TOKEN", "request", "hmac"),
    ("SASL_AUTHENTICATE", "request", "authBytes"), ("SASL_AUTHENTICATE", "response", "authBytes"),
    ("PRODUCE", "request", "topicData.partitionData.records"), ("FETCH", "response", "responses.partitions.records"),
    ("JOIN_GROUP", "request", "protocols.metadata"), ("JOIN_GROUP", "response", "members.metadata"),
    ("SYNC_GROUP", "request", "assignments.assignment"), ("SYNC_GROUP", "response", "assignment"),
    ("DESCRIBE_GROUPS", "response", "groups.members.memberMetadata"),
    ("DESCRIBE_GROUPS", "response", "groups.members.memberAssignment"),
}  # fmt: skip
"""Bytes that KIP-559's analysis names."""
LATER = {
    ("ALTER_USER_SCRAM_CREDENTIALS", "request", "upsertions.salt"),
    ("ALTER_USER_SCRAM_CREDENTIALS", "request", "upsertions.saltedPassword"), ("ENVELOPE", "request", "requestData"),
    ("ENVELOPE", "request", "requestPrincipal"), ("ENVELOPE", "request", "clientHostAddress"),
    ("ENVELOPE", "response", "responseData"), ("FETCH_SNAPSHOT", "response", "topics.partitions.unalignedRecords"),
    ("PUSH_TELEMETRY", "request", "metrics"), ("SHARE_FETCH", "response", "responses.partitions.records"),
}  # fmt: skip
"""Bytes that came to Kafka after KIP-559's analysis."""


def _of_type_bytes(message: dict[str, Any]) -> Iterator[str]:
    for field in message.get("fields", []):
        if field["type"] in ("bytes", "records"):
            yield field["name"]
        yield from _of_type_bytes(field)


def test_every_bytes_field_of_the_schemas_is_there() -> None:
    listed = {(field.api, field.message, field.field.rpartition(".")[2].lower()) for field in bytes_fields()}
    found = set()
    for _, text in resources.texts(resources.schemas() / "messages", ".json"):
        message = json.loads(text)
        kind = message.get("type")
        if kind in ("request", "response"):
            found |= {(api_name(message["apiKey"]), kind, field.lower()) for field in _of_type_bytes(message)}
    assert found <= listed


@pytest.mark.kip("KIP-559", 1, 2)
def test_the_bytes_of_the_kip_and_those_that_came_later_are_there() -> None:
    listed = {(field.api, field.message, field.field) for field in bytes_fields()}
    assert {one for one in listed if not one[2].endswith(".userData")} == OF_THE_KIP | LATER
    of_users = {api for api, _, field in listed if field.endswith(".userData")}
    assert of_users == {"JOIN_GROUP", "SYNC_GROUP", "DESCRIBE_GROUPS"}


@pytest.mark.kip("KIP-559", 9, 10, 11, 12)
@pytest.mark.parametrize("field", GAPS, ids=lambda field: f"{field.api} {field.message}")
def test_a_gap_ends_where_the_protocol_type_begins(field: BytesField) -> None:
    key = api_key(field.api)
    assert key is not None
    first = int(field.self_describing.rstrip("+"))
    assert field.gap == f"0-{first - 1}"
    kind: Any = field.message
    for version, expected in ((first - 1, False), (first, True)):
        names = {known.name for known in fields(key, version, kind) or ()}
        assert ("protocolType" in names) is expected
