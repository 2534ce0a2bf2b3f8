"""A file of all loggers grows while it is read, and is cut into splits: its rows are those of one reading."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.ingestion.split_statistics import counted, file_row
from kafka_clientinfo.ingestion.worker import read_splits
from kafka_clientinfo.logs import RequestEvent
from kafka_clientinfo.logs.server_log import FailedRequest
from kafka_clientinfo.settings import Settings
from tests.builders import json_record
from tests.ingestion.splitting import read_in_splits
from tests.logs.excerpts import parse
from tests.logs.test_mixed import LOGS, wrapped

Rows = dict[str, list[Any]]


class Runs:
    """What runs know of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: dict[str, dict[str, Any]] = {}
        self.rows: Rows = {"request": [], "failed": [], "rejected": []}

    def read(self, data: bytes) -> "Runs":
        self.path.write_bytes(data)
        plan = make_plan([self.path], self.files, Settings(), 2)
        batches = [batch for task in plan.splits for batch in read_splits(task, "UTC")]
        for name, rows in self.rows.items():
            rows += [row for batch in batches for row in batch.column(name).to_pylist() if row]
        statistics = counted([row for batch in batches for row in batch.column("file").to_pylist() if row])
        self.files |= {file.file_id: file_row(file, statistics, "", datetime.now(UTC)) for file in plan.files}
        return self

    def told(self) -> tuple[Rows, list[Any]]:
        return self.rows, [(one["records"], dict(one["ignored"])) for one in self.files.values()]


@pytest.mark.parametrize("wrapper", ["none", "cri", "docker", "journal", "export"])
@pytest.mark.parametrize("release", ["2.7.2", "3.9.1"])
def test_a_cut_changes_nothing(tmp_path: Path, release: str, wrapper: str) -> None:
    data = wrapped(json_record() + LOGS[release] + json_record(), "kafka", wrapper)
    whole = Runs(tmp_path / "x").read(data)
    assert whole.rows["rejected"] == []
    assert len(whole.rows["failed"]) == 3
    ends = [place for place in range(len(data)) if data[place : place + 1] == b"\n"]
    for end in ends[:: len(ends) // 20]:
        parts = Runs(tmp_path / "x").read(data[: end + 1]).read(data)
        assert parts.told() == whole.told(), data[: end + 1][-200:]


@pytest.mark.parametrize("release", LOGS)
@pytest.mark.parametrize("split_bytes", [100, 3000])
def test_splits_change_nothing(tmp_path: Path, release: str, split_bytes: int) -> None:
    path = tmp_path / "x"
    path.write_bytes(LOGS[release])
    rows, _, _ = read_in_splits(path, split_bytes, 8)
    assert rows == read_in_splits(path, 1 << 30, 1)[0]
    events = parse(LOGS[release])
    for name, kind in (("request", RequestEvent), ("failed", FailedRequest)):
        offsets = [event.byte_offset for event in events if isinstance(event, kind)]
        assert [row["byte_offset"] for row in rows[name]] == offsets
