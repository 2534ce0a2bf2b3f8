"""A step that has nothing to do is reported without a session, and only then."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from kafka_clientinfo.cli import main
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.errors import InputError, WarehouseError
from kafka_clientinfo.runs.run import nothing_new
from kafka_clientinfo.tables.spec import RUNS
from kafka_clientinfo.warehouse.state import LEDGER

from ..amounts import one_in
from ..builders import json_record
from ..report.tables_on_disk import change_state

SAMPLES = [str(ROOT / "sample_logs")]
STEPS: list[tuple[str, list[list[str]]]] = [("run", [SAMPLES]), ("ingest", [SAMPLES]), ("build", [])]


@pytest.fixture
def copied(sample_warehouse: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample_warehouse, tmp_path / "lake"))


@pytest.mark.parametrize(("step", "inputs"), STEPS)
def test_it_says_what_the_step_would(
    step: str, inputs: list[list[str]], sample_warehouse: Path, settings: Settings
) -> None:
    report = nothing_new(step, inputs, str(sample_warehouse), settings)
    assert report is not None
    assert report.files == []
    assert len(report.unchanged) == (0 if step == "build" else 14)
    assert (report.tables.get("requests", 0) > 14_000) == (step != "ingest")


def unreadable_ledger(lake: Path) -> None:
    for file in (lake / LEDGER).glob("*.parquet"):
        file.unlink()


def run_that_did_not_end(lake: Path) -> None:
    """It has made a commit to a table, and has no row in `runs`."""
    log = lake / "client_activity_parts" / "_delta_log"
    commit = {"commitInfo": {"timestamp": 0, "operation": "WRITE", "userMetadata": "run 2"}}
    (log / f"{len(list(log.glob('*.json'))):020}.json").write_text(json.dumps(commit))


CHANGES: dict[str, Callable[[Path], object]] = {
    "other settings": lambda lake: None,
    "no table": lambda lake: shutil.rmtree(lake / "connections"),
    "no ledger": lambda lake: shutil.rmtree(lake / LEDGER),
    "unreadable ledger": unreadable_ledger,
    "not built": lambda lake: change_state(lake, built_until=None),
    "run that did not end": run_that_did_not_end,
}


@pytest.mark.parametrize("name", one_in(2, CHANGES))
def test_a_session_is_needed_where_there_is_work(name: str, copied: Path, settings: Settings) -> None:
    assert nothing_new("run", [SAMPLES], str(copied), settings) is not None
    CHANGES[name](copied)
    settings = replace(settings, max_idle_ms=1) if name == "other settings" else settings
    assert nothing_new("run", [SAMPLES], str(copied), settings) is None


def test_a_session_is_needed_where_a_log_is_new(copied: Path, settings: Settings, tmp_path: Path) -> None:
    log = tmp_path / "broker-9" / "kafka-request.log"
    log.parent.mkdir()
    shutil.copy(ROOT / "sample_logs" / "kip-1313-made" / "kafka-request.log", log)
    report = nothing_new("run", [[*SAMPLES, str(log)]], str(copied), settings)
    assert report is not None
    assert [(problem.path, problem.kind) for problem in report.problems] == [(str(log), "copy")]
    log.write_bytes(json_record())
    assert nothing_new("run", [[*SAMPLES, str(log)]], str(copied), settings) is None


def test_what_a_session_would_refuse_is_refused(copied: Path, settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        nothing_new("run", [[str(tmp_path / "nowhere")]], str(copied), settings)
    change_state(copied, format=99)
    with pytest.raises(WarehouseError, match="newer release"):
        nothing_new("run", [SAMPLES], str(copied), settings)
    shutil.rmtree(copied / RUNS)
    with pytest.raises(WarehouseError, match=f"has no table {RUNS} beside it"):
        nothing_new("run", [SAMPLES], str(copied), settings)


def folders(tmp_path: Path) -> list[str]:
    """Folders of two brokers, of which one has nothing in it but another folder."""
    for name in ("broker-1", "broker-2/deeper"):
        (tmp_path / "logs" / name).mkdir(parents=True)
    return [str(tmp_path / "logs" / name) for name in ("broker-1", "broker-2")]


def said_early(captured: Any, items: list[str], is_json: bool) -> None:
    """Check what a command has printed while nothing has been delivered."""
    why = "no file has been delivered to this folder yet"
    if is_json:
        printed = json.loads(captured.out)
        assert printed["problems"] == [{"path": item, "kind": "empty", "detail": why} for item in items]
        assert (printed["files"], printed["unchanged"]) == ([], [])
    else:
        lines = captured.out.splitlines()[: 1 + len(items)]
        assert lines == ["Nothing yet: there is no log to read.", *(f"  empty: {item}: {why}" for item in items)]


@pytest.mark.parametrize(
    ("command", "warehouse", "options"), [("run", "lake", []), ("ingest", "spark_catalog.nothing_yet", ["--json"])]
)
def test_a_folder_in_which_nothing_is_yet_is_no_failure(
    command: str, warehouse: str, options: list[str], spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on the first days of a job that runs on a schedule; neither a folder nor a schema is made."""
    warehouse = warehouse if "." in warehouse else str(tmp_path / warehouse)
    items = folders(tmp_path)
    assert main([command, *items, "--warehouse", warehouse, *options], spark) == 0
    said_early(capsys.readouterr(), items, bool(options))
    assert not (tmp_path / "lake").exists()
    assert not spark.catalog.databaseExists("nothing_yet")


def test_nor_is_it_beside_tables(spark: Any, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tables stay as they are, and a folder with nothing in it is named beside logs that were read before."""
    before = {path: path.stat().st_mtime_ns for path in copied.glob("*/**/*")}
    items = folders(tmp_path)
    assert main(["run", *items, "--warehouse", str(copied)], spark) == 0
    said_early(capsys.readouterr(), items, False)
    assert main(["run", *SAMPLES, items[1], "--warehouse", str(copied), "--json"], spark) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["files"], len(printed["unchanged"])) == ([], 14)
    assert ("empty", items[1]) in [(problem["kind"], problem["path"]) for problem in printed["problems"]]
    assert {path: path.stat().st_mtime_ns for path in copied.glob("*/**/*")} == before


@pytest.mark.parametrize("command", ["run", "ingest", "scan"])
def test_a_place_that_is_wrong_stays_a_failure(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], spark: Any
) -> None:
    folders(tmp_path)
    options = [] if command == "scan" else ["--warehouse", str(tmp_path / "lake")]
    assert main([command, str(tmp_path / "nowhere"), *options], None if command == "scan" else spark) == 1
    assert f"{tmp_path / 'nowhere'}: no such file, folder or match" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()
    assert main(["scan", str(tmp_path / "logs")]) == 1  # from which there is nothing to answer
    assert f"{tmp_path / 'logs'}: no kafka-request.log* below this folder; give" in capsys.readouterr().err
