"""The examples for schedulers: what of them can be checked without what runs them."""

import ast
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pyarrow.parquet as pq
import pytest
import yaml

import kafka_clientinfo
from kafka_clientinfo import cli
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.discovery import delivered_logs
from tests.builders import json_record
from tests.ingestion.stored_logs import save

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
UNITS = sorted((EXAMPLES / "systemd").iterdir())
CRON_JOBS = sorted((EXAMPLES / "kubernetes").iterdir())


def takes(arguments: list[str]) -> Any:
    """The arguments as the command reads them."""
    return cli.command_line().parse_args(arguments)


class _Failed(Exception):
    """A failure after which Airflow does not try again."""


@pytest.fixture
def dag(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the example, with stand-ins for all that it takes from Airflow."""
    for name in ("airflow", "airflow.sdk"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    monkeypatch.setitem(sys.modules, "airflow.sdk.exceptions", MagicMock(AirflowFailException=_Failed))
    return runpy.run_path(str(EXAMPLES / "airflow_dag.py"))


def test_airflow_calls_the_command_with_arguments_that_it_takes(dag: dict[str, Any]) -> None:
    tree = ast.parse((EXAMPLES / "airflow_dag.py").read_text("utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "answer"]
    words = [[eval(ast.unparse(word), dag) for word in call.args] for call in calls]
    assert sorted(takes(one).command for one in words) == ["maintain", "run", "upgrade", "verify"]


def test_airflow_tries_again_where_that_can_help(dag: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def ends_with(code: int) -> None:
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], code, "said", "why"))

    ends_with(1)
    with pytest.raises(RuntimeError, match="exit code 1: why"):
        dag["answer"]("run")
    ends_with(2)
    with pytest.raises(_Failed, match="why"):
        dag["answer"]("run")
    ends_with(3)
    assert dag["answer"]("upgrade", codes=(0, 3)) == "said"
    with pytest.raises(RuntimeError):
        dag["answer"]("run")


def test_systemd_takes_every_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    for path in UNITS:
        text = path.read_text("utf-8").replace("/opt/kafka-clientinfo/bin/kafka-clientinfo", "/bin/true")
        (tmp_path / path.name).write_text(text)
    command = ["systemd-analyze", "verify", *(str(tmp_path / unit.name) for unit in UNITS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
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


def pod_of(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))["spec"]["jobTemplate"]["spec"]["template"]["spec"]


@pytest.mark.parametrize("path", CRON_JOBS, ids=lambda path: path.stem)
@pytest.mark.oracle
def test_kubernetes_takes_a_cron_job(path: Path) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="pip install '.[manifests]'")
    kubernetes_validate.validate(yaml.safe_load(path.read_text("utf-8")), "1.31", strict=True)


@pytest.mark.parametrize("path", CRON_JOBS, ids=lambda path: path.stem)
def test_a_cron_job_calls_the_command_in_what_it_mounts_as_the_user_of_the_image(path: Path) -> None:
    pod = pod_of(path)
    (container,) = pod["containers"]
    parsed = takes(container["args"])
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    (logs,) = parsed.logs
    assert {"/" + logs.split("/")[1], parsed.warehouse, "/tmp"} == mounts
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert container["image"] == f"kafka-clientinfo:{kafka_clientinfo.__version__}"
    (user,) = re.findall(r"and the user (\d+)\.", (EXAMPLES / "kubernetes" / "cronjob.yaml").read_text("utf-8"))
    context = pod["securityContext"]
    assert (context["runAsUser"], context["runAsNonRoot"]) == (int(user), True)


def test_the_cron_job_of_a_node_finds_the_logs_of_its_brokers_and_their_names(tmp_path: Path) -> None:
    (container,) = pod_of(EXAMPLES / "kubernetes" / "cronjob-of-a-node.yaml")["containers"]
    (pattern,) = takes(container["args"]).logs
    uid = "0b5f9b0e-1c62-4f6e-9c41-2a4c1f3b7d10"
    other = ("kafka_other-kafka-0", "shop_my-cluster-kafka-0")
    for pod in ("kafka_my-cluster-kafka-0", "kafka_my-cluster-broker-1", *other):
        record = b"2026-11-21T02:44:58.359Z stdout F " + json_record(client_id="a")
        save(tmp_path / f"{pod}_{uid}" / "kafka" / "0.log", record)
    found = delivered_logs([str(tmp_path) + pattern.removeprefix("/logs")], with_servers=True).files
    brokers = sorted(Settings().broker_of(Path(file.path)) for file in found)
    assert brokers == ["my-cluster-broker-1", "my-cluster-kafka-0"]


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
