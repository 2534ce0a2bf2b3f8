"""Logs on an S3 store: a stand-in of its own in an environment of its own, asked over HTTP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.discovery import find_logs
from kafka_clientinfo.ingestion.plan import make_plan
from kafka_clientinfo.runs import run as pipeline
from tests.builders import json_record
from tests.ingestion.stored_logs import LOG
from tests.moto import KEYS, bucket, moto_server

pytestmark = pytest.mark.oracle
SECOND = json_record(client_id="second") + LOG


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with moto_server(tmp_path_factory.mktemp("moto")) as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def store(endpoint: str) -> Any:
    store = bucket(endpoint)
    for path, data in {
        "logs/prod/b1/kafka-request.log": LOG * 3000,
        "logs/prod/b1/kafka-request.log.1": json_record(client_id="one") + LOG,
        "logs/prod/b 2/kafka-request.log": SECOND,
        "logs/prod/ü#?x=1/kafka-request.log": json_record(client_id="third") + LOG,
    }.items():
        with store.open_output_stream(path) as file:
            file.write(data)
    return store


def test_a_run_reads_them_by_range_and_writes_no_keys(
    spark: Any, store: Any, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{endpoint}")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    logs = ["s3://logs/prod"]
    settings = Settings(split_bytes=8 << 20)
    plan = make_plan(find_logs(logs), {}, settings, 4)
    assert sum(len(task) for task in plan.splits) > len(plan.files) == 4
    # The processes of the tasks do not have this environment: the endpoint is in the URI, and Spark hands them the keys.
    for name, value in KEYS.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    with_endpoint = [f"s3://logs/prod?endpoint_override={endpoint}&scheme=http"]
    report = pipeline.ingest(spark, with_endpoint, str(tmp_path / "lake"), settings)
    assert [file["error"] for file in report.files] == [None] * 4
    assert sum(file["requests"] for file in report.files) == 3000 * 20 + 3 * 21
    with store.open_output_stream("logs/prod/b 2/kafka-request.log") as file:
        file.write(SECOND + json_record(client_id="two"))
    again = pipeline.ingest(spark, with_endpoint, str(tmp_path / "lake"), settings)
    assert [(file["path"], file["requests"]) for file in again.files] == [("s3://logs/prod/b 2/kafka-request.log", 1)]
    for path in (tmp_path / "lake").rglob("*"):
        assert not path.is_file() or b"s3cret" not in path.read_bytes()
