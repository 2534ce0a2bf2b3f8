"""The examples for schedulers: what of them can be checked without what runs them."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

import kafka_clientinfo
from kafka_clientinfo import cli
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.runs.ingest import log_files
from tests.builders import json_record

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
UNITS = sorted((EXAMPLES / "systemd").iterdir())
CRON_JOBS = sorted((EXAMPLES / "kubernetes").iterdir())


def takes(arguments: list[str]) -> Any:
    """The arguments as the command reads them."""
    return cli.command_line().parse_args(arguments)


class _Failed(Exception):
    """A failure after which Airflow does not try again."""


class _Task:
    """A stand-in for a task: calling it puts it into the DAG, and tasks can be put in order."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.run, self.name = function, function.__name__
        _Dag.made[-1].tasks.append(self)

    def __call__(self) -> "_Task":
        return self

    def __rshift__(self, other: "_Task") -> "_Task":
        _Dag.made[-1].order.append((self.name, other.name))
        return other


class _Dag:
    made: list["_Dag"] = []  # noqa: RUF012

    def __init__(self, name: str, **arguments: Any) -> None:
        self.name, self.arguments = name, arguments
        self.tasks: list[_Task] = []
        self.order: list[tuple[str, str]] = []
        self.made.append(self)

    def __enter__(self) -> "_Dag":
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def dags(monkeypatch: pytest.MonkeyPatch) -> list[_Dag]:
    """The DAGs of the example, with the few names of Airflow that it uses."""
    names = {
        "airflow": {},
        "airflow.sdk": {"DAG": _Dag, "task": _Task},
        "airflow.sdk.exceptions": {"AirflowFailException": _Failed},
    }
    for name, members in names.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(_Dag, "made", [])
    runpy.run_path(str(EXAMPLES / "airflow_dag.py"))
    return _Dag.made


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Callable[[_Task, int], list[str]]:
    """Runs a task, with a command that ends with an exit code, and returns the command's words."""

    def call(task: _Task, code: int) -> list[str]:
        commands: list[list[str]] = []

        def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            commands.append(command)
            return subprocess.CompletedProcess(command, code, "said", "why")

        monkeypatch.setattr(subprocess, "run", run)
        task.run()
        (command,) = commands
        return command

    return call


def test_the_tasks_of_airflow_call_the_command_with_arguments_that_it_takes(
    dags: list[_Dag], called: Callable[[_Task, int], list[str]]
) -> None:
    commands = [called(task, 0) for dag in dags for task in dag.tasks]
    assert [words[0] for words in commands] == ["kafka-clientinfo"] * 4
    assert [takes(words[1:]).command for words in commands] == ["run", "verify", "maintain", "upgrade"]
    assert [(dag.name, dag.arguments["max_active_runs"]) for dag in dags] == [
        ("kafka_clientinfo", 1),
        ("kafka_clientinfo_nightly", 1),
    ]
    assert [dag.order for dag in dags] == [[], [("verify", "maintain"), ("maintain", "upgrade")]]


def test_airflow_tries_again_where_that_can_help(dags: list[_Dag], called: Callable[[_Task, int], list[str]]) -> None:
    for task in (task for dag in dags for task in dag.tasks):
        with pytest.raises(RuntimeError, match="exit code 1: why"):
            called(task, 1)
        with pytest.raises(_Failed, match="why"):
            called(task, 2)
        with nullcontext() if task.name == "upgrade" else pytest.raises(RuntimeError):
            called(task, 3)


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_takes_a_unit(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    for path in UNITS:
        text = path.read_text("utf-8").replace("/opt/kafka-clientinfo/bin/kafka-clientinfo", "/bin/true")
        (tmp_path / path.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / unit.name)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("unit", "command"), [("", "run"), ("-maintain", "maintain")])
def test_a_service_calls_the_command_with_arguments_that_it_takes(unit: str, command: str) -> None:
    text = (EXAMPLES / "systemd" / f"kafka-clientinfo{unit}.service").read_text("utf-8")
    (line,) = re.findall(r"^ExecStart=(.*)$", text, re.M)
    parsed = takes(shlex.split(line.replace("${TARGET}", "4.1"))[1:])
    assert (parsed.command, parsed.warehouse) == (command, "/var/lib/kafka-clientinfo")
    if command == "run":
        assert takes([*shlex.split(parsed.then), "--warehouse", parsed.warehouse]).command == "watch"
        assert "SuccessExitStatus=130 3\n" in text


def cron_job(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def pod_of(path: Path) -> Any:
    return cron_job(path)["spec"]["jobTemplate"]["spec"]["template"]["spec"]


@pytest.mark.parametrize("path", CRON_JOBS, ids=lambda path: path.stem)
@pytest.mark.oracle
def test_kubernetes_takes_a_cron_job(path: Path) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="pip install '.[manifests]'")
    kubernetes_validate.validate(cron_job(path), "1.31", strict=True)


@pytest.mark.parametrize("path", CRON_JOBS, ids=lambda path: path.stem)
def test_a_cron_job_calls_the_command_in_what_it_mounts(path: Path) -> None:
    pod = pod_of(path)
    (container,) = pod["containers"]
    parsed = takes(container["args"])
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    (logs,) = parsed.logs
    assert {"/" + logs.split("/")[1], parsed.warehouse, "/tmp"} == mounts
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert container["image"] == f"kafka-clientinfo:{kafka_clientinfo.__version__}"


@pytest.mark.parametrize("path", CRON_JOBS, ids=lambda path: path.stem)
def test_a_cron_job_runs_as_the_user_of_the_image(path: Path) -> None:
    context = pod_of(path)["securityContext"]
    (user,) = re.findall(r"and the user (\d+)\.", (EXAMPLES / "kubernetes" / "cronjob.yaml").read_text("utf-8"))
    assert (context["runAsUser"], context["runAsNonRoot"]) == (int(user), True)


def test_the_cron_job_of_a_node_finds_the_logs_of_its_brokers_and_their_names(tmp_path: Path) -> None:
    (container,) = pod_of(EXAMPLES / "kubernetes" / "cronjob-of-a-node.yaml")["containers"]
    (pattern,) = takes(container["args"]).logs
    uid = "0b5f9b0e-1c62-4f6e-9c41-2a4c1f3b7d10"
    for pod in (
        "kafka_my-cluster-kafka-0",
        "kafka_my-cluster-broker-1",
        "kafka_other-kafka-0",
        "shop_my-cluster-kafka-0",
    ):
        log = tmp_path / f"{pod}_{uid}" / "kafka" / "0.log"
        log.parent.mkdir(parents=True)
        log.write_bytes(b"2026-11-21T02:44:58.359Z stdout F " + json_record(client_id="a"))
    found = log_files([str(tmp_path) + pattern.removeprefix("/logs")], Settings()).files
    assert sorted(Settings().broker_of(Path(file.path)) for file in found) == [
        "my-cluster-broker-1",
        "my-cluster-kafka-0",
    ]


@pytest.mark.long
@pytest.mark.classic("it starts a stream with a checkpoint on this machine")
def test_the_bronze_stream_goes_on_where_it_ended(spark: Any, tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("pyspark.sql.datasource", reason="Python data sources need Spark 4")
    log = tmp_path / "logs" / "b" / "kafka-request.log"
    log.parent.mkdir(parents=True)
    main = runpy.run_path(str(EXAMPLES / "bronze_stream.py"))["main"]
    table = tmp_path / "table"
    for number in (1, 2):
        with log.open("ab") as growing:
            growing.write(json_record(correlation_id=number))
        main(str(log.parent.parent), str(table), str(tmp_path / "checkpoint"))
        assert capsys.readouterr().out == f"{number:,} requests in {table}\n"


@pytest.mark.process
def test_the_pipeline_runs_as_its_header_says_and_then_reads_only_what_is_new(tmp_path: Path) -> None:
    spec = EXAMPLES / "pipeline" / "spark-pipeline.yml"
    command = re.findall(r"^#   (spark-pipelines .*)$", spec.read_text("utf-8"), re.M)
    assert len(command) == 1
    assert command[0] in (ROOT / "docs" / "howto" / "ways-in.md").read_text("utf-8")
    shutil.copytree(EXAMPLES / "pipeline", tmp_path / "examples" / "pipeline")
    shutil.copytree(ROOT / "sample_logs" / "kafka-2.7.2", tmp_path / "sample_logs" / "b")
    copied = tmp_path / "examples" / "pipeline" / "spark-pipeline.yml"
    copied.write_text(copied.read_text("utf-8").replace("file:///tmp/", f"file://{tmp_path}/"), "utf-8")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    seen = []
    for _ in range(2):
        done = subprocess.run(command[0].split(), cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert "Run is COMPLETED" in done.stderr + done.stdout, done.stderr[-2000:]
        files = (tmp_path / "spark-warehouse" / "requests").glob("*.parquet")
        seen.append(sum(pq.read_metadata(file).num_rows for file in files))
    assert seen == [479, 479]
