"""The ranges that brokers advertised, with their times."""

from typing import Any

import pytest

from kafka_clientinfo.concerns.api_versions import broker_api_version_parts
from kafka_clientinfo.protocol import api_name
from tests.asking import asked
from tests.engines import on
from tests.frames import START, answered, api_versions, as_stored, assert_table, at, frame

OLD, NEW = answered((0, 0, 8), (1, 0, 11)), answered((0, 0, 8), (1, 4, 17))


def answer(broker: str, seconds: float, response: str | None, **given: Any) -> dict[str, Any]:
    return api_versions("x", seconds, 3, broker=broker, response=response, **given)


def advertised(
    broker: str, key: int, low: int, high: int, first: float, last: float, answers: int, **given: Any
) -> dict[str, Any]:
    listened = {"cluster": "c", "broker": broker, "listener": "PLAINTEXT", "api_key": key, "api_name": api_name(key)}
    seen = {"first_seen": at(first), "last_seen": at(last), "answers": answers, "ingested_at": START}
    return {**listened, "min_version": low, "max_version": high, **seen, **given}


HOSTILE = '{"apiKeys":[{"apiKey":"\\u0000"},{"apiKey":7},{"apiKey":30000,"minVersion":1,"maxVersion":1}'
INCOMPLETE = (
    '{"apiKeys":[{"apiKey":7},{"apiKey":8,"minVersion":0},{"apiKey":9,"maxVersion":3},{"minVersion":0,"maxVersion":1},'
    '{"apiKey":1,"minVersion":1,"maxVersion":2}]}'
)
REQUESTS = [
    *(answer("upgraded", at, text) for at, text in ((0, OLD), (5, OLD), (9, NEW))),
    answer("two listeners", 0, answered((0, 0, 8))),
    answer("two listeners", 0, answered((0, 0, 8)), listener="SSL"),
    answer("refusing", 0, answered((18, 0, 3)), error_code=35),
    answer("silent", 0, None),
    answer("logged twice", 0, answered((0, 0, 8))),
    answer("logged twice", 0, answered((0, 0, 8)), is_duplicate=True),
    answer("ingested later", 1, OLD, ingested_at=at(60)),
    answer("hostile", 0, HOSTILE),
    answer("incomplete", 0, INCOMPLETE),
    answer("hostile", 1, '{"apiKeys":[null,{"apiKey":30000,"minVersion":1,"maxVersion":2}]}'),
]
EXPECTED = [
    advertised("upgraded", 0, 0, 8, 0, 9, 3),
    advertised("upgraded", 1, 0, 11, 0, 5, 2),
    advertised("upgraded", 1, 4, 17, 9, 9, 1),
    advertised("two listeners", 0, 0, 8, 0, 0, 1),
    advertised("two listeners", 0, 0, 8, 0, 0, 1, listener="SSL"),
    advertised("logged twice", 0, 0, 8, 0, 0, 1),
    advertised("ingested later", 0, 0, 8, 1, 1, 1, ingested_at=at(60)),
    advertised("ingested later", 1, 0, 11, 1, 1, 1, ingested_at=at(60)),
    advertised("incomplete", 1, 1, 2, 0, 0, 1),
    advertised("hostile", 30000, 1, 2, 1, 1, 1),
]


@pytest.mark.kip("KIP-35", 3, 13)
def test_it_keeps_each_range_with_its_time(rules_session: Any) -> None:
    """A refusal, a missing answer and a body that is no JSON advertise nothing."""
    with on(rules_session):
        parts = [broker_api_version_parts.transform(frame(rules_session, "requests", REQUESTS[n::2])) for n in range(2)]
        parts = [as_stored(rows, "broker_api_version_parts") for rows in parts]
        both = parts[0].unionByName(parts[1])
    found = asked(rules_session, "broker_api_versions", broker_api_version_parts=both)
    assert_table(found, rules_session, "broker_api_versions", EXPECTED)
