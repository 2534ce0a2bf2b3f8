"""What a run mends as it opens a warehouse, what it refuses, and which logs of tables are whole; without a session."""

import errno
import json
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import repair, table_log
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.state import State

from .tiny import AT, SPECS

SCHEMA = {"metaData": {"id": "1", "schemaString": json.dumps({"fields": [{"name": "a"}]})}}
PROTOCOL: dict[str, Any] = {"protocol": {"minReaderVersion": 1}}
PLAIN = {"commitInfo": {"operationParameters": {"clusterBy": "[]"}}}
ADD = {"add": {"path": "part-0"}}
TABLE = (PLAIN, PROTOCOL, SCHEMA)
CRC = ".00000000000000000000.json.crc"


def commit(*actions: object, cut: int = 0) -> bytes:
    whole = b"".join(json.dumps(action).encode() + b"\n" for action in actions)
    return whole[: len(whole) - cut]


def named(version: int, end: str = ".json") -> str:
    return f"{version:020}{end}"


def save(folder: Path, files: dict[str, bytes]) -> Path:
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    for name, data in files.items():
        (log / name).write_bytes(data)
    return folder


BUILT = State(built_until=AT, built_with="1")


class Tables:
    """A warehouse with some tables, and what was done with it."""

    def __init__(self, state: State, existing: Iterable[str], root: str = "/lake") -> None:
        self.spark: Any = None
        self.state, self.existing, self.address, self.specs = state, set(existing), Address(root), SPECS
        self.done: list[Any] = []

    def exists(self, name: str) -> bool:
        return name in self.existing

    def note(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)
        self.done.append(changes)


ANEW = {"built_until": None}
MENDED: dict[str, tuple[dict[str, int], set[str], dict[str, Any], list[Any]]] = {
    "nothing is missing": ({"facts": 3, "sums": 0}, {"facts", "sums"}, {}, []),
    "an empty table is missing": ({"facts": 0, "sums": 2}, {"sums"}, {}, [ANEW]),
    "one with rows is missing": ({"facts": 3, "sums": 0}, {"sums"}, {}, [ANEW]),
    "one that no release of ours knows": ({"other": 3, "facts": 0}, {"facts"}, {}, []),
    "none that retention has taken from is missing": (
        {"facts": 3, "sums": 0}, {"facts"}, {"retained_from": AT}, [ANEW]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MENDED)
def test_a_missing_table_is_built_again(name: str) -> None:
    rows, existing, changes, done = MENDED[name]
    tables = Tables(replace(BUILT, rows=rows, **changes), existing)
    repair.mend(tables)
    assert tables.done == done


GONE = ", some of requests that retention has deleted"
ANOTHER = "restore it, or build a new warehouse"
LOST: list[tuple[str, int, bool, str | None]] = [
    ("events", 1234567, False, f"/lake/events is missing, and held 1,234,567 rows; {ANOTHER}"),
    ("events", 3, True, "/lake/events is missing, and held 3 rows; restore it"),
    ("events", 0, False, None),
    ("facts", 3, False, None),
    ("sums", 3, False, None),
    ("facts", 3, True, f"/lake/facts is missing, and held 3 rows{GONE}; {ANOTHER}"),
    ("sums", 0, True, None),
    ("another", 3, True, None),
]


@pytest.mark.parametrize(("name", "number", "is_retained", "says"), LOST)
def test_rows_that_nothing_brings_back_are_not_passed_over(
    name: str, number: int, is_retained: bool, says: str | None
) -> None:
    state = replace(BUILT, retained_from=AT if is_retained else None, rows={name: number})
    repair.mend(Tables(state, [name]))
    missing = Tables(state, [])
    with pytest.raises(WarehouseError) if says else nullcontext() as refused:
        repair.mend(missing)
    assert refused is None or (str(refused.value).startswith(str(says)) and not missing.done)


FIRST, ROWS = commit(*TABLE), commit(ADD)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, None),
        ({named(0): FIRST, named(1): ROWS}, None),
        ({named(0): b""}, None),  # it is half made
        ({named(0): FIRST, named(1): b""}, "is empty"),
        ({named(0): FIRST, named(1): b"", named(2): ROWS}, "is empty.*restore it from a copy$"),
        ({named(0): b"", named(1): ROWS}, "is empty"),
    ],
)
def test_rows_that_an_empty_commit_named_are_not_passed_over(
    files: dict[str, bytes], says: str | None, tmp_path: Path
) -> None:
    """A full disk may leave it; Delta reads it as a commit without changes."""
    save(tmp_path / "sums", files)
    save(tmp_path / "other", {named(0): FIRST, named(1): b""})  # no table of ours
    named_so = pytest.raises(WarehouseError, match=rf"{tmp_path}/sums/_delta_log/\d+\.json {says}")
    with named_so if says else nullcontext():
        repair.refuse_damaged(Tables(BUILT, [], str(tmp_path)))
    repair.refuse_damaged(Tables(BUILT, [], "s3://lake"))


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
