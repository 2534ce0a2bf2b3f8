"""What `make setup` does once: it fetches Delta's jars, and makes the archive of classes from runs on small logs."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.commands import prepare
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import ConfigError, InputError, WarehouseError


def raising(error: Exception) -> Callable[..., Any]:
    def function(*_: Any, **__: Any) -> Any:
        raise error

    return function


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive's path on a machine with Delta's jars; nothing is there yet."""
    path = tmp_path / "classes.jsa"
    monkeypatch.setattr(prepare, "delta_is_given", lambda conf: True)
    monkeypatch.setattr(prepare, "local_conf", lambda conf: {"of a session": "x"})
    monkeypatch.setattr(prepare, "archive_path", lambda conf: path if conf == {"of a session": "x"} else tmp_path)
    monkeypatch.setattr(prepare, "make_whole", lambda path, make: make(path))
    monkeypatch.setattr(prepare, "with_option", lambda conf, option: {**conf, "recorded": "x"})
    return path


def test_one_session_records_a_first_run_and_one_with_more(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[Sequence[str]] = []

    def start(settings: Settings, log_file: str) -> Any:
        assert (settings.spark["recorded"], log_file) == ("x", os.devnull)
        return SimpleNamespace(stop=lambda: None)

    monkeypatch.setattr(prepare, "local_session", start)
    monkeypatch.setattr(prepare, "run", lambda session, logs, warehouse, settings: runs.append(logs))
    monkeypatch.setattr(prepare, "end_session", lambda: archive.write_text("classes"))
    assert prepare.main([]) == 0
    assert runs == [], "without logs there is none"
    for _ in range(2):  # the second time it is there
        assert prepare.main(["a", "b"]) == 0
        assert runs == [["a"], ["a", "b"]]
    assert capsys.readouterr().err == "kafka-clientinfo: making an archive of classes; this takes some minutes, once\n"


@pytest.mark.parametrize("error", [OSError("no room"), InputError("no room")])
def test_runs_start_without_an_archive(
    error: Exception, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prepare, "make_whole", raising(error))
    assert prepare.main(["a"]) == 0
    said = "no archive of classes could be made, so that runs start some seconds later: no room"
    assert capsys.readouterr().err.endswith(f"kafka-clientinfo: {said}\n")


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
    for error in (ConfigError("no room"), OSError("no room")):  # a machine that cannot run is a failure
        monkeypatch.setattr(prepare, "local_conf", raising(error))
        assert prepare.main(["a"]) == 1
        assert capsys.readouterr().err == "kafka-clientinfo: no room\n"
