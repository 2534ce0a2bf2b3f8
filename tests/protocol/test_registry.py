"""What the registry knows of the APIs by their schemas, and what it says where one is lacking."""

import json

import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.errors import SchemaError
from kafka_clientinfo.protocol import drafts, header_versions, released
from kafka_clientinfo.protocol.registry import Registry

from .test_schema import VALID, parse


def it_needs_request_and_response_and_known_names() -> None:
    with pytest.raises(SchemaError, match=r"^API key 42: has only one of request and response; add the other schema$"):
        Registry([parse(VALID)])
    with pytest.raises(
        SchemaError, match="no such message; known are ConnectWorkerAssignment, ConnectWorkerMetadata, "
    ):
        released().named("Nothing", 0)
    with pytest.raises(SchemaError, match="no drafts 'KIP-0'; there are KIP-1313, KIP-35-option-3, "):
        drafts("KIP-0")


@pytest.mark.kip("KIP-35", 18)
def it_covers_every_api_that_a_broker_ever_advertised() -> None:
    """The ranges that real brokers advertise, 0.10 to 4.4."""
    seen = 0
    text = (resources.schemas() / "broker_api_ranges" / "releases.json").read_text("utf-8")
    for release in json.loads(text):
        for api in release["apis"]:
            for version in range(api["min"], api["max"] + 1):
                request, response = header_versions(api["key"], version)
                assert (request, response) in ((0, 0), (1, 0), (2, 0), (2, 1)), (release["release"], api)
            assert api["max"] in released().requests[api["key"]].valid, (release["release"], api)
            seen += 1
    assert seen > 1000


def it_knows_no_header_below_the_first_version() -> None:
    draft = drafts("KIP-35-option-3")
    assert draft.request_header_version(3, 1) is None
    with pytest.raises(SchemaError, match="API key 3 version 1: not known"):
        header_versions(3, 1, registry=draft)
    for registry in (released(), draft):
        for key, response in registry.responses.items():
            assert registry.request_header_version(key, -1) is None
            assert response.header_version(-1) is registry.requests[key].header_version(-1) is None
