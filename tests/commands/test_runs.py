"""The command `runs`: the newest first, with what took longest, and requests over the runs; hostile text stays text."""

from datetime import timedelta
from pathlib import Path
from typing import Any

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


def test_runs_are_listed_from_the_newest_on_with_their_longest_stages(tmp_path: Path, ask: Any) -> None:
    rows = [ended(1, requests=8), ended(2, "maintain"), ended(3, "ingest", 1), ended(4, "build", 4)]
    line = ("runs", "--warehouse", write_warehouse(tmp_path, {"runs": rows}))
    header, *lines = (" ".join(row.split()) for row in ask(*line).out.splitlines())
    assert header == "run command ended took files bytes requests rejected longest stages"
    runs = [(int(number), command) for number, command in (row.split()[:2] for row in lines[:4])]
    assert runs == [(4, "build"), (3, "ingest"), (2, "maintain"), (1, "run")]
    assert lines[0].endswith(" 12.5 s 1 4,000 4 0 requests 7.2 s, connections 3.0 s")
    assert "Requests of each run that read, the oldest first: █▁▄" in lines[-1]
    assert "… and 3 more rows" in ask(*line, "--limit", "1").out
    first, *_ = ask(*line, "--json").json
    assert first["rows_written"] == {"requests": 4}
    assert first["seconds"] == {"plan": 0.5, "requests": 7.25, "connections": 3.0}
    assert "state" not in first


def test_a_run_that_could_not_build_says_why_in_harmless_text(tmp_path: Path, ask: Any) -> None:
    root = write_warehouse(tmp_path, {"runs": [ended(1, error="connections refuses \x1b[2Ja row")]})
    shown = ask("runs", "--warehouse", root).out
    parts = [text in shown for text in ("connections refuses", "\x1b", "Requests of each run")]
    assert parts == [True, False, False]
