"""KIP-35: versions used, beside the range advertised on the same connection."""

import json
from typing import Any

import pytest

from kafka_clientinfo.protocol import request_header_version
from kafka_clientinfo.settings import Settings
from tests.frames import START, api_versions, at, frame, request


def ranges(*apis: tuple[int, int, int]) -> str:
    return json.dumps(
        {"errorCode": 0, "apiKeys": [{"apiKey": k, "minVersion": a, "maxVersion": b} for k, a, b in apis]}
    )


def av(seconds: float, response: str | None, version: int = 3, **given: Any) -> dict[str, Any]:
    return api_versions("?", seconds, version, response=response, **given)


ANSWER = ranges((3, 1, 9), (18, 0, 3))
UNKNOWN = {"advertised_min": None, "advertised_max": None, "within_advertised": None, "highest_mutual": None}
# requests of a connection, and what is expected of its METADATA rows by version
CASES: dict[str, tuple[list[dict[str, Any]], dict[int, dict[str, Any]]]] = {
    "the highest mutual version": (
        [av(0, ANSWER), request("?", 1, version=9), request("?", 2, version=9, error_code=3)],
        {9: {"requests": 2, "errors": 1, "advertised_min": 1, "within_advertised": True, "highest_mutual": True}},
    ),
    "below it": (
        [av(0, ANSWER), request("?", 1, version=4), request("?", 2, version=9)],
        {
            4: {"highest_mutual": False, "highest_used": 9, "header_version": request_header_version(3, 4)},
            9: {"highest_mutual": True, "highest_used": 9},
        },
    ),
    "outside": (
        [av(0, ANSWER), request("?", 1, version=0)],
        {0: {"advertised_max": 9, "within_advertised": False, "highest_mutual": None}},
    ),
    "an API that is not advertised": (
        [av(0, ranges((18, 0, 3))), request("?", 1, version=4)],
        {4: UNKNOWN | {"within_advertised": False}},
    ),
    "never asked": ([request("?", 1, version=4)], {4: UNKNOWN}),
    "asked in vain": ([av(0, ANSWER, 9, error_code=35), request("?", 1, version=4)], {4: UNKNOWN}),
    "the last answer counts": (
        [av(0, ANSWER), av(1, ranges((3, 0, 4))), request("?", 2, version=4)],
        {4: {"advertised_min": 0, "advertised_max": 4, "highest_mutual": True}},
    ),
    "an answer that is no JSON": ([av(0, '{"apiKeys":[{'), request("?", 1, version=4)], {4: UNKNOWN}),
    "an answer without ranges": ([av(0, '{"apiKeys":[]}'), request("?", 1, version=4)], {4: UNKNOWN}),
    "an answer of wild values": (
        [av(0, '{"apiKeys":[null,{"apiKey":"3"},{"apiKey":3,"minVersion":1e99}]}'), request("?", 1, version=4)],
        {4: {"highest_mutual": None}},
    ),
    "logged at INFO": (
        [request("?", 1, version=0, log_level="INFO", api_version_deprecated=True)],
        {0: UNKNOWN | {"info_only": True, "deprecated": True}},
    ),
}


@pytest.fixture(scope="module")
def found(spark: Any) -> dict[tuple[str, int, int], Any]:
    from kafka_clientinfo.transforms import api_usage, session_requests

    rows = [row | {"connection_id": name} for name, (requests, _) in CASES.items() for row in requests]
    rows = [row | {"byte_offset": place} for place, row in enumerate(rows)]
    file = {"file_id": "f", "cluster": "c", "broker": "b", "first_logged_at": START, "last_logged_at": at(9)}
    files = frame(spark, "ingested_files", [file | {"covers_broker_start": True}])
    sessions = session_requests.transform(frame(spark, "requests", rows), files, Settings())
    used = api_usage.transform(sessions).collect()
    return {(row["connection_id"], row["api_key"], row["api_version"]): row for row in used}


@pytest.mark.parametrize("name", CASES)
def test_versions_are_judged_by_the_connections_own_answer(found: dict[Any, Any], name: str) -> None:
    for version, expected in CASES[name][1].items():
        row = found[name, 3, version]
        assert {key: row[key] for key in expected} == expected


def test_a_rejected_api_versions_request_is_an_error(found: dict[Any, Any]) -> None:
    assert found["asked in vain", 18, 9]["errors"] == 1
    assert found["the highest mutual version", 18, 3]["errors"] == 0
