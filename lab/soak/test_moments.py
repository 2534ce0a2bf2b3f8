"""Spark's JVM is killed at file operations of a first run, of runs on a log that grows, and of `maintain` with retention.

One job does all of this while its warehouse is copied before operations: each copy is what a kill at that moment leaves.
A sample of them, half of it from the making of tables, is mended by the next run, and has the rows of an undisturbed
build. Real kills, and disks that are full from an operation on, follow at some moments.

`KAFKA_CLIENTINFO_SOAK_MOMENTS` changes the size of the sample (40), `KAFKA_CLIENTINFO_SOAK_SEED` the dice.
"""

import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from tests.equality import assert_same_folders

from ..test_crashes import GrowingLog
from .file_faults import FileFaults, Operation
from .processes import Job

pytestmark = pytest.mark.soak
MOMENTS = int(os.environ.get("KAFKA_CLIENTINFO_SOAK_MOMENTS", "40"))
SEED = int(os.environ.get("KAFKA_CLIENTINFO_SOAK_SEED", "1313"))
RUNS = 2
RETENTION = ["maintain", "--retention-days", "1"]
_EVERY = 3
_PATIENCE_SECONDS = 900


@dataclass(frozen=True)
class Traced:
    """A job that was watched: its log, copies of its warehouse by number of operation, and where `maintain` began."""

    log: GrowingLog
    faults: FileFaults
    copies: Path
    operations: list[Operation]
    maintain_from: int


def finish(job: Job, command: str) -> str | None:
    """Have a job do a command; how that ended."""
    job.go(command)
    return job.wait_for("done", _PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    folder = tmp_path_factory.mktemp("traced")
    log, lake, copies = GrowingLog(folder / "b", RUNS), folder / "lake", folder / "copies"
    copies.mkdir()
    faults = FileFaults(folder / "faults", lake)
    job = Job(log.path, lake, folder / "scratch", variables=faults.variables(copies=copies, every=_EVERY))
    try:
        for _ in range(RUNS):
            log.grow()
            assert finish(job, "run") == "done 0", job.errors
        maintain_from = len(faults.operations())
        assert finish(job, " ".join(RETENTION)) == "done 0", job.errors
    finally:
        job.stop()
    return Traced(log, faults, copies, faults.operations(), maintain_from)


def done(spark: Any, *arguments: str) -> None:
    """Do a command that goes well."""
    assert cli.main([*arguments], spark) == 0


class Undisturbed:
    """Warehouses of the whole log that nothing has disturbed: built, and built and tidied."""

    def __init__(self, spark: Any, log: GrowingLog, folder: Path) -> None:
        self.spark, self.log = spark, log
        self.built, self.tidied = folder / "built", folder / "tidied"
        for lake in (self.built, self.tidied):
            done(spark, "run", str(log.path), "--warehouse", str(lake), "--json")
        done(spark, *RETENTION, "--warehouse", str(self.tidied), "--json")

    def assert_mends(self, lake: Path, is_tidied: bool = False) -> None:
        """The next run makes a warehouse what the undisturbed one is."""
        done(self.spark, "run", str(self.log.path), "--warehouse", str(lake), "--json")
        if is_tidied:
            done(self.spark, *RETENTION, "--warehouse", str(lake), "--json")
        assert_same_folders(lake, self.tidied if is_tidied else self.built)
        done(self.spark, "verify", "--warehouse", str(lake))
        if (jvm := getattr(self.spark, "_jvm", None)) is not None:  # of each warehouse Delta would keep the logs
            jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


@pytest.fixture(scope="module")
def undisturbed(spark: Any, traced: Traced, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(spark, traced.log, tmp_path_factory.mktemp("undisturbed"))


def sampled(operations: list[Operation], size: int) -> list[Operation]:
    """Operations by dice: half of them of first commits."""
    dice = random.Random(SEED)
    copied = [operation for operation in operations if operation.number % _EVERY == 0]
    first = [operation for operation in copied if operation.is_of_first_commit]
    chosen = dice.sample(first, min(size // 2, len(first)))
    others = [operation for operation in copied if operation not in chosen]
    chosen += dice.sample(others, min(size - len(chosen), len(others)))
    return sorted(chosen, key=lambda operation: operation.number)


def test_the_next_run_mends_what_a_kill_leaves_at_any_moment(
    undisturbed: Undisturbed, traced: Traced, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    for operation in sampled(traced.operations, MOMENTS):
        print(operation, flush=True)
        shutil.copytree(traced.copies / str(operation.number), lake, symlinks=True)
        undisturbed.assert_mends(lake, operation.number > traced.maintain_from)
        shutil.rmtree(lake)


@pytest.mark.parametrize("fault", ["kill", "fail"])
def test_the_next_run_mends_what_real_faults_leave(
    undisturbed: Undisturbed, traced: Traced, tmp_path: Path, fault: str
) -> None:
    """A first run is killed, or has no room from then on: before the first commit, at it, and at later ones."""
    first = [o for o in traced.operations if o.number <= traced.maintain_from // RUNS]
    renamed = [o.number for o in first if o.name == "rename" and o.path.endswith(f"{0:020}.json")]
    numbers = (renamed[3], first[-1].number // 2, 3, renamed[0] + 1, renamed[-1] - 2)
    for number in numbers[: max(1, MOMENTS // 8)]:
        lake = tmp_path / f"{fault}{number}"
        faults = FileFaults(tmp_path / "faults", lake)
        job = Job(traced.log.path, lake, tmp_path / "scratch", variables=faults.variables(**{fault: number}))
        try:
            assert finish(job, "run") == "done 1", job.errors
        finally:
            job.stop()
        said = [line for line in job.errors if line.startswith("kafka-clientinfo:")]
        print(fault, number, said, flush=True)
        assert len(said) == 1, job.errors
        wanted = "Spark's JVM is gone" if fault == "kill" else "no space left on device"
        assert wanted in said[0], said
        undisturbed.assert_mends(lake)
