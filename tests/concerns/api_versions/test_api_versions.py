"""KIP-35 and KIP-511: what came of each connection's ApiVersions requests."""

from typing import Any

import pytest

from tests.frames import api_versions, by_connection, derive, offer, request

Case = tuple[list[dict[str, Any]], dict[str, Any]]


def av(seconds: float, version: int, error: int = 0, response: str | None = None, **given: Any) -> dict[str, Any]:
    return api_versions("?", seconds, version, error_code=error, response=response, **given)


def old(seconds: float, version: int, throttle: float | None) -> dict[str, Any]:
    """A broker that logs no response; 0.11 is told by its throttle time."""
    return av(seconds, version, log_generation="api_key_struct", throttle_time_ms=throttle) | {"error_code": None}


CASES: dict[str, Case] = {
    "accepted at once": ([av(0, 3)], {"outcome": "negotiated", "successes": 1, "inferred": False}),
    "repeated": ([av(0, 3), av(1, 3)], {"outcome": "negotiated", "successes": 2}),
    "to the highest offered": (
        [av(0, 4, 35, offer(0, 3)), av(1, 3)],
        {"outcome": "fell_back", "fallback_from": 4, "fallback_to": 3, "fallback_kind": "to_highest_offered"},
    ),
    "to zero although more was offered": (
        [av(0, 4, 35, offer(0, 3)), av(1, 0)],
        {"outcome": "fell_back", "fallback_to": 0, "fallback_kind": "to_zero_although_more_was_offered"},
    ),
    "to zero, nothing offered": (
        [av(0, 3, 35, '{"errorCode":35,"apiKeys":[]}'), av(1, 0)],
        {"outcome": "fell_back", "fallback_kind": "to_zero_nothing_offered"},
    ),
    "to zero, the highest offered": (
        [av(0, 3, 35, offer(0, 0)), av(1, 0)],
        {"outcome": "fell_back", "fallback_kind": "to_highest_offered"},
    ),
    "to something in between": (
        [av(0, 9, 35, offer(0, 3)), av(1, 2)],
        {"outcome": "fell_back", "fallback_from": 9, "fallback_to": 2, "fallback_kind": "other"},
    ),
    "gave up": ([av(0, 4, 35, offer(0, 3))], {"outcome": "rejected_unsupported_version", "successes": 0}),
    "an invalid name": ([av(0, 3, 42)], {"outcome": "rejected_invalid_request", "fallback_kind": None}),
    "went on after an invalid name": ([av(0, 3, 42), av(1, 0)], {"outcome": "negotiated_after_invalid_request"}),
    "never asked": ([request("?", 0, correlation_id=0)], {"outcome": "not_sent", "attempts": []}),
    "asked before the log": ([request("?", 20, correlation_id=55)], {"outcome": "not_observed"}),
    "asked before SASL": (
        [request("?", 0, correlation_id=0, security_protocol="SASL_PLAINTEXT")],
        {"outcome": "not_observed"},
    ),
    "INFO would not show it": ([request("?", 0, correlation_id=0, log_level="INFO")], {"outcome": "not_observed"}),
    "0.10 takes v0 only": (
        [old(0, 3, None), old(1, 0, None)],
        {"outcome": "fell_back", "fallback_from": 3, "fallback_kind": "to_zero_nothing_offered", "inferred": True},
    ),
    "0.11 takes v1": ([old(0, 1, 0.0)], {"outcome": "negotiated", "inferred": True}),
    "0.11 refuses v2": ([old(0, 2, 0.0)], {"outcome": "rejected_unsupported_version", "inferred": True}),
    "a broken answer": ([av(0, 4, 35, '{"apiKeys":"x'), av(1, 0)], {"fallback_kind": "to_zero_nothing_offered"}),
}


@pytest.fixture(scope="module")
def found(spark: Any) -> dict[str, list[Any]]:
    rows = [request("opens the log", 0, correlation_id=77)]
    rows += [row | {"connection_id": name} for name, (requests, _) in CASES.items() for row in requests]
    return by_connection(derive(spark, rows)["api_versions_negotiations"])


@pytest.mark.parametrize("name", CASES)
def test_it_tells_the_outcome(found: dict[str, list[Any]], name: str) -> None:
    (row,) = found[name]
    assert {key: row[key] for key in CASES[name][1]} == CASES[name][1]


def test_it_lists_the_attempts_in_order(found: dict[str, list[Any]]) -> None:
    attempts = [tuple(attempt) for attempt in found["to the highest offered"][0]["attempts"]]
    assert attempts == [(4, 35, 0, 3), (3, 0, None, None)]
