"""Types of the declared columns, in the words of DuckDB and of Arrow."""

from datetime import datetime

import duckdb
import pyarrow as pa
import pytest

from kafka_clientinfo.tables.arrow_types import arrow_type
from kafka_clientinfo.tables.types import (
    duckdb_type,
    quoted_name,
    quoted_text,
    split_field,
    split_fields,
    split_type,
    sql_time,
)

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
