"""Jobs that are submitted to a standalone cluster make the tables of one machine, however they are shipped (`cluster`).

The cluster is a master and two workers that the tests start; logs lie in a folder that all see, or on a stand-in for S3.
"""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.equality import assert_same_folders
from tests.moto import KEYS, bucket, moto_server
from tests.test_packaging import built, copy_of_the_source

from .benchmarks.log_generator import LogSize, generate
from .standalone import Cluster, Job, Shipping, by_archives, by_py_files, platform_python, standalone_cluster

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ("kafka-0.10.0.1", "kafka-2.7.2")
LARGE_BYTES = 34 << 20
"""More than what a run takes for small (`spark.session_conf`): joins and windows are spread over the executors."""
IN_SPLITS = {"spark.kafka_clientinfo.split_bytes": str(8 << 20)}
MARGIN_BYTES = 1 << 20
PATIENCE_SECONDS = 600


@pytest.fixture(scope="module")
def shippings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shipping]:
    folder = tmp_path_factory.mktemp("shipped")
    wheel = built("wheel", copy_of_the_source(folder / "source"))
    platform = platform_python(folder / "platform")
    return {"--py-files": by_py_files(wheel, platform), "--archives": by_archives(wheel, platform, folder)}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with standalone_cluster(tmp_path_factory.mktemp("standalone") / "cluster") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real broker's log in text, compressed, and one's that goes on in JSON."""
    folder = tmp_path_factory.mktemp("logs") / "prod"
    for name in SAMPLES:
        shutil.copytree(ROOT / "sample_logs" / name, folder / name)
    archive = folder / SAMPLES[1] / "kafka-request.log.gz"
    archive.with_suffix("").write_bytes(gzip.decompress(archive.read_bytes()))
    archive.unlink()
    return folder


@pytest.fixture(scope="module")
def expected(logs: Path) -> Path:
    return on_one_machine(logs)


def on_one_machine(logs: Path) -> Path:
    """The tables that the command makes without a cluster."""
    lake = logs.parent / "lake"
    entry = [sys.executable, "-c", "from kafka_clientinfo.cli import entry; entry()"]
    subprocess.run([*entry, "run", str(logs), "--warehouse", str(lake)], check=True, stdout=subprocess.PIPE)
    return lake


@pytest.fixture(scope="module")
def on_s3(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same logs in a bucket: its URI."""
    with moto_server(tmp_path_factory.mktemp("moto")) as endpoint:
        store = bucket(endpoint)
        for path in logs.rglob("*.log*"):
            place = f"logs/{path.relative_to(logs.parent)}"
            with store.open_output_stream(place, compression=None) as file:  # else by the name
                file.write(path.read_bytes())
        yield f"s3://logs/prod?endpoint_override={endpoint}&scheme=http"


@pytest.mark.parametrize(("shipped", "place"), [("--py-files", "folder"), ("--archives", "S3")])
def test_a_cluster_makes_the_same_tables(
    cluster: Cluster,
    shippings: dict[str, Shipping],
    logs: Path,
    on_s3: str,
    expected: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shipped: str,
    place: str,
) -> None:
    lake = tmp_path / "lake"
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    executors = {f"spark.executorEnv.{name}": value for name, value in KEYS.items()}
    job = ["run_pipeline", {"folder": str(logs), "S3": on_s3}[place], "--warehouse", str(lake)]
    with cluster.submit(job, shippings[shipped], executors) as running:
        report = running.report()
    assert [file["error"] for file in report["files"]] == [None] * len(SAMPLES)
    assert_same_folders(lake, expected)


def test_an_executor_that_is_killed_while_it_reads_changes_nothing(
    cluster: Cluster, shippings: dict[str, Shipping], tmp_path: Path
) -> None:
    log = tmp_path / "logs" / "busy" / "kafka-request.log"
    generate(log.parent, LogSize(bytes=LARGE_BYTES, connections=300))
    lake = tmp_path / "lake"
    job = ["run_pipeline", str(log), "--warehouse", str(lake)]
    before = set(cluster.events.iterdir())
    with cluster.submit(job, shippings["--py-files"], IN_SPLITS) as running:
        os.kill(executor_in_the_middle_of(cluster, log, running), signal.SIGKILL)
        report = running.report()
    assert [file["error"] for file in report["files"]] == [None]
    (events,) = set(cluster.events.iterdir()) - before
    assert tasks_lost_with_an_executor(events) > 0
    assert_same_folders(lake, on_one_machine(log.parent))


def executor_in_the_middle_of(cluster: Cluster, log: Path, job: Job) -> int:
    """Wait until a Python worker of an executor has read a part of its half of a log, and has more to read."""
    size = log.stat().st_size
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until and job.process.poll() is None:
        for executor in cluster.executors():
            for worker in cluster.python_workers(executor):
                place = position(worker, log)
                if place is not None and MARGIN_BYTES < place % (size // 2) < size // 2 - 2 * MARGIN_BYTES:
                    return executor
        time.sleep(0.005)
    raise AssertionError(f"no executor was seen to read: {job.log.read_text()[-4000:]}")


def position(pid: int, path: Path) -> int | None:
    """How far a process has read a file that it has open; see proc_pid_fdinfo(5)."""
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if os.readlink(descriptor) == str(path):
                    return int(Path(f"/proc/{pid}/fdinfo/{descriptor.name}").read_text().split()[1])
    return None


def tasks_lost_with_an_executor(events: Path) -> int:
    """How many tasks an application's event log tells as lost with an executor."""
    with events.open() as lines:
        found: list[dict[str, Any]] = [json.loads(line) for line in lines if '"ExecutorLostFailure"' in line]
    return sum(event["Event"] == "SparkListenerTaskEnd" for event in found)
