"""The examples for schedulers, and the container's definition: what of them can be checked without what runs them."""

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import kafka_clientinfo
from kafka_clientinfo import cli

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
UNITS = sorted((EXAMPLES / "systemd").iterdir())


def takes(arguments: list[str]) -> Any:
    """The arguments as the command reads them."""
    return cli.command_line().parse_args(arguments)


class _Task:
    """A stand-in for an operator: it keeps its arguments, and tasks can be put in order."""

    made: list["_Task"] = []  # noqa: RUF012

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments
        self.made.append(self)

    def __rshift__(self, other: Any) -> Any:
        return other


class _Dag:
    made: list["_Dag"] = []  # noqa: RUF012

    def __init__(self, name: str, **arguments: Any) -> None:
        self.name, self.arguments = name, arguments
        self.made.append(self)

    def __enter__(self) -> "_Dag":
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The few names of Airflow that the example uses."""
    names = {
        "airflow": {},
        "airflow.providers": {},
        "airflow.providers.standard": {},
        "airflow.providers.standard.operators": {},
        "airflow.providers.standard.operators.bash": {"BashOperator": _Task},
        "airflow.sdk": {"DAG": _Dag, "task": lambda function: function},
        "airflow.sdk.exceptions": {"AirflowFailException": RuntimeError},
    }
    for name, members in names.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(_Task, "made", [])
    monkeypatch.setattr(_Dag, "made", [])
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 3, "", ""))
    return


def test_the_tasks_of_airflow_call_the_command_with_arguments_that_it_takes(airflow: None) -> None:
    runpy.run_path(str(EXAMPLES / "airflow_dag.py"))
    called = [task.arguments["bash_command"].split() for task in _Task.made]
    assert [words[0] for words in called] == ["kafka-clientinfo"] * 3
    assert [takes(words[1:]).command for words in called] == ["run", "verify", "maintain"]
    assert [(dag.name, dag.arguments["max_active_runs"]) for dag in _Dag.made] == [
        ("kafka_clientinfo", 1),
        ("kafka_clientinfo_nightly", 1),
    ]


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.suffix)
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


def test_the_service_calls_the_command_with_arguments_that_it_takes() -> None:
    (line,) = re.findall(
        r"^ExecStart=(.*)$", (EXAMPLES / "systemd" / "kafka-clientinfo.service").read_text("utf-8"), re.M
    )
    parsed = takes(line.split()[1:])
    assert (parsed.command, parsed.warehouse) == ("run", "/var/lib/kafka-clientinfo")


def cron_job() -> Any:
    return yaml.safe_load((EXAMPLES / "kubernetes" / "cronjob.yaml").read_text("utf-8"))


def test_the_cron_job_calls_the_command_in_what_it_mounts() -> None:
    pod = cron_job()["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    parsed = takes(container["args"])
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {*parsed.logs, parsed.warehouse, "/tmp"} == mounts
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert container["image"] == f"kafka-clientinfo:{kafka_clientinfo.__version__}"


def test_the_cron_job_runs_as_the_user_of_the_container() -> None:
    pod = cron_job()["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (user,) = re.findall(r"^USER (\d+)$", (ROOT / "Containerfile").read_text("utf-8"), re.M)
    assert (pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsNonRoot"]) == (int(user), True)


def instructions() -> list[str]:
    """The instructions of the Containerfile, each on one line."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text("utf-8"), flags=re.M)
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def test_the_container_copies_what_a_build_needs_and_its_context_has_it() -> None:
    copied = [words for words in map(str.split, instructions()) if words[0] == "COPY" and "--from" not in words[1]]
    sources = {source for words in copied for source in words[1:-1]}
    context = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    assert sources | {"sample_logs"} == context
    assert [name for name in context if not (ROOT / name).exists()] == []
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    needed = {*settings["tool"]["setuptools"]["package-dir"].values()}
    assert needed | {"pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"} <= sources


def test_the_container_runs_as_a_user_without_rights_and_holds_the_archive_of_classes() -> None:
    last = instructions()
    last = last[max(number for number, line in enumerate(last) if line.startswith("FROM")) :]
    names = [line.split()[0] for line in last]
    user = names.index("USER")
    assert last[user] == "USER 10001"
    assert "kafka_clientinfo.commands.prepare" in last[user + 1]
    assert 'ENTRYPOINT ["kafka-clientinfo"]' in last
