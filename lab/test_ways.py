"""The same logs, however they are built, give equal tables (`cluster`): by path and by name, in every kind of session.

Each way is a process of its own, as a user starts it. Where the independent checker is there, which is no part of this
repository, it reads the tables of each way, too.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_clientinfo.config.settings import load_settings
from tests.connect_server import connect_server
from tests.equality import assert_same_folders
from tests.test_packaging import built, copy_of_the_source

from .acceptance import assert_accepted, needs_checker, shared
from .mounting import mounted, python_that_mounts
from .standalone import by_py_files, platform_python, standalone_cluster

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).resolve().parent.parent
BROKERS = {
    "kafka-0.8.2.2": "0.8.2.2-plaintext",
    "kafka-1.1.1-ssl": "1.1.1-ssl",
    "kafka-2.7.2": "2.7.2-plaintext-debug",
}
"""Folders of sample_logs, and the names by which the checker knows these brokers."""
COMMAND = "from kafka_clientinfo.cli import entry; entry()"
ON_CONNECT = """
import sys
from pyspark.sql import SparkSession
from kafka_clientinfo.cli import entry
entry(sys.argv[2:], SparkSession.builder.remote(sys.argv[1]).getOrCreate())
"""
ON_SERVERLESS = f"from tests.serverless import rules\nwith rules():{ON_CONNECT}".replace("\n", "\n    ")
SCHEMA = "made"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    for sample, broker in BROKERS.items():
        shutil.copytree(ROOT / "sample_logs" / sample, folder / broker)
    return folder


def command(logs: Path, *arguments: str, program: tuple[str, ...] = (COMMAND,)) -> None:
    called = [sys.executable, "-c", *program, "run", str(logs), *arguments]
    subprocess.run(called, check=True, stdout=subprocess.PIPE, cwd=ROOT)


def by_path(logs: Path, place: Path) -> Path:
    command(logs, "--warehouse", str(place / "lake"))
    return place / "lake"


def by_path_connect(logs: Path, place: Path) -> Path:
    with connect_server(dict(load_settings().spark), place / "server.log") as url:
        command(logs, "--warehouse", str(place / "lake"), program=(ON_CONNECT, url))
    return place / "lake"


def by_name(logs: Path, place: Path) -> Path:
    conf = place / "catalog.toml"
    entries = {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(place / "tables"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={place / 'metastore'};create=true",
    }
    conf.write_text("\n".join(["[spark]", *(f"'{key}' = '{value}'" for key, value in entries.items())]))
    command(logs, "--warehouse", f"`{SCHEMA}`", "--conf", str(conf))
    return place / "tables" / f"{SCHEMA}.db"


def by_name_serverless(logs: Path, place: Path) -> Path:
    conf = {**load_settings().spark, "spark.sql.warehouse.dir": str(place / "tables")}
    with connect_server(conf, place / "server.log") as url:
        command(logs, "--warehouse", f"`{SCHEMA}`", program=(ON_SERVERLESS, url))
    return place / "tables" / f"{SCHEMA}.db"


def on_a_cluster(logs: Path, place: Path) -> Path:
    shipping = by_py_files(built("wheel", copy_of_the_source(place / "source")), platform_python(place / "platform"))
    job = ["run_pipeline", str(logs), "--warehouse", str(place / "lake")]
    with standalone_cluster(place / "cluster") as cluster, cluster.submit(job, shipping) as running:
        running.report()
    return place / "lake"


def on_a_mount(logs: Path, place: Path) -> Path:
    stored, at = place / "stored", place / "at"
    at.mkdir()
    shutil.copytree(logs, stored / "logs")
    with mounted(python_that_mounts(place / "mfusepy"), stored, at):
        command(at / "logs", "--warehouse", str(at / "lake"))
    return stored / "lake"


WAYS: dict[str, Callable[[Path, Path], Path]] = {
    "by path": by_path,
    "by path, Spark Connect": by_path_connect,
    "by name": by_name,
    "by name, Spark Connect, rules of serverless compute": by_name_serverless,
    "by path, standalone cluster": on_a_cluster,
    "by path, mount without append and locks": on_a_mount,
}
"""Makes the tables of logs, with all that it needs in a folder of its own; returns the folder of the tables."""
FIRST = next(iter(WAYS))


@pytest.fixture(scope="module")
def first(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return WAYS[FIRST](logs, tmp_path_factory.mktemp("first"))


@pytest.fixture(scope="module", params=WAYS)
def tables(request: pytest.FixtureRequest, logs: Path, first: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == FIRST:
        return first
    return WAYS[request.param](logs, tmp_path_factory.mktemp("way"))


def test_every_way_gives_equal_tables(tables: Path, first: Path) -> None:
    assert_same_folders(tables, first)


@needs_checker
def test_the_checker_passes_on_every_way(tables: Path, tmp_path: Path) -> None:
    for broker in BROKERS.values():
        shutil.copy(shared() / "accept" / "expected" / f"{broker}.json.gz", tmp_path)
    assert_accepted(tables, tmp_path)
