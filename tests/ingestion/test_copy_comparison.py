"""How the contents of logs that begin alike are compared: as far as both go, and only if it is needed."""

import errno
import gzip
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.ingestion import copies
from kafka_clientinfo.ingestion.storage import local_file
from kafka_clientinfo.logs.reader import read_blocks, resume_point
from tests.amounts import examples
from tests.wrapping import wrap

from .alike_logs import A_LONG, BANNER, BIG, FIRST, A, B, records, requests_of
from .stored_logs import save
from .test_unreadable import Tables


def test_files_that_begin_otherwise_are_read_no_further_than_their_heads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "read_blocks", None)
    for number in range(5):
        save(tmp_path / f"b{number}" / "kafka-request.log", records(f"b{number}"))
    tables = Tables()
    tables.run(tmp_path)
    (tmp_path / "b0" / "kafka-request.log").rename(tmp_path / "b0" / "kafka-request.log.1")
    save(tmp_path / "b0" / "kafka-request.log", records("new"))
    plan = tables.run(tmp_path)
    assert (len(plan.files), len(plan.unchanged)) == (1, 5)


def test_logs_that_begin_alike_are_not_compared_again_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [save(tmp_path / f"b{number}" / "x.log", data) for number, data in enumerate(BIG)]
    tables = Tables()
    assert len(tables.run(tmp_path).files) == 2
    monkeypatch.setattr(copies, "read_blocks", None)
    assert tables.run(tmp_path).unchanged == tuple(str(path) for path in paths)


@pytest.mark.parametrize("error", [errno.EIO, errno.EUCLEAN])
@pytest.mark.parametrize("names", [("b1", "b2"), ("b2", "b1")])
def test_a_copy_that_cannot_be_read_is_reported(
    tmp_path: Path, names: tuple[str, str], error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if another file has its name meanwhile: only of one that has become shorter the next run reads the rest."""
    paths = [save(tmp_path / name / "x.log", A) for name in names]

    def failing(file: Any, *args: Any, **options: Any) -> Any:
        if file.path == str(paths[0]):
            save(tmp_path / "new", A).rename(paths[0])
            raise OSError(error, os.strerror(error))
        return read_blocks(file, *args, **options)

    monkeypatch.setattr(copies, "read_blocks", failing)
    plan = Tables().plan(*paths)
    assert [(one.path, one.kind, one.detail) for one in plan.problems] == [
        (str(paths[0]), "unreadable", os.strerror(error))
    ]
    assert [file.path for file in plan.files] == [str(paths[1])]


def test_a_log_that_was_read_before_and_is_not_given_need_not_be_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / "b1" / "x.log", A)
    tables = Tables()
    tables.run(path)
    copy = save(tmp_path / "b2" / "x.log", A)

    def failing(file: Any, *args: Any, **options: Any) -> Any:
        if file.path == str(path):
            raise OSError(errno.EIO, "Input/output error")
        return read_blocks(file, *args, **options)

    monkeypatch.setattr(copies, "read_blocks", failing)
    assert [(one.path, one.kind) for one in tables.plan(copy).problems] == [(str(copy), "copy")]


@pytest.mark.parametrize(
    ("before", "left", "kind", "detail"),
    [
        (
            {"b1/x.log": A_LONG}, {"b1/x.log": A_LONG, "b2/x.log": A}, "copy",
            "the same log as {}/b1/x.log; more of it was read before",
        ),
        (
            {"b1/x.log": A_LONG, "b2/x.log": BIG[0]}, {"b3/x.log": FIRST}, "shorter",
            f"{len(BIG[0])} bytes of it were read before; this is an older copy, or it was truncated",
        ),
        ({"b1/x.log": A}, {"b1/x.log": B}, "rewritten", f"the bytes before offset {len(A)} are not those read before"),
    ],
)  # fmt: skip
def test_the_problem_tells_why_a_file_is_not_read(
    tmp_path: Path, before: dict[str, bytes], left: dict[str, bytes], kind: str, detail: str
) -> None:
    tables, new = Tables(), [tmp_path / name for name, data in left.items() if before.get(name) != data]
    for name, data in before.items():
        save(tmp_path / name, data)
    tables.run(tmp_path)
    for name in before:
        (tmp_path / name).unlink()
    for name, data in left.items():
        save(tmp_path / name, data)
    (problem,) = tables.plan(*new).problems
    assert (problem.path, problem.kind, problem.detail) == (str(*new), kind, detail.format(tmp_path))


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


@pytest.mark.parametrize("names", [("b1", "b2"), ("b2", "b1")])
def test_a_copy_in_which_the_layout_is_not_seen_hides_no_request(tmp_path: Path, names: tuple[str, str]) -> None:
    log = wrap(A, "bracketed_thread_last", "none")
    for name, data in zip(names, (BANNER * 1000 + log, log), strict=True):
        save(tmp_path / name / "kafka-request.log", data)
    tables = Tables()
    tables.run(tmp_path)
    assert requests_of(tables) == {names[1]: 9}


PIECES = st.lists(st.sampled_from([b"a", b"b", b"ab" * 3000]), max_size=6).map(b"".join)


@settings(max_examples=examples(60))
@given(PIECES, PIECES, st.sampled_from([bytes, gzip.compress]), st.sampled_from([bytes, gzip.compress]))
def test_contents_are_compared_as_far_as_both_go(
    tmp_path_factory: pytest.TempPathFactory,
    first: bytes,
    second: bytes,
    pack: Callable[[bytes], bytes],
    other_pack: Callable[[bytes], bytes],
) -> None:
    root = tmp_path_factory.mktemp("compared")
    files = [
        local_file(save(root / name, packed)).measured()
        for name, packed in (("1", pack(first)), ("2", other_pack(second)))
    ]
    expected = (
        "same" if first == second
        else "shorter" if second.startswith(first)
        else "longer" if first.startswith(second)
        else "different"
    )  # fmt: skip
    assert copies.compare(*files) == expected
    assert copies.compare(files[0], replace(files[0], path="again")) == "same"


def test_two_names_of_one_file_are_not_read_to_be_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "read_blocks", None)
    path = save(tmp_path / "x", A)
    os.link(path, tmp_path / "y")
    assert copies.compare(local_file(path), local_file(tmp_path / "y")) == "same"


def test_a_file_that_is_gone_is_the_same_as_no_other(tmp_path: Path) -> None:
    files = [local_file(path) for path in (save(tmp_path / "x", A), tmp_path / "gone")]
    for first, second in (files, files[::-1]):
        with pytest.raises(copies.ComparedFileError, match="No such file") as raised:
            copies.compare(first, second)
        assert raised.value.file is files[1]


def test_a_damaged_file_is_compared_up_to_the_damage(tmp_path: Path) -> None:
    contents = {"whole": A * 2, "damaged": gzip.compress(A) + b"\xff" * 300}
    whole, damaged = (local_file(save(tmp_path / name, data)).measured() for name, data in contents.items())
    assert (copies.compare(damaged, whole), copies.compare(whole, damaged)) == ("shorter", "longer")


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
