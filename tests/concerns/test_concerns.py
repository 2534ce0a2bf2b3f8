"""Concerns and their declarations: every rule is declared and made; no two concerns make one column."""

import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.concerns.activity.rules import RULE_OF
from kafka_clientinfo.config.rules import rules
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.concern import Concern
from kafka_clientinfo.tables.views import definitions
from tests.concerns.cases import rules_of

BY_NAME = {concern.name: concern for concern in concerns()}


def test_every_rule_is_made_by_its_concern_or_by_a_view() -> None:
    """Where a rule is made, its name stands as a literal, or in schemas/watched_errors.toml."""
    made = {}
    for name in BY_NAME:
        file = Path(str(importlib.import_module(f"kafka_clientinfo.concerns.{name}").__file__))
        files = file.parent.glob("*.py") if file.stem == "__init__" else [file]
        made[name] = rules_in(one.read_text("utf-8") for one in files)
    made["activity"] |= set(RULE_OF.values())
    by_views = rules_in(query for name, query in definitions().items() if name.startswith(("findings_", "refusals")))
    assert {name: of_concern - rules_of(name) for name, of_concern in made.items()} == {name: set() for name in BY_NAME}
    assert by_views.union(*made.values()) == set(rules())


def rules_in(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"[\"'](\w+)[\"']", text)} & set(rules())


MAKES: dict[str, Callable[[Concern], Mapping[str, Any]]] = {
    "columns of a request": lambda concern: {**concern.reads.made(), **concern.earlier(), **concern.predicates()},
    "columns of a connection": lambda concern: {**concern.aggregates(), **concern.columns(Settings())},
    "tables": lambda concern: concern.transforms,
}


@pytest.mark.parametrize("what", MAKES)
def test_no_two_concerns_make_one_name(spark: Any, what: str) -> None:
    names = [name for concern in concerns() for name in MAKES[what](concern)]
    assert len(names) == len(set(names))
