"""Ten minutes of brokers that write and rotate while runs are killed: afterwards nothing is lost and nothing doubled.

`KAFKA_CLIENTINFO_SOAK_SECONDS` changes how long brokers write (default 420), `KAFKA_CLIENTINFO_SOAK_KILLS` how many
kills are enough (60), `KAFKA_CLIENTINFO_SOAK_SEED` the dice. What happened is printed (`-s`) and written to kills.json.
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
from kafka_clientinfo.lake import Warehouse

from ..equality import assert_same_accounts, assert_same_tables
from .killer import Kill, run_and_kill
from .processes import ROOT, Job, environment

pytestmark = pytest.mark.soak
SECONDS = float(os.environ.get("KAFKA_CLIENTINFO_SOAK_SECONDS", "420"))
KILLS = int(os.environ.get("KAFKA_CLIENTINFO_SOAK_KILLS", "60"))
SEED = int(os.environ.get("KAFKA_CLIENTINFO_SOAK_SEED", "1313"))
_UNTOUCHED = 0.2
"""Share of runs that nobody kills, so that tables also grow while brokers write."""


def command(*arguments: str, scratch: Path) -> subprocess.CompletedProcess[str]:
    """The console script, in a process of its own."""
    program = "from kafka_clientinfo.cli import entry; entry()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment(scratch),
    )


def verify(lake: Path, scratch: Path) -> None:
    """Let the warehouse check itself, where this release can."""
    if "verify" in cli._COMMANDS:
        said = command("verify", "--warehouse", str(lake), scratch=scratch)
        assert said.returncode == 0, said.stdout + said.stderr


def complaints(report: dict[str, Any]) -> list[str]:
    """Why a run that went to its end has failed: files that it could not read, by kind."""
    kinds = [problem["kind"] for problem in report.get("problems", []) if problem["kind"] != "copy"]
    return kinds + [file["error"] for file in report.get("files", []) if file.get("error")]


class Churn:
    """Runs and kills until there were enough kills or the time is over."""

    def __init__(self, logs: Path, warehouse: Path, scratch: Path) -> None:
        self.logs, self.warehouse, self.scratch = logs, warehouse, scratch
        self.dice = random.Random(SEED)
        self.kills: list[Kill] = []
        self.runs = self.completed = self.sessions = 0
        self.other_failures: list[str] = []
        self.problems: Counter[str] = Counter()

    def start(self) -> Job:
        self.sessions += 1
        return Job(self.logs, self.warehouse, self.scratch)

    def until(self, deadline: float) -> None:
        job, standby = self.start(), self.start()
        try:
            while len(self.kills) < KILLS and time.monotonic() < deadline:
                self.one_run(job)
                if job.process.poll() is not None or job.jvm is None:
                    job.stop()
                    job, standby = standby, self.start()
        finally:
            job.stop()
            standby.stop()

    def one_run(self, job: Job) -> None:
        kill = None if self.dice.random() < _UNTOUCHED else Kill.drawn(self.dice)
        code = run_and_kill(job, kill)
        self.runs += 1
        if kill is not None and kill.killed:
            kill.said = kill.said or "; ".join(complaints(job.report))
            self.kills.append(kill)
            print(json.dumps(kill.as_dict()), flush=True)
        elif code:
            self.other_failures.append("; ".join(complaints(job.report)) or (job.errors or [""])[-1])
        self.completed += code == 0
        self.problems.update(problem["kind"] for problem in job.report.get("problems", []))

    def summary(self) -> dict[str, Any]:
        return {
            "seed": SEED,
            "runs": self.runs,
            "completed": self.completed,
            "sessions": self.sessions,
            "kills": len(self.kills),
            "by_kind": Counter(kill.kind for kill in self.kills),
            "by_stage": Counter(kill.during for kill in self.kills),
            "codes": Counter(f"{kill.kind} {kill.code}" for kill in self.kills),
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
        [sys.executable, "-m", "tests.soak.log_writer", str(logs), str(SEED), str(SECONDS)],
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

    last = command("run", str(logs), "--warehouse", str(lake), "--json", scratch=scratch)
    said = churn.summary() | {"leftovers": leftovers(scratch), "seconds": round(time.monotonic() - started)}
    (tmp_path / "kills.json").write_text(json.dumps({**said, "each": [kill.as_dict() for kill in churn.kills]}))
    print(json.dumps(said, indent=1))
    assert last.returncode == 0, last.stdout[-2000:] + last.stderr
    anew = command("run", str(logs), "--warehouse", str(fresh), "--json", scratch=scratch)
    assert anew.returncode == 0, anew.stdout[-2000:] + anew.stderr
    spark = request.getfixturevalue("spark")
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
    verify(lake, scratch)
    assert not said["hung"]
    assert churn.completed
    assert len(churn.kills) > 0
