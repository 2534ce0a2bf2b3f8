"""KIP-1313's client-id caching: what the first request fixed, and what was sent again."""

from typing import Any

import pytest

from tests.frames import by_connection, derive, request

CASES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "the same id always": (
        [{}, {}, {}],
        {"requests_same": 2, "redundant_bytes": 6, "instance_id_bytes": 48, "verdict": "unchanged"},
    ),
    "null after the first": (
        [{}, {"client_id": None}],
        {"requests_null": 1, "redundant_bytes": 0, "verdict": "sent_once"},
    ),
    "empty after the first": ([{}, {"client_id": ""}], {"requests_null": 1, "verdict": "sent_once"}),
    "null as text": (
        [{}, {"client_id": "null", "log_generation": "api_key_struct"}],
        {"requests_null": 1, "requests_other": 0},
    ),
    "a client called null": ([{}, {"client_id": "null"}], {"requests_null": 0, "requests_other": 1}),
    "other ids": (
        [{}, {"client_id": "z"}, {"client_id": "y"}, {"client_id": "z"}],
        {"requests_other": 3, "other_client_ids": ["y", "z"], "verdict": "changed"},
    ),
    "no id at all": (
        [{"client_id": None}, {"client_id": ""}],
        {"requests_same": 1, "requests_null": 0, "verdict": "none_sent"},
    ),
    "an id after none": ([{"client_id": None}, {}], {"requests_other": 1, "verdict": "changed"}),
    "bytes, not characters": ([{"client_id": "中"}, {"client_id": "中"}], {"redundant_bytes": 3}),
}


@pytest.fixture(scope="module")
def found(spark: Any) -> dict[str, list[Any]]:
    rows = [request(name, n, **given) for name, (requests, _) in CASES.items() for n, given in enumerate(requests)]
    rows += [request("a broker", 0, "UPDATE_METADATA", client_id="1"), request("forwarding", 0, is_forwarded=True)]
    return by_connection(derive(spark, rows)["client_id_cache"])


@pytest.mark.parametrize("name", CASES)
def test_it_compares_with_the_first_id(found: dict[str, list[Any]], name: str) -> None:
    (row,) = found[name]
    assert {key: row[key] for key in CASES[name][1]} == CASES[name][1]


def test_brokers_and_forwarded_requests_are_no_clients(found: dict[str, list[Any]]) -> None:
    assert not {"a broker", "forwarding"} & set(found)


def test_the_verdict_names_its_rule(found: dict[str, list[Any]]) -> None:
    assert all("KIP-1313" in row["rule"] for rows in found.values() for row in rows)
