"""Two runs on one warehouse, as processes: one waits for the other, also where the other's driver is dead already."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .log_writer import BROKERS, LOG, sample_records
from .processes import ROOT, Job, environment, is_alive

pytestmark = pytest.mark.soak
_SECONDS = 600
_COUNT = """
import json, os, sys
from pathlib import Path
from deltalake import DeltaTable
tables = {name: DeltaTable(f"{sys.argv[1]}/{name}").to_pyarrow_table() for name in ("requests", "ingested_files")}
places = list(zip(*(tables["requests"][name].to_pylist() for name in ("file_id", "byte_offset"))))
print(json.dumps([len(places), len(set(places)), sum(tables["ingested_files"]["requests"].to_pylist())]), flush=True)
os._exit(0)  # the readers' threads may abort an interpreter that ends in the ordinary way
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    log = tmp_path / "logs" / BROKERS[0] / LOG
    log.parent.mkdir(parents=True)
    log.write_bytes(b"".join(sample_records(BROKERS[0])))
    return log.parent.parent


def assert_nothing_is_doubled(lake: Path) -> None:
    """Read without Spark: rows, different places, and rows by the accounts are the same number."""
    said = subprocess.run([sys.executable, "-c", _COUNT, str(lake)], capture_output=True, text=True, check=True).stdout
    rows, different, accounted = json.loads(said)
    assert rows == different == accounted > 0


def test_a_second_run_waits_for_the_first(logs: Path, tmp_path: Path) -> None:
    lake, scratch = tmp_path / "lake", tmp_path / "scratch"
    first, second = Job(logs, lake, scratch), Job(logs, lake, scratch)
    try:
        for job in (first, second):
            assert job.wait_for("ready", _SECONDS) == "ready", job.errors
        first.go()
        assert first.wait_for("stage read and parse", _SECONDS) == "stage read and parse", first.errors
        second.go()
        assert second.wait_for("stage", _SECONDS) == "stage waiting for another run on this warehouse"
        assert [job.wait_for("done", _SECONDS) for job in (first, second)] == ["done 0", "done 0"], second.errors
        assert len(first.report["files"]) == 1
        assert len(second.report["unchanged"]) == 1
    finally:
        first.stop()
        second.stop()
    assert_nothing_is_doubled(lake)


def test_a_jvm_whose_driver_is_dead_cannot_double_what_the_next_run_writes(logs: Path, tmp_path: Path) -> None:
    """The JVM sleeps, as in a long pause of garbage collection, while its driver dies and another run begins."""
    lake, scratch = tmp_path / "lake", tmp_path / "scratch"
    first, second = Job(logs, lake, scratch), Job(logs, lake, scratch)
    try:
        assert second.wait_for("ready", _SECONDS) == "ready", second.errors
        first.go()
        assert first.wait_for("stage requests", _SECONDS) == "stage requests", first.errors
        jvm = first.jvm
        assert jvm is not None
        os.kill(jvm, signal.SIGSTOP)
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait()
        second.go()
        begun = second.wait_for("stage", _SECONDS)
        time.sleep(5)
        os.kill(jvm, signal.SIGCONT)
        assert second.wait_for("done", _SECONDS) == "done 0", second.errors
        assert not is_alive(jvm)
    finally:
        first.stop()
        second.stop()
    assert_nothing_is_doubled(lake)
    assert begun == "stage prepare"  # no wait for the JVM: Delta refuses what it still has under way


def test_who_does_not_want_to_wait_is_told(logs: Path, tmp_path: Path) -> None:
    import fcntl

    lake, conf = tmp_path / "lake", tmp_path / "impatient.toml"
    lake.mkdir()
    conf.write_text("lock_wait_seconds = 1\n")
    with (lake / ".kafka_clientinfo.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        program = "from kafka_clientinfo.cli import entry; entry()"
        command = ["run", str(logs), "--warehouse", str(lake), "--conf", str(conf)]
        said = subprocess.run(
            [sys.executable, "-c", program, *command],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=environment(tmp_path / "scratch"),
        )
    assert said.returncode == 1
    assert "another run is at work" in said.stderr.splitlines()[-1]
