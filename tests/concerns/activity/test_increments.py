"""Findings about activity are the same, whether a log is read at once, as it grows, or in files that come late."""

from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.spark.arrow_rows import collect
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.builders import json_record
from tests.equality import assert_same_tables

from .behaviour import SETTINGS, Row, connections, handshake, in_time, neighbour, requests, times

pytestmark = pytest.mark.long

CUTS = (0.3, 0.7)
"""Shares of the log; errors and throttling go on over both cuts."""


def record(row: Row) -> bytes:
    """The record of a request, by JSON."""
    return json_record(
        at=f"{row['logged_at']:%Y-%m-%d %H:%M:%S},{row['logged_at'].microsecond // 1000:03d}",
        connection=f"10.0.0.1:9092-{row['remote_host']}:40000-{crc32(row['connection_id'].encode())}",
        client_id=row["client_id"],
        api=row["api_name"],
        version=row["api_version"],
        correlation_id=row["correlation_id"],
        response={"errorCode": min(row["errors"], default=0)},
        throttle=row["throttle_time_ms"],
        software=(row["client_software_name"], row["client_software_version"]),
    )


@pytest.fixture(scope="module")
def records() -> list[bytes]:
    flooder, insister, slow = (
        {"client_id": name, "remote_host": name} for name in ("10.0.0.2", "10.0.0.3", "10.0.0.4")
    )
    rows = [
        *neighbour(20),
        *connections(times(5, 5), client_id="looper"),
        *[handshake("flooder", 1, **flooder), *requests("flooder", 1, 10, **flooder), *requests("flooder", 12, 4, 660, **flooder)],
        *[handshake("insister", 1, **insister), *requests("insister", 4, 15, api="FETCH", errors={6: 1}, **insister)],
        *[handshake("slow", 1, **slow), *requests("slow", 4, 15, 60.5, "PRODUCE", throttle_time_ms=6000.0, **slow)],
    ]  # fmt: skip
    return [record(row) for row in in_time(rows)]


def found(spark: Any, lake: Path) -> set[str]:
    return {rule for (rule,) in collect(Warehouse(spark, str(lake)).read("violations").select("rule").distinct())}


def test_a_log_that_grows_while_a_file_comes_late(spark: Any, records: list[bytes], tmp_path: Path) -> None:
    bounds = [0, *(int(len(records) * share) for share in CUTS), len(records)]
    first, second, third = (b"".join(records[begin:end]) for begin, end in pairwise(bounds))
    (tmp_path / "b").mkdir()
    for number, content in ((1, first), (3, third), (2, second[:5000]), (2, second)):
        (tmp_path / "b" / f"kafka-request.log.{number}").write_bytes(content)
        pipeline.run(spark, [str(tmp_path / "b")], str(tmp_path / "lake"), SETTINGS)
    (tmp_path / "all" / "b").mkdir(parents=True)
    (tmp_path / "all" / "b" / "kafka-request.log").write_bytes(first + second + third)
    pipeline.run(spark, [str(tmp_path / "all")], str(tmp_path / "at-once"), SETTINGS)
    assert found(spark, tmp_path / "at-once") >= {"reconnect_storm", "request_flood", "not_leader", "throttled"}
    assert_same_tables(spark, tmp_path / "lake", tmp_path / "at-once", ["violations", "client_activity"])
