"""What stands in a broker's server.log only: a violation of the connection id, as no connection is known."""

from typing import Any

import pytest

from kafka_clientinfo.concerns.failed_requests.rules import findings_refused
from kafka_clientinfo.connections import FINDING
from kafka_clientinfo.settings import Settings
from tests.frames import at, frame


def failure(reason: str, seconds: float, **given: Any) -> dict[str, Any]:
    row = {"cluster": "c", "broker": "b", "file_id": "s", "byte_offset": int(seconds), "logged_at": at(seconds)}
    return row | {"connection_id": "x", "remote_host": "10.0.0.9", "reason": reason, "detail": "d"} | given


FAILED = [
    failure("unsupported_version", 1, api_name="PRODUCE", api_version=0, detail="UnsupportedVersionException"),
    failure("unsupported_version", 2, api_name="PRODUCE", api_version=1),
    failure("unknown_api", 3),
    failure("unreadable_request", 4, remote_host=None, connection_id="y"),
    failure("failed_authentication", 5, detail="Invalid username"),
    failure("other", 6),
]
MESSAGES = {
    "request_version_refused": "PRODUCE v0 from 10.0.0.9: 'UnsupportedVersionException'",
    "request_unreadable": "a request from 10.0.0.9: 'd'",
    "login_failed": "login from 10.0.0.9: 'Invalid username'",
}


@pytest.fixture(scope="module")
def found(spark: Any) -> dict[tuple[str, str], Any]:
    findings = findings_refused(frame(spark, "failed_requests", FAILED), Settings()).select(*FINDING)
    return {(row["rule"], row["connection_id"]): row for row in findings.collect()}


@pytest.mark.parametrize("rule", MESSAGES)
def test_a_refusal_is_a_row_of_the_connection_id(found: dict[tuple[str, str], Any], rule: str) -> None:
    row = found[rule, "x"]
    assert row["message"] == MESSAGES[rule]
    assert (row["opened_at"], row["opened_seq"], row["group_id"]) == (None, None, None)


def test_other_failures_break_no_rule(found: dict[tuple[str, str], Any]) -> None:
    assert set(found) == {(rule, "x") for rule in MESSAGES} | {("request_unreadable", "y")}


def test_the_first_of_several_is_the_example(found: dict[tuple[str, str], Any]) -> None:
    row = found["request_version_refused", "x"]
    assert (row["occurrences"], row["first_at"].timestamp()) == (2, at(1).timestamp())
    assert (row["last_at"].timestamp(), row["example"]["correlation_id"]) == (at(2).timestamp(), None)
    assert row["example"]["grep"] == r"^\[2026-11-21 02:00:01,000\] (ERROR|INFO) "


def test_what_is_not_known_of_a_failure_has_a_place_holder(found: dict[tuple[str, str], Any]) -> None:
    assert found["request_unreadable", "y"]["message"] == "a request from ?: 'd'"
