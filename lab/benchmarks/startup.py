"""Starts a Spark session in one way and prints the seconds of each part: `python -m lab.benchmarks.startup WAY FOLDER`."""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from .measure import STARTED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _builder() -> "SparkSession.Builder":
    from pyspark.sql import SparkSession

    from kafka_clientinfo import load_settings

    builder = SparkSession.builder
    for key, value in load_settings().spark.items():
        builder = builder.config(key, value)
    return builder


def plain() -> "SparkSession":
    """Spark without Delta, with the package's conf."""
    return _builder().getOrCreate()


def delta_by_ivy() -> "SparkSession":
    """Spark with Delta as its documentation has it: Ivy finds the jars."""
    from delta import configure_spark_with_delta_pip

    builder = (
        _builder()
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    )
    return configure_spark_with_delta_pip(builder).getOrCreate()


def this_package() -> "SparkSession":
    """The package's own local session."""
    from kafka_clientinfo import load_settings, local_session

    return local_session(load_settings())


WAYS: dict[str, Callable[[], "SparkSession"]] = {
    "this package's local_session": this_package,
    "Delta through Ivy": delta_by_ivy,
    "Spark without Delta": plain,
}
PARTS = ("interpreter", "imports", "session", "first answer", "second answer", "first table", "second table")


def main() -> None:
    """Start in one way; print the seconds of each part."""
    way, folder = sys.argv[1:]
    seconds: dict[str, float] = {}
    last = float(os.environ.get(STARTED) or time.time())

    def done(part: str) -> None:
        nonlocal last
        now = time.time()
        seconds[part], last = now - last, now

    done("interpreter")
    import pyspark.sql

    import kafka_clientinfo

    del pyspark, kafka_clientinfo
    done("imports")
    spark = WAYS[way]()
    done("session")
    for part in ("first answer", "second answer"):
        assert spark.range(1000).selectExpr("sum(id)").first() == (499500,)
        done(part)
    form = "parquet" if WAYS[way] is plain else "delta"
    for part in ("first table", "second table"):
        table = os.path.join(folder, part.replace(" ", "_"))
        spark.range(1000).write.format(form).save(table)
        assert spark.read.format(form).load(table).count() == 1000
        done(part)
    print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main()
