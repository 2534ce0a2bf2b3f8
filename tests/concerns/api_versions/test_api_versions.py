"""KIP-35 and KIP-511: what came of each connection's ApiVersions requests, and who goes on as the KIPs do not ask."""

from typing import Any

import pytest

from kafka_clientinfo.connections.look_backs import UNLESS_PAUSED
from tests.concerns.cases import Case, Judged, assert_case, assert_messages, of_columns
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
OFFERED_AMONG_OTHERS = offer(0, 4).replace("[", '[null,{"apiKey":0,"minVersion":3,"maxVersion":12},')


def refused(seconds: float, version: int, low: int, high: int) -> dict[str, Any]:
    return av(seconds, version, UNSUPPORTED, offer(low, high))


TO_ZERO, NOTHING = "to_zero_although_more_was_offered", "to_zero_nothing_offered"
IGNORES, NO_RANGE = "fallback_ignores_offer", "refused_without_range"
case = of_columns("api_versions_", "fallback_")
CASES: dict[str, Case] = {
    "accepted at once": case(av(0, 3), outcome="negotiated", successes=1, inferred=False, kind=None),
    "repeated": case(av(0, 3), av(1, 3), outcome="negotiated", successes=2),
    "to the highest offered": case(refused(0, 4, 0, 3), av(1, 3), outcome="fell_back",
        attempts=[(4, UNSUPPORTED, 0, 3), (3, 0, None, None)], fallback_from=4, to=3, kind="to_highest_offered"),
    "to zero although more was offered": case(refused(0, 4, 0, 3), av(1, 0), outcome="fell_back", to=0, kind=TO_ZERO,
        broken=IGNORES),
    **{f"to zero although more was offered, after another request with the error {error}": case(refused(0, 4, 0, 3),
            request("?", 1, error_code=error), av(2, 0), kind=TO_ZERO, broken=IGNORES) for error in (0, UNSUPPORTED)},
    "accepted by an answer that does not list ApiVersions": case(
        av(0, 3, 0, '{"errorCode":0,"apiKeys":[{"apiKey":3,"minVersion":0,"maxVersion":9}]}'), outcome="negotiated"),
    "to zero although one more was offered": case(refused(0, 4, 0, 1), av(1, 0), kind=TO_ZERO, broken=IGNORES),
    "to zero, nothing offered": case(av(0, 3, UNSUPPORTED, NOTHING_OFFERED), av(1, 0), outcome="fell_back",
        kind=NOTHING, broken=NO_RANGE),
    "to zero, nothing offered by 2.3": case(text(av(0, 3, UNSUPPORTED, NOTHING_OFFERED), None), text(av(1, 0), None),
        outcome="fell_back", kind=NOTHING),
    "to zero, nothing offered by 2.3, which takes no version with a name": case(
        text(av(0, 3, UNSUPPORTED, NOTHING_OFFERED), None), text(av(1, 0, 0, offer(0, 2)), None), kind=NOTHING),
    "to zero, nothing offered by what answers for 2.4": case(text(av(0, 4, UNSUPPORTED, NOTHING_OFFERED), None),
        text(av(1, 0, 0, offer(0, 3)), None), kind=NOTHING, broken=NO_RANGE),
    "to zero, nothing offered by 2.4": case(text(av(0, 4, UNSUPPORTED, NOTHING_OFFERED), "unknown"),
        text(av(1, 0), "unknown"), outcome="fell_back", kind=NOTHING, broken=NO_RANGE),
    "refused without a list": case(av(0, 3, UNSUPPORTED, '{"errorCode":35}'), refused(1, 4, 0, 3), av(2, 0),
        kind=TO_ZERO, broken="refused_without_range fallback_ignores_offer"),
    "refused although it is offered": case(refused(0, 4, 0, 4), av(1, 0), kind="other",
        broken="refused_although_offered"),
    "refused without an answer in the log": case(av(0, 3, UNSUPPORTED), av(1, 0)),
    "to zero, the highest offered": case(refused(0, 3, 0, 0), av(1, 0), outcome="fell_back", kind="to_highest_offered"),
    "to something in between": case(refused(0, 9, 0, 3), av(1, 2), outcome="fell_back", fallback_from=9, to=2,
        kind="to_lower_than_offered", broken=IGNORES),
    "to a lower version that carries a name too": case(refused(0, 9, 0, 4), av(1, 3), to=3, kind="other"),
    "to a lower version where none that carries a name was offered": case(refused(0, 9, 0, 2), av(1, 1), to=1,
        kind="other"),
    "to more than was offered": case(refused(0, 9, 0, 3), av(1, 4), kind="other"),
    "to something, nothing offered": case(av(0, 9, UNSUPPORTED, NOTHING_OFFERED), av(1, 2), kind="other",
        broken=NO_RANGE),
    "the offer of ApiVersions is not the first in the answer": case(av(0, 9, UNSUPPORTED, OFFERED_AMONG_OTHERS),
        av(1, 2), attempts=[(9, UNSUPPORTED, 0, 4), (2, 0, None, None)], kind="to_lower_than_offered", broken=IGNORES),
    "only the last refusal counts": case(refused(0, 9, 0, 3), av(1, 5, UNSUPPORTED, NOTHING_OFFERED), av(2, 0),
        fallback_from=5, kind=NOTHING, broken=NO_RANGE),
    "zero again after the fallback": case(refused(0, 9, 0, 3), av(1, 3), av(2, 0), kind="to_highest_offered"),
    "gave up": case(refused(0, 4, 0, 3), outcome="rejected_unsupported_version", successes=0),
    "an invalid name": case(av(0, 3, INVALID), outcome="rejected_invalid_request", kind=None),
    "went on after an invalid name": case(av(0, 3, INVALID), av(1, 0), request("?", 2),
        outcome="negotiated_after_invalid_request", broken={"went_on_after_invalid_request": 2}),
    "another error": case(av(0, 3, UNKNOWN_ERROR), outcome="rejected_other", successes=0),
    "accepted after another error": case(av(0, 3, UNKNOWN_ERROR), av(1, 3), outcome="negotiated", kind=None),
    "never asked": case(request("?", 0, correlation_id=0), outcome="not_sent", attempts=[], inferred=False),
    "asked before the log": case(request("?", 20, correlation_id=55), outcome="not_observed"),
    "asked before SASL": case(request("?", 0, correlation_id=0, security_protocol="SASL_PLAINTEXT"),
        outcome="not_observed"),
    "asked again after SASL": case(av(0, 3, security_protocol="SASL_SSL"),
        request("?", 1, security_protocol="SASL_SSL"), start="hidden_by_sasl", outcome="negotiated", successes=1),
    "INFO would not show it": case(request("?", 0, correlation_id=0, log_level="INFO", broker="info", file_id="info"),
        outcome="not_observed"),
    "0.10 takes v0 only": case(old(0, 3, None), old(1, 0, None), outcome="fell_back", fallback_from=3, kind=NOTHING,
        inferred=True),
    "0.11, never asked": case(request("?", 0, log_generation="api_key_struct", client_software_name=None), attempts=[],
        inferred=False),
    "0.11 takes v1": case(old(0, 1, 0.0), outcome="negotiated", inferred=True),
    "0.11 refuses v2": case(old(0, 2, 0.0), outcome="rejected_unsupported_version", inferred=True),
    "no answer": case(av(0, 3) | {"error_code": None}, attempts=[(3, None, None, None)], outcome="not_observed"),
    "no answer after an offer": case(refused(0, 4, 0, 3), av(1, 3) | {"error_code": None}, av(2, 0),
        outcome="fell_back", fallback_from=4, to=0, kind=TO_ZERO, broken=IGNORES),
    "of a broker": case(refused(0, 4, 0, 3), av(1, 3), request("?", 2, "UPDATE_METADATA", client_id="1"), role="broker",
        attempts=[(4, UNSUPPORTED, 0, 3), (3, 0, None, None)], outcome=None, successes=None, fallback_from=None,
        kind=None),
    "from v1 on, one higher version after the other": case(refused(0, 1, 3, 4), refused(1, 2, 3, 4), av(2, 3),
        outcome="fell_back", attempts=[(1, UNSUPPORTED, 3, 4), (2, UNSUPPORTED, 3, 4), (3, 0, None, None)],
        fallback_from=2, to=3, kind="other"),
    "an error that nobody knows": case(av(0, 3, 32000), av(1, 4, -32768), outcome="rejected_other",
        attempts=[(3, 32000, None, None), (4, -32768, None, None)]),
    "a broken answer": case(av(0, 4, UNSUPPORTED, '{"apiKeys":"x'), av(1, 0), kind=NOTHING),
}  # fmt: skip
MESSAGES = {
    "went_on_after_invalid_request": ("went on after an invalid name",
        "API_VERSIONS v0 after INVALID_REQUEST" + UNLESS_PAUSED),
    "fallback_ignores_offer": ("to something in between", "ApiVersions v2 although v3 was offered" + UNLESS_PAUSED),
    "refused_without_range": ("to zero, nothing offered",
        "ApiVersions v3 was answered with UNSUPPORTED_VERSION and no range"),
    "refused_although_offered": ("refused although it is offered",
        "ApiVersions v4 was answered with UNSUPPORTED_VERSION and a range that holds v4"),
}  # fmt: skip


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


def test_its_violations_say_what_was_found(judged: Judged) -> None:
    assert_messages(judged, MESSAGES)
