"""Runs on the bench log: how a run's time grows with the history, and how fast the README's queries answer.

Each warehouse holds N copies of the bench log, as N brokers wrote it, or one broker on N days; the last one lacks its
last 5 %. The run that is measured adds these. Bench log: 294 MB, or the sample log where it is not at hand.
"""

import gzip
import os
import shutil
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import pipeline
from kafka_clientinfo.engine.session import local_session
from kafka_clientinfo.lake import Warehouse
from kafka_clientinfo.settings import load_settings
from kafka_clientinfo.tables import table_specs
from tests.test_readme import QUERIES

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT.parent / "shared" / "bench" / "kafka-request.log.gz"
SAMPLE = ROOT / "sample_logs" / "kafka-4.4.0" / "kafka-request.log.gz"
LIVE = "kafka-request.log"
COPIES = tuple(int(n) for n in os.environ.get("BENCH_COPIES", "1,4,16").split(","))


@pytest.fixture(scope="module")
def fresh_spark(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A session as the command starts it; the tests' own one is set up for tables of some rows."""
    settings = load_settings()
    session = local_session(settings, "benchmarks", str(tmp_path_factory.mktemp("spark") / "spark.log"))
    yield session
    session.stop()


@pytest.fixture(scope="module")
def log() -> bytes:
    return gzip.decompress((BENCH if BENCH.exists() else SAMPLE).read_bytes())


def lay_out(log: bytes, copies: int, root: Path, history: str = "brokers") -> tuple[Path, bytes]:
    """Folders of `copies` brokers, or of one with so many days; one log lacks its last 5 %, which are returned."""
    cut = log.rfind(b"\n[", 0, int(len(log) * 0.95)) + 1
    whole = root / "whole"
    whole.write_bytes(log)
    for number in range(copies):
        folder = root / "logs" / ("broker-0" if history == "days" else f"broker-{number}")
        folder.mkdir(parents=True, exist_ok=True)
        if number == 0:
            (folder / LIVE).write_bytes(log[:cut])
        elif history == "days":
            (folder / f"{LIVE}.{number}").write_bytes(days_before(log, number))
        else:
            os.link(whole, folder / LIVE)
    return root / "logs", log[cut:]


def days_before(log: bytes, number: int) -> bytes:
    """The same connections and requests, so many days before."""
    day = log[1:11]
    earlier = str(date.fromisoformat(day.decode()) - timedelta(days=number)).encode()
    return b"[" + earlier + log[11:].replace(b"\n[" + day + b" ", b"\n[" + earlier + b" ")


def add_the_rest(spark: Any, logs: Path, rest: bytes, lake: Path) -> tuple[float, dict[str, float]]:
    with (logs / "broker-0" / LIVE).open("ab") as file:
        file.write(rest)
    started = time.perf_counter()
    report = pipeline.run(spark, [str(logs)], str(lake))
    assert report.files[0]["requests"] > 0
    return time.perf_counter() - started, report.seconds


@pytest.mark.benchmark
@pytest.mark.parametrize("history", ["brokers", "days"])
def test_bench_growth(fresh_spark: Any, log: bytes, tmp_path: Path, history: str) -> None:
    """The same 5 % are added to each warehouse, in turns, so that all are measured in the same weather."""
    built: dict[int, tuple[Path, bytes, Path]] = {}
    for copies in COPIES:
        root = tmp_path / str(copies)
        root.mkdir()
        logs, rest = lay_out(log, copies, root, history)
        started = time.perf_counter()
        report = pipeline.run(fresh_spark, [str(logs)], str(root / "lake"))
        seconds, requests = time.perf_counter() - started, report.tables["requests"]
        print(f"\n  {copies:2d} x {history}: built in {seconds:6.1f} s, {requests:,} requests")
        built[copies] = (logs, rest, root / "lake")
    for turn in range(3):
        for copies, (logs, rest, lake) in built.items():
            again = tmp_path / f"{copies}-{turn}"
            shutil.copytree(lake, again)
            seconds, stages = add_the_rest(fresh_spark, logs, rest, again)
            slowest = sorted(stages.items(), key=lambda item: -item[1])[:6]
            print(f"  {copies:2d} x, turn {turn}: {seconds:6.1f} s  " + ", ".join(f"{n} {s:.1f}" for n, s in slowest))
            file = logs / "broker-0" / LIVE
            os.truncate(file, file.stat().st_size - len(rest))


@pytest.mark.benchmark
def test_bench_queries(fresh_spark: Any, log: bytes, tmp_path: Path) -> None:
    logs, rest = lay_out(log, 1, tmp_path)
    pipeline.run(fresh_spark, [str(logs)], str(tmp_path / "lake"))
    add_the_rest(fresh_spark, logs, rest, tmp_path / "lake")
    lake = Warehouse(fresh_spark, str(tmp_path / "lake"))
    for name in table_specs():
        lake.read(name).createOrReplaceTempView(name)
    print()
    for number, query in enumerate(QUERIES, 1):
        started = time.perf_counter()
        rows = fresh_spark.sql(query).collect()
        print(f"  question {number}: {time.perf_counter() - started:5.2f} s, {len(rows)} rows")
