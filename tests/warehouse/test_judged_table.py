"""The table of judged requests: made by its first write, replaced by connection id, and forgotten."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.warehouse import ddl
from kafka_clientinfo.warehouse.judged_table import JUDGED, JudgedTable
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .tiny import AT, SPECS

COLUMNS = (
    "cluster string, broker string, connection_id string, opened_at timestamp, opened_seq int, seq bigint, "
    "requests bigint, state struct<heard_until:timestamp>"
)
Row = tuple[str, int, int, int, int | None]
"""Of a row: connection_id, and the hours after AT when the connection opened, seq, requests, and the hours of a state."""


def rows(spark: Any, *given: Row) -> Any:
    return relation_of(
        spark,
        [
            ("c", "b", name, AT + timedelta(hours=hours), 0, seq, requests, until and {"heard_until": at(until)})
            for name, hours, seq, requests, until in given
        ],
        COLUMNS,
    )


def at(hours: int) -> Any:
    return AT + timedelta(hours=hours)


def held(table: JudgedTable) -> list[tuple[str, int, int]]:
    stored = table.read()
    assert stored is not None
    return sorted((row["connection_id"], row["seq"], row["requests"]) for row in stored.collect())


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Warehouse:
    return Warehouse(spark, str(tmp_path / "lake"), SPECS)


@pytest.fixture(params=[0, pytest.param(1 << 40, marks=pytest.mark.long)], ids=["merged into", "written anew"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The bytes below which a table is written whole."""
    monkeypatch.setattr(ddl, "SMALL_TABLE_BYTES", request.param)
    return int(request.param)


@pytest.mark.long
def test_rows_are_replaced_by_connection_id(spark: Any, lake: Warehouse, small: int) -> None:
    table = lake.judged
    gone = rows(spark, ("x", 9, 0, 0, None), ("z", 1, 0, 2, None))
    assert table.read() is None
    table.delete(gone)  # there is no table yet
    table.overwrite(rows(spark, ("x", 1, 0, 1, 9), ("x", 1, 1, 5, None), ("y", 1, 0, 2, 8)))
    before = table.read()
    table.replace(rows(spark, ("x", 1, 0, 3, None), ("x", 2, 0, 4, 9), ("z", 1, 0, 6, 9)))
    assert held(table) == [("x", 0, 3), ("x", 0, 4), ("y", 0, 2), ("z", 0, 6)]
    newest = ddl.history(spark, lake.address.table(JUDGED))[0]
    stored_as, properties = ddl.detail(spark, lake.address, JUDGED), ddl.properties(spark, lake.address, JUDGED)
    assert (newest["operation"] == "MERGE") == (small == 0)
    assert stored_as is not None
    assert small == 0 or stored_as["numFiles"] == 1
    assert properties is not None
    assert properties[ddl.DELETION_VECTORS] == "false"
    assert properties[ddl.STATISTICS] == "cluster,broker,connection_id,opened_at,opened_seq,seq"
    assert before is not None
    assert before.count() == 3, "what was read does not change"
    table.append(rows(spark, ("x", 1, 0, 7, 9)).withColumn("cluster", F.lit("C")))
    table.delete(gone)
    assert held(table) == [("x", 0, 7), ("y", 0, 2)], "those of another cluster stay"
    table.overwrite(rows(spark, ("w", 1, 0, 1, 1)).withColumnRenamed("requests", "number"))
    stored = table.read()
    assert stored is not None
    assert [row["number"] for row in stored.collect()] == [1]


def test_what_a_killed_run_left_is_no_table(spark: Any, tmp_path: Path) -> None:
    table = Warehouse(spark, str(tmp_path / "lake"), SPECS).judged
    (tmp_path / "lake" / JUDGED / "_delta_log").mkdir(parents=True)
    assert table.read() is None
    table.overwrite(rows(spark, ("x", 1, 0, 1, 9)))
    assert held(table) == [("x", 0, 1)]
