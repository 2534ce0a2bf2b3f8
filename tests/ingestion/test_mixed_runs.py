"""A file of all loggers grows while it is read, and is cut into splits: its rows are those of one reading."""

from itertools import product
from pathlib import Path

import pytest

from kafka_clientinfo.logs import RequestEvent
from kafka_clientinfo.logs.server_log import FailedRequest
from tests.amounts import one_in
from tests.builders import json_record
from tests.ingestion.splitting import Runs, events_of, read_in_splits
from tests.logs.excerpts import parse
from tests.logs.test_broker_events import SAID, STAMP
from tests.logs.test_mixed import LOGS, wrapped

STARTS = "".join(f"{STAMP}{message}\n" for message in SAID).encode()


@pytest.mark.parametrize(
    ("wrapper", "release"), one_in(3, product(["none", "cri", "docker", "journal"], ["2.7.2", "3.9.1"]))
)
def test_a_cut_changes_nothing(tmp_path: Path, release: str, wrapper: str) -> None:
    data = wrapped(json_record() + STARTS + LOGS[release] + STARTS + json_record(), "kafka", wrapper)
    whole = Runs(tmp_path / "x").read(data)
    ((_, _, events),) = whole.rows_and_counts()[1]
    assert {event[1:] for event in events} >= set(SAID.values())
    assert whole.rows["rejected"] == []
    assert len(whole.rows["failed"]) == 3
    ends = [place for place in range(len(data)) if data[place : place + 1] == b"\n"]
    for end in ends[:: len(ends) // 20]:
        parts = Runs(tmp_path / "x").read(data[: end + 1]).read(data)
        assert parts.rows_and_counts() == whole.rows_and_counts(), data[: end + 1][-200:]


@pytest.mark.parametrize("release", LOGS)
@pytest.mark.parametrize("split_bytes", [100, 3000])
def test_splits_change_nothing(tmp_path: Path, release: str, split_bytes: int) -> None:
    path = tmp_path / "x"
    data = STARTS + LOGS[release] + STARTS
    path.write_bytes(data)
    rows, file, _ = read_in_splits(path, split_bytes, 8)
    whole, whole_file, _ = read_in_splits(path, 1 << 30, 1)
    assert (rows, events_of(file)) == (whole, events_of(whole_file))
    events = parse(data)
    for name, kind in (("request", RequestEvent), ("failed", FailedRequest)):
        offsets = [event.byte_offset for event in events if isinstance(event, kind)]
        assert [row["byte_offset"] for row in rows[name]] == offsets
