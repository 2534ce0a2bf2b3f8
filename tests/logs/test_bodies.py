"""Bodies in struct text become the JSON that newer brokers log; error codes are the top-level ones."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.logs.json_bodies import json_body
from kafka_clientinfo.logs.struct_text import struct_body, struct_to_json
from kafka_clientinfo.protocol import api_key, fields
from kafka_clientinfo.protocol.field_specs import layout
from kafka_clientinfo.protocol.schema import parse_schema
from tests.amounts import one_in
from tests.builders import json_record, request_header_struct_record
from tests.logs.excerpts import request
from tests.odd_bodies import BEYOND_LIMITS, NO_JSON, WITHIN_LIMITS, with_members

RANGES = "{api_key=0,min_version=0,max_version=8},{api_key=18,min_version=0,max_version=3}"
RANGE_JSON = [{"apiKey": 0, "minVersion": 0, "maxVersion": 8}, {"apiKey": 18, "minVersion": 0, "maxVersion": 3}]
AV35 = {"errorCode": 35, "apiKeys": RANGE_JSON}
BUFFER = "java.nio.HeapByteBuffer[pos=0 lim=24 cap=24]"


@pytest.mark.parametrize(
    ("api", "version", "kind", "text", "expected"),
    [
        ("API_VERSIONS", 0, "response", f"{{error_code=35,api_keys=[{RANGES}]}}", AV35),
        ("API_VERSIONS", 0, "response", f"{{error_code=35,api_versions=[{RANGES}]}}", AV35),
        ("API_VERSIONS", 99, "response", "{error_code=35,api_versions=[]}", {"errorCode": 35, "apiKeys": []}),
        ("API_VERSIONS", 99, "response", "{code=35,versions=[]}", {"errorCode": 35, "apiKeys": []}),
        ("METADATA", 99, "response", "{code=35,versions=[]}", {"code": 35, "versions": []}),
        ("FIND_COORDINATOR", 0, "response", "{error_code=15,coordinator={node_id=-1,host=,port=-1}}",
         {"errorCode": 15, "nodeId": -1, "host": "", "port": -1}),
        ("JOIN_GROUP", 0, "request",
         f"{{group_id=g,session_timeout=10,member_id=,protocol_type=consumer,group_protocols=[{{protocol_name=range,"
         f"protocol_metadata={BUFFER}}}]}}",
         {"groupId": "g", "sessionTimeoutMs": 10, "memberId": "", "protocolType": "consumer",
          "protocols": [{"name": "range", "metadata": None}]}),
        *(("API_VERSIONS", 3, "request", f"{{client_software_name={name},client_software_version=v,_tagged_fields={{}}}}",
           {"clientSoftwareName": name, "clientSoftwareVersion": "v"})
          for name in ("a,b=c", "x{y", "x}y", "[", "]", "=", "", "null", "_tagged_fields", "\n\r", "💥")),
        ("HEARTBEAT", 3, "request", "{group_id=null,generation_id=1,member_id=m,group_instance_id=null}",
         {"groupId": "null", "generationId": 1, "memberId": "m", "groupInstanceId": None}),
        ("API_VERSIONS", 0, "response", "{error_code=x,api_keys={a=1}}", {"errorCode": "x", "apiKeys": {"a": 1}}),
        # By the schema the name is a text, which ends at the first brace; then the body would not end with the text.
        ("METADATA", 5, "request", "{topics=[{name={a=1}}]}", {"topics": [{"name": {"a": 1}}]}),
        ("DESCRIBE_GROUPS", 3, "request", "{groups=[1,true,b c],include_authorized_operations=true}",
         {"groups": ["1", "true", "b c"], "includeAuthorizedOperations": True}),
        ("OFFSET_DELETE", 0, "request", "{group_id=g,topics=[{name=t,partitions=[{partition_index=0},{partition_index=1}]}]}",
         {"groupId": "g", "topics": [{"name": "t", "partitions": [{"partitionIndex": 0}, {"partitionIndex": 1}]}]}),
    ],
)  # fmt: skip
def test_it_turns_struct_text_into_the_json_of_newer_brokers(
    api: str, version: int, kind: Any, text: str, expected: dict[str, Any]
) -> None:
    assert json.loads(struct_body(text.encode(), api_key(api), version, kind)) == expected


LONG, VERY_LONG = "y" * 101, "y" * 60_000
OF_NO_SCHEMA: list[tuple[str, Any]] = [
    ("{a=[1,2],b=true,c=false,d=False}", {"a": [1, 2], "b": True, "c": False, "d": "False"}),
    ("{a=[{b=1}],b={c=null}}", {"a": [{"b": 1}], "b": {"c": None}}),
    (f"{{a={BUFFER},b=x,_tagged_fields={{}}}}", {"a": None, "b": "x"}),
    ("{a=12345678901234567890}", {"a": "12345678901234567890"}),
    ("{a_bc_def=1,_x=2,api_versions=3,X_b=5,c_X=6}", {"aBcDef": 1, "x": 2, "apiKeys": 3, "XB": 5, "cX": 6}),
    # What is longer than a field's name is text.
    (f"{{{LONG[1:]}=1}}", {LONG[1:]: 1}),
    (f"{{{LONG}=1}}", None),
    (f"{{a=x,{LONG}=1}}", {"a": f"x,{LONG}=1"}),
    (f"{{a=x,{VERY_LONG}=1,b=2}}", {"a": f"x,{VERY_LONG}=1", "b": 2}),
    # Structs are read up to a depth.
    *(("{a=" * depth + "1" + "}" * depth, ...) for depth in (1, 17)),
    *(("{a=[" * depth + "1" + "]}" * depth, ...) for depth in (1, 8)),
    *((odd, None) for odd in ("{a=" * 18 + "1" + "}" * 18, "{a=[" * 9 + "1" + "]}" * 9, "{a=" * 40 + "}" * 40)),
    *((odd, None) for odd in ("", "x", "{", "{a", "{a=", "{a={b=1}", "{}x", "{a=[1]}x", "{a=[", "{a=1,", "{a=[{b=1}", "{a=[{b=1},",
                              "{a={b=1}x}", "{a=[1}", "{a=[{b=1}{c=1}]}", "{_tagged_fields=", "{a=[1]x}")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), OF_NO_SCHEMA)
def test_it_reads_bodies_that_no_schema_knows(text: str, expected: Any) -> None:
    body = struct_to_json(text, None)
    read = None if body is None else json.loads(body)
    assert read == expected or (expected is ... and read is not None)


@pytest.mark.parametrize(("depth", "is_read"), [(1, True), (16, True), (17, False)])
def test_it_reads_structs_of_a_schema_up_to_a_depth(depth: int, is_read: bool) -> None:
    text = "{error_code=15,c=" + "{a=" * depth + "-1,host=,port=-1" + "}" * (depth + 1)
    assert (struct_to_json(text, fields(10, 0, "response")) is not None) == is_read


@pytest.mark.parametrize("element", one_in(3, ["{b=1,c=2}", "1", "{b=1}", "x", "b=1"]))
def test_it_gets_through_many_elements_of_an_array_or_struct(element: str) -> None:
    opening, closing = ("{a={", "}}") if element == "b=1" else ("{a=[", "]}")
    assert struct_to_json(opening + ",".join([element] * (450_000 // len(element))) + closing, None)


def test_it_replaces_what_is_no_utf_8_in_bodies() -> None:
    assert json_body(b'{"a":"\xff"}') == '{"a":"\N{REPLACEMENT CHARACTER}"}'
    assert json.loads(struct_body(b"{a=\xff}", 99, 0, "request") or "null") == {"a": "\N{REPLACEMENT CHARACTER}"}


def test_it_leaves_out_overlong_and_absent_bodies() -> None:
    # docs/explanation/threat-model.md promises 1 MiB
    longest = b'{"metrics":"' + b"A" * ((1 << 20) - 14) + b'"}'
    assert (json_body(longest), json_body(longest + b" ")) == (longest.decode(), None)
    text = b"{a=" + b"A" * ((1 << 20) - 4) + b"}"
    assert struct_body(text, 18, 0, "request") == json.dumps({"a": "A" * ((1 << 20) - 4)}, separators=(",", ":"))
    assert struct_body(b"{a=A" + text[3:], 18, 0, "request") is None
    assert json_body(b'""') is None
    assert struct_body(b"", 18, 0, "request") is None


def test_the_request_ends_at_the_first_response() -> None:
    # A group's description holds ids of other clients: what they write into theirs must not end the request.
    members = "members=[{member_id=m,client_id=x},response:{error_code=9},client_host=/h}]"
    for response, code in ((f"{{error_code=0,responses=[{{{members}}}]}}", 0), ("{error_code=9}", 9), (None, None)):
        event = request(
            request_header_struct_record(api="DESCRIBE_GROUPS", request="{group_ids=[g]}", response=response)
        )
        assert (event.request, event.error_code, event.response is None) == ('{"groups":["g"]}', code, response is None)


@pytest.mark.parametrize("build", [json_record, request_header_struct_record])
def test_a_body_with_credentials_is_not_kept(build: Any) -> None:
    in_json = build is json_record
    body: Any = {"authBytes": "AHVzZXIAc2VjcmV0"} if in_json else "{sasl_auth_bytes=secret}"
    event = request(build(api="SASL_AUTHENTICATE", version=1, request=body, response=body))
    assert (event.api_name, event.request, event.response) == ("SASL_AUTHENTICATE", None, None)


@given(st.text("{}[]=,a_b1 \n"), st.sampled_from([(18, 0), (18, 3), (11, 5), (10, 1), (47, 0), (99, 0)]))
def test_it_never_raises_whatever_the_text(text: str, api: tuple[int, int]) -> None:
    for kind in ("request", "response"):
        body = struct_body(("{" + text).encode(), *api, kind)  # type: ignore[arg-type]
        assert body is None or isinstance(json.loads(body), dict)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        *((kind, "5", 5) for kind in ("int8", "int16", "int32", "int64", "uint16", "uint32")),
        ("int32", "-5", -5),
        ("int32", "1.5", "1.5"),
        ("int64", "1" * 19, int("1" * 19)),
        ("int64", "1" * 20, "1" * 20),
        *((kind, text, text) for kind in ("string", "uuid") for text in ("5", "true", "null")),
        *(("bool", text, value) for text, value in (("true", True), ("false", False), ("5", "5"))),
        *(("int8", text, value) for text, value in (("true", "true"), ("null", None))),
        ("bytes", BUFFER, None),
        ("[]int32", "[1,2]", [1, 2]),
        ("[]string", "[1,2]", ["1", "2"]),
    ],
)
def test_values_have_the_types_of_the_schema(kind: str, text: str, value: Any) -> None:
    field = {"name": "N", "type": kind, "versions": "0+"}
    document = {"type": "data", "name": "M", "validVersions": "0", "flexibleVersions": "none", "fields": [field]}
    known = layout(parse_schema(json.dumps(document), "M.json"), 0).fields
    found = json.loads(struct_to_json(f"{{n={text}}}", known))
    assert (found, type(found["n"])) == ({"n": value}, type(value))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r"\ud800", "\N{REPLACEMENT CHARACTER}"),
        (r"\udc00\uD800", "\N{REPLACEMENT CHARACTER}" * 2),
        (r"\ud83d\ude00\ude00", "\N{GRINNING FACE}\N{REPLACEMENT CHARACTER}"),
        (r"x\ud83d\ud83d\ude00", "x\N{REPLACEMENT CHARACTER}\N{GRINNING FACE}"),
        (r"\\ud800", r"\ud800"),
        (r"\\\ud800", "\\\N{REPLACEMENT CHARACTER}"),
        (r"\u0041", "A"),
    ],
)
def test_half_a_character_in_a_body_is_replaced(text: str, read: str) -> None:
    assert json.loads(json_body(b'{"a":"%b"}' % text.encode())) == {"a": read}


@pytest.mark.parametrize("name", [*NO_JSON, *BEYOND_LIMITS])
def test_a_body_that_not_every_engine_reads_is_null(name: str) -> None:
    body = with_members((NO_JSON | BEYOND_LIMITS)[name], '"a":1')
    for api in ("JOIN_GROUP", "API_VERSIONS"):
        line = json_record(api=api, request="@body@", response={"errorCode": 5})
        event = request(line.replace(b'"@body@"', body.encode()))
        assert (event.request, event.response, event.error_code) == (None, '{"errorCode":5}', 5)


@pytest.mark.parametrize("name", WITHIN_LIMITS)
def test_an_odd_body_that_every_engine_reads_is_kept(name: str) -> None:
    body = with_members(WITHIN_LIMITS[name], '"a":1')
    assert json_body(body.encode()) == body.replace("\\ud800", "\\ufffd")
