"""Payloads of group members in JoinGroup and SyncGroup: metadata and assignments of consumers and Connect workers.

The group's protocol type says how its bytes are encoded. Only `consumer` and `connect` have schemas, and their payloads
begin with a version of their own; payloads of other types stay bytes.
"""

import base64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from typing import Any

from kafka_clientinfo.errors import DecodeError
from kafka_clientinfo.protocol.registry import released

_VERSION = Struct(">h")
_METADATA = {"consumer": "ConsumerProtocolSubscription", "connect": "ConnectWorkerMetadata"}
_ASSIGNMENT = {"consumer": "ConsumerProtocolAssignment", "connect": "ConnectWorkerAssignment"}
GROUP_TYPES = tuple(_METADATA)
"""The protocol types whose payloads have schemas."""


@dataclass(frozen=True, slots=True)
class GroupPayload:
    """The content of a member's metadata or assignment.

    Attributes:
        protocol_type: the group's protocol type, such as `consumer`.
        message: name of the payload's schema; None if the protocol type has none.
        version: the version that the payload states, which may be newer than the schema.
        layout_version: version of the schema that the body follows; it is below `version` if the client sends fewer
            fields than that version has, or if the version is newer than the schema.
        body: the fields by JSON name. This and both versions are None if there is no schema or no bytes.
        raw: the bytes.
    """

    protocol_type: str
    message: str | None
    version: int | None
    layout_version: int | None
    body: dict[str, Any] | None
    raw: bytes

    @property
    def known(self) -> bool:
        """Whether the protocol type has a schema, so that `body` is not None unless the bytes are empty."""
        return self.message is not None


def decode_member_metadata(protocol_type: str, payload: bytes | str) -> GroupPayload:
    """Decode the metadata that a member sends in JoinGroup (`protocols[].metadata`).

    DescribeGroups repeats it as `memberMetadata`.

    Args:
        protocol_type: `consumer`, `connect` or any other.
        payload: the bytes, or their base64 from a JSON log.

    Raises:
        DecodeError: the bytes do not follow the schema of the protocol type, or the text is not base64.
    """
    return _decode(_METADATA, protocol_type, payload)


def decode_member_assignment(protocol_type: str, payload: bytes | str) -> GroupPayload:
    """Decode the assignment that a leader sends in SyncGroup and DescribeGroups repeats.

    Arguments and errors are those of `decode_member_metadata`.
    """
    return _decode(_ASSIGNMENT, protocol_type, payload)


def encode_group_payload(message: str, version: int, body: Mapping[str, Any]) -> bytes:
    """Encode a payload by a schema such as `ConsumerProtocolSubscription`; its version precedes it.

    Raises:
        EncodeError: a value does not fit.
        SchemaError: there is no such message or version.
    """
    return _VERSION.pack(version) + released().named(message, version).encode(body)


def _decode(messages: Mapping[str, str], protocol_type: str, payload: bytes | str) -> GroupPayload:
    raw = _bytes(payload, protocol_type)
    message = messages.get(protocol_type)
    if message is None or not raw:  # a member without an assignment has no bytes, not even a version
        return GroupPayload(protocol_type, message, None, None, None, raw)
    if len(raw) < _VERSION.size:
        raise DecodeError(message, "version", 0, "2 bytes of int16")
    version = _VERSION.unpack_from(raw)[0]
    schema = released().others[message]
    if version < schema.valid.first:
        raise DecodeError(message, "version", 0, f"a version of {schema.valid}, found {version}")
    layout_version, body = _body(message, min(version, schema.latest), version, raw)
    return GroupPayload(protocol_type, message, version, layout_version, body, raw)


def _body(message: str, first_tried: int, stated: int, raw: bytes) -> tuple[int, dict[str, Any]]:
    """Return the version of the newest layout that fits, from `first_tried` down, and the body read by it.

    Kafka reads a version that it does not know as the newest that it knows, because new fields are only ever added at
    the end. Some clients (kafka-go) state version 1 and send the fields of version 0, so an older layout is accepted if
    it reads all bytes.
    """
    codec = released().named(message, first_tried)
    try:
        return first_tried, codec.decode(raw, _VERSION.size, fills=stated <= first_tried)[0]
    except DecodeError:
        for older in range(first_tried - 1, -1, -1):
            with suppress(DecodeError):
                return older, released().named(message, older).decode_all(raw, _VERSION.size)
        raise


def _bytes(payload: bytes | str, protocol_type: str) -> bytes:
    if isinstance(payload, bytes):
        return payload
    try:
        return base64.b64decode(payload, validate=True)
    except ValueError as error:
        raise DecodeError(f"payload of {protocol_type}", "", 0, f"base64 ({error})") from None
