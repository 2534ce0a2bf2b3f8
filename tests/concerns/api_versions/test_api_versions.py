"""KIP-35 and KIP-511: what came of each connection's ApiVersions requests, and who goes on as the KIPs do not ask."""

import json
from typing import Any

import pytest

from kafka_clientinfo.connections.look_backs import UNLESS_PAUSED
from tests.concerns.cases import Case, Judged, assert_case, assert_message
from tests.frames import api_versions, offer, request

INVALID, UNSUPPORTED, UNKNOWN_ERROR = 42, 35, -1


def av(seconds: float, version: int, error: int = 0, response: str | None = None, **given: Any) -> dict[str, Any]:
    return api_versions("?", seconds, version, error_code=error, response=response, **given)


def old(seconds: float, version: int, throttle: float | None) -> dict[str, Any]:
    """A broker that logs no response; of 0.11, as it logs a throttle time."""
    return av(seconds, version, log_generation="api_key_struct", throttle_time_ms=throttle) | {"error_code": None}


def text(row: dict[str, Any], software: str | None) -> dict[str, Any]:
    """The same request in the text of a broker before 2.8; from 2.4 on it has the software's name."""
    return row | {"log_generation": "request_header_struct", "client_software_name": software}


NOTHING_OFFERED = '{"errorCode":35,"apiKeys":[]}'
OFFERED_AMONG_OTHERS = json.dumps(
    {
        "errorCode": UNSUPPORTED,
        "apiKeys": [
            None,
            {"apiKey": 0, "minVersion": 3, "maxVersion": 12},
            {"apiKey": 18, "minVersion": 0, "maxVersion": 4},
            {"apiKey": 3, "minVersion": 0, "maxVersion": 13},
        ],
    }
)
CASES: dict[str, Case] = {
    "accepted at once": Case(
        [av(0, 3)],
        {
            "api_versions_outcome": "negotiated",
            "api_versions_successes": 1,
            "api_versions_inferred": False,
            "fallback_kind": None,
        },
    ),
    "repeated": Case([av(0, 3), av(1, 3)], {"api_versions_outcome": "negotiated", "api_versions_successes": 2}),
    "to the highest offered": Case(
        [av(0, 4, UNSUPPORTED, offer(0, 3)), av(1, 3)],
        {
            "api_versions_outcome": "fell_back",
            "api_versions_attempts": [(4, UNSUPPORTED, 0, 3), (3, 0, None, None)],
            "fallback_from": 4,
            "fallback_to": 3,
            "fallback_kind": "to_highest_offered",
        },
    ),
    "to zero although more was offered": Case(
        [av(0, 4, UNSUPPORTED, offer(0, 3)), av(1, 0)],
        {
            "api_versions_outcome": "fell_back",
            "fallback_to": 0,
            "fallback_kind": "to_zero_although_more_was_offered",
        },
        {"fallback_ignores_offer": 1},
    ),
    **{
        f"to zero although more was offered, after another request with the error {error}": Case(
            [av(0, 4, UNSUPPORTED, offer(0, 3)), request("?", 1, error_code=error), av(2, 0)],
            {"fallback_kind": "to_zero_although_more_was_offered"},
            {"fallback_ignores_offer": 1},
        )
        for error in (0, UNSUPPORTED)
    },
    "accepted by an answer that does not list ApiVersions": Case(
        [av(0, 3, 0, '{"errorCode":0,"apiKeys":[{"apiKey":3,"minVersion":0,"maxVersion":9}]}')],
        {"api_versions_outcome": "negotiated"},
    ),
    "to zero although one more was offered": Case(
        [av(0, 4, UNSUPPORTED, offer(0, 1)), av(1, 0)],
        {"fallback_kind": "to_zero_although_more_was_offered"},
        {"fallback_ignores_offer": 1},
    ),
    "to zero, nothing offered": Case(
        [av(0, 3, UNSUPPORTED, NOTHING_OFFERED), av(1, 0)],
        {"api_versions_outcome": "fell_back", "fallback_kind": "to_zero_nothing_offered"},
        {"refused_without_range": 1},
    ),
    "to zero, nothing offered by 2.3": Case(
        [text(av(0, 3, UNSUPPORTED, NOTHING_OFFERED), None), text(av(1, 0), None)],
        {"api_versions_outcome": "fell_back", "fallback_kind": "to_zero_nothing_offered"},
    ),
    "to zero, nothing offered by 2.3, which takes no version with a name": Case(
        [text(av(0, 3, UNSUPPORTED, NOTHING_OFFERED), None), text(av(1, 0, 0, offer(0, 2)), None)],
        {"fallback_kind": "to_zero_nothing_offered"},
    ),
    "to zero, nothing offered by what answers for 2.4": Case(
        [text(av(0, 4, UNSUPPORTED, NOTHING_OFFERED), None), text(av(1, 0, 0, offer(0, 3)), None)],
        {"fallback_kind": "to_zero_nothing_offered"},
        {"refused_without_range": 1},
    ),
    "to zero, nothing offered by 2.4": Case(
        [text(av(0, 4, UNSUPPORTED, NOTHING_OFFERED), "unknown"), text(av(1, 0), "unknown")],
        {"api_versions_outcome": "fell_back", "fallback_kind": "to_zero_nothing_offered"},
        {"refused_without_range": 1},
    ),
    "refused without a list": Case(
        [av(0, 3, UNSUPPORTED, '{"errorCode":35}'), av(1, 4, UNSUPPORTED, offer(0, 3)), av(2, 0)],
        {"fallback_kind": "to_zero_although_more_was_offered"},
        {"refused_without_range": 1, "fallback_ignores_offer": 1},
    ),
    "refused although it is offered": Case(
        [av(0, 4, UNSUPPORTED, offer(0, 4)), av(1, 0)],
        {"fallback_kind": "other"},
        {"refused_although_offered": 1},
    ),
    "refused without an answer in the log": Case([av(0, 3, UNSUPPORTED), av(1, 0)], {}),
    "to zero, the highest offered": Case(
        [av(0, 3, UNSUPPORTED, offer(0, 0)), av(1, 0)],
        {"api_versions_outcome": "fell_back", "fallback_kind": "to_highest_offered"},
    ),
    "to something in between": Case(
        [av(0, 9, UNSUPPORTED, offer(0, 3)), av(1, 2)],
        {
            "api_versions_outcome": "fell_back",
            "fallback_from": 9,
            "fallback_to": 2,
            "fallback_kind": "to_lower_than_offered",
        },
        {"fallback_ignores_offer": 1},
    ),
    "to a lower version that carries a name too": Case(
        [av(0, 9, UNSUPPORTED, offer(0, 4)), av(1, 3)], {"fallback_to": 3, "fallback_kind": "other"}
    ),
    "to a lower version where none that carries a name was offered": Case(
        [av(0, 9, UNSUPPORTED, offer(0, 2)), av(1, 1)], {"fallback_to": 1, "fallback_kind": "other"}
    ),
    "to more than was offered": Case([av(0, 9, UNSUPPORTED, offer(0, 3)), av(1, 4)], {"fallback_kind": "other"}),
    "to something, nothing offered": Case(
        [av(0, 9, UNSUPPORTED, NOTHING_OFFERED), av(1, 2)], {"fallback_kind": "other"}, {"refused_without_range": 1}
    ),
    "the offer of ApiVersions is not the first in the answer": Case(
        [av(0, 9, UNSUPPORTED, OFFERED_AMONG_OTHERS), av(1, 2)],
        {
            "api_versions_attempts": [(9, UNSUPPORTED, 0, 4), (2, 0, None, None)],
            "fallback_kind": "to_lower_than_offered",
        },
        {"fallback_ignores_offer": 1},
    ),
    "only the last refusal counts": Case(
        [av(0, 9, UNSUPPORTED, offer(0, 3)), av(1, 5, UNSUPPORTED, NOTHING_OFFERED), av(2, 0)],
        {"fallback_from": 5, "fallback_kind": "to_zero_nothing_offered"},
        {"refused_without_range": 1},
    ),
    "zero again after the fallback": Case(
        [av(0, 9, UNSUPPORTED, offer(0, 3)), av(1, 3), av(2, 0)], {"fallback_kind": "to_highest_offered"}
    ),
    "gave up": Case(
        [av(0, 4, UNSUPPORTED, offer(0, 3))],
        {"api_versions_outcome": "rejected_unsupported_version", "api_versions_successes": 0},
    ),
    "an invalid name": Case(
        [av(0, 3, INVALID)], {"api_versions_outcome": "rejected_invalid_request", "fallback_kind": None}
    ),
    "went on after an invalid name": Case(
        [av(0, 3, INVALID), av(1, 0), request("?", 2)],
        {"api_versions_outcome": "negotiated_after_invalid_request"},
        {"went_on_after_invalid_request": 2},
    ),
    "another error": Case(
        [av(0, 3, UNKNOWN_ERROR)], {"api_versions_outcome": "rejected_other", "api_versions_successes": 0}
    ),
    "accepted after another error": Case(
        [av(0, 3, UNKNOWN_ERROR), av(1, 3)], {"api_versions_outcome": "negotiated", "fallback_kind": None}
    ),
    "never asked": Case(
        [request("?", 0, correlation_id=0)],
        {"api_versions_outcome": "not_sent", "api_versions_attempts": [], "api_versions_inferred": False},
    ),
    "asked before the log": Case([request("?", 20, correlation_id=55)], {"api_versions_outcome": "not_observed"}),
    "asked before SASL": Case(
        [request("?", 0, correlation_id=0, security_protocol="SASL_PLAINTEXT")],
        {"api_versions_outcome": "not_observed"},
    ),
    "asked again after SASL": Case(
        [av(0, 3, security_protocol="SASL_SSL"), request("?", 1, security_protocol="SASL_SSL")],
        {"start": "hidden_by_sasl", "api_versions_outcome": "negotiated", "api_versions_successes": 1},
    ),
    "INFO would not show it": Case(
        [request("?", 0, correlation_id=0, log_level="INFO", broker="info", file_id="info")],
        {"api_versions_outcome": "not_observed"},
    ),
    "0.10 takes v0 only": Case(
        [old(0, 3, None), old(1, 0, None)],
        {
            "api_versions_outcome": "fell_back",
            "fallback_from": 3,
            "fallback_kind": "to_zero_nothing_offered",
            "api_versions_inferred": True,
        },
    ),
    "0.11, never asked": Case(
        [request("?", 0, log_generation="api_key_struct", client_software_name=None)],
        {"api_versions_attempts": [], "api_versions_inferred": False},
    ),
    "0.11 takes v1": Case([old(0, 1, 0.0)], {"api_versions_outcome": "negotiated", "api_versions_inferred": True}),
    "0.11 refuses v2": Case(
        [old(0, 2, 0.0)], {"api_versions_outcome": "rejected_unsupported_version", "api_versions_inferred": True}
    ),
    "no answer": Case(
        [av(0, 3) | {"error_code": None}],
        {"api_versions_attempts": [(3, None, None, None)], "api_versions_outcome": "not_observed"},
    ),
    "no answer after an offer": Case(
        [av(0, 4, UNSUPPORTED, offer(0, 3)), av(1, 3) | {"error_code": None}, av(2, 0)],
        {
            "api_versions_outcome": "fell_back",
            "fallback_from": 4,
            "fallback_to": 0,
            "fallback_kind": "to_zero_although_more_was_offered",
        },
        {"fallback_ignores_offer": 1},
    ),
    "of a broker": Case(
        [av(0, 4, UNSUPPORTED, offer(0, 3)), av(1, 3), request("?", 2, "UPDATE_METADATA", client_id="1")],
        {
            "role": "broker",
            "api_versions_attempts": [(4, UNSUPPORTED, 0, 3), (3, 0, None, None)],
            "api_versions_outcome": None,
            "api_versions_successes": None,
            "fallback_from": None,
            "fallback_kind": None,
        },
    ),
    "from v1 on, one higher version after the other": Case(
        [av(0, 1, UNSUPPORTED, offer(3, 4)), av(1, 2, UNSUPPORTED, offer(3, 4)), av(2, 3)],
        {
            "api_versions_outcome": "fell_back",
            "api_versions_attempts": [(1, UNSUPPORTED, 3, 4), (2, UNSUPPORTED, 3, 4), (3, 0, None, None)],
            "fallback_from": 2,
            "fallback_to": 3,
            "fallback_kind": "other",
        },
    ),
    "an error that nobody knows": Case(
        [av(0, 3, 32000), av(1, 4, -32768)],
        {
            "api_versions_outcome": "rejected_other",
            "api_versions_attempts": [(3, 32000, None, None), (4, -32768, None, None)],
        },
    ),
    "a broken answer": Case(
        [av(0, 4, UNSUPPORTED, '{"apiKeys":"x'), av(1, 0)], {"fallback_kind": "to_zero_nothing_offered"}
    ),
}
MESSAGES = {
    "went_on_after_invalid_request": (
        "went on after an invalid name",
        "API_VERSIONS v0 after INVALID_REQUEST" + UNLESS_PAUSED,
    ),
    "fallback_ignores_offer": ("to something in between", "ApiVersions v2 although v3 was offered" + UNLESS_PAUSED),
    "refused_without_range": (
        "to zero, nothing offered",
        "ApiVersions v3 was answered with UNSUPPORTED_VERSION and no range",
    ),
    "refused_although_offered": (
        "refused although it is offered",
        "ApiVersions v4 was answered with UNSUPPORTED_VERSION and a range that holds v4",
    ),
}


@pytest.mark.kip("KIP-511", 6, 9, case="to the highest offered")
@pytest.mark.kip("KIP-511", 8, case="to zero, nothing offered")
@pytest.mark.kip("KIP-511", 10, case="to something in between")
@pytest.mark.kip("KIP-511", 11, case="the offer of ApiVersions is not the first in the answer")
@pytest.mark.kip("KIP-511", 22, case="went on after an invalid name")
@pytest.mark.kip("KIP-511", 23, case="asked again after SASL")
@pytest.mark.kip("KIP-511", 24, case="asked before SASL")
@pytest.mark.kip("KIP-511", 29, case="0.10 takes v0 only")
@pytest.mark.kip("KIP-35", 1, case="accepted at once")
@pytest.mark.kip("KIP-35", 16, case="asked before SASL")
@pytest.mark.kip("KIP-35", 17, case="never asked")
@pytest.mark.parametrize("name", CASES)
def test_it_tells_the_outcome(judged: Judged, name: str) -> None:
    assert_case(judged, name, CASES[name], "api_versions")


@pytest.mark.parametrize("rule", MESSAGES)
def test_its_violations_say_what_was_found(judged: Judged, rule: str) -> None:
    name, message = MESSAGES[rule]
    assert_message(judged, name, rule, message)


@pytest.mark.parametrize("name", CASES)
def test_a_fallback_below_the_offer_is_a_violation_and_no_other_is(judged: Judged, name: str) -> None:
    (row,) = judged.connections[name]
    below = row["fallback_kind"] in ("to_zero_although_more_was_offered", "to_lower_than_offered")
    assert ("fallback_ignores_offer" in judged.violations[name]) == below
