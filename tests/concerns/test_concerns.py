"""Concerns and their declarations: every rule is declared, made and tested; no two concerns make one column."""

import importlib
import pkgutil
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
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
from kafka_clientinfo.tables.views import definitions
from tests.concerns.cases import rules_of

JUDGING = Settings(policy=Policy(unknown_software="refused"))
BY_NAME = {concern.name: concern for concern in concerns()}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_concern_declares_what_its_modules_hold(name: str) -> None:
    of_concern = module(name)
    inner = [one.name for one in pkgutil.iter_modules(getattr(of_concern, "__path__", ()))]
    modules = {one: importlib.import_module(f"{of_concern.__name__}.{one}") for one in inner} or {"rules": of_concern}
    concern = of_concern.CONCERN
    assert isinstance(concern, Concern)
    assert concern.name == name
    assert concern.transforms == {one: m.transform for one, m in modules.items() if hasattr(m, "transform")}
    rules = vars(modules["rules"]) if "rules" in modules else {}
    assert set(concern.finders) == {value for one, value in rules.items() if one.startswith("findings_")}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_concern_makes_rules_of_its_own_file(spark: Any, name: str) -> None:
    concern = BY_NAME[name]
    assert {*concern.request_rules, *concern.connection_rules(JUDGING)} <= rules_of(name)


def test_every_rule_is_made_by_its_concern_or_by_a_view() -> None:
    """Where a rule is made, its name stands as a literal."""
    files = {name: Path(str(module(name).__file__)) for name in BY_NAME}
    sources = {name: file.parent.glob("*.py") if file.stem == "__init__" else [file] for name, file in files.items()}
    by_concern = {name: rules_in(file.read_text("utf-8") for file in files) for name, files in sources.items()}
    by_views = rules_in(query for name, query in definitions().items() if name.startswith(("findings_", "refusals")))
    assert {name: made - rules_of(name) for name, made in by_concern.items()} == {name: set() for name in BY_NAME}
    assert by_views.union(*by_concern.values()) == set(rules())


def module(name: str) -> ModuleType:
    return importlib.import_module(f"kafka_clientinfo.concerns.{name}")


def rules_in(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"[\"'](\w+)[\"']", text)} & set(rules())


def test_every_file_of_rules_is_a_concerns() -> None:
    """But for those about which there is only a broker's server.log; views find them."""
    files = {Path(name).stem for name, _ in resources.texts(resources.schemas() / "rules", ".toml")}
    assert files - {"failed_requests"} == {concern.name for concern in concerns() if rules_of(concern.name)}
    assert set().union(*map(rules_of, files)) == set(rules())


def test_the_message_of_every_rule_is_tested() -> None:
    """In its concern's folder, or in that of the views."""
    of_concerns = {name: tested_in(f"concerns.{name}") for name in BY_NAME}
    assert {name: tested - rules_of(name) for name, tested in of_concerns.items()} == {name: set() for name in BY_NAME}
    assert tested_in("views").union(*of_concerns.values()) == set(rules())


def tested_in(folder: str) -> set[str]:
    paths = sorted((Path(__file__).parents[1] / folder.replace(".", "/")).glob("test_*.py"))
    modules = [importlib.import_module(f"tests.{folder}.{path.stem}") for path in paths]
    return {rule for module in modules for rule in getattr(module, "MESSAGES", ())}


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
            assert set(tomllib.loads(text)["columns"]) == set(concern.columns(Settings())), file
    assert table_spec("connections").write_mode == "merge"


def test_what_concerns_make_is_a_declared_table_or_read_by_others() -> None:
    made = {name for concern in concerns() for name in concern.transforms}
    assert made <= set(table_specs()) | read_by_others()


@pytest.mark.parametrize("name", BY_NAME)
def test_what_a_concern_comes_after_is_a_concern(name: str) -> None:
    assert set(BY_NAME[name].after) <= set(BY_NAME) - {name}
