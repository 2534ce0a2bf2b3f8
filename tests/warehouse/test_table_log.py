"""Logs of tables as files: which make a table, which hold rows, and which are damaged."""

import json
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest

from kafka_clientinfo.warehouse import table_log

from .delta_logs import ADD, CLUSTERED, CLUSTERING, CRC, PLAIN, PROTOCOL, SCHEMA, TABLE, commit, named, save

REMOVED = {"domainMetadata": {"domain": "delta.clustering", "configuration": "{}", "removed": True}}


def clustered_by(*columns: str) -> dict[str, Any]:
    stored = json.dumps({"clusteringColumns": [[column] for column in columns]})
    return {"domainMetadata": {"domain": "delta.clustering", "configuration": stored, "removed": False}}


MADE: dict[str, tuple[dict[str, bytes], bool, bool]] = {
    "nothing": ({}, False, False),
    "a table without rows": ({named(0): commit(*TABLE)}, True, False),
    "a table with a sum of its commit": ({named(0): commit(*TABLE), CRC: b"x"}, True, False),
    "no words of the commit": ({named(0): commit(PROTOCOL, SCHEMA)}, True, False),
    "a clustered table": ({named(0): commit(CLUSTERED, PROTOCOL, SCHEMA, CLUSTERING)}, True, False),
    "one that lacks what clusters it": ({named(0): commit(CLUSTERED, PROTOCOL, SCHEMA)}, False, False),
    "one of another domain": (
        {named(0): commit(CLUSTERED, PROTOCOL, SCHEMA, {"domainMetadata": {"domain": "mine"}}, {"domainMetadata": 1})},
        False,
        False,
    ),
    "no protocol": ({named(0): commit(PLAIN, SCHEMA)}, False, False),
    "no metadata": ({named(0): commit(PLAIN, PROTOCOL)}, False, False),
    "no columns": ({named(0): commit(PROTOCOL, {"metaData": {"schemaString": '{"fields": []}'}})}, False, False),
    "no schema": ({named(0): commit(PROTOCOL, {"metaData": {}})}, False, False),
    "metadata of no kind": ({named(0): commit(PROTOCOL, {"metaData": 1})}, False, False),
    "a schema that is cut": ({named(0): commit(PROTOCOL, {"metaData": {"schemaString": "{"}})}, False, False),
    "a commit that is cut": ({named(0): commit(*TABLE, {"x": 1}, cut=3)}, False, False),
    "a line of no kind": ({named(0): commit(*TABLE, 1)}, False, False),
    "an empty commit": ({named(0): b""}, False, False),
    "rows in the first commit": ({named(0): commit(*TABLE, ADD)}, True, True),
    "rows in a first commit that is cut": ({named(0): commit(ADD, *TABLE, cut=3)}, True, True),
    "a later commit": ({named(1): b""}, True, True),
    "a checkpoint": ({named(7, ".checkpoint.parquet"): b""}, True, True),
    "commits that are put together": ({named(1, f".{2:020}.compacted.json"): b""}, True, True),
    "the name of a checkpoint": ({"_last_checkpoint": b""}, True, True),
    "files of other names": ({"x" + named(1): b"", named(1) + ".tmp": b"", "1.json": b""}, False, False),
}


@pytest.mark.parametrize("name", MADE)
def test_a_folder_is_a_table_from_its_first_whole_commit_on(tmp_path: Path, name: str) -> None:
    files, is_made, has_rows = MADE[name]
    folder = save(tmp_path / "t", files)
    assert table_log.is_made(folder) == is_made
    assert table_log.has_held_rows(files, files.__getitem__) == has_rows
    assert not table_log.is_made(tmp_path)


@pytest.mark.parametrize(
    ("files", "has_empty"),
    [
        ({named(0): commit(*TABLE)}, False),
        ({named(0): b"", named(1): commit(ADD)}, True),
        ({named(0): commit(*TABLE), named(1): b""}, True),
        ({named(0): commit(*TABLE), named(1) + ".tmp": b""}, False),
        ({}, False),
    ],
)
def test_it_finds_empty_commits(tmp_path: Path, files: dict[str, bytes], has_empty: bool) -> None:
    assert table_log.has_empty_commit(save(tmp_path / "t", files)) == has_empty
    assert table_log.has_empty_commit(tmp_path) is False


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


def test_the_newest_commit_with_properties_has_them(tmp_path: Path) -> None:
    def of(**properties: str) -> bytes:
        return commit({"metaData": {"configuration": properties}})

    commits = {named(0): of(a="1"), named(1): of(a="2", b="3"), named(2): commit(ADD)}
    assert table_log.properties(save(tmp_path / "t", commits)) == {"a": "2", "b": "3"}
    damaged = {**commits, named(3): of(a="4")[:-9]}
    assert table_log.properties(save(tmp_path / "damaged", damaged)) is None, "Spark says what is damaged"
    assert table_log.properties(save(tmp_path / "u", {named(7): commit(ADD)})) is None
    assert table_log.properties(tmp_path / "nothing") is None


FIRST, ROWS = commit(*TABLE), commit(ADD)
PARQUET = b"PAR1.PAR1"
CUT = "{0}/" + named(1) + " is cut off after {1} bytes, a commit of the table's log; restore it from a copy"
UNDO = "; or, as it is the newest, undo this commit: remove it and {0}/." + named(1) + ".crc, and run again"
DAMAGE: dict[str, tuple[dict[str, bytes], str | None]] = {
    "whole": ({named(0): FIRST, named(1): ROWS}, None),
    "the newest is cut": ({named(0): FIRST, named(1): ROWS[:-3]}, CUT.replace("{1}", str(len(ROWS) - 3)) + UNDO),
    "the newest is empty": ({named(0): FIRST, named(1): b""}, CUT.replace("{1}", "0") + UNDO),
    "an older one is cut": ({named(0): FIRST, named(1): ROWS[:-3], named(2): ROWS}, CUT.replace("{1}", str(len(ROWS) - 3))),
    "one of many bytes": (
        {named(0): FIRST, named(1): b"x" * 1234567, named(2): ROWS}, CUT.replace("{1}", "1,234,567")
    ),
    "one is missing": (
        {named(0): FIRST, named(2): ROWS}, "{0}/" + named(1) + " is missing, a commit of the table's log; restore it from a copy"
    ),
    "the first is missing": (
        {named(1): ROWS}, "{0}/" + named(0) + " is missing, a commit of the table's log; restore it from a copy"
    ),
    "a checkpoint stands for what is before it": ({named(3, ".checkpoint.parquet"): PARQUET, named(4): ROWS}, None),
    "also for what is cut": (
        {named(3): b"", named(3, ".checkpoint.parquet"): PARQUET, named(4): ROWS}, None,
    ),
    "one after a checkpoint is missing": (
        {named(3, ".checkpoint.parquet"): PARQUET, named(5): ROWS},
        "{0}/" + named(4) + " is missing, a commit of the table's log; restore it from a copy",
    ),
    "a checkpoint is cut": (
        {named(3, ".checkpoint.parquet"): b"PAR1..PAR", named(4): ROWS},
        "{0}/" + named(3, ".checkpoint.parquet") + " is cut off, a checkpoint of the table's log; restore it from a copy",
    ),
    "a checkpoint has only its ends": (
        {named(3, ".checkpoint.parquet"): b"PAR1PAR1"},
        "{0}/" + named(3, ".checkpoint.parquet") + " is cut off, a checkpoint of the table's log; restore it from a copy",
    ),
    "an older checkpoint is cut": (
        {named(2, ".checkpoint.parquet"): b"", named(3, ".checkpoint.parquet"): PARQUET}, None
    ),
    "a checkpoint of another format": ({named(3, ".checkpoint.x.json"): b"{", named(4): ROWS}, None),
}  # fmt: skip


def test_the_first_of_the_tables_that_are_damaged_is_named(tmp_path: Path) -> None:
    for name in ascii_lowercase:
        save(tmp_path / name, {named(0): FIRST, named(1): b""})
    assert str(table_log.first_damage(tmp_path)).startswith(f"{tmp_path}/a/")


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    files, said = DAMAGE[name]
    folder = save(tmp_path / "b", files)
    save(tmp_path / "a", {named(0): FIRST})
    (tmp_path / "file").write_text("")
    expected = None if said is None else said.replace("{0}", str(folder / "_delta_log"))
    assert table_log.damage(folder) == expected
    assert table_log.first_damage(tmp_path) == expected
    assert table_log.damage(tmp_path / "nothing") is None
    assert table_log.first_damage(tmp_path / "nothing") is None
