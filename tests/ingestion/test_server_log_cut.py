"""server.log is written while it is read: a failure and the stack trace below it are one record, wherever the cut is."""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.split_statistics import counted, file_row
from kafka_clientinfo.ingestion.worker import read_splits
from kafka_clientinfo.logs.framing import SERVER_LOG
from kafka_clientinfo.logs.unwrapping import split_records
from tests.amounts import one_in
from tests.logs.test_forged_failures import CASES, GENUINE, OTHER

SAMPLE = Path(__file__).resolve().parents[2] / "sample_logs" / "kafka-4.4.0" / "server.log.gz"


class Reader:
    """What runs know of one folder: failures and the statistics of each file."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, Any]] = {}
        self.failures: list[tuple[Any, ...]] = []

    def read(self, path: Path) -> None:
        plan = make_plan([path], self.files, Settings(), 2)
        batches = [batch for task in plan.splits for batch in read_splits(task, "UTC")]
        rows = [row for batch in batches for row in batch.column("failed").to_pylist() if row]
        statistics = counted([row for batch in batches for row in batch.column("file").to_pylist() if row])
        self.failures += [(row["byte_offset"], row["reason"], row["detail"], row["api_key"]) for row in rows]
        self.files |= {file.file_id: file_row(file, statistics, "", datetime.now(UTC)) for file in plan.files}

    def counts(self) -> list[tuple[int, Any]]:
        return [(state["records"], state["ignored"]) for state in self.files.values()]


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
    path = tmp_path / "server.log"
    path.write_bytes(log)
    whole = Reader()
    whole.read(path)
    assert len(whole.failures) == 2
    for cut in ends_of_lines(log):
        path.write_bytes(log[:cut])
        parts = Reader()
        parts.read(path)
        path.write_bytes(log)
        parts.read(path)
        assert (parts.failures, parts.counts()) == (whole.failures, whole.counts()), log[:cut][-200:]


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
        found = []
        for cut in (len(log), *ends_of_lines(log)):
            path.write_bytes(log[:cut])
            reader = Reader()
            reader.read(path)
            path.write_bytes(log)
            reader.read(path)
            found.append(reader.failures)
        assert 1 <= len(found[0]) <= 2
        assert found == [found[0]] * len(found), name


@pytest.mark.parametrize(("name", "pack"), [("server.log.2026-11-21-02", bytes), ("server.log.gz", gzip.compress)])
def test_the_last_failure_of_a_rotated_log_counts(
    log: bytes, tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    end = log.index(b"\n[", log.rindex(b"ERROR Closing socket")) + 1
    path = tmp_path / "server.log"
    path.write_bytes(log[:end])
    reader = Reader()
    reader.read(path)
    assert len(reader.failures) == 1
    path.unlink()
    (tmp_path / name).write_bytes(pack(log[:end]))
    reader.read(tmp_path / name)
    assert len(reader.failures) == 2
    reader.read(tmp_path / name)
    assert len(reader.failures) == 2
