"""The text of a run: a few lines on what was read, what was not, what that says and what to do next; the rest with -v."""

import os
import re
from argparse import Namespace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.commands import run
from kafka_clientinfo.commands.context import Context
from kafka_clientinfo.commands.run import _as_text, totals
from kafka_clientinfo.commands.upgrade import at_release
from kafka_clientinfo.ingestion.planned import Problem
from kafka_clientinfo.questions.refused import refusals
from kafka_clientinfo.runs.ingest import RunReport
from kafka_clientinfo.warehouse.state import State
from tests.commands.fleet_on_disk import TARGET, fleet, use
from tests.report.tables_on_disk import write_warehouse


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    root = fleet(tmp_path_factory.mktemp("run") / "w", [use("app", "10.1.0.1")])
    return Context(Namespace(warehouse=str(root), conf=None, verbose=False))


@pytest.fixture
def verbose(context: Context) -> Context:
    return Context(Namespace(**vars(context.arguments) | {"verbose": True}))


def file(name: str, **given: Any) -> dict[str, Any]:
    numbers = {"from_offset": 100, "to_offset": 2300, "requests": 1000, "rejected": 3, "pending_bytes": 17}
    return {"path": name, "broker": "b1", "ignored": {"server": 4, "trace": 5}, "error": None} | numbers | given


def test_it_says_what_was_read_and_what_was_not(context: Context, verbose: Context) -> None:
    files = [file("/l/a"), file("/l/b\x1b", error="a bad\nblock", ignored={})]
    problems = [Problem("/l/c", "unreadable", "no archive"), Problem("y", "late", "too old")]
    report = RunReport(files=files, unchanged=["x", "y"], problems=problems)
    lines = [
        "Read 2 files, 4,400 bytes of log, 2,000 requests in 1.3 s; 1 file was read before and has nothing new.",
        "unreadable: /l/c: no archive",
        "late: y: too old",
        "damaged: /l/b\ufffd: a bad\ufffdblock",
        "Rejected: 6 records, in the table rejected_records; 34 bytes wait for the end of their record.",
    ]
    assert [" ".join(line.split()) for line in _as_text(report, 1.26, context).splitlines()] == lines
    assert [" ".join(line.split()) for line in _as_text(report, 1.26, verbose).splitlines()] == [
        *lines,
        "",
        "Files",
        "broker requests rejected other lines waiting bytes path",
        "b1 1,000 3 9 17 /l/a",
        "b1 1,000 3 0 17 /l/b\ufffd",
    ]


def test_five_lines_say_what_there_is_and_what_is_next(context: Context) -> None:
    report = RunReport(files=[file("a", rejected=0, pending_bytes=0)], tables={"requests": 12_345, "connections": 1})
    read, rejected, tables, verdict, following = _as_text(report, 0, context).splitlines()
    assert read == "Read 1 file, 2,200 bytes of log, 1,000 requests in 0.0 s."
    assert rejected == "Rejected: 0 records."
    assert tables == f"Tables in {context.warehouse}: 12,345 requests of 1 connection."
    assert re.fullmatch(r"Kafka [\d.]+: of 1 client 0 would break; .*\.", verdict)
    command = r"`kafka-clientinfo upgrade --target [\d.]+ --warehouse .*` says who; `kafka-clientinfo report .*` writes a page; "
    assert re.fullmatch(rf"Next: {command}-v and `kafka-clientinfo summary` show more\.", following)


def test_the_target_of_the_command_that_follows_counts(context: Context) -> None:
    context.arguments.then_target = TARGET
    *_, verdict, following = _as_text(RunReport(tables={"connections": 1}), 0, context).splitlines()
    assert verdict.startswith(f"Kafka {TARGET}: of 1 client ")
    assert f"`kafka-clientinfo upgrade --target {TARGET} --warehouse " in following


@pytest.mark.parametrize(
    ("loud", "fine", "ends"),
    [
        ([], [], "0 cannot be judged; others are not logged."),
        (
            [],
            [use("new", "10.1.0.3", api="FETCH", info_only=True)],
            "0 cannot be judged; 1 is fine; others are not logged.",
        ),
        ([use("new", "10.1.0.3", api="FETCH", broker="b2")], [], "0 cannot be judged; 1 is fine."),
    ],
)
def test_clients_that_no_log_at_info_has_are_not_none(
    tmp_path: Path, loud: list[Any], fine: list[Any], ends: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One rule for `run`, `upgrade` and `scan`: a broker with another level may have them."""
    old: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
    root = fleet(tmp_path / "w", [use("old", "10.1.0.1", info_only=True, **old), *loud, *fine])
    assert cli.main(["upgrade", "--target", TARGET, "--warehouse", str(root)]) == 3
    assert ends in " ".join(capsys.readouterr().out.split())
    context = Context(Namespace(warehouse=str(root), conf=None, verbose=False))
    scope = context.scope("upgrade_impact")[0]
    assert at_release(scope, TARGET, refusals(scope))[0].endswith(ends)


def test_it_names_the_command_if_an_answer_takes_longer(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many connections, and of tables that only Spark reads."""
    few, many = (RunReport(tables={"connections": number}) for number in (100_000, 100_001))
    says = re.compile(r"Who would break at Kafka [\d.]+: `kafka-clientinfo upgrade --target [\d.]+ .*` says it\.")
    assert [bool(says.search(_as_text(report, 0, context))) for report in (few, many)] == [False, True]
    monkeypatch.setattr(run, "local_tables", lambda root: None)
    assert says.search(_as_text(few, 0, context))


def test_all_counts_are_there_if_they_are_asked_for(verbose: Context) -> None:
    lines, *found = _as_text(RunReport(tables={"requests": 12_345}), 0, verbose).split("\n\n")
    assert len(lines.splitlines()) == 4
    assert found[0].startswith(f"Tables in {verbose.warehouse}\n")
    assert "12,345" in found[0]
    assert any("kgo" in part for part in found)
    assert len(found) == 3


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


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({}, "No completed request was in it."),
        ({"requests": 7}, "No completed request was in it."),
        ({"requests": 0}, run.NO_REQUESTS),
    ],
)
def test_a_quiet_day_is_one_line_and_a_first_run_without_requests_a_hint(
    context: Context, tables: dict[str, int], says: str
) -> None:
    """A report has no numbers of tables if nothing was built."""
    assert says in _as_text(RunReport(files=[file("a", requests=0)], tables=tables), 0, context).splitlines()
    assert says not in _as_text(RunReport(files=[file("a", requests=0), file("b")], tables=tables), 0, context)


@pytest.mark.parametrize(
    ("files", "cluster", "code"), [([file("/l/a")], "c", 3), ([], "c", 0), ([file("/l/a")], "d", 0)]
)
def test_a_run_goes_on_with_a_command_if_it_read_something(
    files: list[dict[str, Any]],
    cluster: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    breaks: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}
    root = str(fleet(tmp_path / "w", [use("app", "10.1.0.1", **breaks), use("app", "10.1.0.1", cluster="d")]))
    monkeypatch.setattr("kafka_clientinfo.runs.run.nothing_new", lambda *_: RunReport(files=files))
    then = "watch --target 4.0.1 --since 2026-11-20"
    assert cli.main(["run", "/l", "--warehouse", root, "--cluster", cluster, "--then", then]) == code
    assert ("app (User:ANONYMOUS) would break" in capsys.readouterr().out) == (code == 3)


@pytest.mark.parametrize(
    ("then", "says"),
    [
        ("watch --targte 4", "--targte"),
        ("watch --target 99.0", "99.0"),
        ("'", "cannot be read"),
        ("wtch", "invalid choice: 'wtch'"),
    ],
)
def test_a_wrong_command_stops_the_run_before_it_begins(
    then: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", "/l", "--warehouse", "/nowhere", "--then", then]) == cli.USAGE
    assert says in capsys.readouterr().err


def test_totals_are_of_all_files() -> None:
    assert totals([file("a"), file("b", rejected=2000)], "rejected", "pending_bytes") == ["2,003", "34"]


def runs_that_wrote(root: Path, *sizes: int) -> Context:
    """A warehouse with an hourly run for each size, which wrote so many bytes."""
    at = datetime(2026, 11, 21, tzinfo=UTC)
    state = State(built_until=at).as_json
    runs = [
        {"run": number, "command": "run", "began": at + timedelta(hours=number), "ended": at + timedelta(hours=number, minutes=5), "state": state}
        for number, _ in enumerate(sizes, 1)
    ]  # fmt: skip
    write_warehouse(root, {"runs": runs})
    for number, size in enumerate(sizes, 1):
        (root / f"{number}.parquet").write_bytes(b"x" * size)
        os.utime(root / f"{number}.parquet", ((at + timedelta(hours=number, minutes=2)).timestamp(),) * 2)
    return Context(Namespace(warehouse=str(root), conf=None, verbose=False))


@pytest.mark.parametrize(
    ("sizes", "free", "says"),
    [
        ((9, 1_000_000, 2_000, 2_000, 3_000, 2_000), 99_000, "99.0 KB are free at {root}, room for about 49 runs like the last 5, which wrote 2.0 KB each"),
        ((2_000, 2_000), 100_000, None),
        ((2_000,), 10, None),  # a first run says nothing about the next
        ((0, 0), 0, None),
        ((2_000, 2_000), 1_999, "room for about 0 runs like the last 2"),
    ],
)  # fmt: skip
def test_a_disk_with_room_for_few_runs_is_named(
    sizes: tuple[int, ...], free: int, says: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "w"
    runs_that_wrote(root, *sizes)
    monkeypatch.setattr(run.shutil, "disk_usage", lambda folder: Namespace(free=free))
    warning = run._nearly_full(str(root))
    assert warning is None if says is None else says.format(root=root) in str(warning)


def test_a_disk_that_cannot_be_read_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs_that_wrote(tmp_path / "w", 1, 1)
    monkeypatch.setattr(run.shutil, "disk_usage", lambda folder: Path("/nowhere").stat())
    assert run._nearly_full(str(tmp_path / "w")) is None
    assert run._nearly_full("s3://bucket/w") is None
