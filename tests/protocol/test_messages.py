"""Requests and responses: headers by version, the KIPs' examples, what is known and what is not."""

import struct
from typing import Any

import pytest

from kafka_clientinfo import protocol
from kafka_clientinfo.errors import DecodeError, EncodeError, SchemaError
from kafka_clientinfo.protocol import NOT_SUPPORTED, Request, Response
from tests.protocol.json_form import to_log_json

INSTANCE = "AAECAwQFBgcICQoLDA0ODw"


def header(api_key: int, api_version: int, **more: Any) -> dict[str, Any]:
    return {"requestApiKey": api_key, "requestApiVersion": api_version, "correlationId": 7, **more}


@pytest.mark.kip("KIP-1313", 45)
@pytest.mark.parametrize(("api_key", "api_version", "expected"), [
    (0, 2, (1, 0)), (0, 9, (2, 1)), (3, 0, (1, 0)), (3, 9, (2, 1)), (7, 0, (0, 0)), (7, 1, (1, 0)), (7, 3, (2, 1)),
    (11, 5, (1, 0)), (11, 6, (2, 1)), (17, 1, (1, 0)), (18, 0, (1, 0)), (18, 3, (2, 0)), (18, 5, (2, 0)),
    (18, 99, (2, 0)), (36, 1, (1, 0)), (36, 2, (2, 1)), (42, 3, (2, 1)), (47, 0, (1, 0)), (47, 1, (3, 1)),
    (53, 0, (1, 0)), (58, 0, (2, 1)), (71, 0, (2, 1)), (71, 1, (3, 1)), (72, 1, (3, 1)), (94, 0, (2, 1)),
])  # fmt: skip
def it_knows_the_headers(api_key: int, api_version: int, expected: tuple[int, int]) -> None:
    assert protocol.header_versions(api_key, api_version) == expected
    assert protocol.request_header_version(api_key, api_version) == expected[0]
    assert {protocol.request_header_version(47, version) for version in range(100)} == {1, 3}


@pytest.mark.parametrize(("api_key", "api_version"), [(95, 0), (-1, 0), (32767, 3), (18, -1)])
def it_does_not_invent_headers(api_key: int, api_version: int) -> None:
    assert protocol.request_header_version(api_key, api_version) is None
    assert not protocol.supports(api_key, api_version)
    with pytest.raises(SchemaError, match="not known"):
        protocol.header_versions(api_key, api_version)
    request, answer = (
        Request(header(api_key, api_version), b""),
        Response({"correlationId": 1}, b"", api_key, api_version),
    )
    frame = struct.pack(">hhih", api_key, api_version, 0, -1)
    for refused, error in (
        (lambda: protocol.decode_request(frame), DecodeError), (lambda: protocol.encode_request(request), EncodeError),
        (lambda: protocol.decode_response(b"\0\0\0\1\0", api_key, api_version), DecodeError),
        (lambda: protocol.encode_response(answer), EncodeError),
    ):  # fmt: skip
        with pytest.raises(error):
            refused()


@pytest.mark.parametrize(("frame", "message"), [
    *((frame, f"RequestHeader: at byte {len(frame) // 2} expected 4 bytes of API key and version")
        for frame in ("", "00", "0003", "000300")),
    ("005f0000", "RequestHeader.requestApiKey: at byte 0 expected a known API, found key 95 version 0"),
    ("0012ffff", "RequestHeader.requestApiVersion: at byte 2 expected a known API, found key 18 version -1"),
    ("00120000", "RequestHeader.correlationId: at byte 4 expected 4 bytes of int32"),
    ("0012006300000001ffff00", "ApiVersionsRequest: at byte 11 expected a version of 0-5, found 99"),
])  # fmt: skip
def it_says_where_a_request_cannot_be_read(frame: str, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        protocol.decode_request(bytes.fromhex(frame))
    assert str(caught.value) == message


@pytest.mark.parametrize(("frame", "api_key", "api_version", "message"), [
    ("00000001", 95, 0, "ResponseHeader: at byte 0 expected a known API, asked for key 95 version 0"),
    ("", 3, 0, "ResponseHeader.correlationId: at byte 0 expected 4 bytes of int32"),
    ("000001", 3, 0, "ResponseHeader.correlationId: at byte 0 expected 4 bytes of int32"),
    ("0000000100", 3, 99, "MetadataResponse: at byte 5 expected a version of 0-13, found 99"),
    ("0000000700", 18, 9, "ApiVersionsResponse.errorCode: at byte 4 expected 2 bytes of the error code"),
])  # fmt: skip
def it_says_where_a_response_cannot_be_read(frame: str, api_key: int, api_version: int, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        protocol.decode_response(bytes.fromhex(frame), api_key, api_version)
    assert str(caught.value) == message


@pytest.mark.parametrize(("api_key", "api_version", "header_version", "body", "message"), [
    (95, 0, None, b"", "RequestHeader: no API has key 95 and version 0; see schemas/messages"),
    (3, 0, 4, b"", "RequestHeader: version 4 is none of 0-3"),
    (3, 99, None, {}, "MetadataRequest: version 99 is none of 0-13"),
    (4, 0, None, {}, "LeaderAndIsrRequest: its fields are not known; give the body as bytes"),
    (None, 0, None, {}, "RequestHeader: requestApiKey None and requestApiVersion 0 must be numbers"),
])  # fmt: skip
def it_says_why_a_request_cannot_be_written(
    api_key: Any, api_version: int, header_version: int | None, body: Any, message: str
) -> None:
    with pytest.raises(EncodeError) as caught:
        protocol.encode_request(Request(header(api_key, api_version), body, header_version))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("api_key", "api_version", "expected"),
    [(18, 5, True), (18, 6, False), (3, 13, True), (0, 3, False), (4, 0, False), (47, 1, True), (76, 0, True)],
)
def it_says_which_bodies_it_knows(api_key: int, api_version: int, expected: bool) -> None:
    assert protocol.supports(api_key, api_version) == expected
    known = protocol.fields(api_key, api_version, "request"), protocol.fields(api_key, api_version, "response")
    assert all(fields is not None for fields in known) == expected


KIP_511 = {"clientSoftwareName": "apache-kafka-java", "clientSoftwareVersion": "2.4.0"}
# header, body and header version of a request, and its bytes
REQUESTS: dict[str, tuple[dict[str, Any], Any, int, str]] = {
    "header 0 has no client id": (header(7, 0), b"\0\0\0\1", 0, "000700000000000700000001"),
    "the id of header 3": (header(71, 1, clientId=None, clientInstanceId=INSTANCE), {}, 3,
        "0047000100000007ffff" + bytes(range(16)).hex() + "0000"),
    "the example of KIP-511": (header(18, 3, clientId="c"), KIP_511, 2,
        "00120003000000070001630012" + b"apache-kafka-java".hex() + "06" + b"2.4.0".hex() + "00"),
    "ApiVersions v0": (header(18, 0, clientId=""), {}, 1, "00120000000000070000"),
    "ApiVersions v1": (header(18, 1, clientId=""), {}, 1, "00120001000000070000"),
    "ApiVersions v2": (header(18, 2, clientId=""), {}, 1, "00120002000000070000"),
}  # fmt: skip


@pytest.mark.kip("KIP-1313", 42, case="header 0 has no client id")
@pytest.mark.kip("KIP-1313", 5, case="the id of header 3")
@pytest.mark.kip("KIP-511", 1, 3, case="the example of KIP-511")
@pytest.mark.kip("KIP-511", 2, case="ApiVersions v2")
@pytest.mark.kip("KIP-35", 1, case="ApiVersions v0")
@pytest.mark.parametrize("what", REQUESTS)
def it_writes_and_reads_a_request(what: str) -> None:
    fields, body, version, raw = REQUESTS[what]
    frame = protocol.encode_request(Request(fields, body))
    assert frame.hex() == raw
    assert protocol.decode_request(frame) == Request(fields, body, version)


@pytest.mark.kip("KIP-1313", 43)
@pytest.mark.parametrize(
    ("api_key", "api_version", "tail"), [(12, 0, ""), (12, 4, "00"), (47, 1, "000102030405060708090a0b0c0d0e0f00")]
)
def it_writes_the_client_id_with_two_bytes_of_length(api_key: int, api_version: int, tail: str) -> None:
    own = {"clientInstanceId": INSTANCE} if api_key == 47 else {}
    fields = header(api_key, api_version, clientId="grün", **own)
    frame = protocol.encode_request(Request(fields, {}))
    assert frame.startswith(struct.pack(">hhi", api_key, api_version, 7) + b"\0\5gr\xc3\xbcn" + bytes.fromhex(tail))
    assert protocol.decode_request(frame).header == fields


@pytest.mark.parametrize(("key", "version", "raw"), [(3, 99, "00000001" "00" "616263"), (0, 2, "00000001" "616263"),
                                                    (18, 99, "00000001" "616263")])  # fmt: skip
def it_writes_answers_of_any_version_with_the_schemas_header(key: int, version: int, raw: str) -> None:
    answer = Response({"correlationId": 1}, b"abc", key, version)
    assert protocol.encode_response(answer).hex() == raw


@pytest.mark.kip("KIP-511", 4)
@pytest.mark.kip("KIP-35", 2)
def it_answers_api_versions_with_header_0() -> None:
    body = {"errorCode": 0, "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 3}], "throttleTimeMs": 5}
    frame = protocol.encode_response(Response({"correlationId": 7}, body, 18, 3))
    assert frame.hex() == "00000007000002001200000003000000000500"
    response = protocol.decode_response(frame, 18, 3)
    assert to_log_json(response) == body
    assert isinstance(response.body, dict)
    assert response.body["finalizedFeaturesEpoch"] == -1


@pytest.mark.kip("KIP-511", 5, 7)
@pytest.mark.kip("KIP-35", 7)
@pytest.mark.parametrize("asked", [1, 3, 4, 5, 9, 99])
def it_reads_a_refusal_in_version_0_whatever_was_asked(asked: int) -> None:
    refusal = Response({"correlationId": 7}, {"errorCode": 35, "apiKeys": []}, 18, 0)
    frame = protocol.encode_response(refusal)
    read = protocol.decode_response(frame, 18, asked)
    assert (read.api_version, read.body) == (0, refusal.body)
    assert protocol.encode_response(read) == frame


@pytest.mark.parametrize("code", [-1, 0, 34, 36, 42])
def it_reads_version_0_only_as_a_refusal(code: int) -> None:
    frame = protocol.encode_response(Response({"correlationId": 7}, {"errorCode": code, "apiKeys": []}, 18, 0))
    with pytest.raises(DecodeError, match=r"ApiVersionsResponse\.apiKeys"):
        protocol.decode_response(frame, 18, 3)


@pytest.mark.kip("KIP-35", 7)
@pytest.mark.parametrize("code", [-32768, -1, 0, 35, 42, 129, 32767])
@pytest.mark.parametrize("rest", ["", "00", "ff" * 9, "000000010012000000030000000000"])
def it_reads_the_error_code_of_an_api_versions_answer_of_any_version(code: int, rest: str) -> None:
    """KIP-35: ErrorCode is the first int16 for all future versions; unknown codes stay numbers."""
    frame = struct.pack(">ih", 7, code) + bytes.fromhex(rest)
    for version in (6, 9, 99, 32767):
        read = protocol.decode_response(frame, 18, version)
        assert (read.header, read.body, read.api_version) == ({"correlationId": 7}, {"errorCode": code}, version)


@pytest.mark.kip("KIP-35", 25)
@pytest.mark.parametrize(("api_key", "api_version"), [(3, 1), (3, 12), (0, 7), (18, 99), (18, 3)])
def it_takes_kip_35s_empty_answer_as_a_value(api_key: int, api_version: int) -> None:
    response = protocol.decode_response(b"\0\0\0\7", api_key, api_version)
    assert (response.header, response.body) == ({"correlationId": 7}, NOT_SUPPORTED)
    assert repr(response.body) == "NOT_SUPPORTED"
    assert protocol.encode_response(response) == b"\0\0\0\7"
    assert to_log_json(response) == {}


TELEMETRY_ID = "clientInstanceId"


@pytest.mark.kip("KIP-1313", 46, 47, 48, 49, 50)
@pytest.mark.parametrize(("key", "kind", "removed"), [
    (47, "response", set()), (71, "request", {TELEMETRY_ID}), (71, "response", {TELEMETRY_ID}),
    (72, "request", {TELEMETRY_ID}), (72, "response", set()),
])  # fmt: skip
def it_moves_the_id_of_telemetry_from_the_body_to_the_header(key: int, kind: Any, removed: set[str]) -> None:
    """And changes nothing else in the three APIs that KIP-1313 prints, but that OffsetDelete becomes flexible."""
    old, new = ({field.name for field in protocol.fields(key, version, kind) or ()} for version in (0, 1))
    assert old - new == removed
    assert new <= old
    assert protocol.header_versions(key, 1) == (3, 1)


@pytest.mark.kip("KIP-559", 9, 10, 11, 12)
def it_reads_kip_559s_fields() -> None:
    join = Response({"correlationId": 1}, {"protocolType": "consumer", "protocolName": None}, 11, 7)
    body = protocol.decode_response(protocol.encode_response(join), 11, 7).body
    assert isinstance(body, dict)
    assert (body["protocolType"], body["protocolName"]) == ("consumer", None)
    with pytest.raises(EncodeError, match="protocolName: None is no string"):
        protocol.encode_response(Response({"correlationId": 1}, {"protocolName": None}, 11, 6))
    states = [(11, version, "request", "protocols") for version in range(10)]
    states += [(14, 5, kind, "protocolName") for kind in ("request", "response")]
    for key, version, kind, name in states:
        names = {field.name for field in protocol.fields(key, version, kind) or ()}
        assert {"protocolType", name} <= names


def it_reads_the_header_of_a_version_that_no_release_has() -> None:
    frame = protocol.encode_request(Request(header(3, 99), b"\0"))
    assert protocol.decode_request_header(frame) == (header(3, 99, clientId=""), 2, 11)


def it_lets_the_caller_choose_the_header() -> None:
    """KIP-1313 gives every API a version with header 3; its number does not matter to the bytes."""
    frame = protocol.encode_request(Request(header(12, 4, clientInstanceId=INSTANCE), {}, 3))
    assert frame[10:27].hex() == "000102030405060708090a0b0c0d0e0f00"
    short, usual = (
        protocol.encode_response(Response({"correlationId": 1}, {}, 12, 4, version)) for version in (0, None)
    )
    assert usual == short[:4] + b"\0" + short[4:]


def it_lists_fields_in_wire_order() -> None:
    fields = protocol.fields(11, 9, "request")
    assert fields is not None
    names = "groupId sessionTimeoutMs rebalanceTimeoutMs memberId groupInstanceId protocolType protocols reason"
    assert [field.name for field in fields] == names.split()
    kind = "JoinGroupRequestProtocol"
    assert (fields[6].type, fields[6].element, fields[6].is_array) == (f"[]{kind}", kind, True)
    inner = [(field.name, field.type, field.nullable) for field in fields[6].fields]
    assert inner == [("name", "string", False), ("metadata", "bytes", False)]
    assert (fields[4].nullable, fields[0].fields) == (True, ())
    unknown = ((11, 99, "request"), (0, 3, "response"), (99, 0, "response"))
    assert [protocol.fields(*of) for of in unknown] == [None] * 3
