"""The tables that DuckDB makes hold what they held; tests/test_law.py compares them with those that Spark makes."""

import json

import pytest

from . import small_world
from .golden import GOLDEN, SETTINGS, described, in_memory, read_samples


@pytest.mark.parametrize("name", SETTINGS)
def test_the_tables_hold_what_they_held(name: str) -> None:
    """What `python -m tests.scan.golden` wrote: a change of a rule, or of a constant in it, is another answer."""
    samples = read_samples()
    parts, files = (list(samples.parts()), samples.files) if name == "samples" else small_world.parts()
    held = json.loads((GOLDEN / f"tables_{name}.json").read_text("utf-8"))
    found = json.loads(json.dumps(described(in_memory(parts, files, SETTINGS[name]), files)))
    assert found.keys() == held.keys()
    assert {(table, column): now for table in found for column, now in found[table].items()} == {
        (table, column): before for table in held for column, before in held[table].items()
    }
