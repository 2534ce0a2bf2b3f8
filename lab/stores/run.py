"""Runs with logs and warehouse on a store, in a session of its own: `python -m lab.stores.run LOGS WAREHOUSE CONF FRESH`.

LOGS is the folder as the package reads it, with the options of the store; CONF a file of settings, whose `[spark]` has
what Spark needs for it. A log grows there; two meet that read it, and one gives way; a run mends what that left, and
builds every table; the warehouse is verified and maintained. In the end the tables are those of one run into the local
folder FRESH. It prints how many rows each table then has, as JSON.
"""

import gzip
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import load_settings
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.logs.unwrapping import split_records
from kafka_clientinfo.questions.verification import verify
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.spark.session import end_session, local_session
from kafka_clientinfo.warehouse.maintenance import maintain
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.equality import assert_same_tables
from tests.stages import at_stages

from ..test_crashes import assert_each_once

SAMPLE = Path(__file__).resolve().parents[2] / "sample_logs" / "kafka-2.4.1" / "kafka-request.log.gz"


def main(logs: str, warehouse: str, conf: str, fresh: str) -> None:
    """Do what the module says."""
    settings = load_settings(conf)
    spark = local_session(settings, os.path.join(os.path.dirname(conf), "spark.log"))
    written = [record.data for record in split_records([gzip.decompress(SAMPLE.read_bytes())])]

    def grow(records: int) -> None:
        put(spark, b"".join(written[:records]), f"{warehouse}-logs/kafka-request.log")

    others: list[str] = []

    def other_run(said: str) -> None:
        if said == "requests" and not others:
            others.append(said)
            grow(900)
            pipeline.ingest(spark, [logs], warehouse, settings)

    grow(300)
    say("first read", pipeline.ingest(spark, [logs], warehouse, settings).seconds)
    grow(600)
    with at_stages(other_run), pytest.raises(WarehouseError, match="another run has written to") as overtaken:
        pipeline.ingest(spark, [logs], warehouse, settings)
    say("of two runs one gave way", overtaken.value)
    assert_each_once(spark, warehouse)
    grow(len(written))
    say("run", pipeline.run(spark, [logs], warehouse, settings).seconds)
    assert_each_once(spark, warehouse)
    assert all(check.ok for check in verify(spark, warehouse))
    say("verified", "every check")
    tidied = maintain(spark, warehouse, settings)
    assert {row["files_after"] for row in tidied.tables} <= {0, 1}
    say("maintained", tidied.seconds)
    pipeline.run(spark, [logs], fresh, settings)
    assert_same_tables(spark, warehouse, fresh)
    print(json.dumps(Warehouse(spark, warehouse).rows()))
    end_session()


def put(spark: Any, data: bytes, uri: str) -> None:
    """Write a file with the session's own client of the store."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        hadoop = spark._jvm.org.apache.hadoop.fs
        target = hadoop.Path(uri)
        store = target.getFileSystem(spark._jsc.hadoopConfiguration())
        store.copyFromLocalFile(False, True, hadoop.Path(f"file://{file.name}"), target)


def say(what: str, told: object) -> None:
    print(f"{what}: {told}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
