"""What all violations of connections have in common: words, severity, an example that grep finds, and who is not accused."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from kafka_clientinfo.commands.text_tables import safe
from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.config.policy import Policy
from kafka_clientinfo.config.rules import rules
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.engine import F
from kafka_clientinfo.connections.table import connections
from kafka_clientinfo.connections.violations import WHO, violations
from kafka_clientinfo.scan.dataframe import SparkSession
from kafka_clientinfo.tables.spec import CONNECTION_KEY
from tests.engines import collected, computed, on
from tests.frames import api_versions, at, judge_requests, log, named, offer, request

ID, OTHER = "C" * 21 + "A", "D" * 21 + "A"
CONNECTION = "10.0.0.1:9092-10.0.0.9:40000-0-1"
KGO = {"client_software_name": "kgo", "client_software_version": "1"}
HOSTILE = "\x1b[2J\x85\x9b\u202e\u2028\u200b\ufeff\u3164\U000e0041\U000e0101" + "y" * 5_000
Found = dict[tuple[str, str], Any]
POLICY = Policy(
    software=(("apache-kafka-java", "3.0"), ("kgo", None)), unknown_software="refused", client_id_patterns=("[a-z]+",),
    exempt_listeners=("PLAINTEXT",), severity=(("client_id_changed", "info"), ("log_forging", "warning")),
)  # fmt: skip
SETTINGS = Settings(log_zone="Europe/Berlin", policy=POLICY)


def v3(seconds: float, instance: str) -> dict[str, Any]:
    return request("?", seconds, header_version=3, client_instance_id=instance)


def av(seconds: float, version: int, error: int = 0, **given: Any) -> dict[str, Any]:
    return api_versions("?", seconds, version, **{"error_code": error} | given)


def judged_client(**given: Any) -> dict[str, Any]:
    """A request on a listener that the policy judges."""
    return request("?", 0, listener="OUTSIDE", **given)


STATED = {"request": named("my client", "1")}
BAD = av(0, 3, 42, **STATED, response='{"errorCode":42}')
OF_A_BROKER = [(0, "UPDATE_METADATA", "1"), (1, "METADATA", "2")]
# connection: its requests, and the rules that it breaks
CASES: dict[str, tuple[list[dict[str, Any]], set[str]]] = {
    CONNECTION:
        ([request("?", 0), request("?", 1, client_id="x"), request("?", 2, client_id="y")], {"client_id_changed"}),
    "several": ([request("?", 0, client_id="broker-1-fetcher-0"), request("?", 1, client_id="x", forged_lines=1)],
        {"broker_like_client_id", "client_id_changed", "log_forging"}),
    "rules of requests and of the connection": (
        [judged_client(client_id="App"), judged_client(client_id="App", forged_lines=1)],
        {"policy_unknown_software", "policy_client_id", "log_forging"}),
    "hostile": (
        [request("?", 0, client_id="broker-1-fetcher-9", api_name=HOSTILE, remote_host=HOSTILE, forged_lines=2)],
        {"broker_like_client_id", "log_forging"}),
    "conforming": ([v3(0, ID), v3(1, ID)], set()),
    "enforced": ([BAD, av(1, 3, 35, **STATED, response=offer(0, 2)), av(2, 3, error_code=None, **STATED),
         av(3, 3, **STATED, response='{"errorCode":0}')],
        {"invalid_software_name", "went_on_after_invalid_request"}),
    "shared by a proxy": ([BAD, request("?", 1, client_id="other")],
        {"invalid_software_name", "went_on_after_invalid_request", "client_id_changed"}),
    "without a client id": ([BAD | {"client_id": None}, request("?", 1, client_id=None)],
        {"invalid_software_name", "went_on_after_invalid_request"}),
    "a name of the KIP": ([av(0, 3, 42, request=named(".x", "1 b"), response='{"errorCode":42}')],
        {"invalid_software_name", "invalid_software_version"}),
    "by KIP-1313": ([v3(0, ID), v3(1, OTHER) | {"error_code": 42}, v3(2, OTHER), v3(3, OTHER) | {"error_code": 3}],
        {"instance_id_different"}),
    "enforced, perhaps": ([av(0, 3, error_code=None, **STATED, log_level="INFO"),
         request("?", 1, "JOIN", 5, client_id="other", log_generation="api_key_struct"),
         request("?", 2, "JOIN", 5, client_id="other"),
         request("?", 3, "JOIN", 5, client_id="other", log_generation="request_header_struct")],
        {"invalid_software_name", "client_id_changed"}),
    "handshake and work": ([av(0, 3, request=named("kgo", "1")), request("?", 1, **KGO)], set()),
    "fallback as asked": ([av(0, 4, 35, response=offer(0, 3)), av(1, 3, request=named("kgo", "1"))], set()),
    "fallback where nothing is offered": ([av(0, 4, 35, response='{"apiKeys":[]}'), av(1, 0)], set()),
    "a broker":
        ([request("?", at_, api, client_id=name, remote_host="10.0.0.1") for at_, api, name in OF_A_BROKER], set()),
    "a version": ([judged_client(client_software_name="apache-kafka-java", client_software_version="3.0.0-x")], set()),
    "an exempt listener": ([request("?", 0, client_id="App")], set()),
    "forwarded": (
        [request("?", 0, is_forwarded=True), request("?", 1, is_forwarded=True, client_id="x", forged_lines=1)], set()),
}  # fmt: skip


@pytest.fixture(scope="module")
def judged(rules_session: Any) -> tuple[Any, Any]:
    """Judged requests and connections of all cases, by every concern."""
    rows = [row | {"connection_id": name} for name, (requests, _) in CASES.items() for row in requests]
    with on(rules_session):
        requests = computed(judge_requests(*log(rules_session, rows), SETTINGS, concerns()))
        return requests, computed(connections(requests, SETTINGS, concerns()))


def broken_rules(judged: tuple[Any, Any], findings: Sequence[Any] = (), settings: Settings = SETTINGS) -> list[Any]:
    """The rows of the table connection_violations."""
    with on(judged[0].sparkSession):
        return collected(violations(*judged, findings, settings, concerns()))


@pytest.fixture(scope="module")
def found(judged: tuple[Any, Any]) -> Found:
    rows = broken_rules(judged)
    by_key = {(row["connection_id"], row["rule"]): row for row in rows}
    assert len(by_key) == len(rows)
    return by_key


@pytest.mark.parametrize("name", CASES)
def test_a_broken_rule_is_a_row_and_who_breaks_nothing_has_none(found: Found, name: str) -> None:
    assert {rule for connection, rule in found if connection == name} == CASES[name][1]


# connection and rule: how many requests, how many of the requests the broker rejected, and how many it took
ENFORCED = {
    ("enforced", "invalid_software_name"): (4, 2, 1),
    ("enforced", "went_on_after_invalid_request"): (3, 1, 1),
    ("by KIP-1313", "instance_id_different"): (3, 1, 1),
    ("enforced, perhaps", "invalid_software_name"): (1, 0, 0),
    ("enforced, perhaps", "client_id_changed"): (3, 2, 0),
    (CONNECTION, "client_id_changed"): (2, 0, 0),
    ("rules of requests and of the connection", "policy_client_id"): (1, None, None),
}


@pytest.mark.kip("KIP-1313", 15)
@pytest.mark.kip("KIP-511", 21, 22)
@pytest.mark.parametrize("which", ENFORCED, ids=" ".join)
def test_a_row_says_whether_the_broker_enforced_the_rule(found: Found, which: tuple[str, str]) -> None:
    """By an error code, or by a closed connection, which the log shows as an answer that is not there."""
    row = found[which]
    assert (row["occurrences"], row["rejected"], row["taken"]) == ENFORCED[which]


def test_a_row_says_who_is_connected(found: Found, judged: tuple[Any, Any]) -> None:
    """It is what the connection's row says, also null and hostile texts."""
    with on(judged[1].sparkSession):
        who = {row["connection_id"]: [row[name] for name in WHO] for row in collected(judged[1])}
    assert {key: [row[name] for name in WHO] for key, row in found.items()} == {key: who[key[0]] for key in found}
    assert (who["without a client id"][0], who["hostile"][-1]) == (None, HOSTILE)


# Whom a row blames, if not whom its rule blames. A proxy may share a connection between two clients, so that what two
# requests show together blames either side; what one request shows is its sender's.
BLAMES = {
    ("shared by a proxy", "went_on_after_invalid_request"): "either",
    ("a name of the KIP", "invalid_software_name"): "broker",  # only brokers refuse it
    **dict.fromkeys([(name, "client_id_changed") for name in CASES], "nobody"),  # the KIP binds none of them
}


@pytest.mark.kip("KIP-511", 19)
def test_a_row_has_its_rules_words_and_blames_and_the_policys_severity(found: Found) -> None:
    for key, row in found.items():
        rule = rules()[key[1]]
        assert row["message"].endswith(f"; {rule.asks}")
        assert row["blames"] == BLAMES.get(key, rule.blames), key
        kip = None if key[1] == "client_id_changed" else rule.kip
        assert (row["kip"], row["severity"]) == (kip, POLICY.severity_of(key[1], rule.severity))
    assert rules()["went_on_after_invalid_request"].blames == rules()["invalid_software_name"].blames == "client"
    assert found[CONNECTION, "client_id_changed"]["severity"] == "info"
    assert found["a name of the KIP", "invalid_software_name"]["severity"] == "error"


def test_a_row_blames_whom_its_rule_blames_unless_the_finding_says_whom(judged: tuple[Any, Any]) -> None:
    with on(judged[1].sparkSession):
        where = judged[1].where(F.col("connection_id") == CONNECTION)
        times = [F.col("opened_at").alias(name) for name in ("first_at", "last_at")]
        counted = [
            F.lit(1).cast("bigint").alias("occurrences"), F.lit("m").alias("message"), F.lit("g").alias("group_id"),
        ]  # fmt: skip
        common = [*CONNECTION_KEY, *times, *counted, "first.source"]
        blaming = F.lit("group_name_mismatch").alias("rule"), F.lit("broker").alias("blames")
        findings = where.select(F.lit("mixed_protocol_types").alias("rule"), *common), where.select(*blaming, *common)
    blames = {row["rule"]: row["blames"] for row in broken_rules(judged, findings) if row["group_id"] == "g"}
    assert blames == {"mixed_protocol_types": rules()["mixed_protocol_types"].blames, "group_name_mismatch": "broker"}


def test_a_row_counts_its_requests_and_shows_the_first_in_the_logs_own_zone(found: Found) -> None:
    row = found[CONNECTION, "client_id_changed"]
    assert (row["cluster"], row["broker"], row["opened_at"].timestamp()) == ("c", "b", at(0).timestamp())
    assert (row["opened_seq"], row["group_id"], row["occurrences"]) == (0, None, 2)
    assert [row[name].timestamp() - at(0).timestamp() for name in ("first_at", "last_at")] == [1, 2]
    example = row["example"]
    assert (example["correlation_id"], example["logged_at"].timestamp()) == (1, at(1).timestamp())
    assert example["grep"] == r'^\[2026-11-21 03:00:01,000\] [A-Z]+ Completed request:.*"correlationId":1,'
    of_connection = found["rules of requests and of the connection", "policy_client_id"]
    shown = of_connection["occurrences"], of_connection["example"]["correlation_id"], of_connection["first_at"]
    assert shown == (1, 0, of_connection["opened_at"])


def test_messages_are_short_harmless_lines_whatever_was_logged(found: Found) -> None:
    messages = {rule: row["message"] for (connection, rule), row in found.items() if connection == "hostile"}
    said = {rule: message.partition("; ")[0] for rule, message in messages.items()}
    assert all(message == safe(message) for message in messages.values())
    assert all(len(one) <= 1001 for one in said.values())
    assert (said["broker_like_client_id"][-2:], len(said["broker_like_client_id"])) == ("y…", 1001)


def test_rules_can_be_off_one_or_all(judged: tuple[Any, Any]) -> None:
    def broken_without(*names: str) -> set[str]:
        off = Settings(policy=Policy(software=POLICY.software, severity=tuple((name, "off") for name in names)))
        return {row["rule"] for row in broken_rules(judged, settings=off)}

    assert "client_id_changed" not in broken_without("client_id_changed")
    assert broken_without(*rules()) == set()


def test_rules_that_are_off_are_not_looked_for(judged: tuple[Any, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """They would cost as much as others; those of requests read all of these again."""

    def plan_without(*names: str) -> str:
        off = Settings(policy=replace(POLICY, severity=tuple((name, "off") for name in names)))
        with on(session := judged[0].sparkSession):
            found = violations(*judged, [], off, concerns())
        if isinstance(session, SparkSession):
            return str(found.sql())
        found.explain()
        return capsys.readouterr().out

    assert "earliest_at" in plan_without()
    assert "earliest_at" not in plan_without(*(name for one in concerns() for name in one.request_rules))
