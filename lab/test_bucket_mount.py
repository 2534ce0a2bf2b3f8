"""Logs and warehouses on a mount of a bucket, for which tests/bucket_mount.py stands in: no append, no locks (`oracle`)."""

import errno
import fcntl
import gzip
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.commands.output import write_private
from kafka_clientinfo.errors import ClientInfoError, WarehouseError
from kafka_clientinfo.logs.unwrapping import split_records
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.warehouse.locks import exclusive
from kafka_clientinfo.warehouse.maintenance import maintain
from tests.equality import assert_same_tables
from tests.stages import at_stages

from . import mounting
from .mounting import python_that_mounts
from .soak.processes import Job
from .test_crashes import assert_each_once

pytestmark = pytest.mark.oracle
ROOT = Path(__file__).resolve().parent.parent
LOG = "kafka-request.log"
_SECONDS = 600

Mounted = Callable[..., AbstractContextManager[Path]]


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Mounted:
    """Mounts a new folder, without what is named."""
    python = python_that_mounts(tmp_path_factory.mktemp("mfusepy"))

    def mount(*without: str) -> AbstractContextManager[Path]:
        return mounting.mounted(python, tmp_path_factory.mktemp("stored"), tmp_path_factory.mktemp("mount"), *without)

    return mount


def records() -> list[bytes]:
    data = gzip.decompress((ROOT / "sample_logs" / "kafka-2.4.1" / f"{LOG}.gz").read_bytes())
    return [record.data for record in split_records([data])]


def refused(call: Callable[[], object]) -> bool:
    with pytest.raises(OSError, match=os.strerror(errno.ENOTSUP)) as error:
        call()
    return error.value.errno == errno.ENOTSUP


def test_the_stand_in_takes_what_mounts_of_buckets_take(mounted: Mounted) -> None:
    with mounted() as at, mounted("rename", "chmod") as stricter:
        for place in (at, stricter):
            (place / "a").write_bytes(b"one" * 100_000)
            (place / "a").write_bytes(b"two")
            assert (place / "a").read_bytes() == b"two"
            for call in (
                lambda place=place: (place / "a").open("ab"),
                lambda place=place: (place / "new").open("ab"),
                lambda place=place: (place / "a").open("r+b"),
                lambda place=place: os.link(place / "a", place / "b"),
                lambda place=place: fcntl.flock((place / "a").open("rb"), fcntl.LOCK_EX),
                lambda place=place: fcntl.lockf((place / "a").open("wb"), fcntl.LOCK_EX),
            ):
                assert refused(call)
        (at / "a").rename(at / "b")
        (at / "b").chmod(0o600)
        assert refused(lambda: (stricter / "a").rename(stricter / "b"))
        assert refused(lambda: (stricter / "a").chmod(0o600))


def test_reports_and_messages_are_written_whole(mounted: Mounted) -> None:
    with mounted() as at, mounted("rename", "chmod") as stricter:
        for place in (at, stricter):
            for content in (b"first", b"another"):
                write_private(place / "report.html", content, "--output")
                assert {path.name: path.read_bytes() for path in place.iterdir()} == {"report.html": content}
            with pytest.raises(ClientInfoError, match=r"--output \S+ cannot be written"):
                write_private(place / "nothing" / "report.html", b"", "--output")


def test_runs_of_one_machine_wait_for_each_other_there(mounted: Mounted) -> None:
    with mounted("refusal") as at, exclusive(str(at / "lake"), 1):
        waits = pytest.raises(WarehouseError, match="another run is at work")
        with waits, exclusive(str(at / "lake"), 0.1):
            pass


def test_logs_are_read_and_a_warehouse_is_kept_there(mounted: Mounted, spark: Any, tmp_path: Path) -> None:
    """A log that has grown is written anew, as the mount takes it; `maintain` compacts; of two runs one gives way."""
    written = records()
    with mounted() as at:
        log, lake = at / "logs" / LOG, at / "lake"
        log.parent.mkdir()

        def grow(records: int) -> None:
            log.write_bytes(b"".join(written[:records]))

        grow(300)
        assert pipeline.run(spark, [str(log)], str(lake)).tables["requests"] > 0
        for stage, total in (("requests", 600), ("connections", 900)):
            meanwhile: list[str] = []

            def other_run(said: str, stage: str = stage, total: int = total, meanwhile: list[str] = meanwhile) -> None:
                if said == stage and not meanwhile:
                    meanwhile.append(said)
                    grow(total)
                    pipeline.ingest(spark, [str(log)], str(lake))

            grow(total - 100)
            with at_stages(other_run), pytest.raises(WarehouseError, match="another run has written to"):
                pipeline.run(spark, [str(log)], str(lake))
            assert meanwhile, stage
            assert_each_once(spark, lake)
        done = maintain(spark, str(lake))
        assert {row["files_after"] for row in done.tables} <= {0, 1}
        grow(len(written))
        pipeline.run(spark, [str(log)], str(lake))
        assert_each_once(spark, lake)
        pipeline.run(spark, [str(log)], str(tmp_path / "fresh"))
        assert_same_tables(spark, lake, tmp_path / "fresh")


def test_kills_and_two_processes_at_once_lose_and_double_nothing(mounted: Mounted, spark: Any, tmp_path: Path) -> None:
    written = records()
    with mounted() as at:
        log, lake = at / "logs" / LOG, at / "lake"
        log.parent.mkdir()
        jobs = [Job(log.parent, lake, tmp_path / f"scratch{number}") for number in range(2)]
        try:
            for job in jobs:
                assert job.wait_for("ready", _SECONDS) == "ready", job.errors
            log.write_bytes(b"".join(written[:600]))
            for job in jobs:
                job.go()
            ends = sorted(str(job.wait_for("done", _SECONDS)) for job in jobs)
            assert "done 0" in ends, [job.errors for job in jobs]
            assert_each_once(spark, lake)
            log.write_bytes(b"".join(written[:1200]))
            jobs[0].go()
            assert jobs[0].wait_for("stage requests", _SECONDS) == "stage requests", jobs[0].errors
            jobs[0].stop()
            jobs[1].go()
            assert jobs[1].wait_for("stage connections", _SECONDS) == "stage connections", jobs[1].errors
            print(ends, jobs[1].errors, file=sys.stderr)
        finally:
            for job in jobs:
                job.stop()
        log.write_bytes(b"".join(written))
        pipeline.run(spark, [str(log)], str(lake))
        assert_each_once(spark, lake)
        pipeline.run(spark, [str(log)], str(tmp_path / "fresh"))
        assert_same_tables(spark, lake, tmp_path / "fresh")
