"""A step that has nothing to do is reported without a session, and only then."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import ROOT
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
