"""Versions that a draft adds: KIP-1313's of every API."""

import random

import pytest

from kafka_clientinfo import protocol
from kafka_clientinfo.errors import DecodeError
from kafka_clientinfo.protocol import Request, Response
from tests.protocol.json_form import to_log_json

from .instances import random_body
from .test_messages import INSTANCE, header

AMBIGUOUS = (
    r"RequestHeader\.clientInstanceId: at byte \d+ expected an unambiguous header, version 6 may have header 2 or 3; give "
    "header_version"
)


class TestDrafts:
    def it_names_them(self) -> None:
        assert protocol.draft_names() == ("KIP-1313", "KIP-35-option-3", "KIP-35-revision-30")

    @pytest.mark.kip("KIP-1313", 39, 40)
    def it_has_kip_1313s_delete_groups(self) -> None:
        drafts = protocol.drafts("KIP-1313")
        assert [protocol.header_versions(42, version, registry=drafts) for version in range(5)] == [
            (1, 0), (1, 0), (2, 1), (3, 1), (3, 1),
        ]  # fmt: skip
        request = Request(header(42, 3, clientId="c", clientInstanceId=INSTANCE), {"groupsNames": ["g"]}, 3)
        frame = protocol.encode_request(request, registry=drafts)
        assert protocol.decode_request(frame, registry=drafts) == request
        answer = Response({"correlationId": 1}, {"throttleTimeMs": 0, "results": []}, 42, 3, 1)
        raw = protocol.encode_response(answer, registry=drafts)
        assert protocol.decode_response(raw, 42, 3, registry=drafts) == answer
        assert to_log_json(answer, registry=drafts) == answer.body

    @pytest.mark.kip("KIP-1313", 5, 6, 7, 24)
    def it_has_a_version_with_header_3_of_every_api_but_sasl_handshake(self) -> None:
        drafts, known = protocol.drafts("KIP-1313"), protocol.released()
        assert len(drafts.requests) == len(known.requests) > 90
        for key, schema in drafts.requests.items():
            latest, before = schema.latest, known.requests[key].latest
            headers = [drafts.request_header_version(key, version) for version in range(latest + 1)]
            assert (3 in headers) == (key != 17), schema.name
            assert key == 17 or (headers.index(3), drafts.request_header_version(key, latest + 9)) == (latest, 3)
            assert protocol.header_versions(key, latest, registry=drafts)[1] == (0 if key in (17, 18) else 1)
            is_new = key not in (17, 42, 47, 71, 72)
            assert latest == before + is_new, schema.name
            older = [known.request_header_version(key, version) for version in range(before + 1)]
            assert headers[: before + 1] == older or not is_new, schema.name
            flexible = [version in known.requests[key].flexible for version in range(before + 1)]
            assert [version in schema.flexible for version in range(before + 1)] == flexible or not is_new, schema.name
            assert latest in schema.flexible or not is_new, schema.name

    @pytest.mark.kip("KIP-1313", 6)
    @pytest.mark.parametrize(
        "key", [key for key in sorted(protocol.released().requests) if key not in (17, 42, 47, 71, 72)]
    )
    def it_changes_nothing_but_the_header(self, key: int) -> None:
        """A frame of the new version is that of the latest one, with its number and the id in the header."""
        drafts, known = protocol.drafts("KIP-1313"), protocol.released()
        latest = known.requests[key].latest
        schema, rng = known.requests[key], random.Random(key)
        body = rng.randbytes(9) if schema.fields is None else random_body(known.codec(schema, latest).spec, rng)
        old = protocol.encode_request(Request(header(key, latest, clientId="c"), body))
        request = Request(header(key, latest + 1, clientId="c", clientInstanceId=INSTANCE), body, 3)
        new = protocol.encode_request(request, registry=drafts)
        assert new[:2] + new[4:11] + new[27:] == old[:2] + old[4:11] + old[11:]
        assert protocol.decode_request(new, registry=drafts) == request
        with pytest.raises(DecodeError):
            protocol.decode_request(new)

    @pytest.mark.kip("KIP-1313", 6, 53)
    @pytest.mark.parametrize("instance", [INSTANCE, "AQUNAAECAwQFBgcICQoLDA", "AAAAAAAAAAAAAAAAAAAAAA"])
    def it_never_takes_an_id_for_tags(self, instance: str) -> None:
        """Ids that look like no tags, like one tag of five, and like nothing: 0 is the number of tags of header 2."""
        body = {"clientSoftwareName": "kgo", "clientSoftwareVersion": "1"}
        sent = Request(header(18, 6, clientId="c", clientInstanceId=instance), body, 3)
        frame = protocol.encode_request(sent, registry=protocol.drafts("KIP-1313"))
        assert protocol.decode_request(frame, registry=protocol.drafts("KIP-1313")).header == sent.header
        with pytest.raises(DecodeError, match=AMBIGUOUS):
            protocol.decode_request_header(frame)
        assert protocol.decode_request_header(frame, header_version=3)[0] == sent.header
        assert "clientInstanceId" not in protocol.decode_request_header(frame, header_version=2)[0]

    def it_reads_the_header_that_the_caller_names(self) -> None:
        """DeleteGroups v3 has header 2 in 4.4 and header 3 in KIP-1313."""
        sent = Request(header(42, 3, clientId="c", clientInstanceId=INSTANCE), {"groupsNames": ["g"]}, 3)
        frame = protocol.encode_request(sent)
        assert protocol.decode_request(frame, header_version=3) == sent
        assert protocol.decode_request(frame, registry=protocol.drafts("KIP-1313")) == sent
        assert protocol.decode_request(frame[:11] + frame[27:], header_version=2).body == sent.body

    @pytest.mark.kip("KIP-35 revision 30", 1, 2, 3, 4, 5, 6, 10)
    @pytest.mark.parametrize(("api_keys", "raw"), [([], "00000000"), ([18, 3], "0000000200120003"), (None, "ffffffff")])
    def it_has_the_metadata_of_kip_35s_older_revision(self, api_keys: list[int] | None, raw: str) -> None:
        """Empty asks for all APIs, some for some, null for none."""
        drafts = protocol.drafts("KIP-35-revision-30")
        request = Request(header(3, 1, clientId=None), {"apiKeys": api_keys, "topics": None}, 1)
        frame = protocol.encode_request(request, registry=drafts)
        assert frame[10:].hex() == raw + "ffffffff"
        assert protocol.decode_request(frame, registry=drafts) == request
        ranges = [{"apiKey": 18, "minVersion": 0, "maxVersion": 3}]
        answer = Response({"correlationId": 1}, {"apiVersions": ranges, "brokers": [], "topics": []}, 3, 1, 0)
        read = protocol.decode_response(protocol.encode_response(answer, registry=drafts), 3, 1, registry=drafts)
        assert read == answer

    @pytest.mark.kip("KIP-35", 24)
    def it_has_the_global_version_of_kip_35s_option_3(self) -> None:
        drafts = protocol.drafts("KIP-35-option-3")
        version = {"protocolVersion": 4, "buildDescription": "0.10.0-IV0"}
        answer = Response({"correlationId": 1}, {"apiVersion": version, "brokers": [], "topics": []}, 3, 2, 0)
        frame = protocol.encode_response(answer, registry=drafts)
        assert frame[4:18] == b"\0\x04\0\x0a0.10.0-IV0"
        assert protocol.decode_response(frame, 3, 2, registry=drafts) == answer
        asked = Request(header(3, 2, clientId="c"), {"topics": None}, 1)
        assert protocol.decode_request(protocol.encode_request(asked, registry=drafts), registry=drafts) == asked
        assert protocol.supports(3, 2, registry=drafts)
        assert not protocol.supports(3, 9, registry=drafts)

    def it_leaves_the_released_messages_alone(self) -> None:
        assert protocol.released().requests[42].header_version(3) == 2
        assert protocol.drafts("KIP-35-option-3").requests[18] == protocol.released().requests[18]
        assert [field.name for field in protocol.fields(3, 1, "request") or ()] == ["topics"]
