"""Several processes read of large files what one reads, and where they cannot, one reads all of it."""

import gzip
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import InputError
from kafka_clientinfo.ingestion import by_processes
from kafka_clientinfo.ingestion.in_process import Reading
from kafka_clientinfo.ingestion.worker import SplitReader
from kafka_clientinfo.scan import MemoryTables

SAMPLES = Path(__file__).resolve().parents[2] / "sample_logs"
ASKED = {
    "requests": "* EXCLUDE (ingested_at)",
    "rejected_records": "*",
    "ingested_files": "* EXCLUDE (ingested_at, broker_events, debug_runs)",  # these have such a time in each
}
PRODUCED = """
    SELECT client_id, topic, sum(requests), sum(bytes), min(first_at), max(last_at)
    FROM {topic_mentions} WHERE operation = 'produce' GROUP BY ALL
"""
"""What is produced needs no request of another part; tests/views/topics has what does."""
BYTES = 1_000_000
"""Of each log."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("kafka-2.4.1", "kafka-3.9.1-node3"):
        shutil.copytree(SAMPLES / name, tmp_path / name)
        for packed in (tmp_path / name).glob("*.gz"):
            packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes())[:BYTES])
            packed.unlink()
    return tmp_path


@pytest.fixture(autouse=True)
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_processes, "processes_for", lambda _: 2)
    monkeypatch.setattr(by_processes, "_LEAST_BYTES", 100_000)
    monkeypatch.setattr(by_processes, "_MOST_BYTES", 300_000)


def read(folder: Path, has_processes: bool) -> tuple[dict[str, list[Any]], list[str], int]:
    """Return the rows of tables, the problems, and how often the reading started over."""
    tables: list[MemoryTables] = []
    start_over = (lambda: tables.append(MemoryTables(Settings()))) if has_processes else None
    reading = Reading([str(folder)], Settings(), with_servers=True, start_over=start_over)
    tables.append(MemoryTables(Settings()))
    for part in reading.parts():
        tables[-1].add(part)
    tables[-1].set_files(reading.files)
    queries = {name: f"SELECT {columns} FROM {{{name}}}" for name, columns in ASKED.items()} | {"produced": PRODUCED}
    rows = {name: sorted(map(repr, tables[-1].query(query))) for name, query in queries.items()}
    return rows, sorted(map(repr, reading.problems)), len(tables) - 1


def test_the_rows_are_those_of_one_process(folder: Path) -> None:
    (rows, problems, _), several = read(folder, False), read(folder, True)
    assert min(len(rows["requests"]), len(rows["produced"])) > 10
    assert several == (rows, problems, 0)


def test_all_is_read_again_where_a_file_cannot_be_read_to_its_end(folder: Path) -> None:
    log = next(folder.glob("kafka-2.4.1/kafka-request.log"))
    (folder / "kafka-2.4.1" / "kafka-request.log.1.gz").write_bytes(
        gzip.compress(log.read_bytes()[BYTES // 2 :])[:-9_000]
    )
    (rows, problems, _), several = read(folder, False), read(folder, True)
    assert several == (rows, problems, 1)


def test_this_process_reads_where_another_one_is_killed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, problems, _ = read(folder, False)
    monkeypatch.setattr(by_processes, "_read", killed)
    assert read(folder, True) == (expected, problems, 1)


def test_this_process_reads_a_large_file_that_cannot_be_divided(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = next(folder.glob("kafka-2.4.1/kafka-request.log"))
    log.write_bytes(b"".join(b"2026-11-21T12:00:00.0Z stdout F " + line for line in log.open("rb")))
    monkeypatch.setattr(by_processes, "Processes", forbidden)
    assert Reading([str(folder)], Settings(), True, start_over=lambda: None).size > BYTES


def test_this_process_reads_what_lies_in_a_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = pytest.importorskip("fsspec", reason="fsspec is not installed").filesystem("memory")
    log = next(folder.glob("kafka-2.4.1/kafka-request.log"))
    store.pipe_file("/forked/kafka-request.log", log.read_bytes())
    monkeypatch.setattr(by_processes, "Processes", forbidden)
    assert Reading(["memory://forked/kafka-request.log"], Settings(), True, start_over=lambda: None).size == BYTES
    store.rm("/forked", recursive=True)


def forbidden(*_: Any) -> None:
    raise AssertionError("a process was forked")


def killed(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_an_error_names_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(SplitReader, "_take", fail)
    with pytest.raises(
        InputError, match=r"kafka-request.log: cannot be read after byte \d+: ValueError: no such thing"
    ):
        read(folder, True)
