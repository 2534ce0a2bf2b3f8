"""The command `runs`: the newest first, with what took longest, and requests over the runs; hostile text stays text."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.warehouse.state import State
from tests.builders import NOON
from tests.report.tables_on_disk import write_warehouse


def ended(run: int, command: str = "run", requests: int = 0, **given: Any) -> dict[str, Any]:
    began = NOON + timedelta(hours=run)
    return {
        "run": run, "command": command, "began": began, "ended": began + timedelta(seconds=12.5), "files": 1,
        "bytes": requests * 1000, "requests": requests, "rejected": 0, "rows_written": [("requests", requests)],
        "seconds": [("plan", 0.5), ("requests", 7.25), ("connections", 3.0)], "release": "0.2.0", "settings": "ab",
        "host": "here", "state": State(built_until=NOON).as_json,
    } | given  # fmt: skip


def answered(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["runs", *arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture
def root(tmp_path: Path) -> str:
    rows = [ended(1, requests=8), ended(2, "maintain"), ended(3, "ingest", 1), ended(4, "build", 4)]
    return str(write_warehouse(tmp_path, {"runs": rows}))


def test_runs_are_listed_from_the_newest_on_with_their_longest_stages(
    root: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [" ".join(line.split()) for line in answered(capsys, "--warehouse", root).splitlines()]
    assert lines[0] == "run command ended took files bytes requests rejected longest stages"
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["4", "build"],
        ["3", "ingest"],
        ["2", "maintain"],
        ["1", "run"],
    ]
    assert lines[1].endswith(" 12.5 s 1 4,000 4 0 requests 7.2 s, connections 3.0 s")
    assert "Requests of each run that read, the oldest first: █▁▄" in lines[-1]
    assert "… and 3 more rows" in answered(capsys, "--warehouse", root, "--limit", "1")


def test_json_has_all_of_a_run_but_the_state(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = json.loads(answered(capsys, "--warehouse", root, "--json"))
    assert first["rows_written"] == {"requests": 4}
    assert first["seconds"] == {"plan": 0.5, "requests": 7.25, "connections": 3.0}
    assert "state" not in first


def test_a_run_that_could_not_build_says_why_in_harmless_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_warehouse(tmp_path, {"runs": [ended(1, error="connections refuses \x1b[2Ja row")]})
    shown = answered(capsys, "--warehouse", str(root))
    assert "connections refuses" in shown
    assert "\x1b" not in shown
    assert "Requests of each run" not in shown
