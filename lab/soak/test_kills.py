"""Ten minutes of brokers that write and rotate while runs are killed: afterwards nothing is lost and nothing doubled.

`KAFKA_CLIENTINFO_SOAK_SECONDS` changes how long brokers write at most (default 440), `KAFKA_CLIENTINFO_SOAK_KILLS` how
many kills it takes (60), `KAFKA_CLIENTINFO_SOAK_SEED` the dice. What happened is printed (`-s`) and written to kills.json.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.equality import assert_same_accounts, assert_same_tables

from .killer import Kill, Killer, complaints
from .processes import ROOT, Job, environment

pytestmark = pytest.mark.soak
SECONDS = float(os.environ.get("KAFKA_CLIENTINFO_SOAK_SECONDS", "440"))
KILLS = int(os.environ.get("KAFKA_CLIENTINFO_SOAK_KILLS", "60"))
SEED = int(os.environ.get("KAFKA_CLIENTINFO_SOAK_SEED", "1313"))
MASTERS = ("local[*]", "local[*,4]")
"""A killed worker ends a command where nothing is tried again; where its task is, as on a cluster, more can come."""
_COMMANDS = {"run": 10, "ingest": 86, "build": 4}
"""What jobs do, by weight: steps alone are short, which leaves time for more kills."""


class Churn:
    """Runs and kills until there were enough kills or the time is over."""

    def __init__(self, logs: Path, warehouse: Path, scratch: Path) -> None:
        self.logs, self.warehouse, self.scratch = logs, warehouse, scratch
        self.dice = random.Random(SEED)
        self.killer = Killer(self.dice)
        self.kills: list[Kill] = []
        self.commands: Counter[str] = Counter()
        self.completed: Counter[str] = Counter()
        self.sessions = 0
        self.other_failures: list[str] = []
        self.problems: Counter[str] = Counter()

    def start(self) -> Job:
        """Another job, of which one is always getting ready."""
        self.sessions += 1
        return Job(self.logs, self.warehouse, self.scratch, MASTERS[self.sessions % len(MASTERS)])

    def until(self, deadline: float) -> None:
        """Do and kill."""
        job, standby = self.start(), self.start()
        try:
            while len(self.kills) < KILLS and time.monotonic() < deadline:
                self.one_command(job)
                if job.process.poll() is not None or job.jvm is None:
                    job.stop()
                    job, standby = standby, self.start()
        finally:
            job.stop()
            standby.stop()

    def one_command(self, job: Job) -> None:
        command = self.dice.choices([*_COMMANDS], [*_COMMANDS.values()])[0]
        code, kills = self.killer.watch(job, command)
        self.commands[command] += 1
        for kill in kills:
            print(json.dumps(kill.as_dict()), flush=True)
        self.kills += kills
        if code and not kills:
            self.other_failures.append("; ".join(complaints(job.report)) or (job.errors or [""])[-1])
        if code == 0:
            self.completed[command] += 1
        self.problems.update(problem["kind"] for problem in job.report.get("problems", []))

    def summary(self) -> dict[str, Any]:
        return {
            "seed": SEED,
            "commands": self.commands,
            "completed": self.completed,
            "sessions": self.sessions,
            "kills": len(self.kills),
            "by_kind": Counter(kill.kind for kill in self.kills),
            "by_stage": Counter(kill.during for kill in self.kills),
            "codes": Counter(f"{kill.kind} {kill.code}" for kill in self.kills),
            "processes": sum(kill.killed for kill in self.kills),
            "said": Counter(kill.said for kill in self.kills if kill.code),
            "slowest_end_seconds": max((kill.seconds for kill in self.kills), default=0),
            "hung": [kill.as_dict() for kill in self.kills if kill.hung],
            "other_failures": self.other_failures,
            "problems": self.problems,
        }


def leftovers(scratch: Path) -> dict[str, int]:
    """What killed sessions left behind, by kind of name."""
    names = Counter(path.name.split("-")[0] for path in scratch.iterdir())
    size = sum(path.lstat().st_size for path in scratch.rglob("*") if path.is_file())
    return {**names, "bytes": size}


def places(spark: Any, warehouse: Path) -> Counter[tuple[str, int]]:
    """How often each (file, offset) stands in requests."""
    rows = Warehouse(spark, str(warehouse)).read("requests").select("file_id", "byte_offset").collect()
    return Counter((row[0], row[1]) for row in rows)


def test_kills_lose_nothing_and_double_nothing(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    started = time.monotonic()
    logs, lake, fresh, scratch = (tmp_path / name for name in ("logs", "lake", "fresh", "scratch"))
    logs.mkdir()
    writer = subprocess.Popen(
        [sys.executable, "-m", "lab.soak.log_writer", str(logs), str(SEED), str(SECONDS)],
        stdin=subprocess.PIPE,
        cwd=ROOT,
        env=environment(scratch),
    )
    churn = Churn(logs, lake, scratch)
    try:
        churn.until(started + SECONDS)
    finally:
        writer.communicate()
    assert writer.returncode == 0
    said = churn.summary() | {"leftovers": leftovers(scratch), "seconds": round(time.monotonic() - started)}
    (tmp_path / "kills.json").write_text(json.dumps({**said, "each": [kill.as_dict() for kill in churn.kills]}))
    print(json.dumps(said, indent=1))
    spark = request.getfixturevalue("spark")
    pipeline.run(spark, [str(logs)], str(fresh))
    assert cli.main(["run", str(logs), "--warehouse", str(lake)], spark) == 0
    found, expected = places(spark, lake), places(spark, fresh)
    counts = {
        "requests": len(expected),
        "lost": len(expected - found),
        "doubled": sum(number - 1 for number in found.values() if number > 1),
        "of nowhere": len(found.keys() - expected.keys()),
    }
    print(json.dumps(counts))
    assert found == expected, counts
    assert_same_accounts(spark, lake, fresh)
    assert_same_tables(spark, lake, fresh)
    assert cli.main(["verify", "--warehouse", str(lake)], spark) == 0
    assert not said["hung"]
    print(f"{time.monotonic() - started:.0f} seconds")
    assert len(churn.kills) >= KILLS, f"time was over before: give it more by KAFKA_CLIENTINFO_SOAK_SECONDS ({SECONDS})"
