"""Steps are found, not listed: each makes one relation of others that exist."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from kafka_clientinfo import derivation, steps
from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.connections.concern import Concern
from kafka_clientinfo.errors import UnknownRelationError
from kafka_clientinfo.tables.spec import table_specs

EXTRACTED = {"requests", "rejected_records", "failed_requests", "ingested_files"}


def concern_of(transform: Callable[..., Any]) -> Concern:
    """A concern with one table, my_table."""
    module = ModuleType("my_table")
    vars(module)["transform"] = transform
    return Concern("mine", {"my_table": module})


def test_every_derived_table_has_a_step() -> None:
    assert {name for name, step in steps.steps().items() if step.write_mode} == set(table_specs()) - EXTRACTED


def test_a_step_is_called_with_the_relations_that_its_parameters_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def transform(judged_requests: Any, settings: Any) -> Any:
        return (judged_requests, settings)

    monkeypatch.setattr(steps, "concerns", lambda: (*concerns(), concern_of(transform)))
    step = steps.steps.__wrapped__()["my_table"]
    assert (step.needs, step.write_mode) == (("judged_requests", "settings"), None)
    assert step.make({"judged_requests": 1, "settings": 2, "connections": 3}) == (1, 2)


def test_a_step_is_of_whole_tables_where_nothing_it_needs_is_of_the_run_alone() -> None:
    of_whole_tables = {name for name, step in steps.steps().items() if step.is_of_whole_tables}
    overwritten = {name for name, spec in table_specs().items() if spec.write_mode == "overwrite"}
    assert of_whole_tables - overwritten == {"judged_usage"}
    assert overwritten <= of_whole_tables


def test_violations_need_what_the_findings_of_all_concerns_need() -> None:
    needs = set(steps.steps()["violations"].needs)
    assert {"judged_requests", "connections", "settings", "group_protocols", "failed_requests"} <= needs


def test_a_relation_that_nothing_makes_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def transform(conections: Any) -> Any:
        return conections

    monkeypatch.setattr(steps, "concerns", lambda: (*concerns(), concern_of(transform)))
    with pytest.raises(
        UnknownRelationError, match=r"my_table needs the relation 'conections'; known are .*connections"
    ):
        steps.steps.__wrapped__()


def test_steps_begin_behind_what_they_need_and_first_those_that_most_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation, "_AT_ONCE", 1)
    begun: list[str] = []
    derivation._in_order_of_inputs(lambda step: begun.append(step.name))
    place = begun.index
    assert sorted(begun) == sorted(steps.steps())
    assert all(
        place(need) < place(name) for name, step in steps.steps().items() for need in set(step.needs) & set(begun)
    )
    # violations wait for client_negotiations, and nothing for the other two, of which one needs more.
    assert place("client_negotiations") < place("client_inventory") < place("client_connections")
