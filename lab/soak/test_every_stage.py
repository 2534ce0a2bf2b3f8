"""SIGKILL at every stage of a run: to the driver, the JVM and both in turn, and to every Python worker there is.

The log grows before every run, and no run comes to its end before the last, which mends what all the others left.
"""

import random
import time
from pathlib import Path
from typing import Any

import pytest

from ..test_crashes import GrowingLog, assert_as_if_nothing_had_happened, stages
from .killer import ended
from .processes import Job, kill

pytestmark = pytest.mark.soak
_PATIENCE_SECONDS = 300
_LATER_SECONDS = 0.5
"""Kills come up to so long after the stage has begun."""
_KINDS = ("driver", "jvm", "both")


def victims(job: Job, kind: str) -> list[int | None]:
    """Whom the kind names, and all workers."""
    named = {"driver": [job.process.pid], "jvm": [job.jvm], "both": [job.process.pid, job.jvm]}[kind]
    return [*named, *job.daemons(), *job.workers()]


def test_runs_killed_at_every_stage_are_mended_by_the_next(spark: Any, tmp_path: Path) -> None:
    dice = random.Random(1313)
    lake, scratch = tmp_path / "lake", tmp_path / "scratch"
    places = stages()
    log = GrowingLog(tmp_path / "b", len(places) + 1)
    job, standby = Job(log.path, lake, scratch), Job(log.path, lake, scratch)
    try:
        for number, stage in enumerate(places):
            kind = _KINDS[number % len(_KINDS)]
            log.grow()
            job.go("run")
            assert job.wait_for(f"stage {stage}", _PATIENCE_SECONDS) == f"stage {stage}", job.errors
            time.sleep(dice.uniform(0, _LATER_SECONDS))
            kill(victims(job, kind))
            end = job.wait_for("done", _PATIENCE_SECONDS)
            print(stage, kind, end, job.errors[-1:], flush=True)
            assert end is not None, "it hangs"
            assert ended(end) == (1 if kind == "jvm" else None)
            if kind == "jvm":
                job.stop()
            job, standby = standby, Job(log.path, lake, scratch)
    finally:
        job.stop()
        standby.stop()
    assert_as_if_nothing_had_happened(spark, log, lake, tmp_path / "fresh")
