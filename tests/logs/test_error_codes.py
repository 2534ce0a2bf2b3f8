"""The error codes of responses: in JSON by the bytes, before 2.8 by the schema; a client's text is never one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo.logs.error_codes import json_error_codes, struct_error_codes
from kafka_clientinfo.logs.generations.json import json_error_code
from kafka_clientinfo.logs.generations.text import text_error_code
from kafka_clientinfo.protocol import ApiKey

JSON: dict[str, tuple[bytes, Any]] = {
    "none": (b'{"throttleTimeMs":0,"errorCode":0}', ()),
    "without a field for codes": (b'{"throttleTimeMs":0}', ()),
    "its own": (b'{"errorCode":35,"apiKeys":[]}', ((35, 1),)),
    "unknown server error": (b'{"errorCode":-1}', ((-1, 1),)),
    "of partitions": (
        b'{"responses":[{"partitions":[{"errorCode":6},{"errorCode":0},{"errorCode":6},{"errorCode":3}]}]}',
        ((3, 1), (6, 2)),
    ),
    "under other names": (b'{"partitionErrorCode":6,"acknowledgeErrorCode":121}', ((6, 1), (121, 1))),
    "in a text": (rb'{"errorMessage":"\"errorCode\":5,","name":"errorCode","errorCode":0}', ()),
    "no code": (b'{"errorCode":99999,"errorCode":null,"errorCode":"5","errorCode":5.5}', ()),
    "no response (acks=0)": (b'""', None),
    "null": (b"null", None),
    "nothing": (b"", None),
}


@pytest.mark.parametrize(("response", "codes"), JSON.values(), ids=JSON)
def test_error_codes_of_a_response_in_json(response: bytes, codes: Any) -> None:
    assert json_error_codes(b"before" + response + b'{"errorCode":7}', 6, 6 + len(response)) == codes


CODES = st.integers(-2, 130)
NAMES = st.sampled_from(["errorCode", "partitionErrorCode", "name", "errorMessage"])
BODIES = st.recursive(
    st.one_of(st.text(max_size=12), st.sampled_from(['"errorCode":5,', 'rrorCode":5}', "errorCode"]), st.none()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner | CODES, max_size=4),
    max_leaves=12,
)


def codes_in(body: Any) -> list[int]:
    if isinstance(body, list):
        return [code for item in body for code in codes_in(item)]
    if isinstance(body, dict):
        inner = [code for item in body.values() for code in codes_in(item)]
        own = [code for name, code in body.items() if name.endswith("rrorCode") and type(code) is int and code]
        return inner + own
    return []


@given(BODIES)
def test_the_codes_are_those_that_a_json_parser_finds(body: Any) -> None:
    text = json.dumps({"a": body}, separators=(",", ":"), ensure_ascii=False).encode()
    found = json_error_codes(text, 0, len(text))
    codes = codes_in(body)
    assert found == tuple(sorted((code, codes.count(code)) for code in set(codes)))


LISTED = (
    b"{throttle_time_ms=0,brokers=[],cluster_id=x,controller_id=0,topics=[{error_code=3,name=a,is_internal=false,"
    b"partitions=[]},{error_code=17,name=b,is_internal=false,partitions=[{error_code=5,partition_index=0,leader_id=0,"
    b"replica_nodes=[0],isr_nodes=[0],offline_replicas=[]}]}]}"
)
STRUCTS: dict[str, tuple[bytes, ApiKey, int, Any]] = {
    "none": (b"{throttle_time_ms=0,error_code=0}", ApiKey.HEARTBEAT, 1, ()),
    "its own": (b"{throttle_time_ms=0,error_code=27}", ApiKey.HEARTBEAT, 1, ((27, 1),)),
    "of topics": (LISTED, ApiKey.METADATA, 5, ((3, 1), (5, 1), (17, 1))),
    # The body then fits no schema, and which of the two is the field is not known: neither is counted.
    "a topic's name looks like a field": (
        LISTED.replace(b"name=a", b"name=a,error_code=9"),
        ApiKey.METADATA,
        5,
        ((5, 1), (17, 1)),
    ),
    "cut off": (b"{throttle_time_ms=0,error_code=27,", ApiKey.HEARTBEAT, 1, ((27, 1),)),
    "no response": (b"", ApiKey.HEARTBEAT, 1, None),
}


@pytest.mark.parametrize(("response", "key", "version", "codes"), STRUCTS.values(), ids=STRUCTS)
def test_error_codes_of_a_response_in_struct_text(response: bytes, key: ApiKey, version: int, codes: Any) -> None:
    assert struct_error_codes(response, key, version) == codes


FIELDS = [f'"f{number}":{value},' for number, value in enumerate(["1", "-1", "null", "true", "false", '"a"', "0"])]


@pytest.mark.parametrize(
    ("response", "code"),
    [
        ('{"errorCode":35,"apiKeys":[{"errorCode":1}]}', 35),
        ('{"topics":[{"errorCode":3}],"errorCode":-1}', -1),
        *((odd, None) for odd in ('{"topics":[{"errorCode":3}]}', '{"a":{"errorCode":3}}', "", "null")),
        ('{"throttleTimeMs":-12,"name":"a b","errorCode":5,"topics":[]}', 5),
        (r'{"name":"a\\","errorCode":5,"topics":[]}', None),
        ('{"topics":[],"errorCode":5}x', None),
        *(
            ("{" + "".join(FIELDS[:before]) + '"errorCode":35,"a":[]}', 35 if before < 7 else None)
            for before in (0, 6, 7)
        ),
        *((f'{{{start}"errorCode":999999}}', 999999) for start in ("", '"a":[1],')),
        *((f'{{{start}"errorCode":1000000}}', None) for start in ("", '"a":[1],')),
    ],
)
def test_it_reads_the_top_level_error_code_in_json(response: str, code: int | None) -> None:
    assert json_error_code(f"###{response}###".encode(), 3, 3 + len(response)) == code


@pytest.mark.parametrize(
    ("response", "code"),
    [
        ("{error_code=35,api_keys=[{error_code=1}]}", 35),
        ("{throttle_time_ms=0,error_code=15,error_message=null}", 15),
        ("{topics=[{error_code=3}],error_code=-7,_tagged_fields={}}", -7),
        ("{topics=[{topic=t,error_code=3}]}", None),
        ("", None),
        *(("{" + "f=x," * before + "error_code=35,a=[]}", 35 if before < 7 else None) for before in (1, 6, 7)),
        *((f"{{{start}error_code=999999}}", 999999) for start in ("", "a=[1],")),
        *((f"{{{start}error_code=1000000}}", None) for start in ("", "a=[1],")),
    ],
)
def test_it_reads_the_top_level_error_code_in_text(response: str, code: int | None) -> None:
    assert text_error_code(response.encode()) == code
