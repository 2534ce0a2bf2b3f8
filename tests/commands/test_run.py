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
from kafka_clientinfo.commands.run import _as_text
from kafka_clientinfo.commands.upgrade import at_release
from kafka_clientinfo.ingestion.planned import Problem
from kafka_clientinfo.questions.refused import refusals
from kafka_clientinfo.releases.broker_releases import NO_TARGET
from kafka_clientinfo.runs.ingest import RunReport
from kafka_clientinfo.warehouse.state import State
from tests.commands.fleet_on_disk import TARGET, use
from tests.report.pages import scope_of
from tests.report.tables_on_disk import write_warehouse

BREAKS: dict[str, Any] = {"api": "PRODUCE", "version": 2, "refused": "refused_although_advertised"}


USES = (
    use("app", "10.1.0.1"), use("app", "10.1.0.1", cluster="breaks", **BREAKS),
    *(use("old", "10.1.0.1", info_only=True, cluster=name, **BREAKS) for name in ("info", "fine", "loud")),
    use("new", "10.1.0.3", api="FETCH", info_only=True, cluster="fine"),
    use("new", "10.1.0.3", api="FETCH", broker="b2", cluster="loud"),
)  # fmt: skip
"""A cluster with a client that is fine, one with one that breaks, and three of which a broker logs at INFO."""


@pytest.fixture
def context(warehouse: Path) -> Context:
    return Context(Namespace(warehouse=str(warehouse), conf=None, verbose=False))


def file(name: str, **given: Any) -> dict[str, Any]:
    numbers = {"from_offset": 100, "to_offset": 2300, "requests": 1000, "rejected": 3, "pending_bytes": 17}
    return {"path": name, "broker": "b1", "ignored": {"server": 4, "trace": 5}, "error": None} | numbers | given


def test_it_says_what_was_read_and_what_was_not(context: Context) -> None:
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
    verbose = ["", "Files", "broker requests rejected other lines waiting bytes path"]
    verbose += ["b1 1,000 3 9 17 /l/a", "b1 1,000 3 0 17 /l/b\ufffd"]
    for context.arguments.verbose, shown in ((False, lines), (True, [*lines, *verbose])):
        assert [" ".join(line.split()) for line in _as_text(report, 1.26, context).splitlines()] == shown


def test_five_lines_say_what_there_is_and_what_is_next(context: Context) -> None:
    report = RunReport(files=[file("a", rejected=0, pending_bytes=0)], tables={"requests": 12_345, "connections": 1})
    read, rejected, tables, verdict, following = _as_text(report, 0, context).splitlines()
    assert read == "Read 1 file, 2,200 bytes of log, 1,000 requests in 0.0 s."
    assert rejected == "Rejected: 0 records."
    assert tables == f"Tables in {context.warehouse}: 12,345 requests of 1 connection."
    assert re.fullmatch(rf"Kafka [\d.]+: of 7 clients 0 would break; .*\. {NO_TARGET}.*", verdict)
    command = r"`kafka-clientinfo upgrade --target [\d.]+ --warehouse .*` says who; `kafka-clientinfo report .*` writes a page; "
    assert re.fullmatch(rf"Next: {command}-v and `kafka-clientinfo summary` show more\.", following)
    context.arguments.then_target = TARGET
    *_, verdict, following = _as_text(RunReport(tables={"connections": 1}), 0, context).splitlines()
    assert verdict.startswith(f"Kafka {TARGET}: of 7 clients 4 would break")
    assert NO_TARGET not in verdict
    assert f"`kafka-clientinfo upgrade --target {TARGET} --warehouse " in following


@pytest.mark.parametrize(
    ("cluster", "ends"),
    [("info", "; others are not logged."), ("fine", "; 1 is fine; others are not logged."), ("loud", "; 1 is fine.")],
)
def test_clients_that_no_log_at_info_has_are_not_none(warehouse: Path, cluster: str, ends: str, ask: Any) -> None:
    """One rule for `run`, `upgrade` and `scan`: a broker with another level may have them."""
    answer = ask("upgrade", "--target", TARGET, "--warehouse", warehouse, "--cluster", cluster)
    assert answer.code == 3
    assert f"0 cannot be judged{ends}" in answer.words
    scope = scope_of(warehouse, cluster=cluster)
    assert at_release(scope, TARGET, refusals(scope))[0].endswith(f"0 cannot be judged{ends}")


def test_it_names_the_command_if_an_answer_takes_longer(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many connections, and of tables that only Spark reads."""
    few, many = (RunReport(tables={"connections": number}) for number in (100_000, 100_001))
    says = re.compile(r"Who would break at Kafka [\d.]+: `kafka-clientinfo upgrade --target [\d.]+ .*` says it\.")
    assert [bool(says.search(_as_text(report, 0, context))) for report in (few, many)] == [False, True]
    monkeypatch.setattr(run, "local_tables", lambda root: None)
    assert says.search(_as_text(few, 0, context))


def test_all_counts_are_there_if_they_are_asked_for(context: Context) -> None:
    context.arguments.verbose = True
    lines, tables, *found = _as_text(RunReport(tables={"requests": 12_345}), 0, context).split("\n\n")
    assert len(lines.splitlines()) == 4
    assert tables.startswith(f"Tables in {context.warehouse}\n")
    assert "12,345" in tables
    assert any("kgo" in part for part in found)


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({}, "No completed request was in it."),
        ({"requests": 7}, "No completed request was in it."),
        ({"requests": 0}, run.NO_REQUESTS),
    ],
)
def test_without_requests_a_quiet_day_is_a_line_and_a_first_run_hints(
    context: Context, tables: dict[str, int], says: str
) -> None:
    """A report has no numbers of tables if nothing was built."""
    assert says in _as_text(RunReport(files=[file("a", requests=0)], tables=tables), 0, context).splitlines()
    assert says not in _as_text(RunReport(files=[file("a", requests=0), file("b")], tables=tables), 0, context)


@pytest.mark.parametrize(("is_read", "cluster", "code"), [(True, "breaks", 3), (False, "breaks", 0), (True, "c", 0)])
def test_a_run_goes_on_with_a_command_if_it_read_something(
    is_read: bool, cluster: str, code: int, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Any
) -> None:
    report = RunReport(files=[file("/l/a")] * is_read)
    monkeypatch.setattr("kafka_clientinfo.runs.run.nothing_new", lambda *_: report)
    then = "watch --target 4.0.1 --since 2026-11-20"
    line = ("run", "/l", "--warehouse", warehouse, "--cluster", cluster, "--then")
    answer = ask(*line, then)
    assert (answer.code, "app (User:ANONYMOUS) would break" in answer.out) == (code, code == 3)
    # The file of metrics must not grow old in quiet hours, in which nothing rings.
    answer = ask(*line, f"{then} --metrics {tmp_path / 'm'}")
    assert (answer.code, "app (User:ANONYMOUS) would break" in answer.out) == (code, code == 3)
    assert {'cluster="breaks"', 'cluster="c"'} <= set(re.findall(r'cluster="\w+"', (tmp_path / "m").read_text("utf-8")))


@pytest.mark.parametrize(
    ("then", "says"),
    [("watch --targte 4", "--targte"), ("watch --target 99.0", "99.0"), ("'", "cannot be read"), ("wtch", "invalid choice: 'wtch'")],
)  # fmt: skip
def test_a_wrong_command_stops_the_run_before_it_begins(then: str, says: str, ask: Any) -> None:
    answer = ask("run", "/l", "--warehouse", "/nowhere", "--then", then)
    assert answer.code == cli.USAGE
    assert says in answer.err


AT = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sizes", "free", "says"),
    [
        ((9, 1_000_000, 2_000, 2_000, 3_000, 2_000), 99_000, "99.0 KB are free at {root}, room for about 49 runs like the last 5, which wrote 2.0 KB each"),
        ((2_000, 2_000), 100_000, None),
        ((2_000,), 10, None),  # a first run says nothing about the next
        ((0, 0), 0, None),
        ((2_000, 2_000), 1_999, "room for about 0 runs like the last 2"),
        ((2_000, 2_000), None, None),  # a disk that cannot be read
    ],
)  # fmt: skip
def test_a_disk_with_room_for_few_runs_is_named(
    sizes: tuple[int, ...], free: int | None, says: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hourly run for each size, which wrote so many bytes."""
    root, state = tmp_path / "w", State(built_until=AT).as_json
    hours = {number: AT + timedelta(hours=number) for number, _ in enumerate(sizes, 1)}
    runs = [
        {"run": number, "command": "run", "began": began, "ended": began + timedelta(minutes=5), "state": state}
        for number, began in hours.items()
    ]
    write_warehouse(root, {"runs": runs})
    for (number, began), size in zip(hours.items(), sizes, strict=True):
        (root / f"{number}.parquet").write_bytes(b"x" * size)
        os.utime(root / f"{number}.parquet", ((began + timedelta(minutes=2)).timestamp(),) * 2)
    monkeypatch.setattr(
        run.shutil, "disk_usage", lambda _: Path("/nowhere").stat() if free is None else Namespace(free=free)
    )
    warning = run._nearly_full(str(root))
    assert warning is None if says is None else says.format(root=root) in str(warning)
    assert run._nearly_full("s3://bucket/w") is None
