"""Types of the declared columns, in the words of DuckDB and of Arrow."""

import pyarrow as pa
import pytest

from kafka_clientinfo.ingestion.arrow_schema import EVENT_SCHEMA
from kafka_clientinfo.logs.request_event import RequestEvent
from kafka_clientinfo.spark.arrow_rows import arrow_type
from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.tables.types import duckdb_type

UTC = pa.timestamp("us", tz="UTC")


@pytest.mark.parametrize(
    ("spark", "in_duckdb", "in_arrow"),
    [
        ("array<int>", "INTEGER[]", pa.list_(pa.int32())),
        ("map<string, array<bigint>>", "MAP(VARCHAR, BIGINT[])", pa.map_(pa.string(), pa.list_(pa.int64()))),
        (
            "array<struct<a:timestamp,b:map<string,struct<c:int>>>>",
            'STRUCT("a" TIMESTAMP, "b" MAP(VARCHAR, STRUCT("c" INTEGER)))[]',
            pa.list_(pa.struct([("a", UTC), ("b", pa.map_(pa.string(), pa.struct([("c", pa.int32())])))])),
        ),
    ],
)
def test_types_are_translated(spark: str, in_duckdb: str, in_arrow: pa.DataType) -> None:
    assert duckdb_type(spark) == in_duckdb
    assert arrow_type(spark) == in_arrow


def test_every_declared_type_is_translated() -> None:
    for spec in table_specs().values():
        for column in spec.columns:
            assert duckdb_type(column.type)
            assert isinstance(arrow_type(column.type), pa.DataType)


def test_a_type_that_nobody_has_is_refused() -> None:
    with pytest.raises(KeyError, match="interval"):
        duckdb_type("interval")


def test_a_struct_is_translated_with_its_fields() -> None:
    found = duckdb_type("struct<a int, `b` array<struct<c:string, d:bigint>>, e:double>")
    assert found == 'STRUCT("a" INTEGER, "b" STRUCT("c" VARCHAR, "d" BIGINT)[], "e" DOUBLE)'


def test_an_event_has_a_column_for_each_field() -> None:
    assert EVENT_SCHEMA.names == list(RequestEvent.__annotations__)
