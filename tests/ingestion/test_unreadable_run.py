"""Runs that read bytes twice (an archive that was damaged, cuts that fell into a record): the tables hold them once."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.questions.verification import verify
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.ingestion.stored_logs import save
from tests.ingestion.test_splits import downgraded
from tests.ingestion.test_unreadable import LOG, whole


@pytest.mark.soak
def test_the_placeholder_of_a_damaged_file_goes_when_the_file_is_whole(spark: Any, tmp_path: Path) -> None:
    packed = gzip.compress(LOG)
    path = save(tmp_path / "b1" / "kafka-request.log.gz", packed[: len(packed) // 2])
    lake = Warehouse(spark, str(tmp_path / "lake"))

    def state() -> tuple[Any, int, int]:
        (file,) = lake.read("ingested_files").collect()
        assert file["records"] == file["requests"] + file["rejected"] + sum(file["ignored"].values())
        assert (file["requests"], file["rejected"]) == (lake.count("requests"), lake.count("rejected_records"))
        return file["damage"], file["requests"], file["rejected"]

    report = pipeline.ingest(spark, [str(path)], lake.root)
    damage, requests, rejected = state()
    assert report.files[0]["error"] == damage
    assert (0 < requests < 60, rejected) == (True, 1)
    assert [check.name for check in verify(spark, lake.root) if not check.ok] == ["build"]
    assert [problem.kind for problem in pipeline.ingest(spark, [str(path)], lake.root).problems] == ["damaged"]
    save(path, packed)
    pipeline.ingest(spark, [str(path)], lake.root)
    assert state() == (None, 60, 0)
    assert {row["byte_offset"] for row in lake.read("requests").collect()} == {offset for offset, _ in whole()}


@pytest.mark.soak
def test_a_run_takes_back_the_cuts_of_a_log_after_a_downgrade(spark: Any, tmp_path: Path) -> None:
    log = downgraded(tmp_path / "b1" / "kafka-request.log")
    lake = Warehouse(spark, str(tmp_path / "lake"))
    (file,) = pipeline.ingest(spark, [str(log)], lake.root, Settings(split_bytes=3000)).files
    assert (file["records"], file["requests"], file["to_offset"]) == (24, 24, log.stat().st_size)
    assert {row["principal"] for row in lake.read("requests").collect()} == {"User:ANONYMOUS"}
