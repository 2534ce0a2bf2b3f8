"""One content is one log: files that begin alike, over several runs, whatever they are called."""

import gzip
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.ingestion.planned import is_incomplete
from tests.amounts import examples, one_in
from tests.builders import json_record

from .alike_logs import A_LONG, B_LONG, BANNER, BIG, BIG_LONG, FIRST, LATE, LEADS, A, B, C, records, requests_of
from .stored_logs import save
from .test_unreadable import Tables

LIVE = "b1/kafka-request.log"


@dataclass
class Case:
    """Runs one after the other, and what they leave.

    Attributes:
        runs: what lies where before each run; None removes a file. All files are given to each run.
        requests: of each broker, after the last run.
        problems: of the last run, by path.
        failures: the runs that must not end well.
    """

    runs: list[dict[str, bytes | None]]
    requests: dict[str, int]
    problems: dict[str, str] = field(default_factory=dict)
    failures: tuple[int, ...] = ()
    logs: list[list[str]] | None = None


CASES = {
    # files that are all new
    "two that begin alike": Case([{LIVE: A, "b2/kafka-request.log": B}], {"b1": 9, "b2": 9}),
    "two in one folder": Case([{"b1/one.log": A, "b1/two.log": B}], {"b1": 18}),
    "two consoles with one banner": Case([{"b1/one.log": BANNER + A, "b1/two.log": BANNER + B}], {"b1": 18}),
    "three, two of which are equal": Case(
        [{"b1/x.log": A, "b2/x.log": B, "b3/x.log": A}], {"b1": 9, "b2": 9}, {"b3/x.log": "copy"}
    ),
    "three and copies of each": Case(
        [{f"b{n}/{name}": data for n, data in enumerate((A, B, C)) for name in ("x.log", "y.log")}],
        {"b0": 9, "b1": 9, "b2": 9},
        {f"b{n}/y.log": "copy" for n in range(3)},
    ),
    "a copy that is longer": Case([{LIVE: A, "b1/x.log": A_LONG}], {"b1": 17}, {LIVE: "copy"}),
    "a compressed copy": Case(
        [{LIVE: A, "b1/kafka-request.log.gz": gzip.compress(A)}], {"b1": 9}, {"b1/kafka-request.log.gz": "copy"}
    ),
    "a compressed log that begins alike": Case([{LIVE: A, "b2/x.log.gz": gzip.compress(B)}], {"b1": 9, "b2": 9}),
    "a copy in a folder below": Case(
        [{LIVE: A, "b1/archive/kafka-request.log": A}], {"b1": 9}, {"b1/archive/kafka-request.log": "copy"}
    ),
    "a difference far before the end": Case([{LIVE: BIG[0], "b2/x.log": BIG[1]}], {"b1": 402, "b2": 402}),
    # a log that was read before
    "one that begins as a known one": Case([{LIVE: A}, {"b2/x.log": B}], {"b1": 9, "b2": 9}),
    "the same in one folder": Case([{"b1/one.log": A}, {"b1/two.log": B}], {"b1": 18}),
    "the same, given alone": Case(
        [{"b1/one.log": A}, {"b1/two.log": B}], {"b1": 18}, logs=[["b1/one.log"], ["b1/two.log"]]
    ),
    "one that begins as a known one, and is shorter": Case(
        [{LIVE: A_LONG}, {"b2/x.log": B}], {"b1": 17, "b2": 9}
    ),
    "one that begins as a known one that is gone": Case(
        [{LIVE: A}, {LIVE: None, "b2/x.log": B_LONG}], {"b1": 9, "b2": 17}
    ),
    "a difference far before the place to resume": Case([{LIVE: BIG[0]}, {"b2/x.log": BIG[1]}], {"b1": 402, "b2": 402}),
    "a prefix that grows into another log": Case(
        [{LIVE: A, "b2/x.log": FIRST}, {"b2/x.log": B}, {LIVE: A_LONG, "b2/x.log": B_LONG}], {"b1": 17, "b2": 17}
    ),
    "equal so far, then both grow": Case([{LIVE: FIRST, "b2/x.log": FIRST}, {LIVE: A, "b2/x.log": B}], {"b1": 9, "b2": 9}),
    "a prefix that grows, and is still a copy": Case(
        [{LIVE: A_LONG, "b2/x.log": FIRST}, {"b2/x.log": A}], {"b1": 17}, {"b2/x.log": "copy"}
    ),
    "an older copy": Case([{LIVE: A_LONG}, {"b1/x.log": A}], {"b1": 17}, {"b1/x.log": "copy"}),
    "an older copy, compressed": Case([{LIVE: A_LONG}, {"b1/x.gz": gzip.compress(A)}], {"b1": 17}, {"b1/x.gz": "copy"}),
    "an older copy of what is gone": Case(
        [{LIVE: A_LONG}, {LIVE: None, "b1/x.log": A}], {"b1": 17}, {"b1/x.log": "shorter"}, failures=(1,)
    ),
    "a log that was cut": Case([{LIVE: A_LONG}, {LIVE: A}], {"b1": 17}, {LIVE: "shorter"}, failures=(1,)),
    "a log that was written anew": Case([{LIVE: A}, {LIVE: B}], {"b1": 9}, {LIVE: "rewritten"}, failures=(1,)),
    "the same, and grown": Case([{LIVE: A}, {LIVE: B_LONG}], {"b1": 9}, {LIVE: "rewritten"}, failures=(1,)),
    "a log that begins alike in the place of one that was renamed": Case(
        [{LIVE: A}, {LIVE: B, "b1/kafka-request.log.1": A_LONG}], {"b1": 26}
    ),
    "a restart on the same path": Case(
        [{"b1/console.log": BANNER + A}, {"b1/console.log": BANNER + records("after", 5)}], {"b1": 14}
    ),
    "a restart of a longer log": Case(
        [{LIVE: BANNER + A_LONG}, {LIVE: BANNER}, {LIVE: BANNER + records("x", 3)}],
        {"b1": 20},
        failures=(1,),
    ),
    "a log that is truncated under its writer": Case(
        [{LIVE: A}, {LIVE: b"\0" * len(A) + records("after", 3)}], {"b1": 12}
    ),
    "zeros for more than the window": Case([{LIVE: b"\0" * (2 << 20) + A}, {LIVE: b"\0" * (2 << 20) + A_LONG}], {"b1": 17}),
    # another broker's folder
    "moved to another folder": Case(
        [{LIVE: A}, {LIVE: None, "archive/kafka-request.log.1": A}], {"b1": 9}, {"archive/kafka-request.log.1": "copy"}
    ),
    "moved with new bytes": Case([{LIVE: A}, {LIVE: None, "archive/kafka-request.log.1": A_LONG}], {"b1": 17}),
    "moved, compressed, with new bytes": Case(
        [{LIVE: A}, {LIVE: records("new"), "archive/x.gz": gzip.compress(A_LONG)}], {"b1": 25}
    ),
    "copied to another folder": Case([{LIVE: A}, {"archive/x.log": A}], {"b1": 9}, {"archive/x.log": "copy"}),
    "copied, and both grow": Case([{LIVE: A}, {LIVE: A_LONG, "archive/x.log": A_LONG}], {"b1": 17}, {"archive/x.log": "copy"}),
    "copied, and the copy grows": Case([{LIVE: A}, {"archive/x.log": A_LONG}], {"b1": 17}, {LIVE: "copy"}),
    "only the copy is given": Case(
        [{LIVE: A}, {"archive/x.log": A}], {"b1": 9}, {"archive/x.log": "copy"}, logs=[["b1"], ["archive"]]
    ),
    "only the one that differs is given": Case(
        [{LIVE: BIG[0]}, {"b2/x.log": BIG[1]}], {"b1": 402, "b2": 402}, logs=[["b1"], ["b2"]]
    ),
    "only the one that differs is given, and comes first": Case(
        [{LIVE: BIG[0]}, {"a2/x.log": BIG[1]}], {"b1": 402, "a2": 402}, logs=[["b1"], ["a2"]]
    ),
    "only an older copy is given": Case(
        [{LIVE: A_LONG}, {"b2/x.log": A}], {"b1": 17}, {"b2/x.log": "shorter"}, (1,), logs=[["b1"], ["b2"]]
    ),
    "only an older copy is given, and comes first": Case(
        [{LIVE: A_LONG}, {"archive/x.log": A}], {"b1": 17}, {"archive/x.log": "shorter"}, (1,), logs=[["b1"], ["archive"]]
    ),
    "only a shorter log that differs is given": Case(
        [{LIVE: A_LONG}, {"b2/x.log": B}], {"b1": 17, "b2": 9}, logs=[["b1"], ["b2"]]
    ),
    "only a grown copy of what has grown otherwise is given": Case(
        [{LIVE: FIRST}, {LIVE: A, "b2/x.log": B}, {}], {"b1": 18}, logs=[["b1"], ["b2"], ["b1"]]
    ),
    "two that differ after the opening": Case([{LIVE: LATE[0], "b2/x.log": LATE[1]}], {"b1": 29}, {"b2/x.log": "copy"}),
    "the same, and the copy grows": Case(
        [{LIVE: LATE[0], "b2/x.log": LATE[1]}, {"b2/x.log": LATE[1] + records("more", 9)}], {"b1": 29},
        {"b2/x.log": "copy"},
    ),
    "the same, the shorter one first": Case([{LIVE: LATE[1]}, {"b2/x.log": LATE[0]}], {"b1": 28}, {"b2/x.log": "copy"}),
    "the same, of which one is given": Case(
        [{LIVE: LATE[1]}, {"b2/x.log": LATE[0]}], {"b1": 28}, {"b2/x.log": "rewritten"}, (1,), logs=[["b1"], ["b2"]]
    ),
    "a copy of what another known log has overwritten, which ends alike": Case(
        [{LIVE: BIG[0], "b2/x.log": BIG_LONG}, {LIVE: BIG_LONG, "b1/y.log": BIG[0], "b2/x.log": None}],
        {"b1": 402, "b2": 410}, {LIVE: "copy"},
    ),
    "a copy of what was overwritten": Case(
        [{LIVE: A}, {LIVE: C, "archive/x.log": A}], {"b1": 9}, {"archive/x.log": "copy"}, logs=[["b1"], ["archive"]]
    ),
    "copied in its folder, and both grow": Case(
        [{LIVE: A}, {LIVE: A_LONG, "b1/x.log": A_LONG}], {"b1": 17}, {"b1/x.log": "copy"}
    ),
    "a copy of a record that is not complete": Case(
        [{LIVE: A + FIRST[:50]}, {"b1/x.log": A + FIRST[:50]}], {"b1": 9}, {"b1/x.log": "copy"}
    ),
    "no record at all": Case([{LIVE: A, "b2/kafka-request.log": BANNER}], {"b1": 9}, {"b2/kafka-request.log": "unreadable"}, (0,)),
    "nothing yet": Case([{LIVE: A, "b2/kafka-request.log": b""}], {"b1": 9}, {"b2/kafka-request.log": "empty"}),
}  # fmt: skip


def cases_with(lead: bytes) -> dict[str, Case]:
    """Copies of a log, of which one has something before the first record, and logs that only look alike."""
    pack, copy = gzip.compress, {"b2/x.log": "copy"}
    return {
        "beside a plain copy": Case([{LIVE: lead + A, "b2/x.log": A}], {"b1": 9}, copy),
        "beside a longer one": Case([{LIVE: lead + A, "b2/x.log": A_LONG}], {"b2": 17}, {LIVE: "copy"}),
        "beside a shorter one": Case([{LIVE: A, "b2/x.log": lead + A_LONG}], {"b2": 17}, {LIVE: "copy"}),
        "beside a compressed one": Case([{LIVE: lead + A, "b2/x.log": pack(A)}], {"b1": 9}, copy),
        "compressed": Case([{LIVE: A, "b2/x.log": pack(lead + A)}], {"b1": 9}, copy),
        "before a plain copy": Case([{LIVE: lead + A}, {"b2/x.log": A}], {"b1": 9}, copy),
        "after a plain copy": Case([{LIVE: A}, {"b2/x.log": lead + A}], {"b1": 9}, copy),
        "alone after a plain copy": Case(
            [{LIVE: A}, {"b2/x.log": lead + A}], {"b1": 9}, {"b2/x.log": "rewritten"}, (1,), logs=[["b1"], ["b2"]]
        ),
        "before an older copy": Case([{LIVE: lead + A_LONG}, {"b2/x.log": A}], {"b1": 17}, copy),
        "after a longer one": Case([{LIVE: A_LONG}, {"b2/x.log": lead + A}], {"b1": 17}, copy),
        "beside a copy that grows too": Case(
            [{LIVE: lead + A}, {LIVE: lead + A_LONG, "b2/x.log": A_LONG}], {"b1": 17}, copy
        ),
        "left out and put in again": Case(
            [{LIVE: lead + A}, {LIVE: A_LONG}, {LIVE: lead + A_LONG}], {"b1": 17}, failures=(1,)
        ),
        "moved and compressed": Case(
            [{LIVE: lead + A}, {LIVE: None, "b2/x.log": pack(lead + A_LONG)}], {"b1": 17}
        ),
        "cut": Case([{LIVE: lead + A_LONG}, {LIVE: A}], {"b1": 17}, {LIVE: "shorter"}, failures=(1,)),
        "before another log": Case([{LIVE: lead + A}, {"b2/x.log": B}], {"b1": 9, "b2": 9}),
        "beside another log that is longer": Case([{LIVE: lead + A, "b2/x.log": B_LONG}], {"b1": 9, "b2": 17}),
        "before one that differs early": Case([{LIVE: lead + BIG[0]}, {"b2/x.log": BIG[1]}], {"b1": 402, "b2": 402}),
        "equal so far, then both grow": Case(
            [{LIVE: lead + FIRST, "b2/x.log": FIRST}, {LIVE: lead + A, "b2/x.log": B}], {"b1": 9, "b2": 9}
        ),
        "written anew": Case([{LIVE: lead + A}, {LIVE: B}], {"b1": 9}, {LIVE: "rewritten"}, failures=(1,)),
        "a restart": Case([{LIVE: lead + A}, {LIVE: lead + records("after")}], {"b1": 17}),
        "a rotated log and its successor": Case(
            [{LIVE: lead + A}, {LIVE: records("next"), "b1/kafka-request.log.1": lead + A_LONG}], {"b1": 25}
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
    folders = case.logs[number] if case.logs else [""]
    plan = tables.run(*(root / folder for folder in folders))
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
    again = tables.run(*(tmp_path / folder for folder in (case.logs[-1] if case.logs else [""])))
    assert (again.files, tables.rows["request"]) == ((), before)


@pytest.mark.parametrize("link", ["later run", "real name later"])
def test_a_linked_folder_is_no_other_broker(tmp_path: Path, link: str) -> None:
    save(tmp_path / "b1" / "kafka-request.log", A)
    (tmp_path / "current").symlink_to(tmp_path / "b1")
    runs = {"later run": [("b1",), ("current",)], "real name later": [("current",), ("b1",)]}
    tables = Tables()
    plans = [tables.run(*(tmp_path / name for name in names)) for names in runs[link]]
    first, second = ("current", "b1") if link == "real name later" else ("b1", "current")
    assert requests_of(tables) == {first: 9}
    (problem,) = plans[-1].problems
    assert (problem.path, problem.kind) == (str(tmp_path / second / "kafka-request.log"), "copy")
    assert f"{tmp_path}/{first}/kafka-request.log, which counts as broker {first} of cluster default" in problem.detail
    save(tmp_path / "b1" / "kafka-request.log", A_LONG)
    tables.run(*(tmp_path / name for name in runs[link][-1]))
    assert requests_of(tables) == {first: 17}


def test_a_link_under_the_same_brokers_name_is_not_spoken_of(tmp_path: Path) -> None:
    path = save(tmp_path / "b1" / "kafka-request.log", A)
    (tmp_path / "b1" / "kafka-request.log.current").symlink_to(path)
    plan = Tables().run(tmp_path)
    assert ([file.path for file in plan.files], plan.problems) == ([str(path)], ())


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
    path = save(tmp_path / "b1" / "kafka-request.log", A)
    tables = Tables()
    tables.read(tables.plan(path, settings=Settings(cluster="it's one")))
    for content, where in (
        (A, path),
        (A_LONG, path),
        (A_LONG, tmp_path / "archive" / "kafka-request.log.1"),
        (A, path),
    ):
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
    assert [file.resume_at for file in tables.plan(path, settings=Settings(cluster="it's one")).files] == [len(A)]


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
