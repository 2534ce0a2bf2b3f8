"""A count of topics before 2.8 that shares no code with the package: regular expressions over whole records.

It reads the default pattern only, and names that hold no `,field=`; the package must agree on real brokers' logs.
"""

import gzip
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.topic_count import Use, held_topics

_OPERATIONS = {
    "produce": ("ProducerRequest", "PRODUCE", "0"), "fetch": ("FetchRequest", "FETCH", "1"),
    "commit": ("OffsetCommitRequest", "OFFSET_COMMIT", "8", "TXN_OFFSET_COMMIT", "28"),
    "administer": ("CREATE_TOPICS", "19", "DELETE_TOPICS", "20", "DELETE_RECORDS", "21", "ALTER_CONFIGS", "33",
                   "CREATE_PARTITIONS", "37", "ELECT_LEADERS", "43", "INCREMENTAL_ALTER_CONFIGS", "44",
                   "ALTER_PARTITION_REASSIGNMENTS", "45"),
}  # fmt: skip
_OPERATION_OF = {api: operation for operation, apis in _OPERATIONS.items() for api in apis}
_BEGIN = r"^\[\d{4}-\d\d-\d\d [\d:,]+\] [A-Z]+ "
_LOGGED = re.compile(
    _BEGIN + r"(?:Processor \d+ received request ?:(?:.*\n)*?.*\(kafka\.network\.RequestChannel\$\)$"
    r"|Completed request:((?:.*\n)*?.*) from (?:client|connection) (\S+);"
    r"totalTime:[\d.]+,requestQueueTime:([\d.]+),.*\)$)",
    re.MULTILINE,
)
"""A request that was completed, or received; up to the end of the record, so that no line inside begins another."""
_HEADERS = (
    r"Name: ?(?P<api>\w+);.*? ?ClientId: ?(?P<client>.*?); ?(?P<body>(?:ReplicaId|RequiredAcks|GroupId): .*)",
    r"\{api_key=(?P<api>\d+),.*?,client_id=(?P<client>.*?)\} -- (?P<body>.*)",
    r"RequestHeader\(apiKey=(?P<api>\w+), .*?, clientId=(?P<client>.*?), correlationId=-?\d+\) -- (?P<body>.*)",
)
_ENTRY = re.compile(
    r"(?:\{(?:topic|name)|resource_type=2,resource_name)=((?:(?!,\w+=|\}).)*)"
    r"(?:,(?:partitions|data|partition_responses|partition_ids?|partition_result|num_partitions|new_partitions|count"
    r"|error_code|config_entries|configs)=|(?:,_tagged_fields=\{\})?\})",
    re.S,
)
"""The beginning of a topic's struct, by the field after its name."""
_CONFIGS = re.compile(r"(?:configs|config_entries)=\[.*?\](?=[},])", re.S)
_DELETED = re.compile(r"\{topic(?:_name)?s=\[([^\]{]*)\],timeout")
_PARTITION_SIZES = re.compile(r"partitionSizes=\[(.*)\]\}", re.S)
_PARTITION_SIZE = re.compile(r"(.+?)-\d+=(\d+)(?:,|$)", re.S)
_NAMED_PARTITION = re.compile(r"(?:: |,)\[(.+?),\d+\] -> (\d*)", re.S)
_SIZE = re.compile(
    r"record_set=(?:(?:\w+\(size=|java\.nio\.\w+\[pos=0 lim=)(\d+)|FileRecords\(file=.*?, start=(\d+), end=(\d+)\))"
)
_FORGOTTEN = re.compile(r",forg[eo]tten_topics_data=")
_SESSION = re.compile(r"session_id=(\d+)(?:,(?:session_)?epoch=(-?\d+))?")
_REPLICA = re.compile(r"\{replica_id=\d|ReplicaId: \d")


def completed(log: Path) -> Iterator[tuple[str, str, str]]:
    """API, client id and bodies of the completed requests in a log, without those that were logged a second time."""
    content = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
    seen = set()
    for record, connection, waited in _LOGGED.findall(content.decode("utf-8", "replace")):
        header = next((match for pattern in _HEADERS if (match := re.fullmatch(pattern, record, re.S))), None)
        request = record, connection, waited
        if header is None or (record.startswith("RequestHeader") and request in seen):
            continue
        seen.add(request)
        yield header["api"], header["client"], header["body"]


def counted(log: Path) -> tuple[Counter[Use], Counter[Use]]:
    """Requests and bytes of a broker's whole log."""
    requests, sizes = Counter[Use](), Counter[Use]()
    sessions: dict[Any, dict[str, set[int]]] = {}
    for api, client, body in completed(log):
        operation = _OPERATION_OF.get(api)
        if operation is None:
            continue
        request, _, response = body.partition(",response:")
        if operation == "fetch" and _REPLICA.match(request):
            operation = "replicate"
        asked, *forgotten = _FORGOTTEN.split(request)
        if api.endswith("Request"):
            uses = [(topic, int(size or 0)) for topic, size in _NAMED_PARTITION.findall(request)]
        else:
            uses = [*_sized(operation, asked), *((topic, _size(text)) for topic, text in _entries(response))]
        named: set[str | None] = {topic for topic, _ in uses}
        if forgotten:
            named |= _held(sessions, asked, forgotten[0], response)
        for topic in named:
            requests[client, operation, topic] += 1
        for topic, size in uses:
            sizes[client, operation, topic] += size
    return requests, sizes


def _entries(body: str) -> Iterator[tuple[str, str]]:
    """Topics, each with the text up to the next."""
    body = _CONFIGS.sub("configs=", body)
    entries = list(_ENTRY.finditer(body))
    ends = [entry.start() for entry in entries[1:]] + [len(body)]
    yield from ((entry[1], body[entry.end() : end]) for entry, end in zip(entries, ends, strict=False))


def _sized(operation: str, request: str) -> Iterator[tuple[str, int]]:
    sizes, deleted = _PARTITION_SIZES.search(request), _DELETED.match(request)
    if sizes:
        yield from ((topic, int(size)) for topic, size in _PARTITION_SIZE.findall(sizes[1]))
    elif deleted:
        yield from ((topic, 0) for topic in deleted[1].split(",") if topic)
    else:
        yield from ((topic, _size(text) if operation == "produce" else 0) for topic, text in _entries(request))


def _size(text: str) -> int:
    return sum(int(size or 0) + int(end or 0) - int(start or 0) for size, start, end in _SIZE.findall(text))


def _held(sessions: dict[Any, Any], asked: str, forgotten: str, response: str) -> set[str | None]:
    session, answered = _SESSION.search(asked), _SESSION.search(response)
    if session is None or session[2] is None:
        return set()
    topics, forgotten_topics = (
        [(topic, [int(number) for number in re.findall(pattern, text)]) for topic, text in _entries(body)]
        for body, pattern in ((asked, r"\{partition=(\d+)"), (forgotten, r"(?<=[\[,])\d+(?=[\],])"))
    )
    request = {
        "sessionId": int(session[1]),
        "sessionEpoch": int(session[2]),
        "topics": [
            {"name": topic, "partitions": [{"partition": number} for number in numbers]} for topic, numbers in topics
        ],
        "forgottenTopicsData": [{"name": topic, "partitions": numbers} for topic, numbers in forgotten_topics],
    }
    return held_topics(sessions, request, {"sessionId": int(answered[1]) if answered else 0})
