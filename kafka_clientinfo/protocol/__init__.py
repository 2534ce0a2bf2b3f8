"""Kafka's wire protocol in pure Python, without I/O and with the standard library only.

A message is a dict whose keys are the names of Kafka's own JSON (camelCase). The schemas, with KIP-1313's
`headerVersions`, are in schemas/messages. Functions raise DecodeError for invalid bytes, EncodeError for values that do
not fit, and SchemaError for messages without a schema.
"""

from kafka_clientinfo.errors import DecodeError, EncodeError, SchemaError
from kafka_clientinfo.protocol.api_keys import ApiKey, ErrorCode, api_key, api_name, api_names
from kafka_clientinfo.protocol.client_information import (
    BROKER_PATTERN,
    BROKER_PATTERN_SQL,
    FIRST_VERSION_WITH_SOFTWARE,
    KIP_PATTERN,
    KIP_PATTERN_SQL,
    UNKNOWN,
    valid_by_broker,
    valid_by_kip,
)
from kafka_clientinfo.protocol.field_specs import FieldSpec
from kafka_clientinfo.protocol.frames import Conversation, Exchange, FrameSplitter
from kafka_clientinfo.protocol.group_payloads import (
    GROUP_TYPES,
    GroupPayload,
    decode_member_assignment,
    decode_member_metadata,
    encode_group_payload,
)
from kafka_clientinfo.protocol.messages import (
    NOT_SUPPORTED,
    Request,
    Response,
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from kafka_clientinfo.protocol.registry import (
    Registry,
    draft_names,
    drafts,
    fields,
    header_versions,
    released,
    request_header_version,
    supports,
)

__all__ = [
    "BROKER_PATTERN",
    "BROKER_PATTERN_SQL",
    "FIRST_VERSION_WITH_SOFTWARE",
    "GROUP_TYPES",
    "KIP_PATTERN",
    "KIP_PATTERN_SQL",
    "NOT_SUPPORTED",
    "UNKNOWN",
    "ApiKey",
    "Conversation",
    "DecodeError",
    "EncodeError",
    "ErrorCode",
    "Exchange",
    "FieldSpec",
    "FrameSplitter",
    "GroupPayload",
    "Registry",
    "Request",
    "Response",
    "SchemaError",
    "api_key",
    "api_name",
    "api_names",
    "decode_member_assignment",
    "decode_member_metadata",
    "decode_request",
    "decode_request_header",
    "decode_response",
    "draft_names",
    "drafts",
    "encode_group_payload",
    "encode_request",
    "encode_response",
    "fields",
    "header_versions",
    "released",
    "request_header_version",
    "supports",
    "valid_by_broker",
    "valid_by_kip",
]
