"""The patterns over bytes and the reading of parsed JSON see the same topics in a record."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.logs.apis import TOPIC_APIS
from kafka_clientinfo.logs.generations.json import body_places
from kafka_clientinfo.logs.topics import plain
from kafka_clientinfo.logs.topics.bodies import json_mentions
from kafka_clientinfo.logs.topics.plain import json_record_mentions
from kafka_clientinfo.protocol import ApiKey
from tests.amounts import examples
from tests.any_value import changed, odd_values, paths, value_at

FETCH, METADATA, PRODUCE = ApiKey.FETCH, ApiKey.METADATA, ApiKey.PRODUCE
ROOT = Path(__file__).parents[3]
_KEY = re.compile(rb'"requestApiKey":(\d+)')
NAMES = st.one_of(
    st.sampled_from(["t", "__consumer_offsets", "a.b-c_d", '"', "\\", "é中", "\x00", "", "x" * 300]), st.text()
)
NUMBERS = st.one_of(st.integers(0, 9), st.integers(0, 1 << 33), st.sampled_from([(1 << 31) - 1, 1 << 31, 1 << 63]))
IDS = st.sampled_from(["PVlvszJsSRewxzuV4ENRhw", "r7elD1SMQieeYwqG22BN0g", "AAAAAAAAAAAAAAAAAAAAAA"])


def read(key: int, request: bytes, response: bytes) -> Any:
    data = b'x{"requestHeader":{},"request":' + request + b',"response":' + response + b',"connection":"c"'
    at_request, at_connection = data.find(b',"request":'), data.rfind(b',"connection":"')
    return json_record_mentions(data, *body_places(data, at_request, at_connection), at_connection, key)


def samples() -> list[tuple[int, bytes, bytes]]:
    """Key, request and response of the sample logs' records with topics."""
    found = []
    for log in sorted(ROOT.glob("sample_logs/*/kafka-request.log.gz")):
        for line in gzip.decompress(log.read_bytes()).splitlines():
            key = _KEY.search(line)
            if b"Completed request:{" in line and key and int(key[1]) in TOPIC_APIS:
                at_connection = line.rfind(b',"connection":"')
                places = body_places(line, line.find(b',"request":'), at_connection)
                bodies = line[places.request : places.request_end], line[places.response : at_connection]
                found.append((int(key[1]), *bodies))
    return found


def test_the_records_of_real_brokers_are_read_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    records = samples()
    assert len(records) > 3000
    answers = [read(*record) for record in records]
    assert answers == [json_mentions(*record) for record in records]
    monkeypatch.setattr(plain, "_plain", lambda *_: None)
    assert answers == [read(*record) for record in records]


def test_most_records_are_read_by_patterns() -> None:
    records = [record for record in samples() if record[0] in (PRODUCE, FETCH, METADATA)]
    by_pattern = 0
    for key, request, response in records:
        data = request + response
        answer = len(request) if response.startswith(b"{") else len(data)
        by_pattern += plain._plain(data, 0, len(request), answer, len(data), key) is not None
    assert by_pattern > 0.9 * len(records)


@st.composite
def topics(draw: st.DrawFn, name: str, partitions: str, number: str, *fields: str) -> list[dict[str, Any]]:
    entries = []
    for _ in range(draw(st.integers(0, 3))):
        named = {name: draw(NAMES)} if draw(st.booleans()) else {"topicId": draw(IDS)}
        rows = [
            {number: draw(NUMBERS)} | {field: draw(NUMBERS) for field in fields} for _ in range(draw(st.integers(0, 3)))
        ]
        entries.append(named | {partitions: rows})
    return entries


@st.composite
def produce(draw: st.DrawFn) -> tuple[int, Any, Any]:
    response = {"responses": draw(topics("name", "partitionResponses", "index", "errorCode")), "throttleTimeMs": 0}
    request = {"acks": -1, "topicData": draw(topics("name", "partitionData", "index", "recordsSizeInBytes"))}
    return PRODUCE, request, draw(st.sampled_from([response, "", None]))


@st.composite
def fetch(draw: st.DrawFn) -> tuple[int, Any, Any]:
    request: dict[str, Any] = {"replicaId": -1}
    response: dict[str, Any] = {"throttleTimeMs": 0}
    is_late = draw(st.booleans())
    if is_late:
        request |= {"sessionId": draw(st.integers(0, 2)), "sessionEpoch": draw(st.integers(-1, 3))}
        response |= {"errorCode": draw(st.sampled_from([0, 0, 70])), "sessionId": draw(st.integers(0, 2))}
    request["topics"] = draw(topics("topic", "partitions", "partition", "fetchOffset"))
    if is_late:
        forgotten = draw(topics("topic", "partitions", "partition"))
        request["forgottenTopicsData"] = [
            entry | {"partitions": [row["partition"] for row in entry["partitions"]]} for entry in forgotten
        ]
    size = draw(st.sampled_from(["recordsSizeInBytes", "recordSetSizeInBytes"]))
    response["responses"] = draw(topics("topic", "partitions", "partitionIndex", "errorCode", size))
    return FETCH, request, response


@st.composite
def metadata(draw: st.DrawFn) -> tuple[int, Any, Any]:
    listed = []
    for _ in range(draw(st.integers(0, 3))):
        ids = {"topicId": draw(IDS)} if draw(st.booleans()) else {}
        codes = st.sampled_from([0, 0, 3])
        entry = {"errorCode": draw(codes), "name": draw(NAMES)} | ids | {"isInternal": False}
        listed.append(entry | {"partitions": [{"errorCode": draw(codes), "partitionIndex": 0}]})
    return METADATA, {"topics": None}, {"brokers": [], "topics": listed}


@settings(max_examples=examples(200), deadline=None)
@given(st.one_of(produce(), fetch(), metadata()), st.booleans())
def test_any_body_is_read_alike(bodies: tuple[int, Any, Any], as_ascii: bool) -> None:
    key, *texts = bodies
    request, response = (json.dumps(text, ensure_ascii=as_ascii, separators=(",", ":")).encode() for text in texts)
    assert read(key, request, response) == json_mentions(key, request, response)


@settings(max_examples=examples(100), deadline=None)
@given(st.one_of(produce(), fetch(), metadata()), st.data())
def test_a_value_in_any_place_is_read_alike(bodies: tuple[int, Any, Any], data: st.DataObject) -> None:
    key, *texts = bodies
    document = {"request": texts[0], "response": texts[1]}
    place = data.draw(st.sampled_from(sorted(paths(document), key=str)))
    odd = changed(document, place, data.draw(st.sampled_from([*odd_values(value_at(document, place))])))
    if not (isinstance(odd, dict) and {"request", "response"} <= set(odd)):
        return
    request, response = (
        json.dumps(odd[name], ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        for name in ("request", "response")
    )
    assert read(key, request, response) == json_mentions(key, request, response)
