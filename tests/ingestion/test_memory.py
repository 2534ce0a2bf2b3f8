"""Memory of planning and reading: bounded by the block and record limits, however long a line and dense a bomb."""

import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.builders import json_record

ALLOWED = 250 << 20
"""Bytes above those of the process that has imported everything; a record may have 32 MB, and is copied some times."""
PROGRAM = """
import json, resource, sys
from kafka_clientinfo.ingestion.discovery import find_logs
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.worker import read_splits
from kafka_clientinfo.config.settings import Settings

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

before = peak()
plan = make_plan(find_logs(sys.argv[1:]), {}, Settings(), 2)
planned = peak()
statistics = []
for task in plan.splits:
    for batch in read_splits(task, "UTC"):
        statistics += [row for row in batch.column("file").to_pylist() if row]
names = ("records", "requests", "rejected", "end_offset", "pending_bytes", "error")
print(json.dumps({
    "planned": planned - before,
    "read": peak() - before,
    "problems": [problem.detail for problem in plan.problems],
    "statistics": [{name: split[name] for name in names} for split in statistics],
}))
"""
LINE = json_record()
MEGABYTE = b"x" * (1 << 20)


def line_of(megabytes: int) -> Iterator[bytes]:
    """A log whose second record is one long line, which ends."""
    yield LINE + LINE[: LINE.index(b'"clientId":"') + 12]
    yield from (MEGABYTE for _ in range(megabytes))
    yield b'"}} (kafka.request.logger)\n' + LINE


def zeros(megabytes: int) -> Iterator[bytes]:
    yield LINE
    yield from (bytes(1 << 20) for _ in range(megabytes))


def gzip_packer() -> Any:
    return zlib.compressobj(9, zlib.DEFLATED, 31)


def zstandard_packer() -> Any:
    return zstandard.ZstdCompressor(3).compressobj()


def packed(make: Callable[[], Any], pieces: Iterator[bytes]) -> Iterator[bytes]:
    packer = make()
    yield from (packer.compress(piece) for piece in pieces)
    yield packer.flush()


def measured(folder: Path, pieces: Iterator[bytes]) -> dict[str, Any]:
    path = folder / "b1" / "kafka-request.log"
    path.parent.mkdir()
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True)
    path.unlink()
    found: dict[str, Any] = json.loads(done.stdout)
    assert max(found["planned"], found["read"]) < ALLOWED, found
    (split,) = found["statistics"]
    return dict(split)


@pytest.mark.parametrize(
    ("packer", "megabytes"),
    [
        (zstandard_packer, 300),
        pytest.param(zstandard_packer, 10 << 10, marks=pytest.mark.soak),
        pytest.param(gzip_packer, 10 << 10, marks=pytest.mark.soak),
    ],
)
def test_a_bomb_of_zeros_is_read_in_bounded_memory(tmp_path: Path, packer: Any, megabytes: int) -> None:
    split = measured(tmp_path, packed(packer, zeros(megabytes)))
    assert split["end_offset"] + split["pending_bytes"] == len(LINE) + (megabytes << 20)


@pytest.mark.soak
@pytest.mark.parametrize("packer", [None, gzip_packer, zstandard_packer])
def test_a_line_of_a_gigabyte_is_read_in_bounded_memory(tmp_path: Path, packer: Any) -> None:
    split = measured(tmp_path, packed(packer, line_of(1024)) if packer else line_of(1024))
    counts = {"records": 3, "requests": 2, "rejected": 1, "pending_bytes": 0, "error": None}
    assert {name: split[name] for name in counts} == counts
