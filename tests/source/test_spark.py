"""The data source in Spark: found by its name, with the rows of a run's tables, and as a stream into a table."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from chispa.dataframe_comparer import assert_df_equality
from pyspark.sql import functions as F

import kafka_clientinfo
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.amounts import one_in
from tests.equality import COMPARED, assert_same_tables
from tests.source.test_stream import Folder

pytest.importorskip("pyspark.sql.datasource", reason="Python data sources need Spark 4")
ROOT = Path(__file__).resolve().parent.parent.parent
FORMAT = "kafka_request_log"


@pytest.fixture(scope="module")
def source(spark: Any) -> Any:
    from kafka_clientinfo.source import KafkaRequestLog

    spark.dataSource.register(KafkaRequestLog)
    return spark.read.format(FORMAT)


def comparable(rows: Any) -> Any:
    """Rows without the time of the reading; maps, which nothing compares, as lists of entries."""
    # Only a run knows its batch, and what the files of a broker show together. A rotated log has another path.
    kept = [name for name in rows.columns if name not in ("ingested_at", "batch_id", "log_coverage", "path")]
    maps = {field.name for field in rows.schema if field.dataType.typeName() == "map"}
    made = {name: F.array_sort(F.map_entries(name)).alias(name) for name in maps}
    made |= {name: F.size(name).alias(name) for name in ("debug_runs", "broker_events")}  # with the time of the reading
    columns = [made.get(name, F.col(name)) for name in kept]
    return rows.select(columns).orderBy("file_id", *(name for name in ("byte_offset",) if name in kept))


@pytest.mark.parametrize("records", one_in(2, ["requests", "ingested_files"]))
def test_the_rows_are_those_of_a_run(spark: Any, source: Any, sample_warehouse: Path, records: str) -> None:
    broker = "kafka-3.9.1-node3"
    stored = Warehouse(spark, str(sample_warehouse)).read(records).drop("run").where(F.col("broker") == broker)
    read = source.option("records", records).load(str(ROOT / "sample_logs" / broker)).select(stored.columns)
    assert stored.count() > 0
    assert_df_equality(comparable(read), comparable(stored), ignore_nullable=True, ignore_metadata=True)


def test_a_schema_chooses_columns(spark: Any, source: Any) -> None:
    logs, chosen = str(ROOT / "sample_logs" / "kip-1313-made"), "api_name string, path string, client_id string"
    found = spark.read.format(FORMAT).schema(chosen).load(logs)
    every = spark.read.format(FORMAT).load(logs).select("api_name", "path", "client_id")
    assert_df_equality(found, every, ignore_row_order=True, ignore_nullable=True)


def test_a_schema_that_cannot_be_is_refused_at_once(spark: Any, source: Any) -> None:
    for schema, says in {
        "client string": "the schema has the column 'client'; give some of cluster, broker",
        "api_key string": "the schema gives api_key the type string; give int, and cast the rows",
    }.items():
        with pytest.raises(Exception, match=says):
            spark.read.format(FORMAT).schema(schema).load(str(ROOT / "sample_logs" / "kafka-2.8.2")).collect()


class Stream:
    """A query that writes a Delta table, and ends when it has read what is there."""

    def __init__(self, spark: Any, logs: Path, root: Path) -> None:
        self.spark, self.logs, self.table, self.checkpoint = spark, logs, root / "table", root / "checkpoint"

    def run(self, **options: str) -> None:
        rows = self.spark.readStream.format(FORMAT).option("cluster", "c").options(**options).load(str(self.logs))
        writing = rows.writeStream.format("delta").option("checkpointLocation", str(self.checkpoint))
        query = writing.trigger(availableNow=True).start(str(self.table))
        query.awaitTermination()

    def forget_last_commit(self) -> None:
        """Leave the checkpoint as a process does that is killed in its last batch."""
        last = max(int(path.name) for path in (self.checkpoint / "commits").iterdir() if path.name.isdecimal())
        for name in (f"{last}", f".{last}.crc"):
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)


@pytest.mark.long
@pytest.mark.classic("the stream's table and checkpoint are on this machine")
def test_a_stream_reads_every_row_once_while_logs_grow_rotate_and_are_compressed(
    spark: Any, source: Any, tmp_path: Path
) -> None:
    folder = Folder(tmp_path / "logs")
    stream = Stream(spark, tmp_path / "logs", tmp_path)
    folder.record()
    folder.record()
    folder.half()
    stream.run()
    stream.forget_last_commit()
    folder.rotate()
    folder.record()
    folder.compress()
    folder.record()
    stream.run()  # reads the batch again
    stream.run()
    table = spark.read.format("delta").load(str(stream.table))
    whole = spark.read.format(FORMAT).option("cluster", "c").load(str(tmp_path / "logs"))
    assert table.count() == 5
    assert_df_equality(comparable(table), comparable(whole))


@pytest.mark.long
def test_the_table_of_a_stream_fills_a_warehouse_as_its_logs_do(spark: Any, source: Any, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for name in ("kafka-2.4.1", "kafka-3.9.1-node3"):
        shutil.copytree(ROOT / "sample_logs" / name, logs / name)
    stream = Stream(spark, logs, tmp_path / "bronze")
    stream.run()
    report = kafka_clientinfo.build(spark, tmp_path / "lake", requests=f"delta.`{stream.table}`")
    assert {file["path"] for file in report.files} == set(map(str, logs.rglob("kafka-request.log*")))
    kafka_clientinfo.run(spark, logs, tmp_path / "of_logs", kafka_clientinfo.load_settings(cluster="c"))
    names = [name for name in COMPARED if "topic" not in name]
    assert_same_tables(spark, tmp_path / "lake", tmp_path / "of_logs", names)
