"""Requests and error codes of `client_activity` equal a count that shares no code with the package."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kafka_clientinfo.config.settings import Settings
from tests.scanned import by_cluster
from tests.topic_count import records

LOGS = Path(__file__).resolve().parents[2] / "sample_logs"
COUNTED = "SELECT client_id, api_name, sum(requests), list(errors) FROM {client_activity} WHERE api_name IS NOT NULL GROUP BY ALL"
IN_JSON = ("kafka-2.8.2", "kafka-3.9.1-node1", "kafka-4.4.0")


def codes(body: Any) -> Iterator[int]:
    """Every error code but 0 in a response."""
    if isinstance(body, list):
        for item in body:
            yield from codes(item)
    elif isinstance(body, dict):
        for name, item in body.items():
            if not name.lower().endswith("errorcode"):
                yield from codes(item)
            elif item:
                yield item


def test_the_sums_are_those_of_the_records() -> None:
    logs = {name: next((LOGS / name).glob("kafka-request.log*")) for name in IN_JSON}
    found = by_cluster(logs, Settings(), "client_activity")
    for name, log in logs.items():
        requests, errors, listed = Counter[Any](), Counter[Any](), Counter[Any]()
        for record in (one for one in records(log) if not one["isForwarded"]):
            key = (record["requestHeader"]["clientId"], record["requestHeader"]["requestApiKeyName"])
            requests[key] += 1
            errors.update((*key, code) for code in codes(record["response"]))
        rows = found[name].query(COUNTED).rows
        assert {(client, api): number for client, api, number, _ in rows} == requests
        for client, api, _, maps in rows:
            for one in maps:
                listed.update({(client, api, code): number for code, number in (one or {}).items()})
        assert listed == errors
