"""Every other supported Spark makes the same tables, on each Java that it supports (`oracle`).

The releases come from the package registry. A Java that is not installed is skipped, but not where CI is set.
"""

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.equality import assert_same_tables
from tests.supported import IN_THE_TESTS, SPARKS, java_home

pytestmark = pytest.mark.oracle
ROOT = Path(__file__).resolve().parent.parent
OTHERS = [(spark, java) for spark, release in SPARKS.items() if spark != IN_THE_TESTS for java in release.javas]


@pytest.fixture(scope="module")
def command_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """kafka-clientinfo without an extra, in an environment of its own for each Spark."""

    @cache
    def installed(spark: str) -> str:
        place = tmp_path_factory.mktemp(f"spark{spark}")
        venv.create(place, with_pip=True)
        (delta,) = (one for one in SPARKS[spark].packages if one.startswith("delta-spark"))
        others = [one for one in SPARKS[spark].packages if one != delta]
        install = [str(place / "bin" / "python"), "-m", "pip", "install", "-q"]
        subprocess.run([*install, *others, "importlib_metadata", "setuptools", str(ROOT)], check=True)
        # Delta 4.4.0 has jars for Spark 4.1 and 4.2, but its package asks for pyspark 4.1.
        subprocess.run([*install, "--no-deps", delta], check=True)
        return str(place / "bin" / "kafka-clientinfo")

    return installed


@pytest.mark.parametrize(("spark_release", "java"), OTHERS, ids=[f"spark{spark}-java{java}" for spark, java in OTHERS])
def test_another_spark_makes_the_same_tables(
    spark: Any,
    spark_release: str,
    java: int,
    command_of: Callable[[str], str],
    sample_warehouse: Path,
    tmp_path: Path,
) -> None:
    home = java_home(java)
    if home is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no Java {java} is found; set JAVA_HOME_{java}_X64")
    own = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in own} | {"JAVA_HOME": str(home)}

    def run(*arguments: str) -> None:
        command = [command_of(spark_release), *arguments, "--warehouse", str(tmp_path / "lake")]
        subprocess.run(command, check=True, env=environment, stdout=sys.stderr)

    logs = ROOT / "sample_logs"
    run("run", str(logs / "kafka-2.7.2"))
    run("run", str(logs))
    run("verify")
    assert_same_tables(spark, tmp_path / "lake", sample_warehouse)
