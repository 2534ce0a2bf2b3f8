"""`python -m kafka_clientinfo.commands.prepare`: what it fetches and makes, and what it says if it cannot."""

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_clientinfo import cli
from kafka_clientinfo.commands import prepare
from kafka_clientinfo.errors import ConfigError, WarehouseError


def raising(error: Exception) -> Callable[..., Any]:
    def function(*_: Any, **__: Any) -> Any:
        raise error

    return function


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive's path on a machine with Java and Delta's jars; nothing is there yet."""
    path = tmp_path / "java-17.jsa"
    monkeypatch.setattr(prepare, "check_java", lambda: "java")
    monkeypatch.setattr(prepare, "delta_is_given", lambda conf: True)
    monkeypatch.setattr(prepare, "local_conf", lambda conf, java: {"spark.driver.extraClassPath": "jars"})
    monkeypatch.setattr(prepare, "archive_path", lambda java, class_path: path if class_path == "jars" else tmp_path)
    monkeypatch.setattr(prepare, "make_archive", lambda path, train: train(path))
    return path


def process(code: int, output: bytes, made: bool = True) -> Callable[..., Any]:
    """Return a stand-in for `subprocess.run`: its process writes the file that its command names last."""

    def run(command: list[str], *, stdout: Any, stderr: Any, timeout: float, **_: Any) -> Any:
        assert (stderr, timeout) == (stdout, 1200)
        logs = ["a", "b", "--record"]
        assert command[:-1] == [sys.executable, "-m", "kafka_clientinfo.commands.prepare", *logs]
        stdout.write(output)
        if made:
            Path(command[-1]).write_text("classes")
        return SimpleNamespace(returncode=code)

    return run


def test_the_archive_is_made_once_and_only_from_logs(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prepare.main([]) == 0
    assert not archive.exists()
    monkeypatch.setattr(subprocess, "run", process(0, b"much"))
    assert prepare.main(["a", "b"]) == 0
    assert archive.read_text() == "classes"
    monkeypatch.setattr(subprocess, "run", raising(AssertionError("it is there")))
    assert prepare.main(["a", "b"]) == 0
    said = "kafka-clientinfo: making an archive of classes; this takes some minutes, once\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (process(1, b"first\n last \xff \n\n"), "last \ufffd"),
        (process(0, b"", made=False), "no output"),
        (raising(subprocess.TimeoutExpired("java", 1200)), "Command 'java' timed out after 1200 seconds"),
    ],
    ids=["a failure", "no file", "too slow"],
)
def test_without_an_archive_runs_start_later(
    run: Any, reason: str, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(subprocess, "run", run)
    assert prepare.main(["a", "b"]) == 0
    said = f"kafka-clientinfo: no archive of classes could be made, so that runs start some seconds later: {reason}\n"
    assert capsys.readouterr().err.endswith(said)


def test_jars_are_fetched_unless_sessions_have_them(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fetch(conf: Any, log: Any) -> None:
        log.write(b"Ivy says this\n")
        raise WarehouseError("no jars")

    monkeypatch.setattr(prepare, "ensure_jars", fetch)
    assert prepare.main([]) == 0
    monkeypatch.setattr(prepare, "delta_is_given", lambda conf: False)
    assert prepare.main([]) == 1
    assert capsys.readouterr().err == "kafka-clientinfo: no jars; Ivy says this\n"
    monkeypatch.setattr(prepare, "ensure_jars", lambda conf, log: None)
    assert prepare.main([]) == 0


@pytest.mark.parametrize("error", [ConfigError("no Java"), OSError("no Java")])
def test_a_machine_that_cannot_run_is_a_failure(
    error: Exception, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepare, "check_java", raising(error))
    assert prepare.main(["a"]) == 1
    assert capsys.readouterr().err == "kafka-clientinfo: no Java\n"


@pytest.mark.parametrize("codes", [(0, 0), (0, 1), (1, 0)])
def test_one_session_records_a_first_run_one_with_more_and_reports(
    codes: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[list[str]] = []
    ends: list[Any] = []

    def main(line: list[str]) -> int:
        *words, option, folder, conf_option, conf = line
        assert (option, Path(folder).name, conf_option) == ("--warehouse", "warehouse", "--conf")
        options = tomllib.loads(Path(conf).read_text("utf-8"))["spark"]["spark.driver.extraJavaOptions"]
        assert '"-XX:ArchiveClassesAtExit=target file"' in options
        lines.append(words)
        return codes[len(lines) - 1] if words[0] == "run" else 3

    session = SimpleNamespace(stop=lambda: ends.append("session"))
    monkeypatch.setattr(cli, "main", main)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: session)
    monkeypatch.setattr(prepare, "end_session", ends.append)
    assert prepare.main(["a", "b", "--record", "target file"]) == max(codes)
    assert lines == [["run", "a"], ["run", "a", "b"], ["violations"], ["upgrade", "--all-targets"]]
    assert ends == ["session", 1200]
    lines.clear()
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    assert prepare.main(["a", "b", "--record", "target file"]) == max(codes)
