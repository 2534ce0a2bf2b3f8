"""One Spark session for all tests, and one warehouse built from sample_logs that many tests read.

`make test` runs tests in two processes (`-n 2 --dist loadfile`). All tests that ask for the session run in one of them, as a
second JVM takes long to grow warm; of the others a module goes to one process as a whole. With the long tests each process
has a session. They come in this order, so that nobody waits for the warehouse of the samples:

    1 those that ask for the session and that warehouse, and so build it
    2 the others that ask for the session
    3 those that ask for neither
    4 those that only read that warehouse

`--spark=connect` runs the tests that ask for a session, and no others, on a server of Spark Connect; `--spark=serverless`
under the rules of serverless compute besides (tests/serverless.py). Tests that need a classic session are skipped then.
`--long=also` runs the tests that are marked long too, and all examples of every law (`amounts`); `--long=only` no others.
`--cases=apart` makes a test of each case of a parametrised one; else they run `together`, but for the few that cannot.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from kafka_clientinfo.config.settings import Settings, load_settings
from tests import amounts
from tests.together import together

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent
SLOW = 10
"""Seconds of a test of `make test` above which it is named at the end."""
_WITH_SPARK = "tests-with-spark"
_MARKS = {"oracle", "soak", "process", "cluster", "browser"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spark", choices=("classic", "connect", "serverless"), default="classic", help="the session")
    parser.addoption("--long", choices=("no", "also", "only"), default="no", help="tests that are marked long")
    parser.addoption("--cases", choices=("together", "apart"), default="together", help="cases of parametrised tests")


def pytest_configure(config: pytest.Config) -> None:
    amounts.try_all(config.getoption("--long") == "also")
    hypothesis.settings.register_profile(
        "no test asserts a time",
        deadline=None,
        max_examples=amounts.examples(100),
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("no test asserts a time")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the modules by what they ask for; a fixture counts wherever it is asked for, also by another one."""
    if (long := config.getoption("--long")) != "also":
        _keep(config, items, lambda item: (item.get_closest_marker("long") is not None) == (long == "only"))
    if config.getoption("--spark") != "classic":
        _keep(config, items, _asks_for_spark)
        for item in items:
            if mark := item.get_closest_marker("classic"):
                item.add_marker(pytest.mark.skip(reason=f"needs a classic session: {mark.args[0]}"))
    if config.getoption("--cases") == "together":
        items[:] = together(items)
    asked: dict[tuple[str, bool], set[str]] = {}
    for item in items:
        asked.setdefault((_module(item.nodeid), _asks_for_spark(item)), set()).update(getattr(item, "fixturenames", ()))

    def place(item: pytest.Item) -> int:
        with_spark = _asks_for_spark(item)
        reads_samples = "sample_warehouse" in asked[_module(item.nodeid), with_spark]
        return (1 if reads_samples else 2) if with_spark else (4 if reads_samples else 3)

    items.sort(key=place)
    if hasattr(config, "workerinput"):
        Path(config.workerinput[_WITH_SPARK]).write_text(
            "\n".join(item.nodeid for item in items if _asks_for_spark(item))
        )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give each process of xdist the file in which it names the tests that ask for the session."""
    node.workerinput[_WITH_SPARK] = _file_of_names(node.config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all tests that ask for the session to one process, and of the others a module to each in turn.

    Where nearly all tests ask for it, as with the long ones and on other kinds of sessions, each process has its own.
    """
    if (config.getoption("dist"), config.getoption("long"), config.getoption("spark")) != ("loadfile", "no", "classic"):
        return None
    from xdist.scheduler import LoadFileScheduling

    with_spark: set[str] = set()

    class OneSession(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if not with_spark:
                with_spark.update(["", *Path(_file_of_names(config)).read_text().split("\n")])
            return "spark" if nodeid in with_spark else _module(nodeid)

    return OneSession(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the tests, and fixtures, that should be smaller or marked long; one always builds the warehouse of the samples."""
    if config.getoption("--long") != "no":
        return
    reports = [one for kind in ("", "passed", "failed") for one in terminalreporter.stats.get(kind, ())]
    slow = [one for one in reports if one.duration > SLOW and not _MARKS & one.keywords.keys()]
    for one in sorted(slow, key=lambda one: -one.duration):
        terminalreporter.write_line(f"over {SLOW} s: {one.duration:.0f} s, {one.when} of {one.nodeid}", yellow=True)


def _keep(config: pytest.Config, items: list[pytest.Item], wanted: Callable[[pytest.Item], bool]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if not wanted(item)])
    items[:] = filter(wanted, items)


def _asks_for_spark(item: pytest.Item) -> bool:
    rules_run_on = getattr(getattr(item, "callspec", None), "params", {}).get("rules_session")
    return "spark" in getattr(item, "fixturenames", ()) or rules_run_on == "spark"


def _module(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _file_of_names(config: pytest.Config) -> str:
    return str(config._tmp_path_factory.getbasetemp() / _WITH_SPARK)  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def settings() -> Settings:
    return load_settings()


def _conf(settings: Settings, scratch: Path) -> dict[str, str]:
    from kafka_clientinfo.spark.session_conf import conf_of

    return {
        **settings.spark,
        **conf_of(0, 1),
        "spark.driver.memory": "2g",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        # Hundreds of tables and thousands of queries in one session: what is kept of each adds up to the whole heap.
        "spark.sql.ui.retainedExecutions": "20",
        "spark.ui.retainedJobs": "50",
        "spark.ui.retainedStages": "50",
        "spark.ui.retainedTasks": "200",
    }


def classic_session(settings: Settings, scratch: Path) -> "SparkSession":
    """Start the session of the tests, with its files in a folder."""
    from kafka_clientinfo.spark.session import local_session

    conf = _conf(settings, scratch)
    return local_session(replace(settings, spark=conf), str(scratch / "spark.log"))


@pytest.fixture(scope="session")
def spark(
    settings: Settings, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[object]:
    from pyspark.sql import SparkSession

    from tests import serverless
    from tests.connect_server import connect_server

    scratch = tmp_path_factory.mktemp("spark")
    kind = pytestconfig.getoption("--spark")
    if kind != "classic":
        with connect_server(_conf(settings, scratch), scratch / "spark.log") as url:
            session = SparkSession.builder.remote(url).getOrCreate()
            with serverless.rules() if kind == "serverless" else nullcontext():
                yield session
            session.stop()
        return
    session = classic_session(settings, scratch)
    yield session
    session.stop()


@pytest.fixture(scope="module", params=["duckdb", pytest.param("spark", marks=pytest.mark.long)])
def rules_session(request: pytest.FixtureRequest) -> Iterator[object]:
    """A session of each engine that the rules run on; see `engines`."""
    from tests.engines import duckdb_session

    if request.param == "spark":
        yield request.getfixturevalue("spark")
        return
    with duckdb_session() as session:
        yield session


@pytest.fixture(scope="session")
def free_conf(pytestconfig: pytest.Config) -> None:
    """Asked for by tests that set or read entries of the conf themselves that serverless compute refuses."""
    if pytestconfig.getoption("--spark") == "serverless":
        pytest.skip("serverless compute refuses entries of the conf")


@pytest.fixture(scope="module", autouse=True)
def forget_tables_of_other_modules(pytestconfig: pytest.Config) -> Iterator[None]:
    """Delta keeps the plans of every table that was ever read, until an hour has passed; Spark, what was cached."""
    yield
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None and pytestconfig.getoption("--spark") != "serverless":
        session.catalog.clearCache()
    if session is not None and pytestconfig.getoption("--spark") == "classic":
        session.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]


@pytest.fixture(scope="session")
def sample_warehouse(
    request: pytest.FixtureRequest, settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The tables of sample_logs, built by the first process that asks; read only: copy it to change it."""
    from kafka_clientinfo.runs import run as pipeline

    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    root = shared / "sample-warehouse"
    with (shared / "sample-warehouse.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            made = tmp_path_factory.mktemp("sample") / "warehouse"
            spark = request.getfixturevalue("spark")
            pipeline.run(spark, [str(ROOT / "sample_logs")], str(made), settings)
            made.rename(root)  # whole or not at all
    return root


@pytest.fixture(scope="session")
def stored_answers(sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of the sample with its views as Delta tables, as `stored_views` stores them.

    DuckDB answers in a fraction of Spark's time.
    """
    from deltalake import DeltaTable, write_deltalake

    from kafka_clientinfo.questions.duckdb_tables import LocalTables
    from kafka_clientinfo.tables.spec import table_specs, view_specs
    from tests.report.tables_on_disk import schema

    root, tables = tmp_path_factory.mktemp("answers"), LocalTables(sample_warehouse)
    for name in table_specs():
        shutil.copytree(sample_warehouse / name, root / name, copy_function=os.link)
    for name in view_specs():
        rows = tables._duckdb.sql(f"FROM {tables._named(name)}").to_arrow_table()
        write_deltalake(str(root / name), rows.cast(schema(name)))
        stored = {"kafka_clientinfo.definition": "stored"}
        DeltaTable(str(root / name)).alter.set_table_properties(stored, raise_if_not_exists=False)
    return root
