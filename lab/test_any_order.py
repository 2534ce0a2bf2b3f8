"""The law of incremental runs: whatever the cut, the order and the repetition of the input, the same tables.

A real log is rotated at record ends into several files, which arrive in any order and grow in any steps, cut at any
byte, plain or compressed, under their own names or renamed. After every arrival a run follows; in the end all tables
equal those of one run over everything.

Runs make tables of every kind, though not all: tables of a kind are written alike, from the same relations, and fewer
leave time for more examples. All tables are compared in test_pipeline, test_crashes and soak.
"""

import gzip
import shutil
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_clientinfo.logs.unwrapping import split_records
from kafka_clientinfo.runs import run as pipeline
from tests.equality import assert_same_tables

ROOT = Path(__file__).resolve().parent.parent
LOG = ROOT / "sample_logs" / "kafka-2.7.2" / "kafka-request.log.gz"
RECORDS = 500


@dataclass(frozen=True)
class Arrival:
    """At a moment, the part of a file that is there: a share of its bytes, compressed or not."""

    moment: int
    file: int
    share: float
    packed: bool


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[int], list[Arrival]]:
    """Where the log is rotated, and what arrives when; in the end every file is there as a whole."""
    cuts = sorted(draw(st.sets(st.integers(1, RECORDS - 1), min_size=1, max_size=3)))
    arrivals = []
    for file in range(len(cuts) + 1):
        moment = draw(st.integers(0, 2))
        if draw(st.booleans()):
            arrivals.append(Arrival(moment, file, draw(st.floats(0.01, 0.99)), False))
            moment += 1
        arrivals.append(Arrival(moment, file, 1.0, draw(st.booleans())))
        if draw(st.integers(0, 3)) == 0:  # and once more, as a copy
            arrivals.append(Arrival(moment + 1, file, 1.0, draw(st.booleans())))
    return cuts, arrivals


@pytest.fixture(scope="module")
def records() -> list[bytes]:
    """A real log, and the same again an hour later: every connection id is used twice."""
    hour = [record.data for record in split_records([gzip.decompress(LOG.read_bytes())])][: RECORDS // 2]
    return [*hour, *(record.replace(b"[2026-11-21 02:", b"[2026-11-21 03:", 1) for record in hour)]


@pytest.fixture(scope="module")
def at_once(spark: Any, records: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("at-once")
    (root / "b").mkdir()
    (root / "b" / "kafka-request.log").write_bytes(b"".join(records))
    pipeline.run(spark, [str(root / "b")], str(root / "lake"))
    return root / "lake"


def deliver(spark: Any, records: list[bytes], cuts: list[int], arrivals: list[Arrival], root: Path) -> Path:
    """Run after every moment at which something arrives."""
    bounds = [0, *cuts, len(records)]
    contents = [b"".join(records[start:end]) for start, end in pairwise(bounds)]
    folder = root / "b"
    shutil.rmtree(root, ignore_errors=True)
    folder.mkdir(parents=True)
    for moment in sorted({arrival.moment for arrival in arrivals}):
        for number, arrival in enumerate(arrivals):
            if arrival.moment == moment:
                content = contents[arrival.file][: int(len(contents[arrival.file]) * arrival.share) or 1]
                name = f"kafka-request.log.{number}" + (".gz" if arrival.packed else "")
                for older in folder.glob("*"):  # a rename, not a second file, where the same file has grown
                    if arrivals[int(older.name.split(".")[2])].file == arrival.file and arrival.share == 1.0:
                        older.unlink()
                (folder / name).write_bytes(gzip.compress(content) if arrival.packed else content)
        pipeline.run(spark, [str(folder)], str(root / "lake"))
    return root / "lake"


HEALTHY = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.mark.soak
@settings(max_examples=20, deadline=None, database=None, suppress_health_check=HEALTHY)
@given(delivery=deliveries())
def test_many_deliveries_give_the_same_tables(
    spark: Any, records: list[bytes], at_once: Path, tmp_path: Path, delivery: Any
) -> None:
    found = deliver(spark, records, *delivery, tmp_path / "many")
    assert_same_tables(spark, found, at_once)
