"""A program makes the same tables on a server of Spark Connect, which has this package only as shipped (`oracle`)."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from tests.connect_server import connect_server
from tests.equality import assert_same_tables
from tests.test_packaging import built, copy_of_the_source

pytestmark = pytest.mark.oracle
ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import sys
import kafka_clientinfo
from pyspark.sql import SparkSession

_, url, shipped, warehouse, *logs = sys.argv
spark = SparkSession.builder.remote(url).getOrCreate()
spark.addArtifacts(shipped, pyfile=True)
for log in logs:
    kafka_clientinfo.run(spark, log, warehouse)
assert all(check.ok for check in kafka_clientinfo.verify(spark, warehouse))
"""


@pytest.fixture(scope="module")
def url(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that knows nothing of this checkout."""
    log = tmp_path_factory.mktemp("connect") / "server.log"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with connect_server(dict(settings.spark), log, environment) as url:
        yield url


def test_spark_connect_makes_the_same_tables(spark: Any, url: str, sample_warehouse: Path, tmp_path: Path) -> None:
    logs, lake = ROOT / "sample_logs", tmp_path / "lake"
    wheel = built("wheel", copy_of_the_source(tmp_path / "source"))
    shipped = shutil.copyfile(wheel, tmp_path / f"{wheel.name}.zip")
    subprocess.run(
        [sys.executable, "-c", PROGRAM, url, shipped, str(lake), str(logs / "kafka-2.7.2"), str(logs)], check=True
    )
    assert_same_tables(spark, lake, sample_warehouse)
