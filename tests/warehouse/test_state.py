"""The state of a warehouse: one property, read at once and written at once."""

from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import ddl
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.state import FORMAT, PROPERTY, State, read_state, state_of
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .tiny import SPECS, rows_of

FULL = State(
    built_until="2026-11-21 02:45:09.935001",
    built_with="0.2.0 'it\\'s'",
    retained_from="2026-01-01T00:00:00.000000Z",
    deleting={"requests": 3},
    deleted={"requests": 7},
    rows={"requests": 12},
)


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Warehouse:
    return Warehouse(spark, str(tmp_path / "lake"), True, SPECS)


def test_a_state_is_its_text() -> None:
    for state in (FULL, State()):
        assert state_of(state.properties, Address("/w")) == state


def test_a_state_is_stored_with_one_commit_and_read_back(spark: Any, lake: Warehouse) -> None:
    assert read_state(spark, lake.address) is None
    lake.update_state(built_with="a")
    lake.update_state(built_with="a")
    lake.update_state(**{name: getattr(FULL, name) for name in ("built_until", "built_with", "deleting", "deleted")})
    lake.update_state(rows=FULL.rows, retained_from=FULL.retained_from)
    assert lake.state == FULL
    assert Warehouse(spark, lake.root, True, SPECS).state == FULL
    operations = [row["operation"] for row in ddl.history(spark, lake.table("ingested_files"))]
    assert operations == ["SET TBLPROPERTIES", "SET TBLPROPERTIES", "CREATE TABLE"]


def test_writes_of_the_table_keep_it(spark: Any, lake: Warehouse) -> None:
    lake.update_state(built_with="a")
    lake.upsert("ingested_files", rows_of(spark, "ingested_files", ("f", None)), "1")
    lake.overwrite("ingested_files", rows_of(spark, "ingested_files", ("g", None)), "2")
    assert Warehouse(spark, lake.root, True, SPECS).state.built_with == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "has no property kafka_clientinfo.state, so that this package"),
        (f'{{"format": {FORMAT + 1}, "more": 1}}', "made by a newer release"),
        ("{", "unreadable"),
        ('{"format": 2, "other": 1}', "unreadable"),
    ],
)
def test_a_warehouse_of_another_format_is_refused(spark: Any, lake: Warehouse, text: str | None, message: str) -> None:
    lake.create_missing(["ingested_files"])
    table = lake.table("ingested_files")
    if text is None:
        spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('{PROPERTY}')")
    else:
        ddl.set_properties(spark, table, {PROPERTY: text})
    with pytest.raises(WarehouseError, match=message):
        Warehouse(spark, lake.root, True, SPECS).open()
