"""The command line: exit codes, and text that is safe to print; what each step prints is in test_pipeline."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kafka_clientinfo
from kafka_clientinfo import cli

ROOT = Path(__file__).resolve().parent.parent
STUB = """class SparkSession:
    class builder:
        appName = staticmethod(lambda name: SparkSession.builder)
        getOrCreate = staticmethod(lambda: print('a session'))
"""
JOBS = {"run_pipeline": "run", "ingest_requests": "ingest", "build_tables": "build", "maintain": "maintain"}
COMMITTED = "what was committed is whole, and the next run goes on from there"
LOG = str(ROOT / "sample_logs" / "kafka-0.8.2.2" / "kafka-request.log")


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_the_help_lists_first_what_most_people_need(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments) == (0 if arguments else 2)
    first, more = capsys.readouterr().out.partition("commands:\n")[2].split("\nmore:\n")
    assert [line.split()[0] for line in first.splitlines()] == [
        "scan", "run", "upgrade", "report", "clients", "topics", "activity", "violations", "diff", "watch",
    ]  # fmt: skip
    others = {line.split()[0] for line in more.splitlines() if line.startswith("  ")}
    assert {*others, *cli.FIRST} == {*cli.COMMANDS}
    assert max(map(len, (first + more).splitlines())) <= 80


@pytest.mark.parametrize(("arguments", "code", "says"), [
    (["dance"], 2, "invalid choice"),
    (["run", LOG], 2, "--warehouse"),
    (["run", LOG, "--warehouse", "./w", "--conf", "/nonesuch.toml"], 2, "cannot read the configuration"),
    (["run", "/nonesuch", "--warehouse", "./w"], 1, "/nonesuch: no such file"),
    (["ingest", "/nonesuch/*.log", "--warehouse", "./w"], 1, "/nonesuch/*.log: no such file, folder or match"),
    (["run", "file:", "--warehouse", "./w"], 1, "LOGS are 'file:', which names no place"),
    (["run", "", "--warehouse", "./w"], 1, "LOGS are '', which names no place"),
    (["run", LOG, "--warehouse", "file:"], 2, "--warehouse is 'file:'; name a folder"),
    (["run", LOG, "--warehouse", " "], 2, "--warehouse is ' '; name a folder"),
    (["build", "--warehouse", "./w", "--cluster", "c"], 2, "unrecognized arguments: --cluster"),
    (["upgrade", "--warehouse", "./w", "--traget", "4.0.1"], 2, "arguments: --traget 4.0.1; did you mean --target?"),
    (["upgrade", "--warehouse", "./w", "4.0.1"], 2, "usage: kafka-clientinfo upgrade "),
    (["upgrade", "4.0.1", "--warehouse", "./w"], 2, "arguments: 4.0.1; did you mean --target 4.0.1?\n"),
    (["upgrade", "--warehouse", "./w", "soon"], 2, "unrecognized arguments: soon\n"),
    (["clients", "--warehose", "w"], 2, "required: --warehouse (there is --warehose)\n"),
    (["clients", "--warehose=w"], 2, "required: --warehouse (there is --warehose)\n"),
    (["report", "--wharehouse", "w", "--ouptut", "f"], 2, "--output (there is --ouptut), --warehouse (there is --wh"),
    (["sql", "SELECT", "1"], 2, "required: --warehouse; quote the query, as in 'SELECT * FROM who_connects'\n"),
    (["sql", "SELECT", "1", "--warehouse", "./w"], 2, "unrecognized arguments: 1; quote the query, as in 'SELECT *"),
    (["sql", "SELECT 1", "--warehouse", "./w", "--cvs"], 2, "unrecognized arguments: --cvs; did you mean --csv?\n"),
    (["run", "/no\x1b[2Jsuch", "--warehouse", "./w"], 1, "such: no such file"),
    (["--version"], 0, ""),
    # refused before anything is opened
    (["summary", "--warehouse", "dbfs:/"], 2, "--warehouse is 'dbfs:/'; name a folder"),
    (["summary", "--warehouse", "/nonesuch\udcff"], 2, "--warehouse is "),
    (["parse", "/nonesuch", "--cluster", "a\udcff"], 2, "--cluster is 'a\\udcff', which is not UTF-8"),
    (["upgrade", "--warehouse", "/nonesuch", "--target", "9.9.9"], 2, "is known here; the newest is 4.4.0"),
    (["scan", "/nonesuch", "--upgrade", "9.9.9"], 2, "is known here; the newest is 4.4.0"),
])  # fmt: skip
def test_exit_codes(
    spark: Any, tmp_path: Path, monkeypatch: Any, capsys: Any, arguments: list[str], code: int, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments, spark) == code
    said = capsys.readouterr().err
    assert says in said
    assert "\x1b" not in said
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(("line", "message"), [
    (["parse", "-"], "stopped; every line that was printed is whole"),
    (["scan", "-"], "stopped before an answer; run it again, or with fewer logs"),
    (["completion", "zsh"], "stopped; nothing was changed"),
    (["report", "--output", "page.html", "--warehouse", "w"], "stopped; nothing was changed"),
    (["diff", "--from", "2d", "--to", "today", "--warehouse", "w"], "stopped; nothing was changed"),
    *((line, f"stopped; {COMMITTED}") for line in (["run", "logs", "--warehouse", "w"],
            ["forget", "--cluster", "a", "--warehouse", "w"], ["maintain", "--warehouse", "w"])),
])  # fmt: skip
def test_ctrl_c_says_what_there_is(line: list[str], message: str, monkeypatch: Any, capsys: Any) -> None:
    def stopped(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.COMMANDS[line[0]], "execute", stopped)
    assert cli.main(line) == 130
    assert capsys.readouterr().err == f"kafka-clientinfo: {message}\n"


@pytest.mark.parametrize(
    ("job", "arguments", "code"), [*((job, ["--help"], 0) for job in JOBS), ("run_pipeline", [], 2)]
)
def test_a_job_is_its_command(job: str, arguments: list[str], code: int, tmp_path: Path) -> None:
    """Where Spark is needed only to hand a session over; lab/test_processes.py runs the jobs on logs."""
    stub = tmp_path / "pyspark" / "sql" / "__init__.py"
    stub.parent.mkdir(parents=True)
    (tmp_path / "pyspark" / "__init__.py").touch()
    stub.write_text(STUB)
    path = ROOT / "jobs" / f"{job}.py"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    command = [sys.executable, str(path), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert {path.stem for path in (ROOT / "jobs").glob("*.py")} == {*JOBS}
    assert done.stdout.startswith("a session\n")
    assert f"usage: kafka-clientinfo {JOBS[job]} " in done.stdout + done.stderr
    usage = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    assert usage.startswith(f"spark-submit jobs/{job}.py ")
    assert {*re.findall(r"--[a-z-]+", usage)} <= {*re.findall(r"--[a-z-]+", done.stdout + done.stderr)}


def test_a_task_that_is_done_returns_and_one_that_is_not_raises_its_code() -> None:
    """Databricks takes any SystemExit of a task for a failure, also that of code 0."""
    cli.entry(["--help"])
    with pytest.raises(SystemExit, match="2"):
        cli.entry(["run"])


def test_the_public_names_exist() -> None:
    assert all(getattr(kafka_clientinfo, name) is not None for name in kafka_clientinfo.__all__)
    steps = ("run", "ingest", "build", "verify", "maintain", "forget", "load_settings", "local_session")
    assert [name for name in steps if not callable(getattr(kafka_clientinfo, name))] == []
    with pytest.raises(AttributeError, match="nonesuch"):
        kafka_clientinfo.nonesuch  # noqa: B018
