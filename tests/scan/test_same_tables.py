"""The tables that DuckDB makes hold what they held; tests/test_law.py compares them with those that Spark makes."""

import json
from typing import Any

import pytest

from kafka_clientinfo.config.settings import load_settings
from kafka_clientinfo.ingestion.arrow_schema import Part
from kafka_clientinfo.scan import MemoryTables

from .golden import GOLDEN, SETTINGS, described, in_memory, log_of, read_samples


@pytest.fixture(scope="module")
def reading() -> tuple[list[Part], list[dict[str, Any]]]:
    """The sample logs, read once."""
    found = read_samples()
    return list(found.parts()), found.files


@pytest.fixture(scope="module")
def of_samples(reading: tuple[list[Part], list[dict[str, Any]]]) -> MemoryTables:
    return in_memory(*reading, load_settings())


@pytest.mark.parametrize("name", [pytest.param("altered", marks=pytest.mark.long), "samples", "small_world"])
def test_the_tables_hold_what_they_held(
    name: str, reading: tuple[list[Part], list[dict[str, Any]]], of_samples: MemoryTables
) -> None:
    """What `python -m tests.scan.golden` wrote: a change of a rule, or of a constant in it, is another answer."""
    parts, files = log_of(name, *reading)
    made = of_samples if name == "samples" else in_memory(parts, files, SETTINGS[name])
    held = json.loads((GOLDEN / f"tables_{name}.json").read_text("utf-8"))
    found = json.loads(json.dumps(described(made, files)))
    assert found.keys() == held.keys()
    assert {(table, column): now for table in found for column, now in found[table].items()} == {
        (table, column): before for table in held for column, before in held[table].items()
    }
