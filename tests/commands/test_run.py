"""The text of a run: what was read, what was not and why, and what is in the tables if there are any."""

from argparse import Namespace
from typing import Any

import pytest

from kafka_clientinfo.commands.context import Context
from kafka_clientinfo.commands.run import _as_text, totals
from kafka_clientinfo.commands.summary import SHOWN, findings
from kafka_clientinfo.ingestion.planned import Problem
from kafka_clientinfo.questions.filters import Scope
from kafka_clientinfo.runs.ingest import RunReport
from tests.commands.fleet_on_disk import fleet, use


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    root = fleet(tmp_path_factory.mktemp("run") / "w", [use("app", "10.1.0.1")])
    return Context(Namespace(warehouse=str(root), conf=None))


def file(name: str, **given: Any) -> dict[str, Any]:
    numbers = {"from_offset": 100, "to_offset": 2300, "requests": 1000, "rejected": 3, "pending_bytes": 17}
    return {"path": name, "broker": "b1", "ignored": {"server": 4, "trace": 5}, "error": None} | numbers | given


def test_it_says_what_was_read_and_what_was_not(context: Context) -> None:
    files = [file("/l/a"), file("/l/b\x1b", error="a bad\nblock", ignored={})]
    problems = [Problem("/l/c", "unreadable", "no archive"), Problem("y", "late", "too old")]
    report = RunReport(files=files, unchanged=["x", "y"], problems=problems)
    lines = [" ".join(line.split()) for line in _as_text(report, 1.26, context).splitlines()]
    assert lines == [
        "Read 2 files, 4,400 bytes of log, 2,000 requests in 1.3 s; 1 file was read before and has nothing new.",
        "broker requests rejected other lines waiting bytes path",
        "b1 1,000 3 9 17 /l/a",
        "b1 1,000 3 0 17 /l/b\ufffd",
        "unreadable: /l/c: no archive",
        "late: y: too old",
        "damaged: /l/b\ufffd: a bad\ufffdblock",
    ]


def test_it_shows_the_tables_if_they_were_built(context: Context) -> None:
    nothing = "Read 0 files, 0 bytes of log, 0 requests in 0.0 s."
    assert _as_text(RunReport(), 0, context) == nothing
    first, tables, *found = _as_text(RunReport(tables={"requests": 12_345}), 0, context).split("\n\n")
    assert first == nothing
    assert tables.startswith(f"Tables in {context.warehouse}\n")
    assert "12,345" in tables
    assert any("kgo" in part for part in found)


def test_it_counts_no_violations_if_that_would_take_longer_than_the_run(context: Context) -> None:
    few, many = (_as_text(RunReport(tables={"connections": number}), 0, context) for number in (100_000, 100_001))
    assert ["Violations are not counted here" in text for text in (few, many)] == [False, True]
    assert "kgo" in many
    scope = Scope(context.tables())
    assert len(findings(scope, SHOWN)) - len(findings(scope, SHOWN, "violations")) == 1


@pytest.mark.parametrize(
    ("read", "unchanged", "begins", "ends"),
    [
        (1, 0, "Read 1 file, 2,200 bytes", " in 0.0 s."),
        (2, 1, "Read 2 files, 4,400 bytes", " in 0.0 s; 1 file was read before and has nothing new."),
        (0, 1200, "Read 0 files, 0 bytes", " in 0.0 s; 1,200 files were read before and have nothing new."),
    ],
)
def test_the_first_line_counts_files(context: Context, read: int, unchanged: int, begins: str, ends: str) -> None:
    report = RunReport(files=[file(str(n)) for n in range(read)], unchanged=[f"u{n}" for n in range(unchanged)])
    first, *_ = _as_text(report, 0, context).splitlines()
    assert first.startswith(begins)
    assert first.endswith(ends)


def test_totals_are_of_all_files() -> None:
    assert totals([file("a"), file("b", rejected=2000)], "rejected", "pending_bytes") == ["2,003", "34"]
