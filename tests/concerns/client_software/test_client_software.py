"""KIP-511: names and versions as sent, as the broker takes them, and why a client is unknown."""

from typing import Any

import pytest

from kafka_clientinfo.policy import Policy
from kafka_clientinfo.settings import Settings
from tests.frames import api_versions, by_connection, derive, named, request

KGO = {"client_software_name": "kgo", "client_software_version": "1"}
NOT_LOGGED = {"client_software_name": None, "client_software_version": None}
Case = tuple[list[dict[str, Any]], dict[str, Any]]


def av(seconds: float, version: int = 3, name: str | None = None, error: int = 0, **given: Any) -> dict[str, Any]:
    body = named(name, "1") if name is not None else "{}"
    return api_versions("?", seconds, version, error_code=error, **{"request": body} | given)


CASES: dict[str, Case] = {
    "named and at work": (
        [av(0, name="kgo"), request("?", 1, **KGO)],
        {"name": "kgo", "version": "1", "valid_by_kip": True},
    ),
    "named by its last request": ([av(0, name="kgo")], {"name": "kgo", "reason_unknown": None}),
    "2.4 keeps no name": ([av(0, name="kgo", **NOT_LOGGED), request("?", 1, **NOT_LOGGED)], {"name": "kgo"}),
    "named before SASL": (
        [request("?", 0, security_protocol="SASL_SSL", **KGO)],
        {"name": "kgo", "valid_by_kip": None, "reason_unknown": None},
    ),
    "never asked": ([request("?", 0, correlation_id=0)], {"name": "unknown", "reason_unknown": "not_sent"}),
    "asked before the log": ([request("?", 0, correlation_id=70)], {"reason_unknown": "not_observed"}),
    "asked without a name": (
        [av(0, 2), request("?", 1)],
        {"reason_unknown": "version_without_name", "valid_by_kip": None},
    ),
    "asked for too much": ([av(0, 9, error=35)], {"reason_unknown": "version_rejected"}),
    "fell back to v0": ([av(0, 9, error=35), av(1, 0), request("?", 2)], {"reason_unknown": "version_without_name"}),
    "a bad name": (
        [av(0, name="my client", error=42), request("?", 1)],
        {
            "reason_unknown": "invalid_name",
            "valid_by_kip": False,
            "valid_by_broker": False,
            "invalid_texts": ["my client"],
        },
    ),
    "an empty name": ([av(0, name="", error=42)], {"valid_by_kip": False, "invalid_texts": [""]}),
    "good by the KIP only": ([av(0, name="-x", error=42)], {"valid_by_kip": True, "valid_by_broker": False}),
    "a newline at the end": ([av(0, name="x\\n", error=42)], {"valid_by_kip": False, "invalid_texts": ["x\n"]}),
    "reset by v0": (
        [av(0, name="kgo"), av(1, 0, **KGO), request("?", 2)],
        {"name": "unknown", "resets": 1, "reason_unknown": "reset_by_older_version"},
    ),
    "changed": ([av(0, name="kgo"), av(1, name="sarama", **KGO)], {"name": "sarama", "changes": 1, "resets": 0}),
    "said again": ([av(0, name="kgo"), av(1, name="kgo", **KGO)], {"changes": 0}),
    "a body that is no JSON": ([av(0, request="{oops")], {"name": "unknown", "valid_by_kip": None}),
}


@pytest.fixture(scope="module")
def found(spark: Any) -> dict[str, list[Any]]:
    rows = [request("opens the log", 0, correlation_id=77)]
    rows += [row | {"connection_id": name} for name, (requests, _) in CASES.items() for row in requests]
    return by_connection(derive(spark, rows)["client_software"])


@pytest.mark.parametrize("name", CASES)
def test_it_tells_the_software(found: dict[str, list[Any]], name: str) -> None:
    (row,) = found[name]
    assert {key: row[key] for key in CASES[name][1]} == CASES[name][1]


POLICY = Policy(
    software=(("kgo", "1.10"), ("rdkafka", None)), client_id_patterns=("app.*",), exempt_listeners=("INSIDE",)
)
JUDGED: dict[str, tuple[dict[str, Any], str | None]] = {
    "old": ({"client_software_name": "kgo", "client_software_version": "v1.9.3"}, "version_too_old"),
    "a release candidate": (
        {"client_software_name": "kgo", "client_software_version": "1.10.0-rc1"},
        "version_too_old",
    ),
    "the minimum": ({"client_software_name": "kgo", "client_software_version": "1.10.0"}, "allowed"),
    "newer": ({"client_software_name": "kgo", "client_software_version": "2.16.1-rdkafka-2.16.0"}, "allowed"),
    "unreadable": ({"client_software_name": "kgo", "client_software_version": "12345678901"}, "version_unreadable"),
    "any version": ({"client_software_name": "rdkafka", "client_software_version": "main"}, "allowed"),
    "not on the list": ({"client_software_name": "sarama", "client_software_version": "9"}, "software_not_allowed"),
    "unknown is allowed": ({}, "allowed"),
    "a bad client id": ({"client_id": "my app"}, "client_id_not_allowed"),
    "no client id": ({"client_id": None}, "client_id_not_allowed"),
    "exempt": ({"client_id": "my app", "listener": "INSIDE"}, "exempt"),
    "forwarding": ({"is_forwarded": True}, None),
}


@pytest.fixture(scope="module")
def judged(spark: Any) -> dict[str, list[Any]]:
    rows = [request(name, 0, **given) for name, (given, _) in JUDGED.items()]
    return by_connection(derive(spark, rows, Settings(policy=POLICY))["client_software"])


@pytest.mark.parametrize("name", JUDGED)
def test_it_judges_by_the_policy(judged: dict[str, list[Any]], name: str) -> None:
    assert judged[name][0]["policy_verdict"] == JUDGED[name][1]


def test_it_judges_nobody_without_a_policy(found: dict[str, list[Any]]) -> None:
    assert {row["policy_verdict"] for rows in found.values() for row in rows} == {None}
