"""A table exists when it has a commit with its schema: what a killed run left is made again, and no file of rows removed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.questions.spark_tables import SparkTables
from kafka_clientinfo.warehouse import ddl
from kafka_clientinfo.warehouse.table_layout import differences, layout_of
from kafka_clientinfo.warehouse.table_log import damage, is_made
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.ingestion.stored_logs import save

from .tiny import SPECS, fact, facts

FIRST, SECOND = f"{0:020}.json", f"{1:020}.json"


def with_temporary_files(folder: Path) -> None:
    log = folder / "_delta_log"
    (log / "_staged_commits").mkdir(parents=True)
    (log / f".{FIRST}.1d81.tmp").write_text("{")
    (log / f".{FIRST}.crc").write_bytes(b"crc\0\0\0\2\0")
    (log / f"{0:020}.crc").write_text("{}")


HALF_MADE: dict[str, Callable[[Path], object]] = {
    "folder": lambda folder: folder.mkdir(parents=True),
    "empty log": lambda folder: (folder / "_delta_log").mkdir(parents=True),
    "temporary files": with_temporary_files,
    "rows without log": lambda folder: save(folder / "part-00000.snappy.parquet", b"PAR1"),
    "empty commit": lambda folder: save(folder / "_delta_log" / FIRST, b""),
}


@pytest.mark.long
def test_what_is_half_made_is_made_again(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a lock; to read, there is no table, and without a lock the folder is named."""
    for name, put in HALF_MADE.items():
        root = tmp_path / name
        put(root / "facts")
        here = local_tables(str(root))
        assert here is not None
        assert (here.exists("facts"), here.layout("facts")) == (False, None), name
        assert SparkTables(spark, str(root)).layout("facts") is None, name
        lake = Warehouse(spark, str(root), SPECS)
        assert not lake.exists("facts"), name
        assert lake.read("facts").collect() == [], name
        lake.create_missing(["facts"])
        assert differences(SPECS["facts"], layout_of(spark, lake.address, "facts")) == [], name
        assert lake.read("facts").count() == 0
    lake.overwrite("facts", facts(spark, fact("x")))
    assert lake.read("facts").count() == 1
    HALF_MADE["rows without log"](tmp_path / "open" / "facts")
    monkeypatch.setattr(ddl, "log_folder", lambda *_: None)
    with pytest.raises(AnalysisException, match=r"/open/facts"):
        Warehouse(spark, str(tmp_path / "open"), SPECS).create_missing(["facts"])


@pytest.mark.parametrize("says", [SECOND, pytest.param(FIRST, marks=pytest.mark.long)])
def test_a_table_that_has_held_rows_is_never_made_again(spark: Any, tmp_path: Path, says: str) -> None:
    lake = Warehouse(spark, str(tmp_path), SPECS)
    lake.append("facts", facts(spark, fact("x")))
    log = tmp_path / "facts" / "_delta_log"
    for crc in log.glob(".*.json.crc"):
        crc.unlink()
    (log / says).write_bytes(b"")
    before = {path.name for path in tmp_path.rglob("*")}
    assert is_made(tmp_path / "facts")
    assert str(damage(tmp_path / "facts")).startswith(f"{log / says} is empty, a commit")
    with pytest.raises(WarehouseError, match=f"{says} is empty"):
        Warehouse(spark, str(tmp_path), SPECS).open()
    assert before <= {path.name for path in tmp_path.rglob("*")}
