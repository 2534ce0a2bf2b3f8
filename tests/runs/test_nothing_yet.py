"""A folder in which nothing has been delivered yet is no failure, and a place that is wrong is one."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from kafka_clientinfo.cli import main

SAMPLES = [str(ROOT / "sample_logs")]


@pytest.fixture
def copied(sample_warehouse: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample_warehouse, tmp_path / "lake"))


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
