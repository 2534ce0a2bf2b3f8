"""The command makes the same tables on a server of Spark Connect, which has this package only as shipped (`oracle`)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.config.settings import Settings
from tests.connect_server import connect_server
from tests.equality import assert_same_tables

pytestmark = pytest.mark.oracle
ROOT = Path(__file__).resolve().parent.parent
SHIPPED_FROM = """
import sys
from pyspark.sql import functions as F
from kafka_clientinfo.spark.remote import remote_session

def place(batches):
    import kafka_clientinfo, pyarrow
    for batch in batches:
        yield pyarrow.RecordBatch.from_pydict({"file": [kafka_clientinfo.__file__]})

print(remote_session(sys.argv[1]).range(1).mapInArrow(place, "file string").first()[0])
"""


@pytest.fixture(scope="module")
def url(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that knows nothing of this checkout."""
    log = tmp_path_factory.mktemp("connect") / "server.log"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with connect_server(dict(settings.spark), log, environment) as url:
        yield url


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def test_the_servers_workers_use_what_is_shipped(url: str) -> None:
    assert ".zip" in run("-c", SHIPPED_FROM, url)


def test_spark_connect_makes_the_same_tables(spark: Any, url: str, sample_warehouse: Path, tmp_path: Path) -> None:
    logs, lake = ROOT / "sample_logs", tmp_path / "lake"
    command = ("-c", "from kafka_clientinfo.cli import entry; entry()")
    common = ("--warehouse", str(lake), "--remote", url)
    run(*command, "run", str(logs / "kafka-2.7.2"), *common)
    run(*command, "run", str(logs), *common)
    run(*command, "verify", *common)
    assert_same_tables(spark, lake, sample_warehouse)
