"""The command and the jobs as processes of their own, with a JVM each: what only shows from outside.

Cases that need no JVM are in test_exit_codes, test_cli, and spark/test_session.
"""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_clientinfo.config.settings import load_settings
from kafka_clientinfo.spark.session import local_conf

from .soak.processes import environment, is_alive, session, spark_jvm
from .soak.processes import kill as kill_all

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "sample_logs" / "kafka-2.7.2"
ENTRY = [sys.executable, "-c", "from kafka_clientinfo.cli import entry; entry()"]
SUBMIT = [str(Path(sys.executable).parent / "spark-submit"), "--master", "local[2]"]
PATIENCE = 180


@dataclass
class Place:
    """Folders of a test: where the command works, what it writes, and where all temporary files go."""

    root: Path

    def __post_init__(self) -> None:
        self.work, self.scratch = self.root / "work", self.root / "scratch"
        self.lake = self.root / "lake"
        self.work.mkdir()
        self.environment = environment(self.scratch)

    def run(self, *arguments: str, shell: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the command to its end; `shell` is what a shell does with its standard streams."""
        called = [*ENTRY, *arguments, "--warehouse", str(self.lake)]
        if shell:
            called = ["bash", "-c", f'"$@" {shell}; exit ${{PIPESTATUS[0]}}', "bash", *called]
        return self.call(called, **variables)

    def call(self, called: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            called, cwd=self.work, env=self.environment | variables, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A warehouse that a process has made, to be read."""
    place = Place(tmp_path_factory.mktemp("built"))
    done = place.run("run", str(LOGS), "--cluster", "orders", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["tables"]["requests"] == 479
    return place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_run_leaves_nothing_where_it_was_called(built: Place) -> None:
    assert list(built.work.iterdir()) == []
    assert not [path.name for path in built.scratch.iterdir() if path.name.startswith("kafka-clientinfo")]


def test_only_the_owner_reads_raw_bytes(built: Place) -> None:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in built.lake.iterdir() if path.is_dir()}
    assert modes.pop("rejected_records") == 0o700
    assert set(modes.values()) == {0o755}


@pytest.mark.parametrize(
    ("arguments", "shell", "code", "said"),
    [
        ([], "| true", 3, ""),
        (["--json"], ">&-", 1, "standard output cannot be written: Bad file descriptor"),
        ([], "> /dev/full", 1, "standard output cannot be written: No space left on device"),
        (["--cluster", "nonesuch"], "", 2, "--cluster is 'nonesuch', of which "),
    ],
)
def test_the_gate_says_its_verdict(built: Place, arguments: list[str], shell: str, code: int, said: str) -> None:
    done = built.run("upgrade", "--target", "4.0.1", *arguments, shell=shell)
    assert done.returncode == code
    assert said in (one_line(done) if said else done.stderr)
    assert said or not done.stderr


def test_a_warehouse_with_a_table_of_another_layout_is_named(built: Place) -> None:
    other = built.lake / "connection_violations"
    other.rename(built.root / "elsewhere")
    try:
        other.symlink_to(built.lake / "connections")
        done = built.run("violations")
    finally:
        other.unlink()
        (built.root / "elsewhere").rename(other)
    assert done.returncode == 1
    assert (
        "connection_violations is not the table connection_violations of this release: column rule is missing; "
        in one_line(done)
    )


class Running:
    """A run in a session of its own, and its JVM."""

    def __init__(self, place: Place) -> None:
        called = [*ENTRY, "run", str(LOGS), "--warehouse", str(place.lake)]
        self.process = subprocess.Popen(
            called,
            cwd=place.work,
            env=place.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.jvm = 0

    def wait_for(self, path: Path | None) -> None:
        """Wait for the JVM, and for a file or folder, if one is named."""
        until = time.monotonic() + PATIENCE
        while not self.jvm or (path is not None and not path.exists()):
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < until
            self.jvm = spark_jvm(self.process.pid) or 0
            time.sleep(0.02)

    def end(self) -> subprocess.CompletedProcess[str]:
        output, errors = self.process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess([], self.process.returncode, output, errors)


@pytest.fixture
def running(place: Place) -> Iterator[Running]:
    run = Running(place)
    yield run
    kill_all(session(run.process.pid))


GONE = "Spark's JVM is gone: it was killed, or ran out of memory; what was committed is whole"


@pytest.mark.parametrize(
    ("table", "said"),
    [(None, "Java ended before Spark had started"), ("requests", GONE), ("connections", GONE)],
)
def test_a_jvm_that_is_killed_is_told_in_one_line(place: Place, running: Running, table: str | None, said: str) -> None:
    running.wait_for(None if table is None else place.lake / table / "_delta_log")
    os.kill(running.jvm, signal.SIGKILL)
    done = running.end()
    assert (done.returncode, done.stdout) == (1, "")
    assert said in one_line(done)


@pytest.mark.parametrize("table", ["ingested_files", "connections"])
def test_ctrl_c_takes_the_jvm_along(place: Place, running: Running, table: str) -> None:
    running.wait_for(place.lake / table / "_delta_log")
    shared = [path.name for path in place.scratch.iterdir() if path.stat().st_mode & 0o077]
    os.killpg(running.process.pid, signal.SIGINT)  # a terminal sends it to all processes
    done = running.end()
    assert (done.returncode, done.stdout) == (130, "")
    assert "stopped; what was committed is whole" in one_line(done)
    assert not is_alive(running.jvm)
    assert not [name for name in shared if not name.startswith("hsperfdata")], "others may read scratch files"
    assert not [path.name for path in place.scratch.iterdir() if path.name.startswith(("blockmgr", "kafka-clientinfo"))]


def test_jars_that_cannot_be_fetched_are_named(place: Place) -> None:
    nowhere = place.root / "ivy.xml"
    nowhere.write_text(
        '<ivysettings><settings defaultResolver="x"/><resolvers>'
        '<ibiblio name="x" m2compatible="true" root="http://127.0.0.1:9/"/></resolvers></ivysettings>'
    )
    conf = place.root / "conf.toml"
    conf.write_text(
        f'[spark]\n"spark.jars.ivySettings" = "{nowhere}"\n"spark.jars.ivy" = "{place.root / "ivy"}"\n', "utf-8"
    )
    done = place.run("verify", "--conf", str(conf), KAFKA_CLIENTINFO_CACHE=str(place.root / "cache"))
    assert done.returncode == 1
    fetching, failed = done.stderr.splitlines()
    assert "fetching Delta's jars" in fetching
    assert "could not be fetched; run `make setup`" in failed


@pytest.fixture(scope="module")
def submitted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """What the jobs work on, one after the other, in the order of the tests."""
    place = Place(tmp_path_factory.mktemp("jobs"))
    conf = local_conf(load_settings().spark) | {"spark.kafka_clientinfo.cluster": "orders"}
    defaults = place.root / "spark-defaults.conf"
    defaults.write_text("".join(f"{key} {value}\n" for key, value in conf.items()), "utf-8")
    place.environment["SPARK_CONF_DIR"] = str(place.root)
    place.environment["PYSPARK_PYTHON"] = sys.executable
    return place


@pytest.mark.parametrize(
    ("job", "way", "arguments", "shows"),
    [
        ("ingest_requests", "python", [str(LOGS)], '"requests": 479'),
        ("build_tables", "spark-submit", [], '"requests": 479'),
        ("run_pipeline", "spark-submit", [str(LOGS)], '"unchanged": ["'),
        ("maintain", "python", [], '"name": "requests"'),
    ],
)
def test_a_job_does_what_its_command_does(
    submitted: Place, job: str, way: str, arguments: list[str], shows: str
) -> None:
    begin = [sys.executable] if way == "python" else SUBMIT
    script = [str(ROOT / "jobs" / f"{job}.py"), *arguments, "--warehouse", str(submitted.lake), "--json"]
    done = submitted.call([*begin, *script])
    assert done.returncode == 0, done.stderr
    assert shows in done.stdout


def test_a_job_that_fails_ends_with_its_commands_code(submitted: Place) -> None:
    done = submitted.call(
        [*SUBMIT, str(ROOT / "jobs" / "run_pipeline.py"), "file:", "--warehouse", str(submitted.lake)]
    )
    assert done.returncode == 1
    assert "LOGS are 'file:', which names no place" in done.stdout  # where spark-submit sends all that a job says


CATALOG = """
stored_views = ["violations", "group_rebalances"]

[spark]
"spark.sql.catalogImplementation" = "hive"
"spark.sql.warehouse.dir" = "{root}/tables"
"spark.hadoop.javax.jdo.option.ConnectionURL" = "jdbc:derby:;databaseName={root}/metastore;create=true"
"""


def test_a_catalog_keeps_a_warehouse_for_the_next_process(place: Place) -> None:
    conf = place.root / "catalog.toml"
    conf.write_text(CATALOG.format(root=place.root))
    logs = ROOT / "sample_logs" / "kafka-3.9.1-node3"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        called = [*ENTRY, *arguments, "--warehouse", "spark_catalog.kafka", "--conf", str(conf)]
        return place.call(called)

    first = run("run", str(LOGS), "--json")
    assert (first.returncode, first.stderr) == (0, "")
    assert json.loads(first.stdout)["problems"] == []
    second = run("run", str(LOGS), str(logs))
    assert (second.returncode, second.stderr) == (0, "")
    assert "Read 1 file," in second.stdout
    assert "1 file was read before and has nothing new" in second.stdout
    assert "Tables in spark_catalog.kafka" in second.stdout
    checked = run("verify", "--json")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert json.loads(checked.stdout)["ok"]
    mode = stat.S_IMODE((place.root / "tables" / "kafka.db" / "rejected_records").stat().st_mode)
    assert mode == 0o700
    assert list(place.work.iterdir()) == []
    forgotten = place.call([*ENTRY, "verify", "--warehouse", "spark_catalog.kafka"])
    assert forgotten.returncode == 2
    assert "forgets its tables when the session ends" in one_line(forgotten)
