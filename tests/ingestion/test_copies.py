"""One content is one log: files that begin alike, over several runs, whatever they are called."""

import errno
import gzip
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion import copies
from kafka_clientinfo.ingestion.planned import Problem, is_incomplete
from kafka_clientinfo.logs.reader import resume_point
from tests.amounts import examples, one_in
from tests.builders import json_record

from .alike_logs import A_LONG, B_LONG, BANNER, BIG, BIG_LONG, FIRST, LATE, LEADS, A, B, C, records, requests_of
from .stored_logs import save
from .test_unreadable import Tables

LIVE, ROTATED, ONE, TWO, OLD = "b1/kafka-request.log", "b1/kafka-request.log.1", "b1/x.log", "b2/x.log", "archive/x.log"


SECOND = "b2/kafka-request.log"


class Case(NamedTuple):
    """Runs one after the other, and what they leave."""

    runs: list[dict[str, bytes | None]]
    """What lies where before each run; None removes a file. All files are given to each run, unless `logs` say which."""
    requests: dict[str, int]
    """Of each broker, after the last run."""
    problems: dict[str, str] = {}  # noqa: RUF012
    """Of the last run, by path."""
    failures: tuple[int, ...] = ()
    """The runs that must not end well."""
    logs: list[str] | None = None


IN_TURN, COPY, BOTH, REWRITTEN = ["b1", "b2"], {TWO: "copy"}, {"b1": 9, "b2": 9}, {LIVE: "rewritten"}
CASES = {
    # files that are all new
    "two that begin alike": Case([{LIVE: A, TWO: B}], BOTH),
    "two consoles with one banner": Case([{"b1/one.log": BANNER + A, "b1/two.log": BANNER + B}], {"b1": 18}),
    "three and copies of each": Case(
        [{f"b{n}/{name}": data for n, data in enumerate((A, B, C)) for name in ("x.log", "y.log")}],
        {"b0": 9, "b1": 9, "b2": 9}, {f"b{n}/y.log": "copy" for n in range(3)},
    ),
    "a copy that is longer": Case([{LIVE: A, ONE: A_LONG}], {"b1": 17}, {LIVE: "copy"}),
    "a compressed copy": Case([{LIVE: A, TWO: gzip.compress(A)}], {"b1": 9}, COPY),
    "a compressed log that begins alike": Case([{LIVE: A, TWO: gzip.compress(B)}], BOTH),
    "a difference far before the end": Case([{LIVE: BIG[0], TWO: BIG[1]}], {"b1": 402, "b2": 402}),
    # a log that was read before
    "one that begins as a known one": Case([{LIVE: A}, {TWO: B}], BOTH),
    "the same in one folder, given alone": Case([{LIVE: A}, {ONE: B}], {"b1": 18}, logs=[LIVE, ONE]),
    "one that begins as a known one, and is shorter": Case([{LIVE: A_LONG}, {TWO: B}], {"b1": 17, "b2": 9}),
    "one that begins as a known one that is gone": Case([{LIVE: A}, {LIVE: None, TWO: B_LONG}], {"b1": 9, "b2": 17}),
    "a difference far before the place to resume": Case([{LIVE: BIG[0]}, {TWO: BIG[1]}], {"b1": 402, "b2": 402}),
    "a prefix that grows into another log": Case(
        [{LIVE: A, TWO: FIRST}, {TWO: B}, {LIVE: A_LONG, TWO: B_LONG}], {"b1": 17, "b2": 17}
    ),
    "equal so far, then both grow": Case([{LIVE: FIRST, TWO: FIRST}, {LIVE: A, TWO: B}], BOTH),
    "a prefix that grows, and is still a copy": Case([{LIVE: A_LONG, TWO: FIRST}, {TWO: A}], {"b1": 17}, COPY),
    "an older copy": Case([{LIVE: A_LONG}, {ONE: A}], {"b1": 17}, {ONE: "copy"}),
    "an older copy, compressed": Case([{LIVE: A_LONG}, {"b1/x.gz": gzip.compress(A)}], {"b1": 17}, {"b1/x.gz": "copy"}),
    "an older copy of what is gone": Case([{LIVE: A_LONG}, {LIVE: None, ONE: A}], {"b1": 17}, {ONE: "shorter"}, (1,)),
    "a log that was cut": Case([{LIVE: A_LONG}, {LIVE: A}], {"b1": 17}, {LIVE: "shorter"}, (1,)),
    "a log that was written anew": Case([{LIVE: A}, {LIVE: B}], {"b1": 9}, REWRITTEN, (1,)),
    "the same, and grown": Case([{LIVE: A}, {LIVE: B_LONG}], {"b1": 9}, REWRITTEN, (1,)),
    "one that begins alike in the place of a renamed one": Case([{LIVE: A}, {LIVE: B, ROTATED: A_LONG}], {"b1": 26}),
    "a restart on the same path": Case([{LIVE: BANNER + A}, {LIVE: BANNER + records("after", 5)}], {"b1": 14}),
    "a restart of a longer log": Case(
        [{LIVE: BANNER + A_LONG}, {LIVE: BANNER}, {LIVE: BANNER + records("x", 3)}], {"b1": 20}, failures=(1,)
    ),
    "a log that is truncated under its writer": Case([{LIVE: A}, {LIVE: b"\0" * len(A) + records("x", 3)}], {"b1": 12}),
    "zeros for more than the window": Case([{LIVE: b"\0" * (2 << 20) + A}, {LIVE: b"\0" * (2 << 20) + A_LONG}], {"b1": 17}),
    # another broker's folder
    "moved to another folder": Case([{LIVE: A}, {LIVE: None, OLD: A}], {"b1": 9}, {OLD: "copy"}),
    "moved with new bytes": Case([{LIVE: A}, {LIVE: None, OLD: A_LONG}], {"b1": 17}),
    "moved, compressed, with new bytes": Case([{LIVE: A}, {LIVE: records("new"), OLD: gzip.compress(A_LONG)}], {"b1": 25}),
    "copied, and both grow": Case([{LIVE: A}, {LIVE: A_LONG, OLD: A_LONG}], {"b1": 17}, {OLD: "copy"}),
    "copied, and the copy grows": Case([{LIVE: A}, {OLD: A_LONG}], {"b1": 17}, {LIVE: "copy"}),
    "only the copy is given": Case([{LIVE: A}, {OLD: A}], {"b1": 9}, {OLD: "copy"}, logs=["b1", "archive"]),
    "only the one that differs is given": Case(
        [{LIVE: BIG[0]}, {TWO: BIG[1]}], {"b1": 402, "b2": 402}, logs=IN_TURN
    ),
    "only the one that differs is given, and comes first": Case(
        [{LIVE: BIG[0]}, {"a2/x.log": BIG[1]}], {"b1": 402, "a2": 402}, logs=["b1", "a2"]
    ),
    "only an older copy is given": Case([{LIVE: A_LONG}, {TWO: A}], {"b1": 17}, {TWO: "shorter"}, (1,), IN_TURN),
    "only a shorter log that differs is given": Case([{LIVE: A_LONG}, {TWO: B}], {"b1": 17, "b2": 9}, logs=IN_TURN),
    "only a grown copy of what has grown otherwise is given": Case(
        [{LIVE: FIRST}, {LIVE: A, TWO: B}, {}], {"b1": 18}, logs=["b1", "b2", "b1"]
    ),
    "two that differ after the opening, and the copy grows": Case(
        [{LIVE: LATE[0], TWO: LATE[1]}, {TWO: LATE[1] + records("more", 9)}], {"b1": 29}, COPY
    ),
    "the same, the shorter one first": Case([{LIVE: LATE[1]}, {TWO: LATE[0]}], {"b1": 28}, COPY),
    "the same, of which one is given": Case(
        [{LIVE: LATE[1]}, {TWO: LATE[0]}], {"b1": 28}, {TWO: "rewritten"}, (1,), IN_TURN
    ),
    "a copy of what another known log has overwritten, which ends alike": Case(
        [{LIVE: BIG[0], TWO: BIG_LONG}, {LIVE: BIG_LONG, "b1/y.log": BIG[0], TWO: None}],
        {"b1": 402, "b2": 410}, {LIVE: "copy"},
    ),
    "a copy of what was overwritten": Case(
        [{LIVE: A}, {LIVE: C, OLD: A}], {"b1": 9}, {OLD: "copy"}, logs=["b1", "archive"]
    ),
    "a copy of a record that is not complete": Case(
        [{LIVE: A + FIRST[:50]}, {ONE: A + FIRST[:50]}], {"b1": 9}, {ONE: "copy"}
    ),
    "no record at all": Case([{LIVE: A, SECOND: BANNER}], {"b1": 9}, {SECOND: "unreadable"}, (0,)),
    "nothing yet": Case([{LIVE: A, SECOND: b""}], {"b1": 9}, {SECOND: "empty"}),
}  # fmt: skip


def cases_with(lead: bytes) -> dict[str, Case]:
    """Copies of a log, of which one has something before the first record, and logs that only look alike."""
    pack = gzip.compress
    return {
        "beside a longer one": Case([{LIVE: lead + A, TWO: A_LONG}], {"b2": 17}, {LIVE: "copy"}),
        "beside a shorter one": Case([{LIVE: A, TWO: lead + A_LONG}], {"b2": 17}, {LIVE: "copy"}),
        "beside a compressed one": Case([{LIVE: lead + A, TWO: pack(A)}], {"b1": 9}, COPY),
        "compressed": Case([{LIVE: A, TWO: pack(lead + A)}], {"b1": 9}, COPY),
        "before a plain copy": Case([{LIVE: lead + A}, {TWO: A}], {"b1": 9}, COPY),
        "after a plain copy": Case([{LIVE: A}, {TWO: lead + A}], {"b1": 9}, COPY),
        "alone after a plain copy": Case(
            [{LIVE: A}, {TWO: lead + A}], {"b1": 9}, {TWO: "rewritten"}, (1,), IN_TURN
        ),
        "before an older copy": Case([{LIVE: lead + A_LONG}, {TWO: A}], {"b1": 17}, COPY),
        "after a longer one": Case([{LIVE: A_LONG}, {TWO: lead + A}], {"b1": 17}, COPY),
        "left out and put in again": Case(
            [{LIVE: lead + A}, {LIVE: A_LONG}, {LIVE: lead + A_LONG}], {"b1": 17}, failures=(1,)
        ),
        "moved and compressed": Case([{LIVE: lead + A}, {LIVE: None, TWO: pack(lead + A_LONG)}], {"b1": 17}),
        "cut": Case([{LIVE: lead + A_LONG}, {LIVE: A}], {"b1": 17}, {LIVE: "shorter"}, (1,)),
        "before another log": Case([{LIVE: lead + A}, {TWO: B}], BOTH),
        "beside another log that is longer": Case([{LIVE: lead + A, TWO: B_LONG}], {"b1": 9, "b2": 17}),
        "before one that differs early": Case([{LIVE: lead + BIG[0]}, {TWO: BIG[1]}], {"b1": 402, "b2": 402}),
        "equal so far, then both grow": Case([{LIVE: lead + FIRST, TWO: FIRST}, {LIVE: lead + A, TWO: B}], BOTH),
        "written anew": Case([{LIVE: lead + A}, {LIVE: B}], {"b1": 9}, REWRITTEN, (1,)),
        "a rotated log and its successor": Case(
            [{LIVE: lead + A}, {LIVE: records("next"), ROTATED: lead + A_LONG}], {"b1": 25}
        ),
    }  # fmt: skip


CASES |= {
    f"{name}, {case}": of
    for name in ("a banner", "a byte order mark", "a banner and zeros")
    for case, of in cases_with(LEADS[name]).items()
}


def run(tables: Tables, root: Path, case: Case, number: int) -> list[str]:
    for name, data in case.runs[number].items():
        if data is None:
            (root / name).unlink()
        else:
            save(root / name, data)
    plan = tables.run(root / (case.logs[number] if case.logs else ""))
    assert is_incomplete(plan.problems, tables.reports) == (number in case.failures), plan.problems
    if not case.logs:
        paths = {str(path) for path in root.rglob("*.*") if path.is_file()}
        spoken_of = [file.path for file in plan.files] + list(plan.unchanged) + [one.path for one in plan.problems]
        assert sorted(spoken_of) == sorted(paths)  # each once
    return [f"{Path(one.path).relative_to(root)}: {one.kind}" for one in plan.problems]


@pytest.mark.parametrize("name", one_in(2, CASES))
def test_every_content_is_read_once(tmp_path: Path, name: str) -> None:
    case, tables = CASES[name], Tables()
    for number in range(len(case.runs)):
        problems = run(tables, tmp_path, case, number)
    assert requests_of(tables) == case.requests
    assert sorted(problems) == sorted(f"{path}: {kind}" for path, kind in case.problems.items())
    before = list(tables.rows["request"])
    again = tables.run(tmp_path / (case.logs[-1] if case.logs else ""))
    assert (again.files, tables.rows["request"]) == ((), before)


@pytest.mark.parametrize(("first", "second"), [("b1", "current"), ("current", "b1")])
def test_a_linked_folder_is_no_other_broker(tmp_path: Path, first: str, second: str) -> None:
    path = save(tmp_path / "b1" / "kafka-request.log", A)
    (tmp_path / "current").symlink_to(tmp_path / "b1")
    tables = Tables()
    tables.run(tmp_path / first)
    (problem,) = tables.run(tmp_path / second).problems
    assert requests_of(tables) == {first: 9}
    assert (problem.path, problem.kind) == (str(tmp_path / second / "kafka-request.log"), "copy")
    assert f"{tmp_path}/{first}/kafka-request.log, which counts as broker {first} of cluster default" in problem.detail
    save(path, A_LONG)
    tables.run(tmp_path / second)
    assert requests_of(tables) == {first: 17}


def test_a_log_keeps_its_broker_when_the_settings_change(tmp_path: Path) -> None:
    path = save(tmp_path / "b1" / "kafka-request.log", A)
    tables = Tables()
    tables.run(path)
    other = Settings(broker_pattern="(?P<broker>kafka)")
    (problem,) = tables.plan(path, settings=other).problems
    assert (problem.kind, problem.detail) == (
        "copy",
        "the same log as before, which counts as broker b1 of cluster default; it is read once",
    )
    save(path, A_LONG)
    (file,) = tables.plan(path, settings=other).files
    assert (file.cluster, file.broker, file.resume_at) == ("default", "b1", len(A))


def test_a_log_of_another_cluster_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path, tables, theirs = save(tmp_path / LIVE, A), Tables(), Settings(cluster="it's one")
    tables.read(tables.plan(path, settings=theirs))
    for content, where in ((A, path), (A_LONG, path), (A_LONG, tmp_path / OLD), (A, path)):
        save(where, content)
        plan = tables.plan(where, settings=Settings(cluster="two"))
        (problem,) = plan.problems
        assert (plan.files, problem.path, problem.kind) == ((), str(where), "other_cluster")
        assert is_incomplete(plan.problems, [])
        assert problem.detail == (
            "not read as a log of cluster two, as its requests count as those of broker b1 of cluster it's one already; "
            "run with --cluster 'it'\"'\"'s one', or, if that name is wrong, first remove its rows with "
            "`kafka-clientinfo forget --cluster 'it'\"'\"'s one' --warehouse …`"
        )
    save(path, A_LONG)
    assert [file.resume_at for file in tables.plan(path, settings=theirs).files] == [len(A)]


@pytest.mark.parametrize("names", [["", "server.log"], ["server.log", ""]])
def test_a_server_log_is_no_copy_of_a_request_log(tmp_path: Path, names: list[str]) -> None:
    save(tmp_path / "b1" / "kafka-request.log", A)
    save(tmp_path / "b1" / "server.log", A_LONG)
    plan = Tables().plan(*(tmp_path / "b1" / name for name in names))
    assert sorted(Path(file.path).name for file in plan.files) == ["kafka-request.log", "server.log"]
    assert len({file.file_id for file in plan.files}) == 2


def test_logs_that_begin_alike_keep_their_identities_in_any_order(tmp_path: Path) -> None:
    paths = [save(tmp_path / broker / "x.log", data) for broker, data in (("b1", A), ("b2", B), ("b3", C))]
    plans = [Tables().plan(*order) for order in (paths, paths[::-1])]
    identities, others = ({file.path: file.file_id for file in plan.files} for plan in plans)
    assert identities == others
    assert len({file.file_id for file in plans[0].files}) == 3


FOLDERS = ("b1", "b2", "archive")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["grow", "grow", "move", "pack", "copy", "copy packed", "remove a copy", "run"]),
        st.integers(0, 2),
        st.sampled_from(FOLDERS),
    ),
    min_size=3,
    max_size=14,
)


class Disk:
    """Three logs that begin alike, and copies of them, which grow, move and are compressed."""

    def __init__(self, root: Path) -> None:
        self.root, self.tables, self.names = root, Tables(), 0
        self.contents = [FIRST] * 3
        self.paths = [save(root / "b1" / f"log{number}", FIRST) for number in range(3)]
        self.copies: list[Path] = []

    def new_path(self, folder: str) -> Path:
        self.names += 1
        return self.root / folder / f"{self.names % 7}-{self.names}.log"

    def step(self, action: str, log: int, folder: str) -> None:
        content, path = self.contents[log], self.paths[log]
        pack = gzip.compress if path.read_bytes()[:1] == b"\x1f" or action == "pack" else bytes
        if action == "grow":
            self.contents[log] += json_record(client_id=f"log{log}", correlation_id=content.count(b"\n"))
            save(path, pack(self.contents[log]))
        elif action in ("move", "pack"):
            path.unlink()
            self.paths[log] = save(self.new_path(folder), pack(content))
        elif action.startswith("copy"):
            data = gzip.compress(content) if "packed" in action else content
            self.copies.append(save(self.new_path(folder), data))
        elif action == "remove a copy" and self.copies:
            self.copies.pop(0).unlink()
        elif action == "run":
            self.run()

    def run(self) -> None:
        plan = self.tables.run(self.root)
        assert {one.kind for one in plan.problems} <= {"copy"}
        read = [(row["client_id"], row["correlation_id"]) for row in self.tables.rows["request"]]
        grown = [
            (f"log{log}", number) for log, data in enumerate(self.contents) for number in range(1, data.count(b"\n"))
        ]
        assert sorted(one for one in read if one[0] != "first") == grown
        distinct = len({content for content in self.contents if content != FIRST})
        assert read.count(("first", 1)) in (max(1, distinct), max(1, distinct) + (distinct < 3))


@settings(max_examples=examples(25))
@given(STEPS)
def test_every_record_is_read_once_whatever_happens_to_the_files(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, str]]
) -> None:
    disk = Disk(tmp_path_factory.mktemp("disk"))
    for step in (*steps, ("run", 0, ""), *(("grow", log, "") for log in range(3)), ("run", 0, "")):
        disk.step(*step)


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
