"""What commands say of a warehouse while its first run is at work, or after that was stopped: what is the case."""

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.warehouse.locks import LOCK_NAME, is_at_work
from tests.report.tables_on_disk import change_state

TARGET = ("--target", "4.0.1")
ASKING = [["clients"], ["summary"], ["violations"], ["upgrade", *TARGET], ["report", "--output", "{root}/r"]]
LOOKING = [["tables"], ["verify", "--quick"], ["sql", "SELECT count(*) AS n FROM connections"]]
ACCUSATIONS = ("restore it", "somebody", "altered", "Traceback")
FIRST = f"{0:020}"


def _first_commits(sample: Path, root: Path, *names: str) -> None:
    for name in names:
        (root / name / "_delta_log").mkdir(parents=True)
        shutil.copy(sample / name / "_delta_log" / f"{FIRST}.json", root / name / "_delta_log")
        for file in (sample / name).glob("*.parquet"):
            shutil.copy(file, root / name)


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


def said(ask: Any, root: Path) -> list[tuple[int, str]]:
    """Exit codes and texts of all commands, of which none accuses anybody."""
    answers = [ask(*(word.format(root=root) for word in line), "--warehouse", root) for line in (*ASKING, *LOOKING)]
    texts = [(answer.code, answer.out + answer.err) for answer in answers]
    assert not [text for _, text in texts for words in ACCUSATIONS if words in text]
    return texts


@pytest.mark.parametrize(
    "state", [half_made_first_table, empty_commit_of_it, some_tables, all_tables, ingested, ingested_again]
)
def test_nobody_is_accused(
    sample_warehouse: Path, tmp_path: Path, ask: Any, state: Callable[[Path, Path], None]
) -> None:
    root = tmp_path / "lake"
    state(sample_warehouse, root)
    (root / LOCK_NAME).touch()
    outcomes = said(ask, root)
    with (root / LOCK_NAME).open("w") as lock:  # that a run holds
        fcntl.flock(lock, fcntl.LOCK_EX)
        beside = said(ask, root)
        assert is_at_work(str(root))
        assert not [text for _, text in beside if "broke off" in text]
    assert not is_at_work(str(root))
    if state not in (ingested, ingested_again):
        wanted = "holds no run that ended; fill it with", "holds no run that ended yet: a run is at work on it"
        assert {(code, wanted[0] in text) for code, text in outcomes} == {(1, True)}
        assert {(code, wanted[1] in text) for code, text in beside} == {(1, True)}
        return
    number = len(ASKING)
    asked = {(code, "are not built; run `kafka-clientinfo build` first" in text) for code, text in outcomes[:number]}
    asked_beside = {(code, "yet: a run is at work on it" in text) for code, text in beside[:number]}
    assert asked == asked_beside == {(1, True)}
    looked, looked_beside = outcomes[number:], beside[number:]
    assert [code for code, _ in looked] == [code for code, _ in looked_beside] == [0, 1, 0]
    for text in ("connections finding=is not made yet", "the next `kafka-clientinfo run`"):
        assert (text in looked[1][1]) == (state is ingested)
    assert "a run is at work on it" in looked_beside[1][1]
    for index in (0, 2):
        assert "The tables are not built" in looked[index][1]
        assert "A run is at work on these tables" in looked_beside[index][1]
