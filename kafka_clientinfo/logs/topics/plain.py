"""The frequent bodies with topics in plain JSON records, read by patterns over the bytes: Produce, Fetch, Metadata.

A plain record (see `generations.plain_json`) has no backslash, so that no text in it can look like a field. What the
patterns do not match as a whole is left to `bodies`; tests/logs/topics/test_plain.py holds the two to the same results.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ...protocol import ApiKey
from ..generations.fields import INT32
from .bodies import json_mentions
from .mentions import NO_ID, FetchSession, Mentions, TopicUse, merged

_ERROR = re.compile(rb'rrorCode":(?!0[,}])')
_PRODUCED = re.compile(rb'\{"(topicId|name)":"([^"]*)","partitionData":\[([^\[\]]*)\]\}')
_PRODUCED_TO = re.compile(rb'\{"(topicId|name)":"([^"]*)","partitionResponses":')
_SIZE = re.compile(rb'"record(?:s|Set)SizeInBytes":(\d{1,10})(?=[,}])')
_SESSION = re.compile(rb'"sessionId":(\d{1,9}|1\d{9}),"sessionEpoch":(-?(?:\d{1,9}|1\d{9})),"topics":\[')
_FETCHED = re.compile(rb'\{"topic(Id)?":"([^"]*)","partitions":\[([^\[\]]*)\]\}')
_EPOCH = b'"sessionEpoch":'
_FORGOTTEN = b'"forgottenTopicsData":['
_TOPICS = b'"topics":['
_PARTITION = re.compile(rb'"partition(?:Index)?":(\d{1,10})(?=[,}])')
_INTEGERS = re.compile(rb"(?:\d{1,9}(?:,\d{1,9})*)?")
_ANSWER = re.compile(rb'\{(?:"throttleTimeMs":\d+,)?(?:"errorCode":0,"sessionId":(\d{1,9}|1\d{9}),)?"responses":\[')
_ANSWERED = b'{"topic'
_LISTED = re.compile(rb'\{"errorCode":0,"name":"([^"]+)",(?:"topicId":"([^"]*)",)?(?:"isInternal":\w+,)?"partitions":')
_ANSWERED_TOPIC = re.compile(rb'\{"topic(Id)?":"([^"]*)"')
_LISTED_TOPIC = b'"partitions":'
_BROKERS = re.compile(rb'\{(?:"throttleTimeMs":\d+,)?"brokers":\[')
_BROKER = re.compile(rb'\{"nodeId":(\d{1,10}),')
_KEPT = 4096
"""Names and lists of partitions that are kept once read, as a consumer asks for the same ones in every fetch."""
_SHORT = 256
"""Bytes of a name, and numbers of a list, that are kept at most: whoever connects chooses them."""


def json_record_mentions(
    data: bytes, at_request: int, request_end: int, at_response: int, end: int, key: int
) -> Mentions:
    answer = at_response if data.startswith(b"{", at_response, end) else end  # acks=0: "" or null
    if data.startswith(b"{", at_request) and data.find(b"\\", at_request, end) < 0:
        plain = _plain(data, at_request, request_end, answer, end, key)
        if plain is not None:
            return plain
    return json_mentions(key, data[at_request:request_end], data[answer:end])


def _plain(data: bytes, at_request: int, request_end: int, at_response: int, end: int, key: int) -> Mentions | None:
    """Return what `json_mentions` returns of valid JSON; None if only that can tell."""
    if _ERROR.search(data, at_response, end) is not None:
        return None  # which topic it belongs to is for `mentions` to say
    if data.find(b"[[", at_request, end) >= 0:
        return None  # no message of Kafka's has lists of lists
    if key == ApiKey.PRODUCE:
        return _plain_produce(data, at_request, request_end, at_response, end)
    if key == ApiKey.METADATA:
        return _plain_metadata(data, at_response, end)
    return _plain_fetch(data, at_request, request_end, at_response, end) if key == ApiKey.FETCH else None


def _plain_produce(data: bytes, at_request: int, request_end: int, at_response: int, end: int) -> Mentions | None:
    topics = _PRODUCED.findall(data, at_request, request_end)
    is_answered = data.startswith(b'{"responses":[', at_response, end)
    if not (is_answered or at_response == end):
        return None
    lists = data.count(b'"partitionData":', at_request, request_end)
    if not lists == len(topics) == _names(data, at_request, request_end):
        return None
    answered = _PRODUCED_TO.findall(data, at_response, end)
    if _names(data, at_response, end) != len(answered):
        return None
    errors: Mapping[int, int] | None = {} if is_answered else None
    uses = [
        TopicUse(*_named(kind == b"topicId", name), _sum(_SIZE.findall(partitions)), errors)
        for kind, name, partitions in topics
    ]
    uses += [TopicUse(*_named(kind == b"topicId", name), None, errors) for kind, name in answered]
    return Mentions("produce", merged(_named_ones(uses)))


def _names(data: bytes, start: int, end: int) -> int:
    return data.count(b'"name":', start, end) + data.count(b'"topicId":', start, end)


def _plain_fetch(data: bytes, at_request: int, request_end: int, at_response: int, end: int) -> Mentions | None:
    head = _SESSION.search(data, at_request, request_end)
    start = head.end() if head else data.find(_TOPICS, at_request, request_end)
    answer = _ANSWER.match(data, at_response, end)
    if start < 0 or answer is None or (head is None) != (answer[1] is None):
        return None
    forgotten_at = data.find(_FORGOTTEN, start, request_end) if head else -1
    if (head is None) != (forgotten_at < 0) or (head is None and data.find(_EPOCH, at_request, request_end) >= 0):
        return None
    session = None
    if head is not None:
        named, goes_on = ("" if number == b"0" else number.decode() for number in (head[1], answer[1]))
        if named or goes_on:
            forgotten = _FETCHED.findall(data, forgotten_at, request_end)
            if data.count(b"{", forgotten_at, request_end) != len(forgotten) or not all(
                _INTEGERS.fullmatch(partitions) for *_, partitions in forgotten
            ):
                return None
            parts = tuple(
                (*_named(is_id, name), _partitions(partitions.split(b",") if partitions else []))
                for is_id, name, partitions in forgotten
            )
            session = FetchSession(named, int(head[2]), goes_on, parts)
    uses, stop = [], request_end if forgotten_at < 0 else forgotten_at
    fetched = _FETCHED.findall(data, start, stop)
    if data.count(_ANSWERED, start, stop) != len(fetched):
        return None
    for is_id, name, partitions in fetched:
        numbers = _partitions(_PARTITION.findall(partitions)) if session else ()
        uses.append(TopicUse(*_named(is_id, name), None, {}, numbers))
    answered = list(_ANSWERED_TOPIC.finditer(data, answer.end(), end))
    if data.count(_ANSWERED, answer.end(), end) != len(answered):
        return None
    for topic, stop in zip(answered, [*(later.start() for later in answered[1:]), end], strict=False):
        sizes = _SIZE.findall(data, topic.end(), stop)
        numbers = _partitions(_PARTITION.findall(data, topic.end(), stop)) if session else ()
        uses.append(TopicUse(*_named(topic[1], topic[2]), _sum(sizes), {}, numbers))
    return Mentions("fetch", merged(_named_ones(uses)), session=session)


def _plain_metadata(data: bytes, at_response: int, end: int) -> Mentions | None:
    start = data.find(_TOPICS, at_response, end)
    if start < 0:
        return None
    topics = _LISTED.findall(data, start, end)
    if data.count(_LISTED_TOPIC, start, end) != len(topics):
        return None
    named = dict.fromkeys(
        (name.decode("utf-8", "replace"), _named(True, topic_id)[1] or None) for name, topic_id in topics
    )
    listed = _BROKERS.match(data, at_response, start)
    brokers = _BROKER.findall(data, listed.end(), start) if listed else []
    if data.count(b'"nodeId":', at_response, start) != len(brokers):
        return None
    return Mentions(None, named=tuple(named), brokers=_partitions(brokers))


def _partitions(numbers: Sequence[bytes]) -> tuple[int, ...]:
    return _kept_partitions(*numbers) if len(numbers) <= _SHORT else _distinct(numbers)


def _distinct(numbers: Sequence[bytes]) -> tuple[int, ...]:
    return tuple(number for number in dict.fromkeys(map(int, numbers)) if number < INT32.stop)


_kept_partitions = lru_cache(_KEPT)(lambda *numbers: _distinct(numbers))


def _sum(sizes: list[bytes]) -> int | None:
    known = [size for size in map(int, sizes) if size < INT32.stop]
    return sum(known) if known else None


def _named_ones(uses: list[TopicUse]) -> list[TopicUse]:
    return [use for use in uses if use.topic is not None or use.topic_id is not None]


def _named(is_id: object, name: bytes) -> tuple[str | None, str | None]:
    return (_kept_name if len(name) <= _SHORT else _read_name)(bool(is_id), name)


def _read_name(is_id: bool, name: bytes) -> tuple[str | None, str | None]:
    text = name.decode("utf-8", "replace")
    if is_id:
        return None, None if text == NO_ID else text
    return text, None


_kept_name = lru_cache(_KEPT)(_read_name)
