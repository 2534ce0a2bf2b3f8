"""The command line: exit codes, and text that is safe to print; what each step prints is in test_pipeline."""

import ast
import gzip
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.logs import split_records
from kafka_clientinfo.warehouse.warehouse import Warehouse

ROOT = Path(__file__).resolve().parent.parent
REAL = ROOT / "sample_logs" / "kafka-2.7.2" / "kafka-request.log.gz"
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


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["dance"], 2, "invalid choice"),
        (["run", LOG], 2, "--warehouse"),
        (["run", LOG, "--warehouse", "./w", "--conf", "/nonesuch.toml"], 2, "cannot read the configuration"),
        (["run", "/nonesuch", "--warehouse", "./w"], 1, "/nonesuch: no such file"),
        (["ingest", "/nonesuch/*.log", "--warehouse", "./w"], 1, "/nonesuch/*.log: no such file, folder or match"),
        (["run", "file:", "--warehouse", "./w"], 1, "LOGS are 'file:', which names no place"),
        (["run", "", "--warehouse", "./w"], 1, "LOGS are '', which names no place"),
        (["run", LOG, "--warehouse", "file:"], 2, "--warehouse is 'file:'; name a folder"),
        (["run", LOG, "--warehouse", "file:///"], 2, "--warehouse is 'file:///'; name a folder"),
        (["run", LOG, "--warehouse", " "], 2, "--warehouse is ' '; name a folder"),
        (["build", "--warehouse", "./w", "--cluster", "c"], 2, "unrecognized arguments: --cluster"),
        (
            ["upgrade", "--warehouse", "./w", "--traget", "4.0.1"],
            2,
            "arguments: --traget 4.0.1; did you mean --target?",
        ),
        (["upgrade", "--warehouse", "./w", "4.0.1"], 2, "usage: kafka-clientinfo upgrade "),
        (["upgrade", "4.0.1", "--warehouse", "./w"], 2, "arguments: 4.0.1; did you mean --target 4.0.1?\n"),
        (["upgrade", "--warehouse", "./w", "soon"], 2, "unrecognized arguments: soon\n"),
        (["clients", "--warehose", "w"], 2, "required: --warehouse (there is --warehose)\n"),
        (["clients", "--warehose=w"], 2, "required: --warehouse (there is --warehose)\n"),
        (["clients", "--since", "7d"], 2, "required: --warehouse\n"),
        (
            ["report", "--wharehouse", "w", "--ouptut", "f"],
            2,
            "--output (there is --ouptut), --warehouse (there is --wh",
        ),
        (["run", "--warehose", "w"], 2, "required: --warehouse (there is --warehose)\n"),
        (["sql", "SELECT", "1"], 2, "required: --warehouse; quote the query, as in 'SELECT * FROM who_connects'\n"),
        (["sql", "SELECT 1"], 2, "required: --warehouse\n"),
        (
            ["sql", "SELECT", "1", "--warehouse", "./w"],
            2,
            "unrecognized arguments: 1; quote the query, as in 'SELECT *",
        ),
        (["sql", "SELECT 1", "--warehouse", "./w", "--cvs"], 2, "unrecognized arguments: --cvs; did you mean --csv?\n"),
        (["--version"], 0, ""),
    ],
)
def test_exit_codes(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments, spark) == code
    assert says in capsys.readouterr().err
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["summary", "--warehouse", "dbfs:/"], "--warehouse is 'dbfs:/'; name a folder"),
        (["summary", "--warehouse", "/nonesuch\udcff"], "--warehouse is "),
        (["parse", "/nonesuch", "--cluster", "a\udcff"], "--cluster is 'a\\udcff', which is not UTF-8"),
        (
            ["upgrade", "--warehouse", "/nonesuch", "--target", "9.9.9"],
            "is known here; the newest is 4.4.0",
        ),
        (["scan", "/nonesuch", "--upgrade", "9.9.9"], "is known here; the newest is 4.4.0"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_opened(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["parse", "-"], "stopped; every line that was printed is whole"),
        (["scan", "-"], "stopped before an answer; run it again, or with fewer logs"),
        (["completion", "zsh"], "stopped; nothing was changed"),
        (["report", "--output", "page.html", "--warehouse", "w"], "stopped; nothing was changed"),
        (["diff", "--from", "2d", "--to", "today", "--warehouse", "w"], "stopped; nothing was changed"),
        *((line, f"stopped; {COMMITTED}") for line in (
            ["run", "logs", "--warehouse", "w"], ["forget", "--cluster", "a", "--warehouse", "w"], ["maintain", "--warehouse", "w"],
        )),
    ],
)  # fmt: skip
def test_ctrl_c_says_what_there_is(
    line: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.COMMANDS[line[0]], "execute", stopped)
    assert cli.main(line) == 130
    assert capsys.readouterr().err == f"kafka-clientinfo: {message}\n"


def test_a_hostile_path_is_printed_harmlessly(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "/no\x1b[2Jsuch", "--warehouse", str(tmp_path / "w")], spark) == 1
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.long
def test_what_cannot_be_read_fails_the_run_and_is_kept_with_its_reason(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is no archive, beside one whose first record is the rest of another and whose second is torn."""
    folder = tmp_path / "b"
    folder.mkdir()
    records = [record.data for record in split_records([gzip.decompress(REAL.read_bytes())])]
    torn = records[0].replace(b";totalTime", b";totalWine")
    (folder / "kafka-request.log").write_bytes(b"tail of something\n" + torn + b"".join(records[1:20]))
    (folder / "kafka-request.log.1").write_bytes(b"\x1f\x8b\x08broken")
    assert cli.main(["ingest", str(folder), "--warehouse", str(tmp_path / "w")], spark) == 1
    said = capsys.readouterr().out
    assert "unreadable" in said
    assert "Read 1 file," in said
    lake = Warehouse(spark, str(tmp_path / "w"))
    rows = lake.read("rejected_records").orderBy("byte_offset").collect()
    (file,) = lake.read("ingested_files").collect()
    assert file["rejected"] == len(rows) >= 1
    assert rows[0]["reason"] == "no_record_start"
    assert bytes(rows[0]["raw"]).startswith(b"tail of something")


@pytest.mark.parametrize(
    ("job", "arguments", "code"), [*((job, ["--help"], 0) for job in JOBS), ("run_pipeline", [], 2)]
)
def test_a_job_is_its_command(job: str, arguments: list[str], code: int, tmp_path: Path) -> None:
    """Where Spark is needed only to hand a session over; lab/test_processes.py runs the jobs on logs."""
    stub = tmp_path / "pyspark" / "sql" / "__init__.py"
    stub.parent.mkdir(parents=True)
    (tmp_path / "pyspark" / "__init__.py").touch()
    stub.write_text(
        "class SparkSession:\n"
        "    class builder:\n"
        "        appName = staticmethod(lambda name: SparkSession.builder)\n"
        "        getOrCreate = staticmethod(lambda: print('a session'))\n"
    )
    path = ROOT / "jobs" / f"{job}.py"
    done = subprocess.run(
        [sys.executable, str(path), *arguments],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert done.stdout.startswith("a session\n")
    assert f"usage: kafka-clientinfo {JOBS[job]} " in done.stdout + done.stderr
    usage = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    assert usage.startswith(f"spark-submit jobs/{job}.py ")
    assert {*re.findall(r"--[a-z-]+", usage)} <= {*re.findall(r"--[a-z-]+", done.stdout + done.stderr)}


def test_a_task_that_is_done_returns_and_one_that_is_not_raises_its_code() -> None:
    """Databricks takes any SystemExit of a task for a failure, also that of code 0."""
    cli.entry(["--help"])
    with pytest.raises(SystemExit) as stopped:
        cli.entry(["run"])
    assert stopped.value.code == 2


def test_every_job_is_tested() -> None:
    assert {path.stem for path in (ROOT / "jobs").glob("*.py")} == {*JOBS}


def test_parser_and_declarations_import_without_spark() -> None:
    names = "protocol logs.reader tables.spec releases.broker_releases releases.client_libraries config.settings config.owners"
    program = (
        "import sys\n"
        "for name in ('pyspark', 'delta', 'pyarrow', 'pandas'): sys.modules[name] = None\n"
        f"import kafka_clientinfo.{', kafka_clientinfo.'.join(names.split())}"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_the_public_names_exist() -> None:
    import kafka_clientinfo

    assert all(getattr(kafka_clientinfo, name) is not None for name in kafka_clientinfo.__all__)
    with pytest.raises(AttributeError, match="nonesuch"):
        kafka_clientinfo.nonesuch  # noqa: B018
