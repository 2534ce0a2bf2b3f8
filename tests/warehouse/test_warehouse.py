"""Delta tables as declared: made by their first write, replaced by connection, readable by others."""

import stat
from pathlib import Path
from typing import Any

import pytest
from chispa import assert_df_equality
from deltalake import DeltaTable as RustTable

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.tables.dialects import spark_literal
from kafka_clientinfo.tables.spec import table_specs, view_specs
from kafka_clientinfo.warehouse import ddl
from kafka_clientinfo.warehouse.table_layout import differences, layout_of
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .tiny import SPECS, fact, facts, keys_of

HUGE, NOTHING = 1 << 40, 0


@pytest.fixture(params=[pytest.param("written anew", marks=pytest.mark.long), "merged into"])
def lake(spark: Any, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """A warehouse whose tables count as small or as large: rows are replaced in two ways, with one result."""
    size = HUGE if request.param == "written anew" else NOTHING
    monkeypatch.setattr(ddl, "SMALL_TABLE_BYTES", size)
    return Warehouse(spark, str(tmp_path / "lake"), SPECS)


@pytest.fixture
def plain(spark: Any, tmp_path: Path) -> Warehouse:
    return Warehouse(spark, str(tmp_path / "lake"), SPECS)


def assert_rows(found: Any, expected: Any) -> None:
    assert_df_equality(found, expected, ignore_row_order=True, ignore_nullable=True, ignore_metadata=True)


def test_a_table_is_made_as_declared_by_its_first_write(spark: Any, plain: Warehouse) -> None:
    assert not plain.exists("facts")
    plain.open()
    with plain.claims.named():  # else the commit would bear no name, and the rows come in a second one
        plain.append("facts", facts(spark, fact("x")), expected=1)
    assert plain.read("facts").count() == 1
    spec = SPECS["facts"]
    assert differences(spec, layout_of(spark, plain.address, "facts")) == []
    found = ddl.detail(spark, plain.address, "facts")
    assert found is not None
    assert (tuple(found["clusteringColumns"]), found["description"]) == (spec.cluster_by, spec.comment)
    assert found["properties"]["delta.dataSkippingStatsColumns"] == ",".join(spec.statistics)
    comments = {field.name: field.metadata["comment"] for field in plain.read("facts").schema}
    assert comments == {column.name: column.comment for column in spec.columns}
    hostile = "x\n\x1b[0m'; DROP TABLE"
    plain.append("facts", facts(spark, fact("y"), fact(hostile)), expected=2)
    assert plain.rows() == {"ingested_files": 0, "events": 0, "facts": 3, "sums": 0}
    others = RustTable(plain.address.location("facts")).to_pyarrow_table()["connection_id"].to_pylist()
    assert sorted(others) == sorted(["x", "y", hostile])
    operations = [row["operation"] for row in ddl.history(spark, plain.address.table("facts"))]
    assert operations == ["WRITE", "CREATE TABLE AS SELECT"]
    assert [row["userMetadata"] for row in ddl.history(spark, plain.address.table("facts"))] == ["run 1"] * 2


@pytest.mark.long
def test_a_table_stays_clustered_however_it_is_written_again(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An overwrite of the whole table drops the clustering, and says nothing, as do the rows."""
    lake = Warehouse(spark, str(tmp_path), SPECS)
    lake.open()
    rows, ids = facts(spark, fact("x")), keys_of(spark, fact("x"))
    lake.append("facts", rows)
    lake.overwrite("facts", rows)
    lake.overwrite("facts", rows, "connection_id = 'x'")
    for size in (HUGE, NOTHING):
        monkeypatch.setattr(ddl, "SMALL_TABLE_BYTES", size)
        lake.replace_connections("facts", rows, ids, None)
    assert differences(lake.spec("facts"), layout_of(spark, lake.address, "facts")) == []


@pytest.mark.parametrize("row", [fact("x", requests=-1), (None, *fact("x")[1:])], ids=["check", "not null"])
def test_delta_enforces_the_constraints(spark: Any, plain: Warehouse, row: tuple[Any, ...]) -> None:
    with pytest.raises(Exception, match=r"(?i)constraint"):
        plain.append("facts", facts(spark, row))


def test_an_append_of_other_rows_than_expected_is_an_error(spark: Any, plain: Warehouse) -> None:
    with pytest.raises(WarehouseError, match=r"3 rows were read for .* and 1 written"):
        plain.append("facts", facts(spark, fact("x")), expected=3)


def test_replacing_a_connection_replaces_all_its_rows_and_no_others(spark: Any, lake: Warehouse) -> None:
    lake.append("facts", facts(spark, fact("x"), fact("x", 1), fact("y")))
    new = facts(spark, fact("x", 0, 9))
    lake.replace_connections("facts", new, keys_of(spark, fact("x"), fact("x", 1)), None)
    assert lake.rows()["facts"] == 2
    assert_rows(lake.read("facts"), facts(spark, fact("x", 0, 9), fact("y")))


@pytest.mark.long
def test_rows_are_deleted_by_condition_and_by_key(spark: Any, plain: Warehouse) -> None:
    assert plain.delete("facts", "requests = 1") == 0
    assert not plain.exists("facts")
    plain.append("facts", facts(spark, *(fact(name, requests=number) for number, name in enumerate("abcd"))))
    assert plain.delete("facts", f"connection_id = {spark_literal('a')} AND requests = 0") == 1
    keys = relation_of(spark, [("b",), ("c",), ("other",)], "connection_id string")
    assert plain.delete_rows("facts", keys, "t.requests < 2") == 1
    assert plain.rows()["facts"] == 2
    assert [table.name for table in spark.catalog.listTables() if "kafka_clientinfo" in table.name] == []


@pytest.mark.long
def test_a_snapshot_stays_as_it_was(spark: Any, tmp_path: Path) -> None:
    lake = Warehouse(spark, str(tmp_path), SPECS)
    assert lake.read_snapshot("facts").count() == 0
    lake.append("facts", facts(spark, fact("x")))
    before = lake.read_snapshot("facts")
    lake.overwrite("facts", facts(spark, fact("y"), fact("z")))
    assert [row["connection_id"] for row in before.collect()] == ["x"]


def test_a_missing_table_reads_as_empty_and_a_view_as_a_table(spark: Any, tmp_path: Path) -> None:
    lake = Warehouse(spark, str(tmp_path))
    for name, specs in (("connection_violations", table_specs()), ("client_inventory", view_specs())):
        empty = lake.read(name)
        assert (empty.collect(), empty.columns) == ([], list(specs[name].column_names))


def test_what_is_no_table_is_an_error_with_its_name(plain: Warehouse) -> None:
    for use in (plain.read, plain.read_snapshot):
        with pytest.raises(WarehouseError, match="no table nonsense is declared; known are runs, ingested_files, "):
            use("nonsense")
    with pytest.raises(WarehouseError, match=r"^who_connects is a view, not a table; .* `kafka-clientinfo sql`$"):
        plain.read("who_connects")


@pytest.mark.parametrize(("private", "mode"), [(True, 0o700), (False, 0o755)])
def test_tables_with_raw_bytes_are_their_owners(spark: Any, tmp_path: Path, private: bool, mode: int) -> None:
    modes = {"rejected_records": mode, "ingested_files": 0o755}
    for _ in range(2):  # also a folder that is there
        Warehouse(spark, str(tmp_path), private=private).create_missing(modes)
        assert {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in modes} == modes
        (tmp_path / "rejected_records").chmod(0o755)


OTHER_LAYOUTS = {
    "1 AS id": (
        "column file_id is missing; `kafka-clientinfo run` brings tables of an earlier release to this one; restore it"
    ),
    "'x' AS file_id, 1 AS ingested_at": (
        "column ingested_at has type int, not timestamp; `kafka-clientinfo run` brings"
    ),
}


@pytest.mark.parametrize("columns", OTHER_LAYOUTS)
def test_a_table_of_another_layout_is_not_read(spark: Any, tmp_path: Path, columns: str) -> None:
    spark.sql(f"SELECT {columns}").write.format("delta").save(str(tmp_path / "ingested_files"))
    with pytest.raises(WarehouseError) as caught:
        Warehouse(spark, str(tmp_path), specs=SPECS).read("ingested_files")
    said = f"{tmp_path}/ingested_files is not the table ingested_files of this release: {OTHER_LAYOUTS[columns]}"
    assert said in str(caught.value)
