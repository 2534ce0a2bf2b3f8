"""Rules of violations: whole, declared once, in the file of their concern."""

import tomllib

from kafka_clientinfo import resources
from kafka_clientinfo.rules import SEVERITIES
from kafka_clientinfo.tables import rules
from tests.tables_page import markdown


def test_every_rule_says_what_it_asks_and_what_to_do() -> None:
    assert len(rules()) >= 10
    assert all(rule.what and rule.asks and rule.advice for rule in rules().values())
    assert {rule.severity for rule in rules().values()} <= set(SEVERITIES)
    assert all(rule.kip is None or rule.kip.startswith("KIP-") for rule in rules().values())


def test_no_two_concerns_declare_one_rule() -> None:
    files = resources.texts(resources.schemas() / "rules", ".toml")
    declared = [name for _, text in files for name in tomllib.loads(text)]
    assert sorted(declared) == sorted(rules())


def test_the_documentation_has_every_rule() -> None:
    page = markdown()
    assert all(f"- **{rule.name}** (" in page and rule.advice in page for rule in rules().values())
