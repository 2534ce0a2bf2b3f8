"""Concerns and their declarations: every rule is declared, made and tested; no two concerns make one column."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.config.policy import Policy
from kafka_clientinfo.config.rules import rules
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.connections.concern import Concern
from kafka_clientinfo.runs.steps import read_by_others
from kafka_clientinfo.tables.spec import table_spec, table_specs
from tests.concerns.cases import rules_of

JUDGING = Settings(policy=Policy(unknown_software="refused"))
BY_NAME = {concern.name: concern for concern in concerns()}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_concern_declares_what_its_modules_hold(name: str) -> None:
    package = importlib.import_module(f"kafka_clientinfo.concerns.{name}")
    modules = {
        one.name: importlib.import_module(f"{package.__name__}.{one.name}")
        for one in pkgutil.iter_modules(package.__path__)
    }
    concern = package.CONCERN
    assert isinstance(concern, Concern)
    assert concern.name == name
    assert concern.transforms == {one: m.transform for one, m in modules.items() if hasattr(m, "transform")}
    rules = vars(modules["rules"]) if "rules" in modules else {}
    assert {finder.find for finder in concern.finders} == {
        value for one, value in rules.items() if one.startswith("findings_")
    }


@pytest.mark.parametrize("name", BY_NAME)
def test_a_concern_makes_the_rules_that_its_file_declares_and_no_others(spark: Any, name: str) -> None:
    concern = BY_NAME[name]
    beyond_connections = {rule for finder in concern.finders for rule in finder.rules}
    assert {*concern.request_rules, *concern.connection_rules(JUDGING), *beyond_connections} == rules_of(name)


def test_every_file_of_rules_is_a_concerns() -> None:
    files = {Path(name).stem for name, _ in resources.texts(resources.schemas() / "rules", ".toml")}
    assert files == {concern.name for concern in concerns() if rules_of(concern.name)}
    assert set().union(*map(rules_of, files)) == set(rules())


def test_every_rule_is_tested_in_its_concerns_folder() -> None:
    for name in BY_NAME:
        paths = sorted((Path(__file__).parent / name).glob("test_*.py"))
        modules = [importlib.import_module(f"tests.concerns.{name}.{path.stem}") for path in paths]
        tested = {rule for module in modules for rule in getattr(module, "MESSAGES", ())}
        assert tested == rules_of(name), name


@pytest.mark.parametrize("name", BY_NAME)
def test_a_request_rule_reads_a_predicate_of_its_own_concern(spark: Any, name: str) -> None:
    concern = BY_NAME[name]
    assert {rule.predicate for rule in concern.request_rules.values()} <= set(concern.predicates())


MAKES: dict[str, Callable[[Concern], Mapping[str, Any]]] = {
    "columns of a request": lambda concern: {**concern.reads.made(), **concern.earlier(), **concern.predicates()},
    "columns of a connection": lambda concern: {**concern.aggregates(), **concern.columns(Settings())},
    "tables": lambda concern: concern.transforms,
}


@pytest.mark.parametrize("what", MAKES)
def test_no_two_concerns_make_one_name(spark: Any, what: str) -> None:
    names = [name for concern in concerns() for name in MAKES[what](concern)]
    assert len(names) == len(set(names))


def test_every_declared_column_of_connections_is_made_by_the_concern_that_declares_it(spark: Any) -> None:
    folder = resources.schemas() / "tables" / "connections"
    for file, text in resources.texts(folder, ".toml"):
        concern = BY_NAME.get(Path(file).stem)
        if concern is not None:
            declared = {line.split('"')[1] for line in text.splitlines() if line.startswith("name = ")}
            assert declared == set(concern.columns(Settings())), file
    assert table_spec("connections").write_mode == "merge"


def test_what_concerns_make_is_a_declared_table_or_read_by_others() -> None:
    made = {name for concern in concerns() for name in concern.transforms}
    assert made <= set(table_specs()) | read_by_others()


@pytest.mark.parametrize("name", BY_NAME)
def test_what_a_concern_comes_after_is_a_concern(name: str) -> None:
    assert set(BY_NAME[name].after) <= set(BY_NAME) - {name}
