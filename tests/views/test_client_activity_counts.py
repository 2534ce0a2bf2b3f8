"""Requests, error codes and times of `client_activity` equal a count that shares no code with the package."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from tests.scanned import OfCluster, by_cluster
from tests.topic_count import records

LOGS = Path(__file__).resolve().parents[2] / "sample_logs"
TIMES = {"total_time_ms": "totalTimeMs", "request_queue_time_ms": "requestQueueTimeMs", "local_time_ms": "localTimeMs",
         "remote_time_ms": "remoteTimeMs", "throttle_time_ms": "throttleTimeMs", "send_time_ms": "sendTimeMs"}  # fmt: skip
SUMS = ", ".join(f"CAST(round(sum({name}_sum) * 1000) AS BIGINT)" for name in TIMES)
COUNTED = f"SELECT client_id, api_name, sum(requests), list(errors), {SUMS} FROM {{client_activity}} WHERE api_name IS NOT NULL GROUP BY ALL"
IN_JSON = ("kafka-2.8.2", "kafka-3.9.1-node1", "kafka-3.9.1-node2", "kafka-3.9.1-node3", "kafka-4.4.0")


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


def log_of(name: str) -> Path:
    (log,) = (LOGS / name).glob("kafka-request.log*")
    return log


@pytest.fixture(scope="module")
def samples() -> dict[str, OfCluster]:
    return by_cluster({name: log_of(name) for name in IN_JSON}, Settings(), "client_activity")


@pytest.mark.parametrize("name", IN_JSON)
def test_the_sums_are_those_of_the_records(samples: dict[str, OfCluster], name: str) -> None:
    requests, errors, times = Counter[Any](), Counter[Any](), Counter[Any]()
    for record in records(log_of(name)):
        key = (record["requestHeader"]["clientId"], record["requestHeader"]["requestApiKeyName"])
        if not record["isForwarded"]:
            requests[key] += 1
            errors.update((*key, code) for code in codes(record["response"]))
            times.update({(*key, field): round(record[field] * 1000) for field in TIMES.values()})
    found = samples[name].query(COUNTED).rows
    assert {(client, api): number for client, api, number, *_ in found} == requests
    listed = Counter[Any]()
    for client, api, _, maps, *_ in found:
        for one in maps:
            listed.update({(client, api, code): number for code, number in (one or {}).items()})
    assert listed == errors
    summed = {(who, api, one): sums[at] for who, api, _, _, *sums in found for at, one in enumerate(TIMES.values())}
    assert +Counter(summed) == +times
