"""Violations of connections, and those that only several connections, groups or a server.log show, with their words."""

from typing import Any

import pytest

from kafka_clientinfo.commands.text_tables import safe
from kafka_clientinfo.config.policy import Policy
from kafka_clientinfo.config.rules import rules
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.tables.spec import table_spec
from tests.asking import asked
from tests.engines import collected
from tests.frames import assert_table, at, frame, relation

FOUND_BY = ("activity", "client_instances", "failed_requests", "groups", "negotiations")
HOSTILE = "\x1b[2J\x85\u202e\u200b" + "y" * 5_000
KINDS = {column.name: column.type for column in table_spec("violations").columns}
COLUMNS = (
    "rule", "cluster", "broker", "connection_id", "group_id", "client_id", "principal", "client_software_name",
    "client_software_version", "remote_host", "occurrences", "rejected", "taken", "first_at",
    "last_at", "example", "message", "binds", "blames",
)  # fmt: skip
OF_CONNECTION = {
    "rule": "log_forging", "cluster": "c", "broker": "b", "connection_id": "x", "opened_at": at(0), "opened_seq": 0,
    "severity": "error", "blames": "client", "client_id": "app", "occurrences": 2, "rejected": 1, "taken": 1,
    "first_at": at(1), "last_at": at(2), "example": (at(1), 1, "grep"), "message": "forged; ask",
}  # fmt: skip


def finding(rule: str, **given: Any) -> dict[str, Any]:
    row = {"rule": rule, "cluster": "c", "occurrences": 1, "first_at": at(0), "last_at": at(9), "message": "m"}
    return row | {"example": (at(0), None, "grep")} | given


# Per view: what it finds
FINDINGS = {
    "activity": [finding("request_flood", broker="b", connection_id="x", client_id="app", remote_host="h"),
        finding("throttled", broker="b", connection_id="x", message=HOSTILE)],
    "client_instances": [finding("client_instance_id_renewed", broker="b", connection_id="x", binds=True),
        finding("client_instance_id_renewed", broker="b", connection_id="y", binds=False),
        finding("client_instance_id_shared", broker="b", connection_id="y", binds=False)],
    "failed_requests": [finding("login_failed", broker="b", connection_id="x", principal="User:p")],
    "groups": [finding("mixed_protocol_types", group_id="g", rejected=1, taken=0),
        finding("protocol_nobody_offered", group_id="g"),
        finding("inconsistent_group_protocol", group_id="g", broker="b", connection_id="x", blames="broker")],
    "negotiations": [finding("versions_learnt_elsewhere", broker="b", connection_id="x")],
}  # fmt: skip
POLICY = Policy(severity=(("login_failed", "off"), ("client_instance_id_renewed", "error"), ("request_flood", "info")))


def asked_for(session: Any, settings: Settings) -> Any:
    ddl = ", ".join(f"{name} {'boolean' if name == 'binds' else KINDS[name]}" for name in COLUMNS)
    given = {
        f"findings_{name}": relation(session, [tuple(row.get(one) for one in COLUMNS) for row in FINDINGS[name]], ddl)
        for name in FOUND_BY
    }
    of_connections = frame(session, "connection_violations", [OF_CONNECTION])
    return asked(session, "violations", settings, connection_violations=of_connections, **given)


@pytest.fixture(scope="module")
def found(rules_session: Any) -> dict[tuple[str, str | None], Any]:
    rows = collected(asked_for(rules_session, Settings(policy=POLICY)))
    by_key = {(row["rule"], row["connection_id"]): row for row in rows}
    assert len(by_key) == len(rows)
    return by_key


def test_each_finding_is_a_row_but_those_of_rules_that_are_off(found: dict[Any, Any]) -> None:
    rows = [(row["rule"], row.get("connection_id")) for of in FINDINGS.values() for row in of]
    assert set(found) == {*rows, ("log_forging", "x")} - {("login_failed", "x")}


FREE = {("client_instance_id_shared", "y"): "info", ("client_instance_id_renewed", "y"): "error"}
"""Findings that the KIP does not bind, with their severities: information, unless the policy says otherwise."""


def test_a_row_has_its_rules_words_and_the_policys_severity_and_blames_whom_its_rule_blames(
    found: dict[Any, Any],
) -> None:
    """Where the rule's KIP does not bind, it cites none and blames nobody; a finding that names whom it blames is right."""
    for key, row in found.items():
        rule = rules()[key[0]]
        blames = "broker" if key == ("inconsistent_group_protocol", "x") else rule.blames
        severity = POLICY.severity_of(key[0], rule.severity)
        expected = (None, FREE[key], "nobody") if key in FREE else (rule.kip, severity, blames)
        if key[0] != "log_forging":  # which says all of it itself
            assert (row["kip"], row["severity"], row["blames"]) == expected, key
            assert key in FREE or row["message"].endswith(f"; {rule.asks}")


def test_messages_are_short_harmless_lines_whatever_was_found(found: dict[Any, Any]) -> None:
    message = found["throttled", "x"]["message"]
    said = message.partition("; ")[0]
    assert (message, len(said), said[-2:]) == (safe(message), 1001, "y…")


def test_rows_of_connections_and_of_findings_keep_what_they_say(rules_session: Any) -> None:
    off = Policy(severity=tuple((name, "off") for name in rules() if name not in ("request_flood", "log_forging")))
    rule = rules()["request_flood"]
    flood = FINDINGS["activity"][0] | {"kip": rule.kip, "severity": rule.severity, "blames": rule.blames}
    expected = [OF_CONNECTION, flood | {"message": f"m; {rule.asks}"}]
    assert_table(asked_for(rules_session, Settings(policy=off)), rules_session, "violations", expected)
