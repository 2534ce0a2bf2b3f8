"""Bodies as the broker logs them, both ways."""

import json
from typing import Any

import pytest

from kafka_clientinfo import protocol
from kafka_clientinfo.errors import EncodeError, SchemaError
from kafka_clientinfo.protocol import Request, Response
from kafka_clientinfo.protocol.field_specs import StructSpec, layout
from kafka_clientinfo.protocol.schema import parse_schema
from tests.protocol.json_form import from_log_json, struct_from_json, struct_to_json, to_log_json


def spec_of(**field: Any) -> StructSpec:
    document = {"type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "0+"}
    fields = [{"name": "Value", "versions": "0+", **field}]
    return layout(parse_schema(json.dumps({**document, "fields": fields}), "M.json"), 0)


@pytest.mark.parametrize(
    ("field", "value", "document"),
    [
        ({"type": "bytes"}, b"\xfb\xff", {"value": "+/8="}),
        ({"type": "bytes", "nullableVersions": "0+"}, None, {"value": None}),
        ({"type": "[]bytes"}, [b"a"], {"value": ["YQ=="]}),
        ({"type": "records"}, b"12345", {"valueSizeInBytes": 5}),
        ({"type": "records", "nullableVersions": "0+"}, None, {"value": None}),
        ({"type": "string"}, "gr\udcffn", {"value": "gr�n"}),
        ({"type": "uuid"}, "AAECAwQFBgcICQoLDA0ODw", {"value": "AAECAwQFBgcICQoLDA0ODw"}),
        ({"type": "float64"}, 0.5, {"value": 0.5}),
        ({"type": "int32", "taggedVersions": "0+", "tag": 0, "default": "7"}, 7, {}),
        ({"type": "int32", "taggedVersions": "0+", "tag": 0, "default": "7"}, 8, {"value": 8}),
        ({"type": "S", "fields": [{"name": "A", "type": "int8", "versions": "0+"}]}, {"a": 1}, {"value": {"a": 1}}),
    ],
)
def it_logs_as_kafka_does(field: dict[str, Any], value: Any, document: dict[str, Any]) -> None:
    spec = spec_of(**field)
    assert struct_to_json(spec, {"value": value, "_unknownTaggedFields": {5: b"x"}}, "M") == document
    if "valueSizeInBytes" not in document and "�" not in str(document):
        assert struct_from_json(spec, document, "M") == {"value": value}


@pytest.mark.parametrize(
    "field",
    [
        {"type": "[]int8"},
        {"type": "S", "fields": [{"name": "A", "type": "[]int8", "versions": "0+"}]},
    ],
    ids=["list", "struct"],
)
def it_gives_every_document_defaults_of_its_own(field: dict[str, Any]) -> None:
    spec = spec_of(**field)
    first, second = (struct_from_json(spec, {}, "M")["value"] for _ in range(2))
    held = first if isinstance(first, list) else first["a"]
    held.append(1)
    assert second in ([], {"a": []})
    assert struct_from_json(spec, {}, "M")["value"] == second


def it_cannot_bring_records_back() -> None:
    assert struct_from_json(spec_of(type="records"), {"valueSizeInBytes": 5}, "M") == {"value": b""}


@pytest.mark.parametrize(
    ("field", "document", "message"),
    [
        ({"type": "bytes"}, {"value": "?"}, "M.value: is no base64"),
        ({"type": "bytes"}, {"value": 5}, "M.value: is no base64"),
        ({"type": "bytes"}, {"value": "ü"}, "M.value: is no base64"),
        ({"type": "[]int8"}, {"value": 5}, "M.value: must be a list"),
        ({"type": "S", "fields": []}, {"value": 5}, "M.value: must be a JSON object"),
    ],
)
def it_refuses_documents_of_another_shape(field: dict[str, Any], document: Any, message: str) -> None:
    with pytest.raises(EncodeError, match=message):
        struct_from_json(spec_of(**field), document, "M")


def it_refuses_values_of_another_shape() -> None:
    for kind, value in (("string", 5), ("string", "\ud800"), ("bytes", 5), ("bytes", "text"), ("S", 5)):
        fields = {"fields": [{"name": "A", "type": "int8", "versions": "0+"}]} if kind == "S" else {}
        with pytest.raises(EncodeError, match=rf"^M\.value: is no {kind}: "):
            struct_to_json(spec_of(type=kind, **fields), {"value": value}, "M")


HEADER = {"requestApiKey": 12, "requestApiVersion": 0, "correlationId": 1, "clientId": "c"}


def it_needs_a_schema() -> None:
    with pytest.raises(SchemaError, match="API key 12 version 0: the body has no schema"):
        to_log_json(Request(HEADER, b"raw"))
    with pytest.raises(SchemaError, match="API key 99 version 0: the body has no schema"):
        to_log_json(Response({"correlationId": 1}, {}, 99, 0))
    with pytest.raises(SchemaError, match="API key 99: not known"):
        from_log_json({}, 99, 0, "response")
    with pytest.raises(SchemaError, match="only its header is known"):
        from_log_json({}, 0, 3, "request")


def it_turns_a_logged_body_into_a_frame() -> None:
    logged = {"groupId": "g", "generationId": 3, "memberId": "m"}
    body = from_log_json(logged, 12, 0, "request")
    request = protocol.decode_request(protocol.encode_request(Request(HEADER, body)))
    assert to_log_json(request) == logged
    answer = from_log_json({"errorCode": 25}, 12, 0, "response")
    assert protocol.encode_response(Response({"correlationId": 1}, answer, 12, 0)).hex() == "000000010019"


def it_lists_fields_in_wire_order() -> None:
    fields = protocol.fields(11, 9, "request")
    assert fields is not None
    assert [field.name for field in fields] == [
        "groupId", "sessionTimeoutMs", "rebalanceTimeoutMs", "memberId", "groupInstanceId", "protocolType", "protocols",
        "reason",
    ]  # fmt: skip
    protocols = fields[6]
    assert (protocols.type, protocols.element, protocols.is_array) == (
        "[]JoinGroupRequestProtocol",
        "JoinGroupRequestProtocol",
        True,
    )
    assert [(field.name, field.type, field.nullable) for field in protocols.fields] == [
        ("name", "string", False),
        ("metadata", "bytes", False),
    ]
    assert fields[4].nullable
    assert fields[0].fields == ()
    assert protocol.fields(11, 99, "request") is None
    assert protocol.fields(0, 3, "response") is None
    assert protocol.fields(99, 0, "response") is None
