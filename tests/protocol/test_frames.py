"""Streams cut into frames, responses paired with requests."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_clientinfo import protocol
from kafka_clientinfo.errors import DecodeError
from kafka_clientinfo.protocol import Conversation, Exchange, FrameSplitter, Request, Response

MOST = 104_857_600
"""socket.request.max.bytes of a stock broker."""


def framed(*frames: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)


def request(correlation_id: int, api_key: int = 12, api_version: int = 0, body: bytes = b"") -> bytes:
    header = {"requestApiKey": api_key, "requestApiVersion": api_version}
    return protocol.encode_request(Request({**header, "correlationId": correlation_id, "clientId": "c"}, body))


def answer(correlation_id: int, body: bytes = b"\0\0") -> bytes:
    return struct.pack(">i", correlation_id) + body


def asked(*requests: bytes) -> Conversation:
    """A conversation in which the client has sent these."""
    conversation = Conversation()
    conversation.client_sent(framed(*requests))
    return conversation


def answered(conversation: Conversation, *answers: bytes) -> list[Exchange]:
    return list(conversation.broker_sent(framed(*answers)))


@given(st.lists(st.binary(max_size=30), max_size=8), st.lists(st.integers(0, 300), max_size=8))
def it_finds_the_same_frames_wherever_the_stream_is_cut(frames: list[bytes], cuts: list[int]) -> None:
    stream = framed(*frames)
    splitter = FrameSplitter()
    found, last = [], 0
    for cut in [*sorted(min(cut, len(stream)) for cut in cuts), len(stream)]:
        found += splitter.feed(stream[last:cut])
        last = cut
    assert found == frames
    assert splitter.pending() == 0
    assert list(splitter.feed(framed(b"abc")[:5])) == []
    assert splitter.pending() == 5


@pytest.mark.parametrize("size", [-1, -(2**31), 101, 2**31 - 1])
def it_refuses_lengths_that_lie(size: int) -> None:
    splitter = FrameSplitter(max_frame=100)
    assert list(splitter.feed(framed(b"ab"))) == [b"ab"]
    with pytest.raises(DecodeError, match=f"^frame.length: at byte 6 expected .* from 0 to 100, found {size}"):
        list(splitter.feed(struct.pack(">i", size)))
    splitter = FrameSplitter(max_frame=100)
    assert list(splitter.feed(framed(b"ab"))) == [b"ab"]
    with pytest.raises(DecodeError, match="at byte 15 expected"):
        list(splitter.feed(framed(b"abcde") + struct.pack(">i", size)))


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def it_takes_frames_up_to_the_limit(size: int) -> None:
    assert list(FrameSplitter(max_frame=100).feed(framed(b"x" * size))) == [b"x" * size]


@pytest.mark.parametrize("limit", [20, MOST])
def it_bounds_the_frames_of_both_ends(limit: int) -> None:
    """Streams and conversations have the stock broker's limit if none is given."""
    conversation, splitter = (Conversation(20), FrameSplitter(20)) if limit == 20 else (Conversation(), FrameSplitter())
    conversation.client_sent(struct.pack(">i", limit))
    for taken in (conversation.broker_sent, splitter.feed):
        assert list(taken(struct.pack(">i", limit))) == []
    other = Conversation(20) if limit == 20 else Conversation()
    for refused in (other.client_sent, lambda length: list(other.broker_sent(length))):
        with pytest.raises(DecodeError, match=f"from 0 to {limit}, found {limit + 1}"):
            refused(struct.pack(">i", limit + 1))


def it_pairs_answers_with_requests_by_ids_of_any_size() -> None:
    ids = [0, 1, 257, 10**6, 2**31 - 1, -(2**31)]
    conversation = asked(*map(request, ids), request(2, api_key=3))
    exchanges = answered(conversation, *map(answer, ids), answer(2))
    expected = [*((12, number, answer(number)) for number in ids), (3, 2, answer(2))]
    assert [(item.api_key, item.correlation_id, item.response) for item in exchanges] == expected
    assert conversation.unanswered() == ()


def it_pairs_repeated_ids_in_order() -> None:
    """The old Scala consumer sends 0 forever."""
    exchanges = answered(asked(request(0, 1), request(0, 3)), answer(0, b"a1"), answer(0, b"b2"))
    assert [(item.api_key, (item.response or b"")[4:]) for item in exchanges] == [(1, b"a1"), (3, b"b2")]


def it_passes_over_requests_that_nobody_answers() -> None:
    conversation = asked(request(1, 0, 7), request(2), request(3))
    exchanges = answered(conversation, answer(2))
    assert [(item.correlation_id, item.response is None) for item in exchanges] == [(1, True), (2, False)]
    assert [item.correlation_id for item in conversation.unanswered()] == [3]


@pytest.mark.kip("KIP-35", 26)
@pytest.mark.parametrize("empty", [framed(answer(2, b"")), b"\0\0\0\0" + answer(2, b"")], ids=["counted", "zero"])
def it_reads_kip_35s_empty_answer_with_either_length(empty: bytes) -> None:
    """The KIP says length 0 before the correlation id; everywhere else the length counts the id."""
    conversation = asked(request(1), request(2, 3, 99), request(3))
    exchanges = list(conversation.broker_sent(framed(answer(1)) + empty + framed(answer(3))))
    assert [item.correlation_id for item in exchanges] == [1, 2, 3]
    response = protocol.decode_response(exchanges[1].response or b"", 3, 99)
    assert response == Response({"correlationId": 2}, protocol.NOT_SUPPORTED, 3, 99, 0)


@pytest.mark.kip("KIP-35", 18)
def it_takes_a_version_newer_than_the_schemas_to_have_their_last_header() -> None:
    """ApiVersions v99 with header 2 and a body of which an id of header 3 could be the beginning."""
    frame = request(7, 18, 99, b"x" * 15 + b"\0" * 5)
    with pytest.raises(DecodeError, match="an unambiguous header, version 99 may have header 2 or 3"):
        protocol.decode_request_header(frame)
    assert asked(frame).unanswered() == (Exchange(frame, 18, 99, 7),)


def it_refuses_answers_to_nothing_and_requests_without_a_header() -> None:
    conversation, where = asked(request(1)), r"^ResponseHeader\.correlationId: at byte 0 expected "
    with pytest.raises(DecodeError, match=rf"{where}an unanswered request's id, found 9$"):
        answered(conversation, answer(9))
    with pytest.raises(DecodeError, match=f"{where}4 bytes of int32"):
        answered(conversation, b"ab")
    with pytest.raises(DecodeError, match="a known API, found key 32639"):
        asked(b"\x7f" * 20)


TOKEN = b"\0user\0password"


def it_pairs_tokens_only_after_a_login_that_is_not_refused() -> None:
    conversation = asked(request(1, 17, 0, b"\0\5PLAIN"))
    answered(conversation, answer(1, b"\0\x21\0\0\0\0"))
    with pytest.raises(DecodeError):
        conversation.client_sent(framed(TOKEN))
    conversation.client_sent(framed(request(2, 17, 0, b"\0\5PLAIN")))
    answered(conversation, answer(2, b"\0\0\0\0\0\0"))
    conversation.client_sent(framed(TOKEN, request(3), request(4)))
    exchanges = answered(conversation, b"", answer(3), answer(4))
    expected = [(None, b""), (3, answer(3)), (4, answer(4))]
    assert [(item.correlation_id, item.response) for item in exchanges] == expected


@pytest.mark.parametrize(("api_key", "api_version", "accepted", "tokens"), [
    (17, 0, b"\0\0", True), (17, 0, b"\0\0\0", True), (17, 1, b"\0\0\0\0\0\0", False), (17, 0, b"\0", False),
    (17, 0, b"\0\1", False), (17, 0, b"\1\0", False), (18, 0, b"\0\0", False), (16, 0, b"\0\0", False),
])  # fmt: skip
def it_reads_tokens_after_a_handshake_of_version_0(
    api_key: int, api_version: int, accepted: bytes, tokens: bool
) -> None:
    conversation = asked(request(1, api_key, api_version))
    (exchange,) = answered(conversation, answer(1, accepted))
    assert (exchange.api_key, exchange.api_version) == (api_key, api_version)
    if not tokens:
        with pytest.raises(DecodeError):
            conversation.client_sent(framed(TOKEN))
        return
    conversation.client_sent(framed(TOKEN))
    assert conversation.unanswered() == (Exchange(TOKEN, None, None, None),)
    assert answered(conversation, b"ok") == [Exchange(TOKEN, None, None, None, b"ok")]


@pytest.mark.kip("KIP-1313", 6)
def it_follows_a_conversation_of_kip_1313() -> None:
    """With its drafts; without them the id of a newer version's header is taken for tags, and refused."""
    drafts = protocol.drafts("KIP-1313")
    header = {"requestApiKey": 12, "requestApiVersion": 5, "correlationId": 7, "clientId": "c"}
    instance = {"clientInstanceId": "_____________________w"}
    frame = protocol.encode_request(Request(header | instance, {}, 3), registry=drafts)
    conversation = Conversation(registry=drafts)
    conversation.client_sent(framed(frame))
    (exchange,) = answered(conversation, answer(7))
    assert (exchange.api_key, exchange.api_version, exchange.request) == (12, 5, frame)
    with pytest.raises(DecodeError):
        asked(frame)
