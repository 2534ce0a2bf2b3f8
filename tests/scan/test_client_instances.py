"""DuckDB judges lives of client instances, which the sample logs hardly have, as Spark does."""

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from kafka_clientinfo.concerns.client_instance_id import client_instances
from kafka_clientinfo.connections.engine import running_on
from kafka_clientinfo.ingestion.arrow_schema import arrow_fields
from kafka_clientinfo.scan.dataframe import SparkSession
from kafka_clientinfo.scan.derive import DUCKDB
from kafka_clientinfo.tables.spec import table_spec
from tests.concerns.client_instance_id.test_lives import LIVES, OTHERS_OF_BROKERS, TELEMETRY, WITHOUT
from tests.frames import as_stored, frame

from .comparing import compared


@pytest.mark.long
def test_lives_are_judged_alike(spark: Any) -> None:
    rows = [row for rows in (*LIVES.values(), *WITHOUT.values()) for row in rows] + OTHERS_OF_BROKERS
    rows += [row for rows, _ in TELEMETRY.values() for row in rows]
    by_spark = as_stored(client_instances.transform(frame(spark, "connections", rows)), "client_instances").collect()
    fields = arrow_fields("connections")
    names = [field.name for field in fields]
    held = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows], pa.schema(fields))
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    database.register("held", held)
    database.execute("CREATE TABLE connections AS SELECT * FROM held")
    with running_on(DUCKDB):
        made: Any = client_instances.transform(SparkSession(database).table("connections"))  # type: ignore[arg-type]
    columns = ", ".join(column.name for column in table_spec("client_instances").columns)
    found = database.sql(f"SELECT {columns} FROM ({made.sql()})").to_arrow_table()
    spark_rows = [row.asDict(recursive=True) for row in by_spark]
    expected = compared(
        pa.Table.from_pylist(spark_rows, pa.schema(arrow_fields("client_instances"))), "client_instances"
    )
    assert len(expected) > len(LIVES) + len(WITHOUT) + len(TELEMETRY)
    assert [dict(row) for row in compared(found, "client_instances")] == [dict(row) for row in expected]
