"""What group members put into the bytes of JoinGroup and SyncGroup: consumer and Connect subscriptions.

The protocol type says what the bytes are: `consumer` and `connect` are known, all others are the client's own
business and stay bytes. Both known ones start with a version of their own.
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
        protocol_type: of the group, such as `consumer`.
        message: name of its schema; None where the protocol type is not known and `body` is None.
        version: as the payload states it, perhaps newer than the schema.
        layout_version: version of the schema that the body follows; below `version` where a client sends less
            than it states, or more than the schemas know.
        body: the fields by JSON name.
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
        """Whether the protocol type is known, so that `body` is there (unless the bytes are empty)."""
        return self.message is not None


def decode_member_metadata(protocol_type: str, payload: bytes | str) -> GroupPayload:
    """What a member sends in JoinGroup (`protocols[].metadata`) and DescribeGroups tells (`memberMetadata`).

    Args:
        protocol_type: `consumer`, `connect` or any other.
        payload: the bytes, or their base64 from a JSON log.

    Raises:
        DecodeError: the protocol type is known, the bytes are not what it says; or the text is no base64.
    """
    return _decode(_METADATA, protocol_type, payload)


def decode_member_assignment(protocol_type: str, payload: bytes | str) -> GroupPayload:
    """Decodes what a leader assigns in SyncGroup, and DescribeGroups repeats; arguments and errors as in `decode_member_metadata`."""
    return _decode(_ASSIGNMENT, protocol_type, payload)


def encode_group_payload(message: str, version: int, body: Mapping[str, Any]) -> bytes:
    """Write the payload of a schema such as `ConsumerProtocolSubscription`, with its version before it.

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


def _body(message: str, newest: int, stated: int, raw: bytes) -> tuple[int, dict[str, Any]]:
    """The body in the newest layout that fits, with its version.

    Kafka reads a version newer than it knows as the newest it knows, because fields are only ever added at
    the end. Some clients (kafka-go) state version 1 and send the fields of version 0: an older layout counts
    if it takes all bytes.
    """
    codec = released().named(message, newest)
    try:
        return newest, codec.decode(raw, _VERSION.size, fills=stated <= newest)[0]
    except DecodeError:
        for older in range(newest - 1, -1, -1):
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
