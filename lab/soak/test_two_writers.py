"""Two runs on a warehouse whose storage has no locks, such as an object store: one gives way, and nothing doubles."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.warehouse import ddl, warehouse
from tests.equality import assert_same_tables
from tests.stages import at_stages

from ..test_crashes import GrowingLog, assert_each_once

pytestmark = pytest.mark.soak
READING = ("prepare", "plan", "requests", "ingested_files")
BUILDING = ("connections", "api_usage")


@contextmanager
def no_lock(*_: Any) -> Iterator[bool]:
    yield False


def test_of_two_runs_without_a_lock_one_gives_way(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run begins, and ends, as the first one begins a stage."""
    monkeypatch.setattr(warehouse, "exclusive", no_lock)
    monkeypatch.setattr(ddl, "log_folder", lambda *_: None)
    stages = (*READING, *BUILDING)
    log, lake, fresh = GrowingLog(tmp_path / "b", 2 * len(stages) + 1), str(tmp_path / "lake"), str(tmp_path / "fresh")
    for stage in stages:
        step = pipeline.ingest if stage in READING else pipeline.run
        log.grow()
        meanwhile: list[str] = []

        def other_run(said: str, stage: str = stage, step: Any = step, meanwhile: list[str] = meanwhile) -> None:
            if said == stage and not meanwhile:
                meanwhile.append(said)
                log.grow()
                step(spark, [str(log.path)], lake)

        if stage in ("prepare", "plan"):  # the first one has read nothing yet: the other leaves it nothing new
            with at_stages(other_run):
                step(spark, [str(log.path)], lake)
        else:
            with at_stages(other_run), pytest.raises(WarehouseError, match="another run has written to"):
                step(spark, [str(log.path)], lake)
        assert meanwhile, stage
        assert_each_once(spark, tmp_path / "lake")
    log.finish()
    pipeline.run(spark, [str(log.path)], lake)
    assert_each_once(spark, tmp_path / "lake")
    pipeline.run(spark, [str(log.path)], fresh)
    assert_same_tables(spark, tmp_path / "lake", tmp_path / "fresh")
