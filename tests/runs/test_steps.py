"""Steps make one relation each, of others that exist."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_clientinfo.concerns import concerns
from kafka_clientinfo.connections.concern import Concern
from kafka_clientinfo.runs import steps
from kafka_clientinfo.tables.spec import table_specs

OF_THE_PACKAGE = {name for name, spec in table_specs().items() if spec.write_mode == "reference"}


def concern_of(transform: Callable[..., Any]) -> Concern:
    """A concern with one table, my_table."""
    return Concern(name="mine", transforms={"my_table": transform})


def test_every_derived_table_has_a_step() -> None:
    derived = {name for name, spec in table_specs().items() if spec.derived}
    assert {name for name, step in steps.steps().items() if step.write_mode} == derived - OF_THE_PACKAGE


def test_a_step_is_called_with_the_relations_that_its_parameters_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def transform(judged_requests: Any, settings: Any) -> Any:
        return (judged_requests, settings)

    monkeypatch.setattr(steps, "concerns", lambda: (*concerns(), concern_of(transform)))
    step = steps.steps.__wrapped__()["my_table"]
    assert (step.needs, step.write_mode) == (("judged_requests", "settings"), None)
    assert step.of({"judged_requests": 1, "settings": 2, "connections": 3}) == (1, 2)


def test_the_findings_need_what_the_finders_of_all_concerns_need() -> None:
    needs = set(steps.steps()["connection_violations"].needs)
    assert needs == {
        "api_usage", "connection_groups", "connections", "judged_requests", "persistent_errors", "settings"
    }  # fmt: skip
