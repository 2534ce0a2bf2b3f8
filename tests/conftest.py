"""One Spark session for the whole run, and one warehouse built from sample_logs that many tests read."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import hypothesis
import pytest

from kafka_clientinfo.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parent.parent
hypothesis.settings.register_profile(
    "no test asserts a time", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("no test asserts a time")
WITHOUT_SPARK = ("tests/logs/", "tests/protocol/", "tests/tables/")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Where tests run in several processes, leave all to one that may need Spark: there is one session a run."""
    from xdist.scheduler import LoadScopeScheduling

    class OneSession(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.partition("::")[0]
            return module if module.startswith(WITHOUT_SPARK) else "spark"

    return OneSession(config, log)


@pytest.fixture(scope="session")
def settings() -> Settings:
    return load_settings()


@pytest.fixture(scope="session")
def spark(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    from kafka_clientinfo.engine.session import local_session

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
