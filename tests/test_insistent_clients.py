"""A client may send as many requests on a connection, and make as many connections of an id, as it likes.

Each kind of record is written tens of thousands of times, the last of them in a second delivery. While the work for one
grew with the number of the others, the first run took minutes and the second failed.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.builders import json_record

pytestmark = pytest.mark.long
TIMES = 40_000
LAST = 100
"""How many come in the second delivery."""


def _refused_api_versions(number: int) -> dict[str, Any]:
    answer = {"errorCode": 35, "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 4}]}
    return {"api": "API_VERSIONS", "version": 0, "correlation_id": number, "response": answer, "at": number / 1000}


def _another_client_each_time(number: int) -> dict[str, Any]:
    """Correlation ids that do not rise and another client id: a new connection, ten of them in each millisecond."""
    return {"api": "HEARTBEAT", "correlation_id": 0, "client_id": f"c{number % 2}", "at": number // 10 / 1000}


def _another_client_id_each_time(number: int) -> dict[str, Any]:
    return {"api": "HEARTBEAT", "correlation_id": number, "client_id": f"{number:0>200}", "at": number / 1000}


KINDS = (_refused_api_versions, _another_client_each_time, _another_client_id_each_time)


def _records(numbers: range) -> Iterator[bytes]:
    for port, kind in enumerate(KINDS, start=50_000):
        for number in numbers:
            sent = {"response": {"errorCode": 0}} | kind(number)
            yield json_record(connection=f"10.0.0.1:9092-10.0.0.2:{port}-0", **sent)


def _of_port(spark: Any, warehouse: Path, port: int) -> list[Any]:
    rows = Warehouse(spark, str(warehouse)).read("connections").where(f"remote_port = {port}")
    return rows.orderBy("session_no").collect()


@pytest.fixture(scope="module")
def warehouse(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("insistent")
    for numbers in (range(TIMES - LAST), range(TIMES - LAST, TIMES)):
        with (root / "kafka-request.log").open("ab") as log:
            log.writelines(_records(numbers))
        report = pipeline.run(spark, [str(root / "kafka-request.log")], str(root / "warehouse"))
        assert report.tables["requests"] == len(KINDS) * numbers.stop
    return root / "warehouse"


def test_what_insists_is_kept_judged_and_counted(spark: Any, warehouse: Path) -> None:
    (row,) = _of_port(spark, warehouse, 50_000)
    assert row["api_versions_outcome"] == "rejected_unsupported_version"
    assert len(row["api_versions_attempts"]) == TIMES
    rows = _of_port(spark, warehouse, 50_001)
    assert [row["opened_seq"] for row in rows] == [number % 10 for number in range(TIMES)]
    assert len({(row["opened_at"], row["opened_seq"]) for row in rows}) == TIMES
    (row,) = _of_port(spark, warehouse, 50_002)
    assert row["client_id_other"] == TIMES - 1
    assert row["other_client_ids"] == [f"{number:0>200}" for number in range(1, 21)]
