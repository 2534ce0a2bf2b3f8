"""Any body with topics: in JSON, and before 2.8 in structs and in the fields after `Name:` (0.8 to 0.10).

`apis.TOPIC_OPERATIONS` and `apis.NAMING_APIS` list the APIs.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...printable import encodable
from ...protocol import ApiKey
from ..apis import TOPIC_OPERATIONS
from ..generations.fields import INT16, INT32
from ..json_bodies import json_object
from ..struct_text import MAX_BODY, struct_value
from .mentions import FINAL_EPOCH, NO_ID, NOTHING, FetchSession, Mentions, TopicUse, merged, of_one_name

_LISTING = {ApiKey.METADATA, ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.DESCRIBE_TOPIC_PARTITIONS}
"""APIs with answers that list topics, those that exist or have existed without an error."""
_UNNAMING = {ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.SHARE_FETCH}
"""APIs with answers that name topics by name or by id, and never by both."""
_TOPIC_RESOURCE = 2
_USES = {"topics", "topicData", "topicNames", "responses", "resources", "topicPartitions", "results",
         "replicaElectionResults", "createTopicRequests", "topicErrors", "topicErrorCodes"}  # fmt: skip
"""Names of the arrays of topics in requests and responses, today's and earlier ones; all stand at the top of a body."""
_TOPIC_NAMES = ("name", "topic", "topicName", "resourceName")
_PARTITIONS = ("partitions", "partitionResponses", "partitionData", "data")
"""Names of the arrays of partitions, today's and earlier ones, in the APIs with sizes or sessions."""
_NUMBERS = ("partition", "partitionIndex", "index")
_SIZES = ("recordsSizeInBytes", "recordSetSizeInBytes", "recordSet")
_RECORDS = re.compile(r"\w{1,40}Records\(size=(\d{1,15}),")
"""What 2.4 to 2.7 write for the records of a response."""
_SLICE = re.compile(r"FileRecords\(file= .*, start=(\d{1,15}), end=(\d{1,15})\)", re.DOTALL)
"""What 2.0 writes for them, if they are a part of a file as it is."""
_EPOCHS = ("sessionEpoch", "epoch")
_FORGOTTEN = ("forgottenTopicsData", "forgettenTopicsData")
"""Today's names of fields of Fetch, and those of 1.1 to 2.0: `epoch`, and in 1.1 also `forgetten_topics_data`."""
_ERRORS = ("errorCode", "partitionErrorCode", "acknowledgeErrorCode")
_MOST_DEPTH = 12
_SIZED = re.compile(rb"(.{1,2000}?)-(\d{1,10})=(\d{1,15})(?:,|\Z)", re.DOTALL)
_SIZED_BEGIN, _SIZED_END = b"partitionSizes=[", b"]}"
_BUFFER = re.compile(rb"record_set=java\.nio\.HeapByteBufferR?\[pos=(\d{1,15}) lim=(\d{1,15}) cap=\d{1,15}\]")
"""The records of Produce in 0.10: those bytes of a buffer that lie between a position and a limit."""
_NAMED_PARTITION = re.compile(rb"\[([^\[\]]{1,2000}),(\d{1,10})\] -> (?:(\d{1,15})(?=,\[|\Z)|[\w\[])")
_NAMED_GROUP = re.compile(rb"; GroupId: ?(.*?); ?GroupGenerationId:", re.DOTALL)


def mentions(key: int, request: Any, response: Any) -> Mentions:
    request, response = (body if isinstance(body, dict) else None for body in (request, response))
    named = tuple(dict.fromkeys(_named_in(key, response))) if response and key not in _UNNAMING else ()
    operation = TOPIC_OPERATIONS.get(key)
    if operation is None:
        return Mentions(None, named=named, brokers=_brokers_in(response) if key == ApiKey.METADATA else ())
    uses = [*_uses_in(key, request, response is not None, False), *_uses_in(key, response, True, True)]
    session = _session(key, request or {}, response or {})
    if session is None:
        uses = [use._replace(partitions=()) for use in uses]
    group = _text((request or {}).get("groupId"))
    deleted = named if key == ApiKey.DELETE_TOPICS else ()
    named = () if deleted else named
    return Mentions(operation, merged(of_one_name(uses)), group, session, _code(response), named, deleted)


def _uses_in(key: int, body: Any, is_answered: bool, is_response: bool) -> Iterator[TopicUse]:
    for name, entries in (body or {}).items():
        if name not in _USES or not isinstance(entries, list):
            continue
        for entry in entries:
            if isinstance(entry, str) and key == ApiKey.DELETE_TOPICS:
                yield TopicUse(entry, None, None, {} if is_answered else None)
            elif isinstance(entry, dict) and ((topic := _topic_of(entry)) != (None, None)):
                errors = _errors_in(entry) if is_response else {}
                yield TopicUse(*topic, _size(entry), errors if is_answered else None, _partitions(entry))


def _topic_of(entry: Mapping[str, Any]) -> tuple[str | None, str | None]:
    if entry.get("resourceType", _TOPIC_RESOURCE) != _TOPIC_RESOURCE:
        return None, None
    topic = next((_text(entry[name]) for name in _TOPIC_NAMES if name in entry), None)
    topic_id = _text(entry.get("topicId"))
    return topic, None if topic_id == NO_ID else topic_id


def _of_partitions(entry: Mapping[str, Any]) -> list[Any]:
    return next((entry[name] for name in _PARTITIONS if isinstance(entry.get(name), list)), [])


def _partitions(entry: Mapping[str, Any], are_numbers: bool = False) -> tuple[int, ...]:
    numbers = []
    for partition in _of_partitions(entry):
        if isinstance(partition, dict):
            header = partition.get("partitionHeader", partition)  # until 2.0
            partition = next((header[name] for name in _NUMBERS if name in header), None)
        elif not are_numbers:
            continue
        if type(partition) is int and 0 <= partition < INT32.stop:
            numbers.append(partition)
    return tuple(dict.fromkeys(numbers))


def _size(entry: Mapping[str, Any]) -> int | None:
    sizes = [
        size
        for partition in _of_partitions(entry)
        if isinstance(partition, dict)
        for name in _SIZES
        if (size := _size_of(partition.get(name))) is not None
    ]
    return sum(sizes) if sizes else None


def _size_of(value: Any) -> int | None:
    if isinstance(value, str):
        if records := _RECORDS.match(value):
            value = int(records[1])
        elif part := _SLICE.fullmatch(value):
            value = int(part[2]) - int(part[1])
    return value if type(value) is int and 0 <= value < INT32.stop else None


def _errors_in(entry: Mapping[str, Any]) -> dict[int, int]:
    codes: dict[int, int] = {}
    for item, _ in _objects(entry):
        for name in _ERRORS:
            code = item.get(name)
            if type(code) is int and code and code in INT16:
                codes[code] = codes.get(code, 0) + 1
    return codes


def _objects(value: Any) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the objects in a value of JSON, each with its depth; leave out those that are nested too deeply."""
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if depth > _MOST_DEPTH:
            continue
        if isinstance(item, list):
            waiting += ((inner, depth + 1) for inner in reversed(item))
        elif isinstance(item, dict):
            yield item, depth
            waiting += ((inner, depth + 1) for inner in item.values() if isinstance(inner, list | dict))


def _code(response: Mapping[str, Any] | None) -> int:
    code = (response or {}).get("errorCode")
    return code if type(code) is int and code in INT16 else 0


def _session(key: int, request: Mapping[str, Any], response: Mapping[str, Any]) -> FetchSession | None:
    if key == ApiKey.FETCH:
        ids = [body.get("sessionId") or 0 for body in (request, response)]
        epoch = next((request[name] for name in _EPOCHS if name in request), None)
        if not all(type(number) is int and 0 <= number < INT32.stop for number in ids):
            return None
        named, goes_on = (str(number) if number else "" for number in ids)
    elif key in (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE):
        epoch = request.get("shareSessionEpoch")
        named = goes_on = json.dumps([request.get("groupId"), request.get("memberId")])
        named = "" if epoch == 0 else named
        goes_on = "" if epoch == FINAL_EPOCH or _code(response) else goes_on
    else:
        return None
    if type(epoch) is not int or epoch not in INT32 or not (named or goes_on):
        return None
    forgotten = [
        (*_topic_of(entry), _partitions(entry, are_numbers=True))
        for name in _FORGOTTEN
        if isinstance(request.get(name), list)
        for entry in request[name]
        if isinstance(entry, dict)
    ]
    return FetchSession(encodable(named), epoch, encodable(goes_on), tuple(forgotten), key != ApiKey.SHARE_ACKNOWLEDGE)


def _named_in(key: int, response: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    for item, depth in _objects(response):
        topic, topic_id = _topic_of(item)
        is_entry = depth == 2 and key in _LISTING
        if topic and (topic_id or is_entry) and not item.get("errorCode") and not item.get("topicErrorCode"):
            yield topic, topic_id


def _brokers_in(response: Mapping[str, Any] | None) -> tuple[int, ...]:
    listed = (response or {}).get("brokers")
    ids = [entry.get("nodeId") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return tuple(dict.fromkeys(number for number in ids if type(number) is int and 0 <= number < INT32.stop))


def _text(value: Any) -> str | None:
    return encodable(value) if isinstance(value, str) else None


def json_mentions(key: int, request: bytes, response: bytes) -> Mentions:
    return mentions(key, json_object(request), json_object(response))


def struct_mentions(key: int, request: bytes, response: bytes) -> Mentions:
    """Read the bodies of a record before 2.8 as structs; Produce requests state only names, partitions and sizes."""
    answer = _struct(response)
    at = request.find(_SIZED_BEGIN) if key == ApiKey.PRODUCE else -1
    if at < 0:
        return mentions(key, _struct(_with_sizes(request) if key == ApiKey.PRODUCE else request), answer)
    listed = request[at + len(_SIZED_BEGIN) : request.rfind(_SIZED_END)]
    body = {"topicData": [
        {"name": name.decode("utf-8", "replace"), "partitionData": [{"recordsSizeInBytes": int(size)}]}
        for name, _, size in _SIZED.findall(listed)
    ]}  # fmt: skip
    return mentions(key, body, answer)


def _with_sizes(request: bytes) -> bytes:
    return _BUFFER.sub(lambda buffer: b"record_set=%d" % (int(buffer[2]) - int(buffer[1])), request)


def _struct(body: bytes) -> Any:
    if len(body) > MAX_BODY or not body.startswith(b"{"):
        return None
    return struct_value(body.decode("utf-8", "replace"), None)


def name_text_mentions(key: int, body: bytes) -> Mentions:
    """Read the body of a record that begins with `Name:` (0.8 to 0.10); such records hold no response."""
    if TOPIC_OPERATIONS.get(key) is None:
        return NOTHING
    uses = [
        TopicUse(name.decode("utf-8", "replace"), None, int(size) if size else None, None)
        for name, _, size in _NAMED_PARTITION.findall(body)
    ]
    group = _NAMED_GROUP.search(body)
    group_id = group[1].decode("utf-8", "replace") if group else None
    return Mentions(TOPIC_OPERATIONS[key], merged(uses), group_id)
