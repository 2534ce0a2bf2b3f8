"""How far a reading is: counted where bytes are read, told in the driver, and without influence on what is read."""

import gzip
import time
from itertools import product
from pathlib import Path

import pytest
import zstandard

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion import reading_progress
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.reading_progress import TaskCounter, progress_text, watched
from kafka_clientinfo.ingestion.worker import read_splits
from tests.amounts import one_in

ROOT = Path(__file__).resolve().parents[2]
REAL = ROOT / "sample_logs" / "kafka-2.7.2" / "kafka-request.log.gz"


TEXTS = {
    (0, 5_000_000): "0 of 5 MB", (312_400_000, 1_024_000_000): "312 of 1,024 MB", (6_000_000, 5_000_000): "5 of 5 MB",
    (5_000_000, 0): "5 MB",
}  # fmt: skip


def test_it_tells_how_much_of_all_is_read() -> None:
    assert {amounts: progress_text(*amounts) for amounts in TEXTS} == TEXTS


@pytest.mark.parametrize(("packed", "split_bytes"), one_in(2, product(["plain", "gzip", "zstd"], [60_000, 1 << 27])))
def test_counting_changes_no_row_and_misses_no_byte(tmp_path: Path, packed: str, split_bytes: int) -> None:
    plain = gzip.decompress(REAL.read_bytes())
    content = {"plain": plain, "gzip": gzip.compress(plain), "zstd": zstandard.ZstdCompressor().compress(plain)}[packed]
    log = tmp_path / "b" / "kafka-request.log"
    log.parent.mkdir()
    log.write_bytes(content)
    plan = make_plan([log], {}, Settings(split_bytes=split_bytes), 2)
    counted: list[int] = []
    for splits in plan.splits:
        assert list(read_splits(splits, "UTC", counted.append)) == list(read_splits(splits, "UTC"))
    assert plan.size_on_disk == len(content)
    assert sum(counted) >= len(content)


def test_tasks_tell_the_driver_through_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_progress, "_SHOWN_EVERY", 0.01)
    said: list[str] = []
    with watched(5_000_000, said.append) as folder:
        counters = [TaskCounter(folder, number) for number in range(2)]
        for counter in counters:
            counter.add(1_000_000)
            counter.close()
        while "2 of 5 MB" not in said:
            time.sleep(0.01)
    assert not Path(folder).exists()


def test_where_nobody_is_told_nothing_is_written(tmp_path: Path) -> None:
    with watched(5, None) as folder:
        assert folder == ""
    for nowhere in (folder, str(tmp_path / "of another machine")):
        counter = TaskCounter(nowhere, 1)
        counter.add(7)
        counter.close()
    assert list(tmp_path.iterdir()) == []
