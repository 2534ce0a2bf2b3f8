"""The ranges that brokers advertised, with their times."""

from typing import Any

import pytest

from kafka_clientinfo.transforms import broker_api_versions
from tests.frames import api_versions, at, frame
from tests.transforms.test_api_usage import ranges

OLD, NEW = ranges((0, 0, 8), (1, 0, 11)), ranges((0, 0, 8), (1, 4, 17))


def answer(broker: str, seconds: float, response: str | None, **given: Any) -> dict[str, Any]:
    return api_versions("x", seconds, 3, broker=broker, response=response, **given)


@pytest.fixture(scope="module")
def found(spark: Any) -> dict[str, list[tuple[Any, ...]]]:
    rows = [
        answer("upgraded", 0, OLD),
        answer("upgraded", 5, OLD),
        answer("upgraded", 9, NEW),
        answer("two listeners", 0, ranges((0, 0, 8))),
        answer("two listeners", 0, ranges((0, 0, 8)), listener="SSL"),
        answer("refusing", 0, ranges((18, 0, 3)), error_code=35),
        answer("silent", 0, None),
        answer(
            "hostile", 0, '{"apiKeys":[{"apiKey":"\\u0000"},{"apiKey":7},{"apiKey":30000,"minVersion":1,"maxVersion":1}'
        ),
        answer("hostile", 1, '{"apiKeys":[null,{"apiKey":30000,"minVersion":1,"maxVersion":2}]}'),
    ]
    made: dict[str, list[tuple[Any, ...]]] = {}
    for row in broker_api_versions.transform(frame(spark, "requests", rows)).collect():
        seen = [row[name].timestamp() - at(0).timestamp() for name in ("first_seen", "last_seen")]
        said = (row["listener"], row["api_key"], row["min_version"], row["max_version"], *seen, row["answers"])
        made.setdefault(row["broker"], []).append(said)
    return made


CASES: dict[str, list[tuple[Any, ...]]] = {
    "upgraded": [
        ("PLAINTEXT", 0, 0, 8, 0, 9, 3),
        ("PLAINTEXT", 1, 0, 11, 0, 5, 2),
        ("PLAINTEXT", 1, 4, 17, 9, 9, 1),
    ],
    "two listeners": [("PLAINTEXT", 0, 0, 8, 0, 0, 1), ("SSL", 0, 0, 8, 0, 0, 1)],
    "refusing": [],
    "silent": [],
    "hostile": [("PLAINTEXT", 30000, 1, 2, 1, 1, 1)],
}


@pytest.mark.parametrize("broker", CASES)
def test_it_keeps_each_range_with_its_time(found: dict[str, list[tuple[Any, ...]]], broker: str) -> None:
    assert sorted(found.get(broker, [])) == CASES[broker]
