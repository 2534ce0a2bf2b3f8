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
NAMES = st.sampled_from(["__consumer_offsets", "a.b-c_d", '"', "\\", "é中", "\x00", "", "x" * 300]) | st.text()
NUMBERS = st.one_of(st.integers(0, 9), st.integers(0, 1 << 33), st.sampled_from([(1 << 31) - 1, 1 << 31, 1 << 63]))


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
    parsed = []
    monkeypatch.setattr(plain, "json_mentions", lambda *body: parsed.append(body) or json_mentions(*body))
    frequent = [record for record in records if record[0] in (PRODUCE, FETCH, METADATA)]
    assert [read(*record) for record in frequent]
    assert len(parsed) < 0.1 * len(frequent)


SENT = '{"acks":-1,"topicData":[{"name":"t","partitionData":[{"index":0,"recordsSizeInBytes":5}]}]}'
TAKEN = '{"responses":[{"name":"t","partitionResponses":[{"index":0,"errorCode":0}]}],"throttleTimeMs":0}'
ASKED = '{"replicaId":-1,%s"topics":[{"topic":"t","partitions":[{"partition":1,"fetchOffset":0}]}]%s}'
GIVEN = '{"throttleTimeMs":0,%s"responses":[{"topic":"t","partitions":[{"partitionIndex":1,"errorCode":0}]}]}'
IN_SESSION = '"sessionId":7,"sessionEpoch":3,', ',"forgottenTopicsData":[{"topic":"u","partitions":[0,2]}]'
LISTED = '{"topics":[{"errorCode":0,"name":"t","isInternal":false,"partitions":[{"errorCode":0}]}]}'
OF_TWO = '{"throttleTimeMs":0,"brokers":[{"nodeId":1,"host":"h"},{"nodeId":2,"host":"h"}],'
READERS: dict[str, tuple[int, str, str, bool]] = {
    "a Produce": (PRODUCE, SENT, TAKEN, True),
    "one without an answer": (PRODUCE, SENT, '""', True),
    "one of an older broker": (PRODUCE, SENT, "null", True),
    "one that is refused": (PRODUCE, SENT, TAKEN.replace('"errorCode":0', '"errorCode":3'), False),
    "one of a topic with a backslash": (PRODUCE, SENT.replace('"t"', r'"\\u0074"'), TAKEN, False),
    "one with an answer to something else": (PRODUCE, SENT, '{"throttleTimeMs":0}', False),
    "one without its sizes": (PRODUCE, SENT.replace('{"index":0,"recordsSizeInBytes":5}', "[]"), TAKEN, False),
    "a Fetch before sessions": (FETCH, ASKED % ("", ""), GIVEN % "", True),
    "one in a session": (FETCH, ASKED % IN_SESSION, GIVEN % '"errorCode":0,"sessionId":7,', True),
    "one that is refused by its session": (FETCH, ASKED % IN_SESSION, GIVEN % '"errorCode":70,"sessionId":0,', False),
    "one with half a session": (FETCH, ASKED % ('"sessionEpoch":3,', ""), GIVEN % "", False),
    "one without what it forgets": (FETCH, ASKED % (IN_SESSION[0], ""), GIVEN % '"errorCode":0,"sessionId":7,', False),
    "one with an answer of a session alone": (FETCH, ASKED % ("", ""), GIVEN % '"errorCode":0,"sessionId":7,', False),
    "one without an answer in JSON": (FETCH, ASKED % ("", ""), '""', False),
    "a Metadata": (METADATA, '{"topics":null}', LISTED, True),
    "one of two brokers": (METADATA, "{}", OF_TWO + LISTED[1:], True),
    "one of a broker that is none": (METADATA, "{}", OF_TWO.replace("2", "-1") + LISTED[1:], False),
    "one with brokers at another place": (METADATA, "{}", '{"x":1,' + OF_TWO[1:] + LISTED[1:], False),
    "one with fields in another order": (METADATA, "{}", LISTED.replace('"isInternal":false,', '"x":1,'), False),
    "one without topics": (METADATA, "{}", '{"brokers":[]}', False),
    "a commit": (ApiKey.OFFSET_COMMIT, '{"topics":[]}', '{"topics":[]}', False),
}  # fmt: skip


@pytest.mark.parametrize(("key", "request_", "response", "by_patterns"), READERS.values(), ids=READERS)
def test_patterns_read_the_frequent_bodies_and_leave_the_others(
    key: int, request_: str, response: str, by_patterns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = []
    monkeypatch.setattr(plain, "json_mentions", lambda *body: parsed.append(body) or json_mentions(*body))
    bodies = request_.encode(), response.encode()
    assert read(key, *bodies) == json_mentions(key, *bodies)
    assert (not parsed) == by_patterns


@pytest.mark.parametrize("name", [b"\xff", "\ufffd\U0001f600".encode(), b"\xed\xa0\x80"])
@pytest.mark.parametrize("reader", ["a Produce", "one in a session", "a Metadata"])
def test_names_that_are_no_text_are_read_alike(reader: str, name: bytes) -> None:
    key, *bodies, _ = READERS[reader]
    with_id = [body.replace('"isInternal"', '"topicId":"t","isInternal"') for body in bodies]
    for texts in (bodies, with_id):
        named = [text.encode().replace(b'"t"', b'"%b"' % name).replace(b'"u"', b'"u%b"' % name) for text in texts]
        assert read(key, *named) == json_mentions(key, *named)


def fetched(response: list[Any], **request: Any) -> tuple[int, Any, Any]:
    """A Fetch in a session that begins, with topics of its response and fields of its request."""
    asked = {"replicaId": -1, "sessionId": 0, "sessionEpoch": 0, "topics": [], "forgottenTopicsData": []} | request
    return FETCH, asked, {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 1, "responses": response}


TOO_LARGE = {"partitionIndex": 2**31, "errorCode": 0, "recordsSizeInBytes": 2**31}
ODD_BODIES: list[tuple[int, Any, Any]] = [
    (PRODUCE, {"acks": -1, "topicData": [{"topicId": "a"}]}, {"responses": []}),
    (PRODUCE, {"acks": -1, "topicData": []}, {"responses": [{"name": "t"}]}),
    (PRODUCE, {"topicData": [{"name": "t", "partitionData": [{"recordsSizeInBytes": []}, {"index": 0}]}]}, ""),
    fetched([], forgottenTopicsData=[{"topicId": "a"}]),
    fetched([], forgottenTopicsData=[{"partitions": []}]),
    fetched([{"topicId": None, "partitions": []}]),
    fetched([{"topic": "t", "partitions": [TOO_LARGE]}]),
    fetched([{"topic": "t", "partitions": [0, {"partition": 2}]}]),
    fetched([], topics=[{"topic": "t", "partitions": [{"partition": 2}, 5, {"partition": 3}]}]),
    fetched([], topics=[{"topic": "t", "partitions": [5, 6]}]),
]


# The bodies of READERS, and some of each kind that real brokers wrote.
READ = [(key, json.loads(asked), json.loads(given or '""')) for key, asked, given, _ in READERS.values()]
READ += [(key, json.loads(asked), json.loads(given or b'""')) for key, asked, given in samples()[::37]]


def check_alike(key: int, *bodies: Any, as_ascii: bool = False) -> None:
    texts = (json.dumps(body, ensure_ascii=as_ascii, separators=(",", ":")) for body in bodies)
    request, response = (text.encode("utf-8", "surrogatepass") for text in texts)
    assert read(key, request, response) == json_mentions(key, request, response)


@pytest.mark.parametrize("bodies", ODD_BODIES, ids=str)
def test_bodies_that_no_broker_writes_are_read_alike(bodies: tuple[int, Any, Any]) -> None:
    check_alike(*bodies)


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from([*ODD_BODIES, *READ]), st.booleans(), st.data())
def test_a_value_in_any_place_is_read_alike(bodies: tuple[int, Any, Any], as_ascii: bool, data: st.DataObject) -> None:
    key, *texts = bodies
    document = {"request": texts[0], "response": texts[1]}
    place = data.draw(st.sampled_from(sorted(paths(document), key=str)))
    value = value_at(document, place)
    alike = {str: NAMES, int: NUMBERS}.get(type(value), st.nothing())
    odd = changed(document, place, data.draw(st.sampled_from([*odd_values(value)]) | alike))
    if isinstance(odd, dict) and {"request", "response"} <= set(odd):
        check_alike(key, odd["request"], odd["response"], as_ascii=as_ascii)
