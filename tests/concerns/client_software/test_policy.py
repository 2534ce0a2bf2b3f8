"""conf/client_policy.toml: each client has one verdict, the first that holds, and the violations say the same."""

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.concerns.client_software import compared_versions, policy_verdicts
from kafka_clientinfo.config.policy import Policy
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.spark.arrow_rows import relation_of
from tests.concerns.cases import Judged, assert_messages, case, judge
from tests.frames import api_versions, named, offer, request

from .test_client_software import NOT_LOGGED, OF_STRUCTS

POLICY = Policy(
    software=(("kgo", None), ("rdkafka", None)), unknown_software="refused",
    client_id_patterns=("app(?:[a-z]|-)*", "other"), exempt_listeners=("INSIDE",),
)  # fmt: skip
SETTINGS = Settings(policy=POLICY)
WITH_VERSIONS = replace(POLICY, software=(("kgo", "1.10"), ("rdkafka", None)))
RULE_OF_VERDICT = {
    "software_unknown": "policy_unknown_software", "software_not_allowed": "policy_software",
    "version_too_old": "policy_version", "version_unreadable": "policy_version_unreadable",
    "client_id_not_allowed": "policy_client_id",
}  # fmt: skip


def client(name: str, version: str, **given: Any) -> dict[str, Any]:
    return request("?", 0, client_software_name=name, client_software_version=version, **given)


REFUSED = api_versions("?", 0, 4, error_code=35, response=offer(0, 3))
# a connection's only request or requests, and its verdict
JUDGED: dict[str, tuple[dict[str, Any] | list[dict[str, Any]], str | None]] = {
    "any version": (client("rdkafka", "main"), "allowed"),
    "not on the list": (client("sarama", "9"), "software_not_allowed"),
    "unknown": (request("?", 0), "software_unknown"),
    "a bad client id": (client("rdkafka", "2", client_id="my app"), "client_id_not_allowed"),
    "a client id of 255 characters": (client("rdkafka", "2", client_id="app-" * 63 + "app"), "allowed"),
    "a client id of 256 characters": (client("rdkafka", "2", client_id="app-" * 64), "client_id_not_allowed"),
    "the longest client id": (client("rdkafka", "2", client_id="app-" * 8191), "client_id_not_allowed"),
    "no client id": (client("rdkafka", "2", client_id=None), "client_id_not_allowed"),
    "no listener": (client("rdkafka", "2", client_id="my app", listener=None), "client_id_not_allowed"),
    "exempt": (request("?", 0, client_id="my app", listener="INSIDE"), "exempt"),
    "forwarding": (request("?", 0, is_forwarded=True, client_id="my app"), None),
    "a broker": (request("?", 0, "UPDATE_METADATA", client_id="1"), None),
    # Nobody is asked for a name that the broker refuses or the log does not show.
    "2.3 refuses the name": (
        [api_versions("?", 0, 3, error_code=35, **OF_STRUCTS), api_versions("?", 1, 2, **OF_STRUCTS),
            request("?", 2, **OF_STRUCTS)], "allowed"),
    "2.3, and no name": ([api_versions("?", 0, 2, **OF_STRUCTS), request("?", 1, **OF_STRUCTS)], "allowed"),
    "2.4, before the log": (request("?", 0, correlation_id=70, **OF_STRUCTS), "allowed"),
    "2.4, SASL": (request("?", 0, security_protocol="SASL_SSL", **OF_STRUCTS), "allowed"),
    "2.4, and another name": (
        [api_versions("?", 0, 3, request=named("sarama", "1"), **OF_STRUCTS), request("?", 1, **OF_STRUCTS)],
        "software_not_allowed"),
    "2.4, and a bad client id": (request("?", 0, client_id="my app", **OF_STRUCTS), "client_id_not_allowed"),
    "0.11": (request("?", 0, log_generation="api_key_struct", **NOT_LOGGED), "allowed"),
    "nothing offered, so v0": ([api_versions("?", 0, 3, error_code=35), api_versions("?", 1, 0)], "allowed"),
    "refused, and no more": (REFUSED, "allowed"),
    "refused, and on without a name": ([REFUSED, request("?", 1)], "software_unknown"),
    "v0 although v3 was offered": ([REFUSED, api_versions("?", 1, 0)], "software_unknown"),
    "v2 was refused": ([api_versions("?", 0, 2, error_code=35), api_versions("?", 1, 0), request("?", 2)],
        "software_unknown"),
    "2.5 shows that no name came": (request("?", 0, log_generation="request_header_struct"), "software_unknown"),
    "two verdicts": (client("sarama", "9", client_id="my app"), "software_not_allowed"),
    "another pattern": (client("kgo", "1", client_id="other"), "allowed"),
    "more than a pattern": (client("kgo", "1", client_id="other app"), "client_id_not_allowed"),
}  # fmt: skip
CASES = {name: case(rows) for name, (rows, _) in JUDGED.items()}
MESSAGES = {
    "policy_software": ("not on the list", "software 'sarama' '9'"),
    "policy_unknown_software": ("unknown", "software 'unknown' 'unknown'"),
    "policy_client_id": ("no client id", "client id 'null'"),
}


@pytest.mark.parametrize("name", JUDGED)
def test_a_client_is_judged_by_the_policy_at_its_connections_end(judged: Judged, name: str) -> None:
    """The rule of its verdict is broken, and none if it has no verdict that a rule belongs to."""
    (row,) = judged.connections[name]
    verdict = JUDGED[name][1]
    assert row["policy_verdict"] == verdict
    broken = {rule for rule in judged.violations[name] if rule.startswith("policy_")}
    assert broken == {RULE_OF_VERDICT[one] for one in row["policy_verdicts"] or ()}
    assert (row["policy_verdicts"] is None) == (verdict in (None, "exempt"))


def test_who_breaks_two_rules_has_two_violations_that_say_what_was_found(judged: Judged) -> None:
    (row,) = judged.connections["two verdicts"]
    assert row["policy_verdicts"] == ["software_not_allowed", "client_id_not_allowed"]
    assert_messages(judged, MESSAGES)


OF_VERSIONS = {
    "old": client("kgo", "v1.9.3"),
    "unreadable": client("kgo", "12345678901"),
    "a bad client id of old software": client("kgo", "1.9", client_id="my app"),
}


@pytest.mark.long
def test_minimum_versions_are_judged_on_spark(spark: Any) -> None:
    """DuckDB compares none."""
    of_all = {name: case(row) for name, row in OF_VERSIONS.items()}
    judged = judge(spark, of_all, "client_software", Settings(policy=WITH_VERSIONS))
    verdicts = [judged.connections[name][0]["policy_verdict"] for name in OF_VERSIONS]
    assert verdicts == ["version_too_old", "version_unreadable", "version_too_old"]
    assert set(judged.violations["a bad client id of old software"]) == {"policy_version", "policy_client_id"}
    said = {"policy_version": ("old", "software 'kgo' 'v1.9.3'")}
    assert_messages(judged, said | {"policy_version_unreadable": ("unreadable", "software 'kgo' '12345678901'")})


LISTED = Policy(software=(("kgo", "1.10"),))
OTHERS_ALLOWED = Policy(software=(("sarama", None),), other_software="allowed")
# a policy, and what unknown software and software that no list names break of it
PERMISSIVE = [
    (LISTED, [[], ["software_not_allowed"]]), (OTHERS_ALLOWED, [[], []]),
    (Policy(client_id_patterns=("a.*",)), [[], []]), (Policy(), [[], []]),
]  # fmt: skip


def test_what_a_policy_does_not_ask_nobody_breaks(spark: Any) -> None:
    columns = F.col("name"), F.lit("2"), F.lit("app"), F.lit(True)
    clients = relation_of(spark, [("unknown",), ("rdkafka",)], "name string")
    verdicts = [policy_verdicts(policy, *columns).alias(f"v{number}") for number, (policy, _) in enumerate(PERMISSIVE)]
    unknown, other = clients.select("name", *verdicts).collect()
    assert [list(pair) for pair in zip(unknown[1:], other[1:], strict=True)] == [broken for _, broken in PERMISSIVE]


# name, version, and the verdicts of WITH_VERSIONS
BY_VERSION = [
    ("kgo", "v1.9.3", ["version_too_old"]), ("kgo", "1.10.0-rc1", ["version_too_old"]), ("kgo", "1.10.0", []),
    ("kgo", "2.16", []), ("kgo", "12345678901", ["version_unreadable"]), ("rdkafka", "main", []),
    ("rdkafka", "0.1", []), ("sarama", "0.1", ["software_not_allowed"]), ("unknown", "0.1", ["software_unknown"]),
]  # fmt: skip


def test_a_version_is_judged_where_its_software_has_a_minimum(spark: Any) -> None:
    clients = relation_of(spark, [row[:2] for row in BY_VERSION], "name string, version string")
    verdicts = policy_verdicts(WITH_VERSIONS, F.col("name"), F.col("version"), F.lit("app"), F.lit(True))
    assert [tuple(row) for row in clients.select("name", "version", verdicts).collect()] == BY_VERSION


OLDER_AND_NEWER = [
    ("3.9.1", "3.10"), ("v1.9.3", "1.22"), ("4.0.0-rc1", "4.0.0"), ("4.0.0rc1", "4.0.0"), ("4.0-SNAPSHOT", "4"),
    ("3.0.0.dev1", "3.0.0"), ("3.0.0-pre", "3"), ("3.0.0_beta2", "3.0.0"), ("2.0.2-rdkafka-9", "2.16.1"),
    ("999999999.1", "9999999999999999999999"), (f"1.{'0' * 61}1", f"1.{'0' * 61}2"),
]  # fmt: skip
EQUAL = [("3.0.0", "3"), ("v2.1", "2.1.0"), (f"1.{'0' * 61}11", f"1.{'0' * 61}12")]
NOT_OLDER = [("7.5.0-ccs", "7.5"), ("2.16.1-rdkafka-2.16.0", "2.16.1"), ("1" + "-1" * 20_000, "1")]


def test_versions_compare_in_mavens_order(spark: Any) -> None:
    orders = {-1: OLDER_AND_NEWER, 0: EQUAL, 1: NOT_OLDER}
    pairs = [(order, *pair) for order, of_order in orders.items() for pair in of_order]
    asked = relation_of(spark, pairs, "expected int, one string, other string")
    found = asked.withColumn("found", F.signum(compared_versions(F.col("one"), F.col("other"))).cast("int"))
    assert [tuple(row) for row in found.where("found <> expected").collect()] == []
