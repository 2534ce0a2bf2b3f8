"""Finds or makes the logs that are measured, each in a folder with its truth, and keeps them between sections."""

import gzip
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .extraction import SUMS, json_loads
from .log_generator import TRUTH, LogSize, generate
from .log_templates import BENCH_LOG, ROOT


@dataclass(frozen=True, slots=True)
class Log:
    """A log to measure with.

    Attributes:
        name: for tables and plots.
        size: how it is made; None for a real log that is taken as it is.
        real: the real log's file or folder.
    """

    name: str
    size: LogSize | None = None
    real: Path | None = None

    def prepared(self, work: Path) -> tuple[Path, dict[str, Any]]:
        """Its folder and truth; made in `work` where that has not been done."""
        if self.size is not None:
            return _made(work / "logs" / _folder_name(self.size), self.size)
        assert self.real is not None
        if self.real.is_dir():
            return self.real, {"bytes": _plain_bytes(self.real)}
        return _unpacked(work / "logs" / "bench", self.real)


SAMPLE_LOGS = Log("sample_logs, 13 brokers 0.8 to 4.4", real=ROOT / "sample_logs")
REAL_LOG = Log("a busy broker's log, 294 MB", real=BENCH_LOG) if BENCH_LOG else None


def short_log(requests: int, connections: int) -> Log:
    """Short requests: Fetch and Produce of few partitions, heartbeats."""
    name = f"{requests:,} short requests, {connections:,} connections"
    return Log(name, LogSize(requests=requests, connections=connections))


def mixed_log(gigabytes: float, connections: int = 5000) -> Log:
    """Half the bytes in short requests, half in real ones."""
    made = LogSize(bytes=round(gigabytes * 1e9), connections=connections, kind="mixed")
    return Log(f"{gigabytes:g} GB, {connections:,} connections", made)


def later_log(megabytes: float = 20) -> Log:
    """A little log of another day, to be added to any of the others."""
    made = LogSize(bytes=round(megabytes * 1e6), connections=200, kind="mixed", hour=48)
    return Log(f"{megabytes:g} MB more", made)


def link(folder: Path, into: Path, ending: str = "") -> None:
    """Give a log's files a place in another folder, without copying where the file system allows it."""
    into.mkdir(parents=True, exist_ok=True)
    for file in sorted(folder.glob("kafka-request.log*")):
        target = into / (file.name + ending)
        try:
            target.hardlink_to(file)
        except OSError:
            shutil.copy(file, target)


def _folder_name(size: LogSize) -> str:
    given = {key: value for key, value in asdict(size).items() if value}
    return "-".join(f"{key}-{value}" for key, value in given.items())


def _made(folder: Path, size: LogSize) -> tuple[Path, dict[str, Any]]:
    if (folder / TRUTH).exists():
        return folder, json.loads((folder / TRUTH).read_text())
    shutil.rmtree(folder, ignore_errors=True)  # a making that was stopped leaves no truth
    return folder, generate(folder, size)


def _unpacked(folder: Path, packed: Path) -> tuple[Path, dict[str, Any]]:
    """A real log as plain text; its truth is what `json.loads` finds in it."""
    if not (folder / TRUTH).exists():
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / "kafka-request.log"
        with gzip.open(packed) as source, log.open("wb") as target:
            shutil.copyfileobj(source, target)
        answer = json_loads(str(folder))()
        truth = {"bytes": log.stat().st_size, **{name: answer[name] for name in SUMS}}
        (folder / TRUTH).write_text(json.dumps(truth))
    return folder, json.loads((folder / TRUTH).read_text())


def _plain_bytes(folder: Path) -> int:
    total = 0
    for file in folder.rglob("kafka-request.log*"):
        total += len(gzip.decompress(file.read_bytes())) if file.suffix == ".gz" else file.stat().st_size
    return total
