"""`python -m kafka_clientinfo.commands.prepare`: what it fetches and makes, and what it says if it cannot."""

import re
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


@pytest.mark.parametrize("codes", [(0, 0), (1, 0)])
@pytest.mark.parametrize("is_written", [True, False])
def test_one_session_records_a_first_run_one_with_more_and_reports(
    codes: tuple[int, int],
    is_written: bool,
    archive: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines: list[list[str]] = []
    recorded: list[str] = []

    def main(line: list[str]) -> int:
        *words, option, folder, conf_option, conf = line
        assert (option, Path(folder).name, conf_option) == ("--warehouse", "warehouse", "--conf")
        options = tomllib.loads(Path(conf).read_text("utf-8"))["spark"]["spark.driver.extraJavaOptions"]
        recorded.extend(re.findall('"-XX:ArchiveClassesAtExit=(.*?)"', options))
        lines.append(words)
        print("what a run prints")
        print("no room", file=sys.stderr)
        return codes[len(lines) - 1] if words[0] == "run" else 3

    def end_session(seconds: float) -> None:
        if is_written:
            Path(recorded[0]).write_text("classes")

    session = SimpleNamespace(stop=lambda: None)
    monkeypatch.setattr(cli, "main", main)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: session)
    monkeypatch.setattr(prepare, "end_session", end_session)
    assert prepare.main([]) == 0
    assert lines == [], "without logs there is none"
    assert prepare.main(["a", "b"]) == 0
    assert lines == [["run", "a"], ["run", "a", "b"], ["violations"], ["upgrade", "--all-targets"]]
    said = "kafka-clientinfo: making an archive of classes; this takes some minutes, once\n"
    if not is_written or any(codes):
        said += (
            "kafka-clientinfo: no archive of classes could be made, so that runs start some seconds later: no room\n"
        )
    assert capsys.readouterr() == ("", said)
    if is_written:
        assert prepare.main(["a", "b"]) == 0
        assert len(lines) == 4, "it is there"


def test_jars_are_fetched_unless_sessions_have_them(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepare, "ensure_jars", raising(WarehouseError("no jars")))
    assert prepare.main([]) == 0
    monkeypatch.setattr(prepare, "delta_is_given", lambda conf: False)
    assert prepare.main([]) == 1
    assert capsys.readouterr().err == "kafka-clientinfo: no jars\n"
    monkeypatch.setattr(prepare, "ensure_jars", lambda conf, log: None)
    assert prepare.main([]) == 0


@pytest.mark.parametrize("error", [ConfigError("no Java"), OSError("no Java")])
def test_a_machine_that_cannot_run_is_a_failure(
    error: Exception, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepare, "check_java", raising(error))
    assert prepare.main(["a"]) == 1
    assert capsys.readouterr().err == "kafka-clientinfo: no Java\n"
