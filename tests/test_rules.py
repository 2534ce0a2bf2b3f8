"""Rules of violations: whole, declared once, in the file of their concern."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.errors import TableSpecError
from kafka_clientinfo.rules import Rule, parse_rules
from kafka_clientinfo.tables import rules
from tests.tables_page import markdown

WHOLE = '[r]\nkip = ""\nseverity = "error"\nwhat = "w"\nasks = "a"\nadvice = "v"\n'


def test_every_rule_says_what_it_asks_and_what_to_do() -> None:
    assert len(rules()) >= 10
    assert all(rule.what and rule.asks and rule.advice for rule in rules().values())


def test_it_reads_a_rule() -> None:
    assert parse_rules(WHOLE, "c.toml") == {"r": Rule("r", None, "error", "w", "a", "v")}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (WHOLE.replace('advice = "v"\n', ""), "c.toml: rule r: 'advice' is missing or unknown"),
        (WHOLE + 'colour = "red"\n', "c.toml: rule r: 'colour' is missing or unknown"),
        (WHOLE.replace('"error"', '"bad"'), "c.toml: rule r: severity is 'bad'; use one of"),
    ],
)
def test_it_refuses_a_rule_that_is_not_whole(text: str, says: str) -> None:
    with pytest.raises(TableSpecError) as caught:
        parse_rules(text, "c.toml")
    assert str(caught.value).startswith(says)


@pytest.fixture
def declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of rules in place of schemas/rules."""
    (tmp_path / "rules").mkdir()
    monkeypatch.setattr(resources, "schemas", lambda: tmp_path)
    rules.cache_clear()
    yield tmp_path / "rules"
    rules.cache_clear()


def test_the_rules_of_all_concerns_are_one_list(declare: Path) -> None:
    (declare / "one.toml").write_text(WHOLE)
    (declare / "two.toml").write_text(WHOLE.replace("[r]", "[s]"))
    assert list(rules()) == ["r", "s"]


def test_a_rule_of_two_concerns_is_refused(declare: Path) -> None:
    (declare / "one.toml").write_text(WHOLE)
    (declare / "two.toml").write_text(WHOLE)
    with pytest.raises(TableSpecError, match=r"^schemas/rules/two\.toml: rule r is declared in another file too"):
        rules()


def test_the_documentation_has_every_rule() -> None:
    page = markdown()
    assert all(f"- **{rule.name}** (" in page and rule.advice in page for rule in rules().values())
