"""One Spark session for the whole run, and one warehouse built from sample_logs that many tests read."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_clientinfo.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def settings() -> Settings:
    return load_settings()


@pytest.fixture(scope="session")
def spark(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    from kafka_clientinfo.lake import local_session

    scratch = tmp_path_factory.mktemp("spark")
    small = {
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        # Tables of some rows: planning them twice and compiling each query costs more than they do.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # Hundreds of tables and thousands of queries in one session: what is kept of each adds up to the whole heap.
        "spark.driver.memory": "4g",
        "spark.sql.ui.retainedExecutions": "20",
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "50",
        "spark.ui.retainedTasks": "200",
    }
    conf = {**settings.spark, **small}
    session = local_session(replace(settings, spark=conf), "kafka_clientinfo tests", str(scratch / "spark.log"))
    yield session
    session.stop()


@pytest.fixture(scope="module", autouse=True)
def forget_tables_of_other_modules() -> Iterator[None]:
    """Delta keeps the plans of every table that was ever read, until an hour has passed; Spark, what was cached."""
    yield
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None:
        session.catalog.clearCache()
        session.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]


@pytest.fixture(scope="session")
def sample_warehouse(spark: object, settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of sample_logs; read only."""
    from kafka_clientinfo import pipeline

    root = tmp_path_factory.mktemp("sample") / "warehouse"
    pipeline.run(spark, [str(ROOT / "sample_logs")], str(root), settings)
    return root
