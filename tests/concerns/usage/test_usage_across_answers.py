"""What is counted of a version over several answers to ApiVersions and several kinds of requests on one connection."""

from typing import Any

import pytest

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.concerns.usage import api_usage
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.table import connections
from tests.engines import collected, computed, on
from tests.frames import answered, api_versions, at, judge_requests, log, request

UNSUPPORTED = 35
Key = tuple[str, int]


def answer(seconds: float, low: int, high: int) -> dict[str, Any]:
    return api_versions("x", seconds, 3, response=answered((18, 0, 3), (3, low, high)))


def sent(seconds: float, version: int, api: str = "METADATA", **given: Any) -> dict[str, Any]:
    return request("x", seconds, api, version, **given)


INFO, TRACE = {"log_level": "INFO"}, {"log_level": "TRACE"}
REQUESTS = [
    answer(0, 1, 9), sent(1, 9), sent(2, 9, error_code=UNSUPPORTED),
    sent(3, 9, error_code=-1, api_version_deprecated=True), sent(4, 9, error_code=UNSUPPORTED, **TRACE),
    sent(5, 9, error_code=42, **INFO), sent(6, 12), sent(7, 12, **TRACE), sent(8, 4, "FETCH", **INFO),
    sent(9, 5, "FETCH", **TRACE), sent(9.25, 6, "FETCH", **INFO), sent(9.5, 6, "FETCH"), answer(10, 2, 10),
    sent(11, 9, error_code=UNSUPPORTED), sent(11.5, 9, error_code=UNSUPPORTED, **TRACE), sent(12, 9), sent(13, 12),
    sent(14, 4, "FETCH"), sent(15, 5),
]  # fmt: skip


@pytest.fixture(scope="module")
def used(rules_session: Any) -> dict[Key, dict[str, Any]]:
    """What is used by API and version, with times and places as the seconds at which requests were logged."""
    with on(rules_session):
        judged = computed(judge_requests(*log(rules_session, REQUESTS), Settings(), concerns()))
        rows = collected(api_usage.transform(judged, connections(judged, Settings(), concerns())))
    return {(row["api_name"], row["api_version"]): {k: _plain(v) for k, v in row.asDict().items()} for row in rows}


def _plain(value: Any) -> Any:
    """Seconds for times, and for the first of requests those at which it was logged, with the range on offer."""
    if hasattr(value, "timestamp"):
        return value.timestamp() - at(0).timestamp()
    if value is None or not hasattr(value, "source"):
        return value
    return (value["source"]["correlation_id"], *(value[name] for name in ("low", "high") if name in value))


EXPECTED: dict[Key, dict[str, Any]] = {
    ("METADATA", 9): {"requests": 8, "errors": 6, "unsupported": 4, "first_at": 1, "last_at": 12, "first_request": (1,),
        "deprecated": True, "info_only": False, "highest_used": 12, "requests_outside": None, "requests_unsupported": 4,
        "first_request_unsupported": (2, 1, 9), "first_at_unsupported": 2, "last_at_unsupported": 11.5},
    ("METADATA", 12): {"requests": 3, "errors": None, "requests_outside": 3, "first_request_outside": (6, 1, 9),
        "first_at_outside": 6, "last_at_outside": 13, "requests_unsupported": None},
    ("METADATA", 5): {"requests": 1, "unsupported": None, "requests_outside": None, "requests_unsupported": None},
    ("FETCH", 4): {"requests": 2, "info_only": False, "first_request": (8,), "requests_outside": 2},
    ("FETCH", 6): {"requests": 2, "info_only": False, "last_at_outside": 9.5},
    ("FETCH", 5): {"requests": 1, "info_only": False, "first_at_outside": 9},
}  # fmt: skip


@pytest.mark.parametrize("key", EXPECTED, ids=str)
def test_a_version_is_counted_over_all_answers(used: dict[Key, dict[str, Any]], key: Key) -> None:
    assert {name: used[key][name] for name in EXPECTED[key]} == EXPECTED[key]
