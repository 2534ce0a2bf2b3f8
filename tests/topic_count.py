"""A count of topics that shares no code with the package: every record in JSON is parsed whole, one after the other."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_OPERATIONS = {
    "PRODUCE": "produce", "FETCH": "fetch", "SHARE_FETCH": "fetch", "OFFSET_COMMIT": "commit",
    "TXN_OFFSET_COMMIT": "commit", "SHARE_ACKNOWLEDGE": "commit", "CREATE_TOPICS": "administer",
    "DELETE_TOPICS": "administer", "CREATE_PARTITIONS": "administer", "DELETE_RECORDS": "administer",
    "ELECT_LEADERS": "administer", "ALTER_PARTITION_REASSIGNMENTS": "administer", "ALTER_CONFIGS": "administer",
    "INCREMENTAL_ALTER_CONFIGS": "administer",
}  # fmt: skip
_REQUEST_LISTS = ("topics", "topicData", "topicNames", "topicPartitions", "resources")
_RESPONSE_LISTS = ("responses", "topics", "results", "replicaElectionResults")
_TOPIC_RESOURCE = 2
_PARTITION_LISTS = ("partitionData", "partitions", "partitionResponses")
_USAGE = "SELECT client_id, operation, coalesce(topic, topic_id), requests, bytes FROM {topic_usage}"
Use = tuple[str, str, str | None]
"""Client id, operation, and topic: its name, or its id where the record has no name; None for an unknown session."""


def records(log: Path) -> Iterator[dict[str, Any]]:
    """The completed requests of a log in JSON."""
    content = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
    for line in content.splitlines():
        begin, end = line.find(b'Completed request:{"'), line.rfind(b"} (")
        if begin >= 0:
            yield json.loads(line[begin + len(b"Completed request:") : end + 1].decode("utf-8", "replace"))


def counted(log: Path) -> tuple[Counter[Use], Counter[Use]]:
    """Requests and bytes of a broker's whole log."""
    requests, sizes = Counter[Use](), Counter[Use]()
    sessions: dict[Any, dict[str, set[int]]] = {}
    for record in records(log):
        header, request, response = record["requestHeader"], record["request"] or {}, record["response"] or {}
        operation = _OPERATIONS.get(header["requestApiKeyName"])
        if operation is None or record["isForwarded"]:
            continue
        replica = request.get("replicaState", {}).get("replicaId", request.get("replicaId", -1))
        if operation == "fetch" and replica >= 0:
            operation = "replicate"
        named, of_request = _named(request, response)
        if "sessionEpoch" in request:
            named |= held_topics(sessions, request, response)
        elif "shareSessionEpoch" in request:
            named |= _shared(sessions, request, response)
        for topic in named:
            use = (header["clientId"], operation, topic)
            requests[use] += 1
            sizes[use] += of_request.get(topic, 0)
    return requests, sizes


def of_usage(tables: Any) -> tuple[Counter[Use], Counter[Use]]:
    """The same counts as the table `topic_usage` has them."""
    requests, sizes = Counter[Use](), Counter[Use]()
    for client, operation, topic, number, size in tables.query(_USAGE).rows:
        requests[client, operation, topic] += number
        sizes[client, operation, topic] += size or 0
    return requests, +sizes


def by_name(counts: Counter[Use], tables: Any) -> Counter[Use]:
    """Counts without zeros, under the names that `known_topics` has for ids."""
    names = dict(tables.query("SELECT topic_id, topic FROM {known_topics} WHERE topic_id IS NOT NULL").rows)
    names.setdefault("AAAAAAAAAAAAAAAAAAAAAQ", "__cluster_metadata")  # its id in every cluster (KIP-516)
    found = Counter[Use]()
    for (client, operation, topic), number in counts.items():
        found[client, operation, names.get(topic, topic)] += number
    return +found


def _named(request: dict[str, Any], response: dict[str, Any]) -> tuple[set[str | None], Counter[str]]:
    entries = [entry for name in _REQUEST_LISTS for entry in request.get(name) or ()]
    entries += [entry for name in _RESPONSE_LISTS for entry in response.get(name) or ()]
    named: set[str | None] = set()
    sizes = Counter[str]()
    for entry in entries:
        if isinstance(entry, dict) and entry.get("resourceType", _TOPIC_RESOURCE) != _TOPIC_RESOURCE:
            continue
        topic = entry if isinstance(entry, str) else _topic(entry)
        named.add(topic)
        if isinstance(entry, dict):
            partitions = next((entry[name] for name in _PARTITION_LISTS if isinstance(entry.get(name), list)), [])
            for partition in partitions:
                if isinstance(partition, dict):
                    sizes[topic] += partition.get("recordsSizeInBytes", partition.get("recordSetSizeInBytes", 0))
    return named, sizes


def _topic(entry: dict[str, Any]) -> str:
    names = ("name", "topic", "topicName", "resourceName", "topicId")
    topic: str = next(entry[name] for name in names if entry.get(name))
    return topic


def held_topics(sessions: dict[Any, Any], request: dict[str, Any], response: dict[str, Any]) -> set[str | None]:
    """The topics that a fetch asks for because its session holds them; the session is changed."""
    session, epoch, answered = request["sessionId"], request["sessionEpoch"], response.get("sessionId", 0)
    if epoch <= 0:
        sessions.pop(session, None)
        if answered:
            sessions[answered] = _partitions(request["topics"], "partition")
        return set()
    return _changed(sessions, session, request, "partition", is_kept=answered == session)


def _shared(sessions: dict[Any, Any], request: dict[str, Any], response: dict[str, Any]) -> set[str | None]:
    session, epoch = (request["groupId"], request["memberId"]), request["shareSessionEpoch"]
    is_kept = not response.get("errorCode")
    if epoch <= 0:
        sessions.pop(session, None)
        if epoch == 0 and is_kept:
            sessions[session] = _partitions(request["topics"], "partitionIndex")
        return set()
    if "forgottenTopicsData" not in request:  # an acknowledgement asks for nothing
        return set()
    return _changed(sessions, session, request, "partitionIndex", is_kept)


def _changed(
    sessions: dict[Any, Any], session: Any, request: dict[str, Any], number: str, is_kept: bool
) -> set[str | None]:
    held = sessions.get(session)
    if held is None:
        return {None}
    for topic, partitions in _partitions(request["topics"], number).items():
        held.setdefault(topic, set()).update(partitions)
    for entry in request["forgottenTopicsData"]:
        held.get(_topic(entry), set()).difference_update(entry["partitions"])
    if not is_kept:
        del sessions[session]
    return {topic for topic, partitions in held.items() if partitions}


def _partitions(entries: list[dict[str, Any]], number: str) -> dict[str, set[int]]:
    held: dict[str, set[int]] = {}
    for entry in entries:
        held.setdefault(_topic(entry), set()).update(partition[number] for partition in entry["partitions"])
    return held
