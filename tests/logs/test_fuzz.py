"""Nothing that stands in a log can break the reader: damaged records of real brokers, many and always the same ones."""

from pathlib import Path

import pytest

from tests.amounts import examples
from tests.logs.excerpts import GENERATIONS
from tests.logs.fuzz import Fuzz, Report, real_pool, small_pool
from tests.logs.mutations import MUTATIONS

RECORDS = examples(2_400)  # `make fuzz` damages a million


def check(report: Report, records: int) -> None:
    assert report.wrong == []
    counts = report.counts
    assert counts["damaged"] == records
    assert 0.7 * counts["neighbours"] < counts["neighbours read"] <= counts["neighbours"]
    assert counts["records of files"] > 0
    assert set(report.mutations) == set(MUTATIONS)
    assert {f"request {name}" for name in GENERATIONS} <= set(report.outcomes)


def test_damaged_records_raise_nothing_and_lose_nothing(tmp_path: Path) -> None:
    check(Fuzz(small_pool(), seed=1, folder=tmp_path, worker_every=9).run(RECORDS), RECORDS)


@pytest.mark.soak
def test_a_million_damaged_records_raise_nothing_and_lose_nothing(tmp_path: Path) -> None:
    pool = real_pool()
    assert all(len(pool[name]) > 100 for name in GENERATIONS)
    report = Fuzz(pool, seed=1313, folder=tmp_path, worker_every=10).run(1_000_000)
    print("\n", {name: len(lines) for name, lines in pool.items()}, report.counts, report.mutations, report.outcomes)
    check(report, 1_000_000)
