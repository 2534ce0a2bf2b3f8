"""Declarations as they are read, their types in the words of DuckDB and of Arrow, and the documentation that follows."""

from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from kafka_clientinfo import resources
from kafka_clientinfo.errors import TableSpecError
from kafka_clientinfo.tables.arrow_types import arrow_type
from kafka_clientinfo.tables.spec import (
    CONNECTION_KEY,
    EVIDENCE,
    MOST_DEBUG_RUNS,
    parse_spec,
    table_spec,
    table_specs,
)
from kafka_clientinfo.tables.types import (
    duckdb_type,
    quoted_name,
    quoted_text,
    split_field,
    split_fields,
    split_type,
    sql_time,
)
from tests.tables_page import markdown

ROOT = Path(__file__).resolve().parents[2]
COLUMN = '[columns]\na = { type = "string", comment = "A" }\n'
TABLE = 'name = "t"\ncomment = "T"\nwrite_mode = "part"\nkey = ["a"]\ncluster_by = ["a"]\n'
OTHER = COLUMN.replace("a =", "b =")
BOTH = COLUMN + OTHER.removeprefix("[columns]\n")


def test_a_table_per_connection_has_the_connections_key_and_is_merged() -> None:
    spec = parse_spec('per = "connection"\n' + TABLE.replace('write_mode = "part"\n', "") + COLUMN)
    assert spec.column_names == (*CONNECTION_KEY, "a")
    assert spec.ddl.startswith("`cluster` string NOT NULL, ")
    assert spec.ddl.endswith("`a` string")
    assert (spec.write_mode, spec.derived) == ("merge", True)


def test_what_was_read_and_the_runs_cannot_be_made_again() -> None:
    read = {"requests", "rejected_records", "failed_requests", "topic_mentions", "ingested_files"}
    assert {name for name, spec in table_specs().items() if not spec.derived} == {*read, "runs"}


@pytest.mark.parametrize(
    ("mode", "by_run"), [("append", True), ("part", True), ("file", False), ("reference", False), ("run", False)]
)
def test_a_row_that_a_run_appends_has_its_number(mode: str, by_run: bool) -> None:
    spec = parse_spec(TABLE.replace("part", mode) + COLUMN)
    assert (spec.column_names, spec.by_run) == (("a", "run") if by_run else ("a",), by_run)
    assert spec.ddl.endswith("`run` bigint") is by_run  # nullable, for rows of releases without runs


def test_statistics_are_kept_of_what_a_table_is_clustered_by_unless_it_names_more() -> None:
    with pytest.raises(TableSpecError, match="known are api_"):
        table_spec("nonesuch")
    assert parse_spec(TABLE + BOTH).statistics == ("a",)
    assert parse_spec(TABLE + 'statistics = ["a", "b"]\n' + BOTH).statistics == ("a", "b")


def test_the_documentation_is_up_to_date() -> None:
    assert (ROOT / "schemas" / "tables.md").read_text("utf-8") == markdown(), "run `make docs`"


def test_a_folder_is_one_table_with_the_columns_and_checks_of_all_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "tables" / "t").mkdir(parents=True)
    (folder / "b.toml").write_text(TABLE + COLUMN + '[checks]\none = "a > 0"\n')
    (folder / "a.toml").write_text(OTHER + '[checks]\nother = "b > 0"\n')
    monkeypatch.setattr(resources, "schemas", lambda: tmp_path)
    spec = table_specs.__wrapped__()["t"]
    assert spec.column_names == ("a", "b", "run")  # those of the file that names the table are first
    assert spec.checks == (("one", "a > 0"), ("other", "b > 0"))


def test_the_evidence_of_a_run_are_its_last_fields() -> None:
    """Hold the column's comment to them too."""
    (column,) = (one for one in table_spec("ingested_files").columns if one.name == "debug_runs")
    _, (run,) = split_type(column.type)
    names = [split_field(part).name for part in split_type(run)[1]]
    assert [name for name in names if name in EVIDENCE] == list(EVIDENCE)
    assert [name for name in EVIDENCE if name not in column.comment] == []
    assert MOST_DEBUG_RUNS == 65


UTC = pa.timestamp("us", tz="UTC")


@pytest.mark.parametrize(
    ("spark", "in_duckdb", "in_arrow"),
    [
        ("array<int>", "INTEGER[]", pa.list_(pa.int32())),
        ("struct<a int, `b`: double>", 'STRUCT("a" INTEGER, "b" DOUBLE)', pa.struct([("a", pa.int32()), ("b", pa.float64())])),
        ("map<string, array<bigint>>", "MAP(VARCHAR, BIGINT[])", pa.map_(pa.string(), pa.list_(pa.int64()))),
        ("array<struct<a:timestamp,b:map<string,struct<c:int>>>>",
            'STRUCT("a" TIMESTAMP, "b" MAP(VARCHAR, STRUCT("c" INTEGER)))[]',
            pa.list_(pa.struct([("a", UTC), ("b", pa.map_(pa.string(), pa.struct([("c", pa.int32())])))]))),
    ],
)  # fmt: skip
def test_types_are_translated(spark: str, in_duckdb: str, in_arrow: pa.DataType) -> None:
    assert duckdb_type(spark) == in_duckdb
    assert arrow_type(spark) == in_arrow
    with pytest.raises(KeyError, match="interval"):
        duckdb_type("interval")


def test_types_and_fields_are_split_at_their_own_commas_only() -> None:
    assert split_type("ARRAY<int>") == ("array", ["int"])
    assert split_type(" map < string , array<struct<a:int,b:int>> > ")[1] == ["string", "array<struct<a:int,b:int>>"]
    assert split_type("bigint") == ("bigint", [])
    assert split_field(" `a`: decimal(10, 2) ") == ("a", "decimal(10, 2)")
    fields = [("X", "decimal(10,2)"), ("b", "map<int,int>"), ("c", "int")]
    assert split_fields("X decimal(10,2), b: map<int,int>,c int") == fields


@pytest.mark.parametrize("text", ["", "a", "'", "it's ''", '"'])
def test_quoted_texts_and_names_are_read_back(text: str) -> None:
    assert duckdb.sql(f"SELECT {quoted_text(text)}").fetchall() == [(text,)]
    assert sql_time(datetime(2026, 1, 2, 3, 4, 5, 60)) == "2026-01-02 03:04:05.000060"
    assert duckdb.sql(f"SELECT 1 AS {quoted_name(text + 'x')}").columns == [text + "x"]
