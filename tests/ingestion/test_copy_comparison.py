"""What is said of files that begin alike and are not read, and what happens if they change or fail meanwhile."""

import errno
import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.ingestion import copies
from kafka_clientinfo.ingestion.planned import Problem
from kafka_clientinfo.logs.reader import resume_point

from .alike_logs import A_LONG, BANNER, BIG, FIRST, A, B, records, requests_of
from .stored_logs import save
from .test_unreadable import Tables


def test_the_problem_tells_why_a_file_is_not_read(tmp_path: Path) -> None:
    tables = Tables()
    rewritten, longer = save(tmp_path / "b1" / "x.log", A), save(tmp_path / "b2" / "x.log", BIG[0])
    tables.run(tmp_path)
    save(rewritten, B)
    longer.unlink()
    cut = save(tmp_path / "b3" / "x.log", FIRST)
    said = f"{len(BIG[0])} bytes of it were read before; this is an older copy, or it was truncated"
    assert tables.plan(cut).problems == (Problem(str(cut), "shorter", said),)
    said = f"the bytes before offset {len(A)} are not those read before"
    assert tables.plan(rewritten).problems == (Problem(str(rewritten), "rewritten", said),)


@pytest.mark.parametrize("is_renamed", [True, False])
def test_a_log_that_is_rotated_while_it_is_compared_is_read_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_renamed: bool
) -> None:
    path = save(tmp_path / "b1" / "kafka-request.log", A)
    tables = Tables()
    tables.run(tmp_path)
    save(path, A_LONG)

    def and_rotated(file: Any, *offsets: int) -> Any:
        if is_renamed:
            path.rename(tmp_path / "b1" / "kafka-request.log.1")
        save(path, records("new", 1))
        return resume_point(file, *offsets)

    with monkeypatch.context() as patch:
        patch.setattr(copies, "resume_point", and_rotated)
        (problem,) = tables.run(tmp_path).problems
    assert (problem.path, problem.kind) == (str(path), "rotated" if is_renamed else "unreadable")
    tables.run(tmp_path)
    assert requests_of(tables) == {"b1": 18 if is_renamed else 10}


def test_copies_of_which_one_cannot_be_read_are_read_by_a_later_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can say which one is longer."""
    paths = [save(tmp_path / "b1" / "x.log", A), save(tmp_path / "b1" / "y.gz", gzip.compress(A_LONG))]

    def failing(file: Any) -> Any:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    tables = Tables()
    with monkeypatch.context() as patch:
        patch.setattr(copies, "readable_bytes", failing)
        plan = tables.run(*paths)
    assert [(one.path, one.kind, one.detail) for one in plan.problems] == [
        (str(path), "unreadable", os.strerror(errno.EIO)) for path in paths
    ]
    tables.run(*paths)
    assert requests_of(tables) == {"b1": 17}


@pytest.mark.parametrize("left", [b"", BANNER], ids=["nothing", "no record"])
def test_a_log_that_is_moved_and_leaves_a_file_without_records_is_the_same_log(tmp_path: Path, left: bytes) -> None:
    """The new file may get a log of its own later; the moved one is read from its new place."""
    path = save(tmp_path / "b1" / "x.log", A)
    tables = Tables()
    tables.run(path)
    moved = save(tmp_path / "old" / "b1" / "x.log", A)
    path.write_bytes(left)
    plan = tables.plan(moved)
    assert (plan.problems, plan.files, plan.unchanged) == ((), (), (str(moved),))
