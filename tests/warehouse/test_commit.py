"""How many rows a commit wrote, and which is the newest, without a query on the rows."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.warehouse import commit
from kafka_clientinfo.warehouse.address import Address


@pytest.mark.parametrize(
    ("commits", "rows"),
    [
        ([{"userMetadata": "mine", "operationMetrics": {"numOutputRows": "5"}}], 5),
        ([{"userMetadata": "another's", "operationMetrics": {"numOutputRows": "5"}}], None),
        ([{"userMetadata": "mine", "operationMetrics": {}}], None),
        ([{"userMetadata": "mine", "operationMetrics": None}], None),
        ([], None),
    ],
)
def test_the_newest_commit_says_how_many_rows_it_wrote(
    monkeypatch: pytest.MonkeyPatch, commits: list[dict[str, Any]], rows: int | None
) -> None:
    monkeypatch.setattr(commit, "commits", lambda spark, address, name: iter(commits))
    assert commit.written_rows(None, Address("/lake"), "t", "mine") == rows  # type: ignore[arg-type]


def test_the_newest_version_is_that_of_the_last_local_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "history", lambda spark, table, limit: [{"version": 7}, {"version": 6}][:limit])
    log = tmp_path / "_delta_log"
    log.mkdir()
    spark: Any = SimpleNamespace(sql=lambda text: text)

    def version(folder: Path | None) -> str:
        return str(commit.snapshot(spark, "t", folder)).rpartition(" ")[2]

    assert version(None) == version(tmp_path) == "7"
    for name in (f"{9:020}.json", f"{10:020}.json", f"{11:020}.json.tmp", f"{12:020}.checkpoint.json", f"{13:020}.crc"):
        (log / name).touch()
    assert version(tmp_path) == "10"
