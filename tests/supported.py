"""What is supported: releases of Python, of Spark, and of Java for each Spark; the weekly workflow runs these."""

import os
from dataclasses import dataclass
from pathlib import Path

PYTHONS = ("3.11", "3.12", "3.13")


@dataclass(frozen=True)
class Spark:
    """A release of Spark."""

    packages: tuple[str, ...]
    """The newest tested patch release, with its Delta, and what a platform has installed beside them."""
    javas: tuple[int, ...]
    """The releases of Java that Spark's documentation names for it, from 17 on."""


SPARKS = {
    # as Databricks 15.4, the oldest that is supported: Python 3.11
    "3.5": Spark(("pyspark==3.5.5", "delta-spark==3.3.2", "pyarrow==14.0.1", "numpy==1.23.5", "pandas==1.5.3"), (17,)),
    # as Databricks 17.3
    "4.0": Spark(
        ("pyspark==4.0.1", "delta-spark==4.0.0", "pyarrow==19.0.1", "numpy==2.1.3", "pandas==2.2.3"), (17, 21)
    ),
    # that of constraints.txt, on which all other tests run
    "4.1": Spark(("pyspark==4.1.4", "delta-spark==4.4.0", "pandas==2.3.3"), (17, 21)),
    "4.2": Spark(("pyspark==4.2.1", "delta-spark==4.4.0", "pandas==2.3.3"), (17, 21, 25)),
}
IN_THE_TESTS = "4.1"
"""The Spark of constraints.txt."""


def java_home(major: int) -> Path | None:
    """Find a Java: by JAVA_HOME_17_X64, as runners of workflows name it, or where Linux's packages put it."""
    named = [Path(home) for arch in ("X64", "ARM64") if (home := os.environ.get(f"JAVA_HOME_{major}_{arch}"))]
    installed = sorted(path for path in Path("/usr/lib/jvm").glob(f"*-{major}-*") if (path / "bin" / "java").exists())
    return next(iter([*named, *installed]), None)
