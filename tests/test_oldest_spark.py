"""The oldest Spark and Delta that are supported make the same tables; they come from the package registry (`oracle`)."""

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from .equality import assert_same_tables
from .test_packaging import PLATFORMS

pytestmark = pytest.mark.oracle
ROOT = Path(__file__).resolve().parent.parent
OLDEST = (*PLATFORMS["Spark 3.5"], "setuptools")


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """kafka-clientinfo without an extra, in an environment of its own."""
    place = tmp_path_factory.mktemp("oldest")
    venv.create(place, with_pip=True)
    python = str(place / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", *OLDEST, str(ROOT)], check=True)
    return [str(place / "bin" / "kafka-clientinfo")]


def run(command: list[str], *arguments: str) -> None:
    own = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    subprocess.run([*command, *arguments], check=True, env=environment, stdout=sys.stderr)


def test_the_oldest_spark_makes_the_same_tables(
    spark: Any, command: list[str], sample_warehouse: Path, tmp_path: Path
) -> None:
    logs, lake = ROOT / "sample_logs", tmp_path / "lake"
    run(command, "run", str(logs / "kafka-2.7.2"), "--warehouse", str(lake))
    run(command, "run", str(logs), "--warehouse", str(lake))
    run(command, "verify", "--warehouse", str(lake))
    assert_same_tables(spark, lake, sample_warehouse)
