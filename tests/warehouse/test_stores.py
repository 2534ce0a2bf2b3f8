"""Files of a warehouse on this machine: which folders are half made, and what is removed or moved aside."""

from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import stores

from .delta_logs import ADD, TABLE, commit, named, save

EMPTY, WITH_ROWS = {named(0): commit(*TABLE)}, {named(0): commit(*TABLE), named(1): commit(ADD)}


def test_a_folder_with_files_and_no_table_is_half_made(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "part-0").touch()
    save(tmp_path / "table", EMPTY)
    save(tmp_path / "cut", {named(0): commit(*TABLE)[:-3]})
    found = {name: stores.is_half_made(str(tmp_path / name)) for name in ("none", "empty", "rows", "table", "cut")}
    assert found == {"none": False, "empty": False, "rows": True, "table": False, "cut": True}


@pytest.mark.parametrize("name", ["w", "a b", "a%20b", "a%2520b", "ü", "a?b=c", "a#b", "50%", "(a)+'b',c=d;e&f!$"])
def test_a_path_in_a_store_is_the_one_that_spark_writes_to(name: str) -> None:
    """Else the leftovers of another warehouse would be removed."""
    assert stores.store_of(f"gs://lake/{name}/t")[1] == f"lake/{name}/t"
    assert stores.store_of(f"abfss://box@lake.dfs.core.windows.net/{name}")[1] == f"box/{name}"


@pytest.mark.parametrize(
    ("files", "in_catalog", "says"),
    [
        (EMPTY, False, "was made by another run meanwhile; run again, one after the other"),
        (WITH_ROWS, False, "was made by another run meanwhile"),
        (WITH_ROWS, True, "holds a table that the catalog does not know; register it there, or move it away"),
    ],
)
def test_a_table_is_not_removed(tmp_path: Path, files: dict[str, bytes], in_catalog: bool, says: str) -> None:
    save(tmp_path / "t", files)
    with pytest.raises(WarehouseError, match=f"{tmp_path}/t {says}"):
        stores.remove_half_made(str(tmp_path / "t"), in_catalog)
    assert {path.name for path in (tmp_path / "t" / "_delta_log").iterdir()} == set(files)


class Flat:
    """A store that has files with long names, and no folders."""

    def __init__(self) -> None:
        self.store = fs.LocalFileSystem()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def get_file_info(self, what: Any) -> Any:
        found = self.store.get_file_info(what)
        is_list = isinstance(found, list)
        return [one for one in found if one.type is not fs.FileType.Directory] if is_list else found


@pytest.mark.parametrize("is_flat", [False, True])
def test_of_a_half_made_table_files_of_rows_are_moved_aside_and_those_of_the_log_removed(
    tmp_path: Path, is_flat: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_flat:
        monkeypatch.setattr(stores, "store_of", lambda path: (Flat(), path))
    folder = save(tmp_path / "t", {named(0): commit(*TABLE)[:-3]})
    for name in ("part-0", "x=1/part-1"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    stores.remove_half_made(str(folder))
    assert [path for path in folder.rglob("*") if path.is_file() or not is_flat] == []
    aside = tmp_path / "t.half-made-1"
    assert {str(file.relative_to(aside)): file.read_text() for file in aside.rglob("part-*")} == {
        "part-0": "part-0",
        "x=1/part-1": "x=1/part-1",
    }


@pytest.mark.parametrize(
    ("error", "reason"), [(OSError("no such\nplace"), "no such"), (OSError(" \n"), "OSError"), (KeyError(), "KeyError")]
)
def test_what_cannot_be_cleared_from_here_is_named_with_the_reason(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> None:
        raise error

    monkeypatch.setattr(stores, "store_of", refuse)
    assert stores.is_half_made("s3://lake/t") is False
    with pytest.raises(
        WarehouseError, match=rf"^s3://lake/t is half made, .* cannot be cleared from here \({reason}\); "
    ):
        stores.remove_half_made("s3://lake/t")


def test_an_empty_table_that_no_catalog_knows_is_removed(tmp_path: Path) -> None:
    save(tmp_path / "t", EMPTY)
    (tmp_path / "t" / "_delta_log" / "_staged_commits").mkdir()
    stores.remove_half_made(str(tmp_path / "t"), in_catalog=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["t"]


@pytest.mark.parametrize(("there_after", "is_there", "naps"), [(0, True, 0), (2, True, 2), (99, False, 3)])
def test_a_table_that_another_run_makes_is_waited_for_for_some_seconds(
    monkeypatch: pytest.MonkeyPatch, there_after: int, is_there: bool, naps: int
) -> None:
    clock, slept, asked = iter([10.0, 11.0, 13.0, 14.9, 15.0]), list[float](), iter(range(99))
    monkeypatch.setattr(stores.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(stores.time, "sleep", slept.append)
    assert stores.wait_for_maker(lambda: next(asked) >= there_after) == is_there
    assert len(slept) == naps
