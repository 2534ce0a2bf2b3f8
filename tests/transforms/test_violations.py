"""Violations: one row per rule and session, with a message and an example that grep finds."""

import json
import re
from typing import Any

import pytest

from kafka_clientinfo.console import safe
from kafka_clientinfo.policy import Policy
from kafka_clientinfo.settings import Settings
from kafka_clientinfo.tables import rules
from tests.builders import json_record
from tests.frames import ZERO, api_versions, at, derive, named, offer, request

ID, OTHER = "C" * 21 + "A", "B" * 21 + "A"
KGO = {"client_software_name": "kgo", "client_software_version": "1"}


def v3(seconds: float, instance: str | None) -> dict[str, Any]:
    return request("?", seconds, header_version=3, client_instance_id=instance)


def av(seconds: float, version: int, error: int = 0, **given: Any) -> dict[str, Any]:
    return api_versions("?", seconds, version, error_code=error, **given)


def join(seconds: float, group: str, kind: str, told: str | None = None, **given: Any) -> dict[str, Any]:
    sent, answer = {"groupId": group, "protocolType": kind}, {"protocolType": told}
    return request("?", seconds, "JOIN", 7, request=json.dumps(sent), response=json.dumps(answer), **given)


def answered(*ranges: tuple[int, int, int]) -> str:
    keys = [{"apiKey": key, "minVersion": low, "maxVersion": high} for key, low, high in ranges]
    return json.dumps({"errorCode": 0, "apiKeys": keys})


JAVA = {"client_software_name": "apache-kafka-java"}
POLICY = Policy(
    software=(("apache-kafka-java", "3.0"), ("kgo", None), ("sarama", None), ("unnamed", None)),
    unknown_software="refused",
    client_id_patterns=("[a-z]+",),
    exempt_listeners=("INSIDE",),
    severity=(("client_id_changed", "info"),),
)
FORGED = "x\n[2026-11-21 02:00:00,000] DEBUG "
"""Requests with this client id count as two forged lines."""
HOSTILE = "\x1b[2J\x85\x9b\u202e\u2028\u200b\ufeff\u3164\U000e0041\U000e0101" + "y" * 5_000
BROKEN: dict[str, tuple[list[dict[str, Any]], str]] = {
    "client_id_changed": (
        [request("?", 0), request("?", 1, client_id="x\x1b[2J")],
        "client id 'x\ufffd[2J' after 'app'",
    ),
    "broker_like_client_id": ([request("?", 0, client_id="broker-1-fetcher-0")], "from 10.0.0.9"),
    "instance_id_zero": ([v3(0, ZERO)], "METADATA v0 has header v3 and the zero id"),
    "instance_id_missing": ([v3(0, ID), request("?", 1)], "METADATA v0 has no client instance id"),
    "instance_id_different": ([v3(0, ID), v3(1, OTHER)], f"'{OTHER}' after '{ID}'"),
    "invalid_software_name": ([av(0, 3, 42, request=named("a b", "1"))], "software name 'a b'"),
    "invalid_software_version": ([av(0, 3, 42, request=named("a", "1_0"))], "software version '1_0'"),
    "went_on_after_invalid_request": ([av(0, 3, 42, request=named("a b", "1")), request("?", 1)], "METADATA v0 after"),
    "fallback_ignores_offer": (
        [av(0, 4, 35, response=offer(0, 3)), av(1, 0)],
        "ApiVersions v0 although v3 was offered",
    ),
    "software_name_reset": ([av(0, 0, **KGO)], "ApiVersions v0 after the name 'kgo'"),
    "software_name_changed": ([av(0, 3, request=named("sarama", "2"), **KGO)], "'sarama' '2' after 'kgo' '1'"),
    "group_type_mismatch": ([join(0, "g", "consumer", told="connect")], "'consumer' was answered with 'connect'"),
    "api_version_outside_advertised": (
        [av(0, 3, response=answered((18, 0, 3), (3, 0, 12))), request("?", 1, version=12), request("?", 2, version=13)],
        "METADATA v13 although v0 to v12 was offered",
    ),
    "log_forging": (
        [request("?", 0, client_id=None), request("?", 1, client_id=FORGED)],
        "2 forged log lines in METADATA v0 with client id 'x\ufffd[2026-11-21 02:00:00,000] DEBUG ' from 10.0.0.9",
    ),
    "policy_software": (
        [request("?", 0, client_software_name="rdkafka", client_software_version="1")],
        "'rdkafka' '1'",
    ),
    "policy_unknown_software": ([request("?", 0)], "software 'unknown' 'unknown'"),
    "policy_version": ([request("?", 0, **JAVA, client_software_version="2.9.99")], "'apache-kafka-java' '2.9.99'"),
    "policy_version_unreadable": ([request("?", 0, **JAVA, client_software_version="main")], "'main'"),
    "policy_client_id": ([request("?", 0, client_id="App", **KGO)], "client id 'App'"),
}
GROUPS = {
    "inconsistent_group_protocol": (
        [join(0, "inconsistent", "consumer"), join(1, "inconsistent", "consumer", error_code=23)],
        "group 'inconsistent' was answered with",
    ),
    "mixed_protocol_types": (
        [join(0, "mixed", "consumer"), join(1, "mixed", "connect")],
        "group 'mixed' has members of type 'connect' after 'consumer'",
    ),
}
CLEAN: dict[str, list[dict[str, Any]]] = {
    "conforming": [v3(0, ID), v3(1, ID)],
    "handshake and work": [av(0, 3, request=named("kgo", "1")), request("?", 1, **KGO)],
    "fallback as asked": [av(0, 4, 35, response=offer(0, 3)), av(1, 3, request=named("kgo", "1"))],
    "fallback where nothing is offered": [av(0, 4, 35, response='{"apiKeys":[]}'), av(1, 0)],
    "ApiVersions above the range, which is how a client asks": [
        av(0, 4, 35, response=offer(0, 3)),
        av(1, 3, response=answered((18, 0, 3))),
    ],
    "an answer that came too late to be known": [request("?", 0, version=13), av(1, 0, response=answered((3, 0, 12)))],
    "a broker": [request("?", 0, "UPDATE_METADATA", client_id="1"), request("?", 1, client_id="2")],
    "a good version": [request("?", 0, **JAVA, client_software_version="3.0.0-x")],
    "an exempt listener": [request("?", 0, listener="INSIDE", client_id="App")],
    "forwarding": [request("?", 0, is_forwarded=True), request("?", 1, is_forwarded=True, client_id="other")],
}


SHARED, SECOND = "D" * 21 + "A", "10.0.0.1:9092-10.0.0.3:40000-0-7"


def on_host(host: str, seconds: float, instance: str = SHARED) -> dict[str, Any]:
    return v3(seconds, instance) | {"remote_host": host}


TOGETHER: dict[str, list[dict[str, Any]]] = {
    "first": [on_host("10.0.0.2", 0), on_host("10.0.0.2", 10)],
    "same host": [on_host("10.0.0.2", 5)],
    SECOND: [on_host("10.0.0.3", 6), on_host("10.0.0.3", 11)],
    "moved": [on_host("10.0.0.3", 30)],
    "another id": [on_host("10.0.0.3", 6, "E" * 21 + "A")],
}
APART: dict[str, list[dict[str, Any]]] = {
    "an API not offered": [av(0, 3, response=answered((18, 0, 3))), *(request("?", n, "FETCH", 4) for n in (1, 2))],
    "a forging broker": [request("?", n, "FETCH", replica_id=2, client_id=("", FORGED)[n]) for n in (0, 1)],
    "hostile": [request("?", 0, client_id="broker-1-fetcher-9", api_name=HOSTILE, remote_host=HOSTILE)],
    "forged and forwarded": [request("?", 0, is_forwarded=True, client_id=FORGED)],
}


@pytest.fixture(scope="module")
def found(spark: Any) -> dict[tuple[str, str], Any]:
    cases = {name: rows for name, (rows, _) in BROKEN.items()} | CLEAN | APART | TOGETHER
    judged = {name: {} if name.startswith(("policy_", "a good version")) else {"listener": "INSIDE"} for name in cases}
    rows = [row | {"connection_id": name} | judged[name] for name, requests in cases.items() for row in requests]
    rows += [row | {"connection_id": f"of {name}"} for name, (requests, _) in GROUPS.items() for row in requests]
    rows = [row | {"forged_lines": 2 if row["client_id"] in (FORGED, "broker-1-fetcher-9") else 0} for row in rows]
    relation = derive(spark, rows, Settings(log_zone="Europe/Berlin", policy=POLICY))["violations"]
    return {(row["connection_id"] or row["group_id"], row["rule"]): row for row in relation.collect()}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_a_row(found: dict[tuple[str, str], Any], rule: str) -> None:
    row = found[rule, rule]
    assert BROKEN[rule][1] in row["message"]
    assert row["message"].endswith(rules()[rule].asks)
    severity = dict(POLICY.severity).get(rule, rules()[rule].severity)
    assert (row["severity"], row["kip"], row["occurrences"]) == (severity, rules()[rule].kip, 1)


@pytest.mark.parametrize("rule", GROUPS)
def test_what_a_group_breaks_is_a_row_without_a_connection(found: dict[tuple[str, str], Any], rule: str) -> None:
    group = json.loads(GROUPS[rule][0][0]["request"])["groupId"]
    row = found[group, rule]
    assert row["message"] == f"{GROUPS[rule][1]}{row['message'][len(GROUPS[rule][1]) :]}"
    assert row["message"].endswith(rules()[rule].asks)
    assert (row["connection_id"], row["broker"], row["opened_at"], row["occurrences"]) == (None, None, None, 1)
    assert (row["first_at"].timestamp(), row["example"]["correlation_id"]) == (at(1).timestamp(), 1)


def test_every_declared_rule_is_tried() -> None:
    assert set(BROKEN) | set(GROUPS) | set(FAILURES) | {"client_instance_id_on_two_hosts"} == set(rules())


FAILURES = {
    "request_version_refused": ("unsupported_version", "PRODUCE v0 from 10.0.0.9: 'UnsupportedVersionException'"),
    "request_unreadable": ("unknown_api", "a request from 10.0.0.9"),
    "login_failed": ("failed_authentication", "login from 10.0.0.9: 'Invalid username'"),
}


def failure(reason: str, seconds: float, **given: Any) -> dict[str, Any]:
    row = {"cluster": "c", "broker": "b", "file_id": "s", "byte_offset": int(seconds), "logged_at": at(seconds)}
    return row | {"connection_id": "x", "remote_host": "10.0.0.9", "reason": reason, "detail": "d"} | given


def test_what_stands_in_the_servers_log_only_is_a_row_without_a_session(spark: Any) -> None:
    failed = [
        failure("unsupported_version", 1, api_name="PRODUCE", api_version=0, detail="UnsupportedVersionException"),
        failure("unsupported_version", 2, api_name="PRODUCE", api_version=1),
        failure("unknown_api", 3),
        failure("failed_authentication", 4, detail="Invalid username"),
        failure("other", 5),
    ]
    rows = derive(spark, [request("s", 0)], failed=failed)["violations"].collect()
    found = {row["rule"]: row for row in rows}
    assert set(found) == set(FAILURES)
    assert all(row["opened_at"] is None and row["connection_id"] == "x" for row in rows)
    assert all(FAILURES[rule][1] in row["message"] for rule, row in found.items())
    assert found["request_version_refused"]["occurrences"] == 2
    assert found["request_version_refused"]["example"]["grep"] == r"^\[2026-11-21 02:00:01,000\] (ERROR|INFO) "


def test_an_api_that_the_answer_does_not_have_was_not_offered(found: dict[tuple[str, str], Any]) -> None:
    row = found["an API not offered", "api_version_outside_advertised"]
    assert row["occurrences"] == 2
    assert row["message"].startswith("FETCH v4 although no version was offered; ")
    assert (row["first_at"].timestamp(), row["example"]["correlation_id"]) == (at(1).timestamp(), 1)


def test_forged_lines_are_told_of_a_connection_that_looks_like_a_brokers(found: dict[tuple[str, str], Any]) -> None:
    assert {rule for connection, rule in found if connection == "a forging broker"} == {"log_forging"}
    row = found["a forging broker", "log_forging"]
    assert row["message"].startswith(
        f"2 forged log lines in FETCH v0 with client id '{FORGED.replace(chr(10), chr(0xFFFD))}' from 10.0.0.9; "
    )
    assert (row["example"]["correlation_id"], row["opened_at"].timestamp()) == (1, at(0).timestamp())


def test_an_instance_id_on_two_hosts_is_a_row_of_the_connection_string(found: dict[tuple[str, str], Any]) -> None:
    rows = [row for (_, rule), row in found.items() if rule == "client_instance_id_on_two_hosts"]
    assert [row["connection_id"] for row in rows] == [SECOND]
    (row,) = rows
    assert (row["broker"], row["opened_at"], row["opened_seq"], row["group_id"]) == ("b", None, None, None)
    said = f"client instance id '{SHARED}' from 10.0.0.3 while 10.0.0.2 is connected with it; "
    assert (row["message"], row["occurrences"]) == (said + rules()[row["rule"]].asks, 1)
    assert row["first_at"].timestamp() == row["example"]["logged_at"].timestamp() == at(6).timestamp()
    lines = [json_record(connection=name, at="2026-11-21 03:00:06,000") for name in (SECOND, SECOND + "1", SECOND[:-1])]
    assert [bool(re.search(row["example"]["grep"], line.decode())) for line in lines] == [True, False, False]


def test_messages_are_short_harmless_lines_whatever_was_logged(found: dict[tuple[str, str], Any]) -> None:
    messages = {rule: row["message"] for (connection, rule), row in found.items() if connection == "hostile"}
    assert set(messages) == {"log_forging", "broker_like_client_id"}
    for rule, message in messages.items():
        assert len(message) < 1200, rule
        assert message == safe(message), rule


def test_a_rule_can_be_off(spark: Any) -> None:
    rows = [request("s", 0), request("s", 1, client_id="other")]
    off = Policy(severity=(("client_id_changed", "off"),))
    assert derive(spark, rows, Settings(policy=off))["violations"].collect() == []


@pytest.mark.parametrize("name", [*CLEAN, *(name for name in TOGETHER if name != SECOND), "forged and forwarded"])
def test_who_breaks_nothing_has_no_row(found: dict[tuple[str, str], Any], name: str) -> None:
    assert [rule for connection, rule in found if connection == name] == []


def test_the_example_is_the_first_request_in_the_logs_own_zone(found: dict[tuple[str, str], Any]) -> None:
    example = found["instance_id_different", "instance_id_different"]["example"]
    assert example["correlation_id"] == 1
    assert example["logged_at"].timestamp() == at(1).timestamp()
    assert example["grep"] == r'^\[2026-11-21 03:00:01,000\] [A-Z]+ Completed request:.*"correlationId":1,'
