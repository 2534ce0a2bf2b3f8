"""What commands say of a warehouse while its first run is at work, or after that was stopped: what is the case."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.warehouse.locks import LOCK_NAME, is_at_work
from tests.report.tables_on_disk import change_state

ASKING = [
    ["clients"],
    ["summary"],
    ["violations"],
    ["upgrade", "--target", "4.0.1"],
    ["report", "--output", "{root}/r"],
]
LOOKING = [["tables"], ["verify", "--quick"], ["sql", "SELECT count(*) AS n FROM connections"]]
ACCUSATIONS = ("restore it", "somebody", "altered", "Traceback")
FIRST = f"{0:020}"


def _first_commits(sample: Path, root: Path, *names: str) -> None:
    for name in names:
        (root / name / "_delta_log").mkdir(parents=True)
        shutil.copy(sample / name / "_delta_log" / f"{FIRST}.json", root / name / "_delta_log")
        for file in (sample / name).glob("*.parquet"):
            shutil.copy(file, root / name)


def nothing(sample: Path, root: Path) -> None:
    root.mkdir()


def half_made_first_table(sample: Path, root: Path) -> None:
    log = root / "runs" / "_delta_log"
    log.mkdir(parents=True)
    (log / f".{FIRST}.json.1d81.tmp").write_text('{"commitInfo":')


def empty_commit_of_it(sample: Path, root: Path) -> None:
    half_made_first_table(sample, root)
    (root / "runs" / "_delta_log" / f"{FIRST}.json").touch()


def some_tables(sample: Path, root: Path) -> None:
    _first_commits(sample, root, "runs", "ingested_files", "requests")
    (root / "connections" / "_delta_log").mkdir(parents=True)
    (root / "violations").mkdir()


def all_tables(sample: Path, root: Path) -> None:
    """The run has only not ended."""
    for name in table_specs():
        if name != "runs":
            shutil.copytree(sample / name, root / name)
    _first_commits(sample, root, "runs")


def ingested(sample: Path, root: Path) -> None:
    """A run has only read logs."""
    for name in ("runs", "ingested_files", "requests", "rejected_records", "failed_requests", "topic_mentions"):
        shutil.copytree(sample / name, root / name)
    change_state(root, built_until=None, rows={})


def ingested_again(sample: Path, root: Path) -> None:
    """What a run has read shows that what was built before must be built again."""
    shutil.copytree(sample, root)
    change_state(root, built_until=None)


@contextmanager
def at_work(root: Path) -> Iterator[None]:
    """Hold the lock that a run holds."""
    holder = (
        f"import fcntl, sys\nfile = open({str(root / LOCK_NAME)!r}, 'w')\n"
        "fcntl.flock(file, fcntl.LOCK_EX)\nprint('held', flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", holder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        assert process.stdin is not None
        process.stdin.close()


def said(capsys: pytest.CaptureFixture[str], root: Path, command: list[str]) -> tuple[int, str]:
    code = cli.main([*(word.format(root=root) for word in command), "--warehouse", str(root)])
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert not [words for words in ACCUSATIONS if words in text], text
    return code, text


NONE_YET = [nothing, half_made_first_table, empty_commit_of_it, some_tables, all_tables]
NOT_BUILT = [ingested, ingested_again]


@pytest.mark.parametrize("state", [*NONE_YET, *NOT_BUILT])
def test_no_command_accuses_anybody(
    sample_warehouse: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    state: Callable[[Path, Path], None],
) -> None:
    root = tmp_path / "lake"
    state(sample_warehouse, root)
    (root / LOCK_NAME).touch()
    outcomes = [said(capsys, root, command) for command in [*ASKING, *LOOKING]]
    with at_work(root):
        beside = [said(capsys, root, command) for command in [*ASKING, *LOOKING]]
        assert is_at_work(str(root))
        assert not [text for _, text in beside if "broke off" in text]
    assert not is_at_work(str(root))
    if state in NONE_YET:
        wanted = (
            "holds no run that ended; fill it with",
            "holds no run that ended yet: a run is at work on it",
        )
        assert {(code, wanted[0] in text) for code, text in outcomes} == {(1, True)}
        assert {(code, wanted[1] in text) for code, text in beside} == {(1, True)}
        return
    asked, looked = outcomes[: len(ASKING)], outcomes[len(ASKING) :]
    assert {(code, "are not built; run `kafka-clientinfo build` first" in text) for code, text in asked} == {(1, True)}
    assert {(code, "yet: a run is at work on it" in text) for code, text in beside[: len(ASKING)]} == {(1, True)}
    missing = state is ingested
    assert [code for code, _ in looked] == [0, 1, 0]
    assert ("connections finding=is not made yet" in looked[1][1]) == missing
    assert ("the next `kafka-clientinfo run`" in looked[1][1]) == missing
    assert [code for code, _ in beside[len(ASKING) :]] == [code for code, _ in looked]
    assert "a run is at work on it" in beside[-2][1]
    for index in (0, 2):
        assert "The tables are not built" in looked[index][1]
        assert "A run is at work on these tables" in beside[len(ASKING) + index][1]
