"""A table exists when it has a commit with its schema: what a killed run left is made again, and nothing of rows removed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.questions.spark_tables import SparkTables
from kafka_clientinfo.warehouse import ddl
from kafka_clientinfo.warehouse.table_layout import differences, layout_of
from kafka_clientinfo.warehouse.table_log import damage, is_made, is_table
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.amounts import one_in

from .tiny import AT, SPECS, committed, fact, facts, run

FIRST, SECOND = f"{0:020}.json", f"{1:020}.json"
State = Callable[[Path, list[str]], None]
"""Puts a table's folder into a state, given the lines of a whole first commit."""


def _log(folder: Path) -> Path:
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    return log


def first_commit_of(change: Callable[[list[str]], str]) -> State:
    def put(folder: Path, lines: list[str]) -> None:
        (_log(folder) / FIRST).write_text(change(lines))

    return put


def with_temporary_files(folder: Path, lines: list[str]) -> None:
    log = _log(folder)
    (log / "_staged_commits").mkdir()
    (log / f".{FIRST}.1d81.tmp").write_text(lines[0][:50])
    (log / f".{FIRST}.crc").write_bytes(b"crc\0\0\0\2\0")
    (log / f"{0:020}.crc").write_text("{}")


def with_files_of_rows(folder: Path, lines: list[str]) -> None:
    folder.mkdir(parents=True)
    (folder / "part-00000.snappy.parquet").write_bytes(b"PAR1")


HALF_MADE: dict[str, State] = {
    "folder": lambda folder, lines: folder.mkdir(parents=True),
    "empty log": lambda folder, lines: _log(folder) and None,
    "temporary files": with_temporary_files,
    "rows without log": with_files_of_rows,
    "empty commit": first_commit_of(lambda lines: ""),
    "cut off": first_commit_of(lambda lines: "\n".join(lines)[:1500]),
    "zeros": first_commit_of(lambda lines: "\0" * 2000),
    "no schema": first_commit_of(lambda lines: "\n".join(line for line in lines if "metaData" not in line)),
    "no protocol": first_commit_of(lambda lines: "\n".join(lines[:2])),
    "no clustering": first_commit_of(lambda lines: "\n".join(line for line in lines if "domainMetadata" not in line)),
}


@pytest.fixture(scope="module")
def lines(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of the first commit of the table facts."""
    lake = Warehouse(spark, str(tmp_path_factory.mktemp("whole")), True, SPECS)
    lake.create_missing(["facts"])
    return (Path(lake.root) / "facts" / "_delta_log" / FIRST).read_text().splitlines()


def assert_as_declared(spark: Any, lake: Warehouse, name: str = "facts") -> None:
    spec = SPECS[name]
    assert differences(spec, layout_of(spark, lake.table(name))) == []
    row = ddl.detail(spark, lake.table(name))
    assert row is not None
    assert (tuple(row["clusteringColumns"]), row["description"]) == (spec.cluster_by, spec.comment)
    assert row["properties"]["delta.dataSkippingStatsColumns"] == ",".join(spec.statistics)
    assert {field.name: field.metadata["comment"] for field in lake.read(name).schema} == {
        column.name: column.comment for column in spec.columns
    }


@pytest.mark.long
def test_what_is_half_made_is_made_again(
    spark: Any, tmp_path: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a lock, and where no lock is held; to read, there is no table."""
    monkeypatch.setattr("kafka_clientinfo.warehouse.stores._MAKING_SECONDS", 0)  # without a lock it waits for others
    assert is_whole(tmp_path / "whole", lines)
    for locked in (True, False):
        for name, put in HALF_MADE.items():
            root = tmp_path / f"{name} {locked}"
            put(root / "facts", lines)
            here = local_tables(str(root))
            assert here is not None
            assert (here.exists("facts"), here.layout("facts")) == (False, None), name
            assert SparkTables(spark, str(root)).layout("facts") is None, name
            lake = Warehouse(spark, str(root), locked, SPECS)
            assert not lake.exists("facts"), name
            assert lake.read("facts").collect() == [], name
            lake.create_missing(["facts"])
            assert_as_declared(spark, lake)
            assert lake.count("facts") == 0
            kept = sorted(path.name for path in root.glob("facts.half-made-1/*"))
            assert kept == (["part-00000.snappy.parquet"] if name == "rows without log" else []), name
    lake.overwrite("facts", facts(spark, fact("x")))
    assert lake.count("facts") == 1


def test_a_first_commit_that_is_cut_anywhere_makes_no_table(lines: list[str]) -> None:
    whole = "\n".join(lines).encode()
    cuts = [whole[:size] for size in range(len(whole))]
    assert not any(is_table([FIRST], lambda _, cut=cut: cut) for cut in cuts)  # type: ignore[misc]
    assert is_table([FIRST], lambda _: whole)


def is_whole(folder: Path, lines: list[str]) -> bool:
    first_commit_of("\n".join)(folder, lines)
    return is_made(folder)


@pytest.mark.parametrize(
    ("break_log", "says"),
    one_in(
        2,
        [
            (
                lambda log: (log / SECOND).write_text('{"commitInfo":'),
                f"{SECOND} is cut off after 14 bytes.*as it is the newest",
            ),
            (lambda log: (log / SECOND).write_bytes(b""), f"{SECOND} is cut off after 0 bytes"),
            (lambda log: (log / FIRST).write_bytes(b""), f"{FIRST} is cut off after 0 bytes.*restore it from a copy$"),
            (
                lambda log: (log / FIRST).unlink(),
                f"{FIRST} is missing, a commit of the table's log; restore it from a copy",
            ),
        ],
    ),
)
def test_a_table_that_has_held_rows_is_never_made_again(
    spark: Any, tmp_path: Path, break_log: Callable[[Path], object], says: str
) -> None:
    made = Warehouse(spark, str(tmp_path / "made"), True, SPECS)
    made.append("facts", facts(spark, fact("x")))
    root = tmp_path / "lake"
    shutil.copytree(made.root, root)
    log = root / "facts" / "_delta_log"
    for crc in log.glob(".*.json.crc"):
        crc.unlink()
    break_log(log)
    before = sorted(path.name for path in root.rglob("*"))
    assert is_made(root / "facts")
    with pytest.raises(WarehouseError, match=says):
        raise WarehouseError(damage(root / "facts"))
    for locked in (True, False):
        with pytest.raises(Exception, match=r"(?s)."):
            overwrite(spark, root, locked)
    assert set(before) <= {path.name for path in root.rglob("*")}


def test_a_checkpoint_that_is_cut_off_is_named_and_commits_before_it_may_be_anything(tmp_path: Path) -> None:
    log = _log(tmp_path)
    for version in (0, 8, 11, 12):
        (log / f"{version:020}.json").write_text("{}\n" if version > 10 else "")
    checkpoint = log / f"{10:020}.checkpoint.parquet"
    checkpoint.write_bytes(b"PAR1 rows PAR1")
    assert damage(tmp_path) is None
    checkpoint.write_bytes(b"PAR1 rows")
    assert damage(tmp_path) == f"{checkpoint} is cut off, a checkpoint of the table's log; restore it from a copy"


def overwrite(spark: Any, root: Path, locked: bool) -> None:
    lake = Warehouse(spark, str(root), locked, SPECS)
    lake.open()
    lake.overwrite("facts", facts(spark, fact("y")))


def test_a_first_commit_with_rows_is_no_half_made_table(tmp_path: Path, lines: list[str]) -> None:
    """As a write makes it; cut off, it may be all that tells of these rows."""
    add = json.dumps({"add": {"path": "part-0.parquet"}})
    first_commit_of(lambda lines: f'{lines[0]}\n{add}\n{{"metaData"')(tmp_path, lines)
    assert is_made(tmp_path)


@pytest.mark.long
def test_a_derived_table_that_a_write_has_made_is_made_anew(spark: Any, tmp_path: Path) -> None:
    lake = Warehouse(spark, str(tmp_path), True, SPECS)
    lake.open()
    facts(spark, fact("x")).write.format("delta").save(str(tmp_path / "facts"))
    committed(lake, built_until=AT, rows={"facts": 1})
    again = run(spark, tmp_path, locked=True)
    assert again.state.built_until is None
    again.overwrite("facts", facts(spark, fact("x")))
    assert_as_declared(spark, again)
    once_more = Warehouse(spark, str(tmp_path), True, SPECS)
    once_more.open()
    assert once_more.count("facts") == 1
    assert [path.name for path in tmp_path.glob("*.half-made-*")] == ["facts.half-made-1"]


@pytest.mark.long
def test_an_entry_of_a_catalog_without_a_commit_is_made_again(
    spark: Any, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder is gone, or its log empty; or a commit came first, and the entry did not."""
    monkeypatch.setattr("kafka_clientinfo.warehouse.stores._MAKING_SECONDS", 0)
    lake = Warehouse(spark, schema, False, SPECS)
    lake.open()
    lake.create_missing(SPECS)
    row = ddl.detail(spark, lake.table("facts"))
    assert row is not None
    folder = Path(str(row["location"]).removeprefix("file:"))
    shutil.rmtree(folder / "_delta_log")
    (folder / "_delta_log").mkdir()
    shutil.copytree(folder.parent / "sums", folder.parent / "copy")
    for name in ("sums", "events"):
        spark.sql(f"DROP TABLE {lake.table(name)}")
    (folder.parent / "copy").rename(folder.parent / "sums")
    _log(folder.parent / "events")
    forget_logs(spark)
    again = Warehouse(spark, schema, False, SPECS)
    assert not again.exists("facts")
    again.create_missing(["facts", "sums", "events"])
    for name in ("facts", "sums", "events"):
        assert_as_declared(spark, again, name)


def forget_logs(spark: Any) -> None:
    """Let Delta forget what it has read, as a new session would not know it."""
    if getattr(spark, "_jvm", None) is not None:
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
