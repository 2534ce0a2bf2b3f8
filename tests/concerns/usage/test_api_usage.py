"""KIP-35: versions used, beside the range advertised on the same connection, and who uses what was not offered."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.concerns.usage import api_usage
from kafka_clientinfo.concerns.usage import rules as usage_rules
from kafka_clientinfo.config.policy import Policy
from kafka_clientinfo.config.rules import rules
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.look_backs import UNLESS_PAUSED
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.connections.violations import completed_finding
from kafka_clientinfo.protocol import api_key, request_header_version
from tests.concerns.cases import OPENING
from tests.engines import collected, computed, on
from tests.frames import answered, api_versions, at, judge_requests, log, request


def av(seconds: float, response: str | None, version: int = 3, **given: Any) -> dict[str, Any]:
    return api_versions("?", seconds, version, response=response, **given)


def sent(seconds: float, version: int, **given: Any) -> dict[str, Any]:
    return request("?", seconds, version=version, **given)


def although(version: str, offered: str) -> str:
    return f"METADATA {version} although {offered} was offered{UNLESS_PAUSED}"


ANSWER, UP_TO_4 = answered((3, 1, 9), (18, 0, 3)), answered((3, 0, 4))
UNKNOWN = {"advertised_min": None, "advertised_max": None, "within_advertised": None, "highest_mutual": None}
UNNAMED = "a feature that is off, and no feature is known"
# requests of a connection, what is expected of its METADATA rows by version, and its violation of KIP-35
Case = tuple[list[dict[str, Any]], dict[int, dict[str, Any]], dict[str, Any] | None]
CASES: dict[str, Case] = {
    "the highest mutual version": ([av(0, ANSWER), sent(1, 9), sent(2, 9, error_code=3)],
        {9: {"requests": 2, "errors": 1, "first_at": 1, "last_at": 2, "advertised_min": 1, "within_advertised": True,
                "highest_mutual": True}}, None),
    "below it": ([av(0, ANSWER), sent(1, 4), sent(2, 9)],
        {4: {"highest_mutual": False, "highest_used": 9, "header_version": request_header_version(3, 4)},
            9: {"highest_mutual": True, "highest_used": 9}}, None),
    "outside": ([av(0, ANSWER), sent(1, 9), sent(2, 0), sent(3, 0)],
        {0: {"advertised_max": 9, "within_advertised": False, "highest_mutual": None}},
        {"occurrences": 2, "first_at": 2, "last_at": 3, "message": although("v0", "v1 to v9")}),
    "two versions outside": ([av(0, ANSWER), sent(1, 13), sent(2, 0)],
        {13: {"within_advertised": False}, 0: {"within_advertised": False}},
        {"occurrences": 2, "first_at": 1, "message": although("v13", "v1 to v9")}),
    "an API that is not advertised": ([av(0, answered((18, 0, 3))), sent(1, 4), sent(2, 4)],
        {4: UNKNOWN | {"within_advertised": False}},
        {"occurrences": 2, "first_at": 1, "message": although("v4", "no version")}),
    "never asked": ([sent(1, 4)], {4: UNKNOWN}, None),
    "asked in vain": ([av(0, ANSWER, 9, error_code=35), sent(1, 4)], {4: UNKNOWN}, None),
    "the answer came too late to be known": ([sent(0, 13), av(1, ANSWER, 0)], {13: {"within_advertised": False}}, None),
    "a later answer offers less": ([av(0, ANSWER), sent(1, 9), av(2, UP_TO_4), sent(3, 4)],
        {9: {"requests": 1, "advertised_max": 4, "within_advertised": False}}, None),
    "a later answer offers less, and the client goes on": ([av(0, ANSWER), sent(1, 9), av(2, UP_TO_4), sent(3, 9)],
        {9: {"requests": 2}}, {"occurrences": 1, "first_at": 3, "last_at": 3, "message": although("v9", "v0 to v4")}),
    "a later answer offers more": ([av(0, UP_TO_4), sent(1, 9), av(2, ANSWER), sent(3, 9)],
        {9: {"requests": 2, "advertised_max": 9, "within_advertised": True}},
        {"occurrences": 1, "first_at": 1, "last_at": 1, "message": although("v9", "v0 to v4")}),
    "three answers, and a version outside of the second": (
        [av(0, ANSWER), av(1, UP_TO_4), sent(2, 9), av(3, answered((3, 0, 12)))],
        {9: {"requests": 1, "advertised_max": 12}}, {"occurrences": 1, "message": although("v9", "v0 to v4")}),
    "a refused attempt after the answer": ([av(0, ANSWER), av(1, UP_TO_4, 9, error_code=35), sent(2, 9)],
        {9: {"requests": 1, "advertised_max": 9}}, None),
    "the last answer is not in the log": ([av(0, UP_TO_4), av(1, None), sent(2, 9)], {9: {"advertised_max": 4}}, None),
    "ApiVersions above the range, which is how a client asks": (
        [av(0, answered((18, 0, 3)), 4, error_code=35), av(1, answered((18, 0, 3))), av(2, None, 4)], {}, None),
    "the last answer counts": ([av(0, ANSWER), av(1, UP_TO_4), sent(2, 4)],
        {4: {"advertised_min": 0, "advertised_max": 4, "highest_mutual": True}}, None),
    "an answer that is no JSON": ([av(0, '{"apiKeys":[{'), sent(1, 4)], {4: UNKNOWN}, None),
    "an answer without ranges": ([av(0, '{"apiKeys":[]}'), sent(1, 4)], {4: UNKNOWN}, None),
    "an answer of wild values": (
        [av(0, '{"apiKeys":[null,{"apiKey":"3"},{"apiKey":3,"minVersion":1e99}]}'), sent(1, 4)],
        {4: {"advertised_max": None, "highest_mutual": None}}, {"message": although("v4", "no version")}),
    "logged at INFO": ([sent(1, 0, log_level="INFO", api_version_deprecated=True)],
        {0: UNKNOWN | {"info_only": True, "deprecated": True}}, None),
    "a broker that marks deprecated versions": (
        [av(0, answered((1, 0, 16), (3, 0, 12))), sent(1, 9), sent(2, 0, api_version_deprecated=True)],
        {9: {"deprecated": False}, 0: {"deprecated": True}}, None),
    "a broker that marks none": ([av(0, answered((1, 0, 15), (3, 0, 12))), sent(1, 9)], {9: {"deprecated": None}},
        None),
    "a broker of an unknown release": ([sent(1, 9)], {9: {"deprecated": None}}, None),
    "10.0.0.1:9092-10.0.0.9:40000-1-7": ([sent(1, 9)], {9: {"deprecated": False}}, None),
    "a feature that is off": ([av(0, answered((76, 0, 1), (3, 1, 9))), request("?", 1, "SHARE", 1, error_code=35),
            request("?", 2, "SHARE", 1, error_code=35), request("?", 3, "SHARE", 1, error_code=0),
            sent(4, 9, error_code=35)], {9: {"unsupported": 1, "errors": 1, "requests": 1}}, None),
    "transactions that are off": (
        [av(0, answered((24, 0, 3))), request("?", 1, "ADD_PARTITIONS_TO_TXN", 3, error_code=35)], {}, None),
    UNNAMED: ([av(0, ANSWER), sent(1, 9, error_code=35), sent(2, 4, error_code=35)], {9: {"unsupported": 1}}, None),
    "unsupported, and not offered": ([av(0, ANSWER), sent(1, 13, error_code=35)], {13: {"unsupported": 1, "errors": 1}},
        {"occurrences": 1, "message": although("v13", "v1 to v9")}),
    "unsupported before the answer": ([sent(0, 9, error_code=35), av(1, ANSWER), sent(2, 9, error_code=3)],
        {9: {"unsupported": 1, "errors": 2}}, None),
    "unsupported, and no answer is known": ([sent(1, 9, error_code=35)], {9: {"unsupported": 1}}, None),
    "no error code is known": ([sent(1, 9)], {9: {"errors": None, "unsupported": None}}, None),
    "no error code but one is known": ([sent(1, 9), sent(2, 9, error_code=0), sent(3, 4, error_code=3)],
        {9: {"requests": 2, "errors": 0, "unsupported": 0}, 4: {"errors": 1, "unsupported": 0}}, None),
    "forwarding": ([av(0, ANSWER, is_forwarded=True), sent(1, 0, is_forwarded=True)], {0: {"within_advertised": False}},
        None),
}  # fmt: skip
ACROSS = "several answers, levels and APIs"
INFO, TRACE = {"log_level": "INFO"}, {"log_level": "TRACE"}
SEVERAL = [
    av(0, answered((18, 0, 3), (3, 1, 9))), sent(1, 9), sent(2, 9, error_code=35),
    sent(3, 9, error_code=-1, api_version_deprecated=True), sent(4, 9, error_code=35, **TRACE),
    sent(5, 9, error_code=42, **INFO), sent(6, 12), sent(7, 12, **TRACE), sent(8, 4, api="FETCH", **INFO),
    sent(9, 5, api="FETCH", **TRACE), sent(9.25, 6, api="FETCH", **INFO), sent(9.5, 6, api="FETCH"),
    av(10, answered((18, 0, 3), (3, 2, 10))), sent(11, 9, error_code=35), sent(11.5, 9, error_code=35, **TRACE),
    sent(12, 9), sent(13, 12), sent(14, 4, api="FETCH"), sent(15, 5),
]  # fmt: skip
ACROSS_ANSWERS: dict[tuple[str, int], dict[str, Any]] = {
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
SETTINGS = Settings()


@pytest.fixture(scope="module")
def relations(rules_session: Any) -> tuple[Any, Any]:
    """Usage and connections of all cases; which requests came after an answer, api_versions tells."""
    sent = {name: requests for name, (requests, *_) in CASES.items()} | {ACROSS: SEVERAL}
    rows = [row | {"connection_id": name} for name, requests in sent.items() for row in requests]
    with on(rules_session):
        judged = computed(judge_requests(*log(rules_session, [OPENING, *rows]), Settings(), concerns()))
        opened = computed(connections(judged, Settings(), concerns()))
        return computed(api_usage.transform(judged, opened)), opened


def by_id(relations: tuple[Any, Any], find: Callable[..., Any], settings: Settings = SETTINGS) -> dict[str, Any]:
    """The rows that findings make, by connection id."""
    with on(relations[0].sparkSession):
        return {row["connection_id"]: row for row in collected(completed_finding(find(*relations), settings))}


@pytest.fixture(scope="module")
def found(relations: tuple[Any, Any]) -> dict[tuple[str, int, int], Any]:
    used = [row.asDict() for row in collected(relations[0])]
    return {(row["connection_id"], row["api_key"], row["api_version"]): row for row in used}


@pytest.fixture(scope="module")
def broken(relations: tuple[Any, Any]) -> dict[str, Any]:
    return by_id(relations, usage_rules.findings_outside_advertised)


@pytest.mark.kip("KIP-35", 6, case="a broker that marks none")
@pytest.mark.kip("KIP-35", 4, 8, case="the highest mutual version")
@pytest.mark.kip("KIP-35", 11, case="the last answer counts")
@pytest.mark.parametrize("name", CASES)
def test_versions_are_judged_by_the_connections_own_answer(found: dict[Any, Any], name: str) -> None:
    for version, expected in CASES[name][1].items():
        row = found[name, 3, version]
        assert {key: _plain(row[key]) for key in expected} == expected


def test_a_version_is_counted_over_all_answers(found: dict[Any, Any]) -> None:
    for (api, version), expected in ACROSS_ANSWERS.items():
        row = found[ACROSS, api_key(api), version]
        assert {name: _plain(row[name]) for name in expected} == expected, (api, version)


def _plain(value: Any) -> Any:
    """Seconds for times, and for the first of requests those at which it was logged, with the range on offer."""
    if hasattr(value, "timestamp"):
        return value.timestamp() - at(0).timestamp()
    if value is None or not hasattr(value, "source"):
        return value
    return (value["source"]["correlation_id"], *(value[name] for name in ("low", "high") if name in value))


@pytest.mark.parametrize("name", CASES)
def test_what_was_not_offered_is_a_violation_once_the_client_knows(broken: dict[str, Any], name: str) -> None:
    expected = CASES[name][2]
    assert (name in broken) == (expected is not None)
    assert name not in broken or broken[name]["rule"] == "api_version_outside_advertised"
    assert {key: _plain(broken[name][key]) for key in expected or {}} == (expected or {})


def test_its_violation_points_at_the_first_of_them(broken: dict[str, Any]) -> None:
    assert broken["outside"]["example"]["correlation_id"] == 2


def test_the_apis_of_features_that_may_be_off_are_apis() -> None:
    assert None not in [api_key(name) for apis in usage_rules.FEATURES.values() for name in apis.split()]


def test_a_feature_that_is_off_blames_nobody(relations: tuple[Any, Any]) -> None:
    found = by_id(relations, usage_rules.findings_unsupported)
    assert set(found) == {"a feature that is off", "transactions that are off", UNNAMED, ACROSS}
    said = "{} was answered with UNSUPPORTED_VERSION although {} was offered; what is off: "
    assert found["transactions that are off"]["message"].endswith("what is off: transactions of version 2 (KIP-890)")
    row = found["a feature that is off"]
    assert (row["occurrences"], _plain(row["first_at"]), _plain(row["last_at"])) == (3, 1, 4)
    assert row["message"] == said.format("SHARE_GROUP_HEARTBEAT v1", "v0 to v1") + "share groups (KIP-932)"
    assert row["example"]["correlation_id"] == 1
    assert rules()[row["rule"]].blames == "nobody"
    assert found[UNNAMED]["occurrences"] == 2
    assert found[UNNAMED]["message"] == said.format("METADATA v9", "v1 to v9") + "a feature that it belongs to"


@pytest.mark.kip("KIP-35", 10)
def test_a_version_that_the_policy_forbids_is_a_violation_whatever_is_offered(relations: tuple[Any, Any]) -> None:
    policy = Policy(forbidden_versions=(("METADATA", 0, 3), ("METADATA", 13, 32767), ("FETCH", 9, 9)))
    settings = Settings(policy=policy)
    found = by_id(relations, partial(usage_rules.findings_forbidden, settings=settings), settings)
    forbidden = {name for name, (rows, *_) in CASES.items() if any(_is_forbidden(row) for row in rows)}
    assert set(found) == forbidden | {OPENING["connection_id"]}
    assert len(forbidden) > 3
    row = found["two versions outside"]
    assert (row["rule"], row["occurrences"], row["message"]) == ("policy_api_version", 2, "METADATA v13")
    assert row["example"]["correlation_id"] == 1


def test_a_policy_that_forbids_nothing_finds_nothing_nor_on_exempt_listeners(relations: tuple[Any, Any]) -> None:
    exempt = Policy(forbidden_versions=(("METADATA", 0, 99),), exempt_listeners=("PLAINTEXT",))
    for policy in (Policy(), exempt):
        settings = Settings(policy=policy)
        assert by_id(relations, partial(usage_rules.findings_forbidden, settings=settings), settings) == {}


def _is_forbidden(row: dict[str, Any]) -> bool:
    return row["api_key"] == 3 and not 4 <= row["api_version"] <= 12 and not row["is_forwarded"]


def test_a_rejected_api_versions_request_is_an_error(found: dict[Any, Any]) -> None:
    assert found["asked in vain", 18, 9]["errors"] == 1
    assert found["the highest mutual version", 18, 3]["errors"] == 0
