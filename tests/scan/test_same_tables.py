"""DuckDB makes the tables that Spark makes, row for row and column for column."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings, load_settings
from kafka_clientinfo.coverage.periods import periods_of
from kafka_clientinfo.ingestion.arrow_schema import Part
from kafka_clientinfo.runs.steps import given
from kafka_clientinfo.scan import MemoryTables
from kafka_clientinfo.spark.arrow_rows import relation_of
from tests.frames import as_stored, frame

from .comparing import assert_same, by_spark, in_arrow, save
from .golden import GOLDEN, SETTINGS, altered, described, in_memory, log_of, read_samples


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


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, None])
def test_the_tables_of_altered_and_made_requests_are_the_same(
    seed: int | None, reading: tuple[list[Part], list[dict[str, Any]]], spark: Any, tmp_path: Path
) -> None:
    settings = SETTINGS["small_world"] if seed is None else (SETTINGS["altered"], Settings())[seed % 2]
    parts, files = log_of("small_world", *reading) if seed is None else (altered(reading[0], seed), reading[1])
    made = in_memory(parts, files, settings)
    relations: dict[str, Any] = {}
    stored = ("requests", "failed_requests", "topic_mentions")
    for name in stored:
        save(made, name, tmp_path / f"{name}.parquet")
        relations[name] = spark.read.parquet(str(tmp_path / f"{name}.parquet"))
    for name in stored:  # DuckDB's times have no zone
        relations[name] = as_stored(relations[name], name)
    relations |= given(relations["requests"], periods_of(made._files, settings), settings, partial(relation_of, spark))
    relations["ingested_files"] = frame(spark, "ingested_files", made._files)
    for name, expected in by_spark(spark, relations, tmp_path / "spark").items():
        assert_same(in_arrow(made, name), expected, name)
