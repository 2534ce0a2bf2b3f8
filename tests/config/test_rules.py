"""The rules of violations in the documentation; tests/tables/test_declarations.py holds what is declared."""

import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.config.rules import rules
from kafka_clientinfo.errors import ConfigError
from tests.tables_page import markdown


def test_the_documentation_has_every_rule() -> None:
    page = markdown()
    assert all(f"- **{rule.name}** (" in page and rule.advice in page for rule in rules().values())


@pytest.mark.parametrize("blames", ["", 'blames = "somebody"'])
def test_a_rule_must_say_whom_it_blames(monkeypatch: pytest.MonkeyPatch, blames: str) -> None:
    text = f'[some_rule]\nseverity = "info"\nwhat = "w"\nasks = "a"\nadvice = "b"\n{blames}\n'
    monkeypatch.setattr(resources, "texts", lambda *_: [("own.toml", text)])
    with pytest.raises(ConfigError, match=r"rule some_rule: blames is .*; use one of client, broker, either, nobody"):
        rules.__wrapped__()
