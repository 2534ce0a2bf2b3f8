"""The rules of violations in the documentation; tests/tables/test_declarations.py holds what is declared."""

from kafka_clientinfo.config.rules import rules
from tests.tables_page import markdown


def test_the_documentation_has_every_rule() -> None:
    page = markdown()
    assert all(f"- **{rule.name}** (" in page and rule.advice in page for rule in rules().values())
