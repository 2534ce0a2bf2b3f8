"""Rules of violations: whole, declared once, in the file of their concern."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.rules import Rule, rules
from tests.tables_page import markdown

WHOLE = '[r]\nkip = ""\nseverity = "error"\nwhat = "w"\nasks = "a"\nadvice = "v"\n'


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
    assert rules() == {name: Rule(name, None, "error", "w", "a", "v") for name in ("r", "s")}


def test_the_documentation_has_every_rule() -> None:
    page = markdown()
    assert all(f"- **{rule.name}** (" in page and rule.advice in page for rule in rules().values())
