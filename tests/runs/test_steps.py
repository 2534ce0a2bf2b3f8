"""Steps make one relation each, of others that exist."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.connections.concern import Concern
from kafka_clientinfo.errors import UnknownRelationError
from kafka_clientinfo.runs import steps
from kafka_clientinfo.tables.spec import table_specs

EXTRACTED = {"requests", "rejected_records", "failed_requests", "topic_mentions", "ingested_files"}


def concern_of(transform: Callable[..., Any]) -> Concern:
    """A concern with one table, my_table."""
    return Concern(name="mine", transforms={"my_table": transform})


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
    assert of_whole_tables - overwritten == {
        "broker_listeners", "connection_storms", "group_epochs", "group_history", "group_type_conflicts",
        "group_unoffered_protocols", "judged_usage", "listed_connections", "log_positions", "possible_activity",
        "possible_epochs", "request_floods", "throttled_clients", "whole_periods",
    }  # fmt: skip
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
