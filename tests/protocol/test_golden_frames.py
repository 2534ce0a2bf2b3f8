"""Frames that real clients and real brokers exchanged, and what the broker logged of them.

tests/golden/frames/broker-*.jsonl: one exchange a line, recorded between clients (kafka-clients 4.4.0, librdkafka
2.16, kafka-python 3.0, and a sweep over every version of the control APIs) and a broker: request and response in base64
without length bytes, and, for control APIs, the record of the broker's request log.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import protocol
from tests.protocol.json_form import from_log_json, to_log_json

FRAMES = Path(__file__).parent.parent / "golden" / "frames"
NEWER_THAN_ANY = 9  # an ApiVersions version that no broker knows


def exchanges() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every recorded exchange with a name for the test."""
    for path in sorted(FRAMES.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            exchange = json.loads(line) | {"broker": path.stem}
            exchange |= {name: base64.b64decode(exchange[name]) for name in ("request", "response")}
            yield f"{path.stem}:{number}-{protocol.api_name(exchange['apiKey'])}-v{exchange['apiVersion']}", exchange


EXCHANGES = [*exchanges()]
REFUSED = [case for case in EXCHANGES if (case[1]["apiKey"], case[1]["apiVersion"]) == (18, NEWER_THAN_ANY)]
ACCEPTED = [case for case in EXCHANGES if case not in REFUSED]
LOGGED = [case for case in ACCEPTED if "logged" in case[1]]


def each(cases: list[tuple[str, dict[str, Any]]]) -> pytest.MarkDecorator:
    """One test for each recorded exchange."""
    return pytest.mark.parametrize("exchange", [case for _, case in cases], ids=[name for name, _ in cases])


@each(ACCEPTED)
def it_decodes_and_writes_back_the_same_request(exchange: dict[str, Any]) -> None:
    request = protocol.decode_request(exchange["request"])
    assert (request.api_key, request.api_version) == (exchange["apiKey"], exchange["apiVersion"])
    assert protocol.encode_request(request) == exchange["request"]
    assert isinstance(request.body, dict) == protocol.supports(request.api_key, request.api_version)


@each(EXCHANGES)
def it_decodes_and_writes_back_the_same_response(exchange: dict[str, Any]) -> None:
    response = protocol.decode_response(exchange["response"], exchange["apiKey"], exchange["apiVersion"])
    assert protocol.encode_response(response) == exchange["response"]


@each(LOGGED)
def it_equals_what_the_broker_logged_and_can_be_rebuilt_from_it(exchange: dict[str, Any]) -> None:
    logged = exchange["logged"]
    request = protocol.decode_request(exchange["request"])
    response = protocol.decode_response(exchange["response"], request.api_key, request.api_version)
    assert to_log_json(response) == logged["response"]
    header = {key: value for key, value in logged["requestHeader"].items() if key in request.header}
    assert {**request.header, "clientId": request.header["clientId"] or ""} == header
    refused = response.api_version != request.api_version  # brokers log no body they could not read
    assert logged["request"] == ({} if refused else to_log_json(request))
    if logged["request"]:
        body = from_log_json(logged["request"], request.api_key, request.api_version, "request")
        assert protocol.encode_request(protocol.Request(request.header, body)) == exchange["request"]


def it_refuses_an_api_versions_version_that_nobody_knows() -> None:
    assert REFUSED
    for _, exchange in REFUSED:
        with pytest.raises(protocol.DecodeError, match="found 9"):
            protocol.decode_request(exchange["request"])
        header, header_version, at = protocol.decode_request_header(exchange["request"])
        assert (header["clientId"], header_version, at) == ("sweep", 2, 16)
        response = protocol.decode_response(exchange["response"], 18, NEWER_THAN_ANY)
        assert isinstance(response.body, dict)
        assert (response.api_version, response.body["errorCode"]) == (0, 35)
        highest = 5 if "4.4.0" in exchange["broker"] else 4
        assert response.body["apiKeys"] == [{"apiKey": 18, "minVersion": 0, "maxVersion": highest}]


def it_covers_every_control_api() -> None:
    recorded = {exchange["apiKey"] for _, exchange in EXCHANGES}
    assert recorded >= {3, *range(10, 19), 36, 42, 47, 68, 69, 71, 72, 76, 77, 88, 89}


def it_follows_a_login_with_tokens() -> None:
    conversation = protocol.Conversation()
    answered = []
    for side, data in json.loads((FRAMES / "sasl-handshake-v0.json").read_text()):
        frame = base64.b64decode(data)
        framed = len(frame).to_bytes(4, "big") + frame
        if side == "client":
            conversation.client_sent(framed)
        else:
            answered += conversation.broker_sent(framed)
    assert [exchange.api_key for exchange in answered] == [17, None, 18]
    assert (answered[1].request, answered[1].response) == (b"\0alice\0alice-secret", b"")
