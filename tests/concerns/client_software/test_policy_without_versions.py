"""conf/client_policy.toml without minimum versions, which either engine judges: lists, unknown software, client ids."""

import pytest

from kafka_clientinfo.config.policy import Policy
from kafka_clientinfo.config.settings import Settings
from tests.concerns.cases import Case, Judged, assert_message
from tests.concerns.client_software import test_policy

SETTINGS = Settings(
    policy=Policy(
        software=(("kgo", None), ("rdkafka", None)),
        unknown_software="refused",
        client_id_patterns=("app(?:[a-z]|-)*", "other"),
        exempt_listeners=("INSIDE",),
    )
)
OF_VERSIONS = ("version_too_old", "version_unreadable")
VERDICTS: dict[str, str | None] = {
    name: "allowed" if verdict in OF_VERSIONS else verdict for name, (_, verdict) in test_policy.JUDGED.items()
}
VERDICTS["a bad client id of old software"] = "client_id_not_allowed"
CASES: dict[str, Case] = {
    **test_policy.CASES,
    "two verdicts": Case([test_policy.client("sarama", "9", client_id="my app")]),
    "another pattern": Case([test_policy.client("kgo", "1", client_id="other")]),
    "more than a pattern": Case([test_policy.client("kgo", "1", client_id="other app")]),
}
VERDICTS |= {
    "two verdicts": "software_not_allowed",
    "another pattern": "allowed",
    "more than a pattern": "client_id_not_allowed",
}
MESSAGES = {
    rule: said
    for rule, said in test_policy.MESSAGES.items()
    if rule not in ("policy_version", "policy_version_unreadable")
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_client_is_judged_by_the_policy_at_its_connections_end(judged: Judged, name: str) -> None:
    """The rule of its verdict is broken, and none if it has no verdict that a rule belongs to."""
    (row,) = judged.connections[name]
    assert row["policy_verdict"] == VERDICTS[name]
    broken = {rule for rule in judged.violations[name] if rule.startswith("policy_")}
    assert broken == {test_policy.RULE_OF_VERDICT[one] for one in row["policy_verdicts"] or ()}
    assert (row["policy_verdicts"] is None) == (VERDICTS[name] in (None, "exempt"))


def test_who_breaks_two_rules_has_two_violations(judged: Judged) -> None:
    (row,) = judged.connections["two verdicts"]
    assert row["policy_verdicts"] == ["software_not_allowed", "client_id_not_allowed"]
    assert {"policy_software", "policy_client_id"} <= set(judged.violations["two verdicts"])


@pytest.mark.parametrize("rule", MESSAGES)
def test_its_violations_say_what_was_found(judged: Judged, rule: str) -> None:
    name, message = MESSAGES[rule]
    assert_message(judged, name, rule, message)
