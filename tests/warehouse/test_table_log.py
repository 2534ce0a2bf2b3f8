"""Logs of tables as files: which make a table, which hold rows, and which are damaged."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.warehouse import table_log

from .delta_logs import ADD, CRC, TABLE, commit, named, save

REMOVED = {"domainMetadata": {"domain": "delta.clustering", "configuration": "{}", "removed": True}}


def clustered_by(*columns: str) -> dict[str, Any]:
    stored = json.dumps({"clusteringColumns": [[column] for column in columns]})
    return {"domainMetadata": {"domain": "delta.clustering", "configuration": stored, "removed": False}}


MADE: dict[str, tuple[dict[str, bytes], bool]] = {
    "nothing": ({}, False),
    "a table": ({named(0): commit(*TABLE)}, True),
    "an empty commit": ({named(0): b""}, False),
    "a later commit": ({named(0): b"", named(1): commit(ADD)}, True),
    "a checkpoint": ({named(7, ".checkpoint.parquet"): b"PAR1"}, True),
    "commits that are put together": ({named(1, f".{2:020}.compacted.json"): b"{}"}, True),
    "the name of a checkpoint": ({"_last_checkpoint": b"{}"}, True),
    "files of other names": ({"x" + named(1): b"{}", named(1) + ".tmp": b"{}", "1.json": b"{}", CRC: b"x"}, False),
}


@pytest.mark.parametrize("name", MADE)
def test_a_folder_is_a_table_from_its_first_commit_on(tmp_path: Path, name: str) -> None:
    files, is_made = MADE[name]
    assert table_log.is_made(save(tmp_path / "t", files)) == is_made
    assert not table_log.is_made(tmp_path)


def test_commits_are_read_from_the_newest_on(tmp_path: Path) -> None:
    info = {"operation": "WRITE", "userMetadata": "x", "operationMetrics": {"numOutputRows": "3"}, "readVersion": 1}
    folder = save(tmp_path / "t", {named(0): commit({"commitInfo": {}}), named(1): commit({"commitInfo": info}, ADD)})
    nothing = dict.fromkeys(("operation", "userMetadata", "operationMetrics"))
    known = [{"version": 1, **{key: info[key] for key in nothing}}, {"version": 0, **nothing}]
    assert list(table_log.commits(folder)) == known


@pytest.mark.parametrize(
    ("files", "columns"),
    [
        ({named(0): commit(*TABLE)}, ()),
        ({named(0): commit(*TABLE, clustered_by("a", "b")), named(1): commit(ADD)}, ("a", "b")),
        ({named(0): commit(*TABLE, clustered_by("a")), named(1): commit(clustered_by())}, ()),
        ({named(0): commit(*TABLE, clustered_by("a")), named(1): commit(REMOVED)}, ()),
        ({named(7, ".checkpoint.parquet"): b"", named(8): commit(ADD)}, None),
    ],
)
def test_the_newest_commit_with_clustering_has_it(
    tmp_path: Path, files: dict[str, bytes], columns: tuple[str, ...] | None
) -> None:
    assert table_log.clustering(save(tmp_path / "t", files)) == columns


def test_only_a_log_without_a_table_is_removed(tmp_path: Path) -> None:
    made = save(tmp_path / "made", {named(0): commit(*TABLE)})
    half = save(tmp_path / "half", {named(0): b"", CRC: b"x"})
    (half / "part-0.parquet").write_bytes(b"PAR1")
    assert [table_log.clear(tmp_path / name) for name in ("made", "half", "none")] == [False, True, False]
    assert (made / "_delta_log" / named(0)).exists()
    assert [path.name for path in half.iterdir()] == ["part-0.parquet"]


def test_a_folder_that_cannot_be_read_is_not_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save(tmp_path / "t", {named(0): commit(*TABLE)})

    def refuse(path: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("os.scandir", refuse)
    assert not table_log.is_made(folder)
    with pytest.raises(OSError, match="Input/output"):
        table_log.clear(folder)
    monkeypatch.undo()
    assert table_log.is_made(folder)
