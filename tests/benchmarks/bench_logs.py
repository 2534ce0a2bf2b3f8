"""Reader, framing, parser and Arrow batches, side by side in one run: MB/s of plain log on one core.

The log is the 294 MB bench log where it is at hand, else the sample logs repeated to some 100 MB.
"""

import gzip
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_clientinfo.ingestion.plan import Split
from kafka_clientinfo.ingestion.worker import read_splits
from kafka_clientinfo.logs import Parser, range_records
from kafka_clientinfo.logs.reader import read_blocks

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT.parent / "shared" / "bench" / "kafka-request.log.gz"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "kafka-request.log"
    if BENCH.exists():
        path.write_bytes(gzip.decompress(BENCH.read_bytes()))
    else:
        sample = gzip.decompress((ROOT / "sample_logs" / "kafka-4.4.0" / "kafka-request.log.gz").read_bytes())
        path.write_bytes(sample * (100_000_000 // len(sample)))
    return path


@pytest.mark.benchmark
def test_bench_each_stage_of_the_hop(log: Path) -> None:
    def read() -> int:
        return sum(len(block) for block in read_blocks(log))

    def frame() -> int:
        return sum(1 for _ in range_records(log, 0, None))

    def parse() -> int:
        parser = Parser()
        return sum(1 for record in range_records(log, 0, None) if parser.parse(record))

    def batches() -> int:
        split = Split(str(log), "f", "c", "b", 0, None, True)
        return sum(batch.num_rows for batch in read_splits([split], "UTC"))

    stages: tuple[Callable[[], int], ...] = (read, frame, parse, batches)
    size = log.stat().st_size / 1e6
    print(f"\n{size:.0f} MB of log")
    for stage in stages:
        times = []
        for _ in range(3):
            started = time.perf_counter()
            count = stage()
            times.append(time.perf_counter() - started)
        best = min(times)
        print(f"  up to {stage.__name__:8s} {best:6.2f} s  {size / best:7.0f} MB/s  ({count:,})")
        assert count > 0
