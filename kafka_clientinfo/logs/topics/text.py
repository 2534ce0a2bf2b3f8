"""The bodies with topics before 2.8: structs, and the fields after `Name:` (0.8 to 0.10)."""

import json
import re
from typing import Any

from ...protocol import ApiKey
from ..apis import TOPIC_OPERATIONS
from ..struct_text import MAX_BODY, struct_to_json
from .bodies import mentions
from .mentions import NOTHING, Mentions, TopicUse, merged

_SIZED = re.compile(rb"(.{1,2000}?)-(\d{1,10})=(\d{1,15})(?:,|\Z)", re.DOTALL)
_SIZED_BEGIN, _SIZED_END = b"partitionSizes=[", b"]}"
_BUFFER = re.compile(rb"record_set=java\.nio\.HeapByteBufferR?\[pos=(\d{1,15}) lim=(\d{1,15}) cap=\d{1,15}\]")
"""The records of Produce in 0.10: those bytes of a buffer that lie between a position and a limit."""
_NAMED_PARTITION = re.compile(rb"\[([^\[\]]{1,2000}),(\d{1,10})\] -> (?:(\d{1,15})(?=,\[|\Z)|[\w\[])")
_NAMED_GROUP = re.compile(rb"; GroupId: ?(.*?); ?GroupGenerationId:", re.DOTALL)


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
    """Put their sizes in place of the buffers."""
    return _BUFFER.sub(lambda buffer: b"record_set=%d" % (int(buffer[2]) - int(buffer[1])), request)


def _struct(body: bytes) -> Any:
    if len(body) > MAX_BODY or not body.startswith(b"{"):
        return None
    text = struct_to_json(body.decode("utf-8", "replace"), None)
    return None if text is None else json.loads(text)


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
