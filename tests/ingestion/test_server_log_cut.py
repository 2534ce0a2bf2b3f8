"""server.log is written while it is read: a failure and the stack trace below it are one record, wherever the cut is."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.logs.framing import SERVER_LOG
from kafka_clientinfo.logs.unwrapping import split_records
from tests.amounts import one_in
from tests.ingestion.splitting import Runs
from tests.logs.test_forged_failures import CASES, GENUINE, OTHER

SAMPLE = Path(__file__).resolve().parents[2] / "sample_logs" / "kafka-4.4.0" / "server.log.gz"


@pytest.fixture(scope="module")
def log() -> bytes:
    """Two failures with their stack traces, the first of them at the beginning, and what stands after them."""
    records = [record.data for record in split_records([gzip.decompress(SAMPLE.read_bytes())], framing=SERVER_LOG)]
    failures = [number for number, data in enumerate(records) if b"ERROR Closing socket" in data]
    second = failures[1]
    return b"".join([records[failures[0]], *records[second - 2 : second + 3]])


def ends_of_lines(log: bytes) -> list[int]:
    return [place + 1 for place in range(len(log)) if log[place : place + 1] == b"\n"]


def test_a_cut_changes_nothing(log: bytes, tmp_path: Path) -> None:
    whole = Runs(tmp_path / "server.log").read(log)
    assert len(whole.rows["failed"]) == 2
    for cut in ends_of_lines(log):
        parts = Runs(tmp_path / "server.log").read(log[:cut]).read(log)
        assert parts.rows_and_counts() == whole.rows_and_counts(), log[:cut][-200:]


def test_a_log_that_ends_with_its_first_stack_trace_is_read_later(log: bytes, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(log[: log.index(b"\n[") + 1])
    plan = make_plan([path], {}, Settings(), 1)
    assert [(problem.kind, problem.detail) for problem in plan.problems] == [
        ("empty", "it holds no complete record yet")
    ]


@pytest.mark.parametrize("place", one_in(2, range(4)))
def test_a_cut_makes_no_forged_failure_genuine(place: int, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    names = list(CASES)[place::4]
    for name, genuine in zip(names, [*GENUINE.values()] * len(names), strict=False):
        log = (OTHER + CASES[name] + genuine + OTHER).encode()
        found = [Runs(path).read(log[:cut]).read(log).rows["failed"] for cut in (len(log), *ends_of_lines(log))]
        assert 1 <= len(found[0]) <= 2
        assert found == [found[0]] * len(found), name


@pytest.mark.parametrize(("name", "pack"), [("server.log.2026-11-21-02", bytes), ("server.log.gz", gzip.compress)])
def test_the_last_failure_of_a_rotated_log_counts(
    log: bytes, tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    end = log.index(b"\n[", log.rindex(b"ERROR Closing socket")) + 1
    runs = Runs(tmp_path / "server.log").read(log[:end])
    assert len(runs.rows["failed"]) == 1
    runs.path.unlink()
    runs.path = tmp_path / name
    for _ in range(2):
        assert len(runs.read(pack(log[:end])).rows["failed"]) == 2
