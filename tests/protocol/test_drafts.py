"""Versions that a draft adds: KIP-1313's of every API."""

import random
from typing import Any

import pytest

from kafka_clientinfo import protocol
from kafka_clientinfo.errors import DecodeError
from kafka_clientinfo.protocol import Request, Response

from .instances import random_body
from .test_messages import INSTANCE, header

KNOWN, DRAFTS = protocol.released(), protocol.drafts("KIP-1313")
ITS_OWN = (17, 42, 47, 71, 72)
"""APIs of which KIP-1313 prints the versions itself, and SaslHandshake, which has none."""
AMBIGUOUS = (
    r"RequestHeader\.clientInstanceId: at byte \d+ expected an unambiguous header, version 6 may have header 2 or 3; give "
    "header_version"
)


def written(message: Request | Response, registry: Any) -> bytes:
    """The bytes of a message, which are read back."""
    if isinstance(message, Request):
        frame = protocol.encode_request(message, registry=registry)
        assert protocol.decode_request(frame, registry=registry) == message
        return frame
    frame = protocol.encode_response(message, registry=registry)
    assert protocol.decode_response(frame, message.api_key, message.api_version, registry=registry) == message
    return frame


@pytest.mark.kip("KIP-1313", 39, 40)
def it_has_kip_1313s_delete_groups() -> None:
    headers = [protocol.header_versions(42, version, registry=DRAFTS) for version in range(5)]
    assert headers == [(1, 0), (1, 0), (2, 1), (3, 1), (3, 1)]
    written(Request(header(42, 3, clientId="c", clientInstanceId=INSTANCE), {"groupsNames": ["g"]}, 3), DRAFTS)
    written(Response({"correlationId": 1}, {"throttleTimeMs": 0, "results": []}, 42, 3, 1), DRAFTS)


@pytest.mark.kip("KIP-1313", 5, 6, 7, 24)
def it_has_a_version_with_header_3_of_every_api_but_sasl_handshake() -> None:
    assert len(DRAFTS.requests) == len(KNOWN.requests) > 90
    for key, schema in DRAFTS.requests.items():
        latest, before, is_new = schema.latest, KNOWN.requests[key].latest, key not in ITS_OWN
        headers = [DRAFTS.request_header_version(key, version) for version in range(latest + 1)]
        assert (3 in headers) == (key != 17), schema.name
        assert key == 17 or (headers.index(3), DRAFTS.request_header_version(key, latest + 9)) == (latest, 3)
        assert protocol.header_versions(key, latest, registry=DRAFTS)[1] == (0 if key in (17, 18) else 1)
        assert latest == before + is_new, schema.name
        if is_new:
            assert headers[:-1] == [KNOWN.request_header_version(key, version) for version in range(before + 1)], (
                schema.name
            )
            flexible = [version in KNOWN.requests[key].flexible for version in range(before + 1)]
            assert [version in schema.flexible for version in range(latest + 1)] == [*flexible, True], schema.name


@pytest.mark.kip("KIP-1313", 6)
@pytest.mark.parametrize("key", [key for key in sorted(KNOWN.requests) if key not in ITS_OWN])
def it_changes_nothing_but_the_header(key: int) -> None:
    """A frame of the new version is that of the latest one, with its number and the id in the header."""
    schema, rng = KNOWN.requests[key], random.Random(key)
    body = rng.randbytes(9) if schema.fields is None else random_body(KNOWN.codec(schema, schema.latest).spec, rng)
    old = protocol.encode_request(Request(header(key, schema.latest, clientId="c"), body))
    new = written(Request(header(key, schema.latest + 1, clientId="c", clientInstanceId=INSTANCE), body, 3), DRAFTS)
    assert new[:2] + new[4:11] + new[27:] == old[:2] + old[4:11] + old[11:]
    with pytest.raises(DecodeError):
        protocol.decode_request(new)


@pytest.mark.kip("KIP-1313", 6, 53)
@pytest.mark.parametrize("instance", [INSTANCE, "AQUNAAECAwQFBgcICQoLDA", "AAAAAAAAAAAAAAAAAAAAAA"])
def it_never_takes_an_id_for_tags(instance: str) -> None:
    """Ids that look like no tags, like one tag of five, and like nothing: 0 is the number of tags of header 2."""
    body = {"clientSoftwareName": "kgo", "clientSoftwareVersion": "1"}
    sent = Request(header(18, 6, clientId="c", clientInstanceId=instance), body, 3)
    frame = protocol.encode_request(sent, registry=DRAFTS)
    assert protocol.decode_request(frame, registry=DRAFTS).header == sent.header
    with pytest.raises(DecodeError, match=AMBIGUOUS):
        protocol.decode_request_header(frame)
    assert protocol.decode_request_header(frame, header_version=3)[0] == sent.header
    assert "clientInstanceId" not in protocol.decode_request_header(frame, header_version=2)[0]


def it_reads_the_header_that_the_caller_names() -> None:
    """DeleteGroups v3 has header 2 in 4.4 and header 3 in KIP-1313."""
    sent = Request(header(42, 3, clientId="c", clientInstanceId=INSTANCE), {"groupsNames": ["g"]}, 3)
    frame = protocol.encode_request(sent)
    assert protocol.decode_request(frame, header_version=3) == sent
    assert protocol.decode_request(frame, registry=DRAFTS) == sent
    assert protocol.decode_request(frame[:11] + frame[27:], header_version=2).body == sent.body


@pytest.mark.kip("KIP-35 revision 30", 1, 2, 3, 4, 5, 6, 10)
@pytest.mark.parametrize(("api_keys", "raw"), [([], "00000000"), ([18, 3], "0000000200120003"), (None, "ffffffff")])
def it_has_the_metadata_of_kip_35s_older_revision(api_keys: list[int] | None, raw: str) -> None:
    """Empty asks for all APIs, some for some, null for none."""
    drafts = protocol.drafts("KIP-35-revision-30")
    frame = written(Request(header(3, 1, clientId=None), {"apiKeys": api_keys, "topics": None}, 1), drafts)
    assert frame[10:].hex() == raw + "ffffffff"
    ranges = [{"apiKey": 18, "minVersion": 0, "maxVersion": 3}]
    written(Response({"correlationId": 1}, {"apiVersions": ranges, "brokers": [], "topics": []}, 3, 1, 0), drafts)


@pytest.mark.kip("KIP-35", 24)
def it_has_the_global_version_of_kip_35s_option_3() -> None:
    drafts = protocol.drafts("KIP-35-option-3")
    version = {"protocolVersion": 4, "buildDescription": "0.10.0-IV0"}
    answer = Response({"correlationId": 1}, {"apiVersion": version, "brokers": [], "topics": []}, 3, 2, 0)
    assert written(answer, drafts)[4:18] == b"\0\x04\0\x0a0.10.0-IV0"
    written(Request(header(3, 2, clientId="c"), {"topics": None}, 1), drafts)
    assert [protocol.supports(3, version, registry=drafts) for version in (2, 9)] == [True, False]


def it_leaves_the_released_messages_alone() -> None:
    assert protocol.draft_names() == ("KIP-1313", "KIP-35-option-3", "KIP-35-revision-30")
    assert KNOWN.requests[42].header_version(3) == 2
    assert protocol.drafts("KIP-35-option-3").requests[18] == KNOWN.requests[18]
    assert [field.name for field in protocol.fields(3, 1, "request") or ()] == ["topics"]
