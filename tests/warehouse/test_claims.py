"""Overlapping runs where the storage has no locks: one commits, the others are refused, nothing is doubled or lost."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import claims, ddl
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.claims import Claims, first_unended
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .tiny import SPECS, committed, event, events, run

pytestmark = pytest.mark.usefixtures("on_a_store")
OVERTAKEN = "another run has written"


@pytest.fixture
def on_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs on a folder claim their numbers, as on a store."""
    monkeypatch.setattr(ddl, "log_folder", lambda *_: None)


@pytest.fixture
def root(spark: Any, tmp_path: Path) -> str:
    """Empty tables."""
    Warehouse(spark, str(tmp_path), SPECS).create_missing(SPECS)
    return str(tmp_path)


@contextmanager
def refused_where_not_numbered() -> Iterator[None]:
    """A MERGE or DELETE of an overtaken run: Delta passes over it; on serverless compute the run itself refuses it."""
    with suppress(WarehouseError):
        yield


@pytest.mark.long
def test_of_two_runs_at_once_one_commits_and_who_is_overtaken_commits_nothing_more(spark: Any, root: str) -> None:
    committed(run(spark, root, ["kept"]), built_with="one")
    slow = run(spark, root, ["taken back"])
    quick = run(spark, root)
    assert (events(quick), quick.state.built_with) == (["kept"], "one")
    for write in (slow.append, slow.overwrite):
        write("events", event(spark, "late"))
    with refused_where_not_numbered():
        slow.delete("events", "file_id = 'kept'")
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        committed(slow)
    assert events(quick) == ["kept"]
    quick.append("events", event(spark, "next"))
    committed(quick)
    assert events(run(spark, root)) == ["kept", "next"]


@pytest.mark.long
def test_a_command_that_can_be_neither_named_nor_numbered_is_taken_back_and_refused(
    spark: Any, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "may_set", lambda *_: False)
    committed(run(spark, root, ["kept", "too"]))
    slow = run(spark, root)
    slow.delete("events", "file_id = 'too'")
    assert events(slow) == ["kept"]
    quick = run(spark, root)
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        slow.delete("events", "file_id = 'kept'")
    assert events(quick) == ["kept", "too"]


HISTORIES: dict[str, tuple[list[str | None], int | None]] = {
    "none": ([], None),
    "of the last run": (["run 3"], None),
    "of a run that did not end": (["run 4", "run 3"], 1),
    "of several, one of which took back what the other left": (["run 5", "run 5", "run 4", None, "run 2"], 2),
    "of somebody else after it": (["OPTIMIZE", None, "run 4", "run 3"], 1),
    "of a release without runs": (["batch", "other"], None),
    "of it, before any other": (["run 4", "run 4"], 0),
    "a claim, which changes nothing": (["claim of run 4 by ab", "run 3"], None),
    "names that are like its own": (["end of run 4", "run 4 ", "run x", "", "run 3"], None),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_the_first_commit_of_a_run_that_did_not_end_is_found(name: str) -> None:
    newest_first, first = HISTORIES[name]
    versions = range(len(newest_first) - 1, -1, -1)
    commits: Any = [{"version": v, "userMetadata": text} for v, text in zip(versions, newest_first, strict=True)]
    assert first_unended(commits, 3) == first


class Delta:
    """The logs of two tables, without a session: a commit with a number that is not higher than all before is passed over."""

    def __init__(self) -> None:
        self.commits: dict[str, list[dict[str, Any]]] = {RUNS: [], EVENTS: []}
        self.read, self.errors = self, dict[str, Exception]()
        for table in self.commits:
            self.commit(table)

    def commit(self, table: str, number: int = 0, text: str | None = None) -> None:
        commits = self.commits[table]
        if number == 0 or number > max(commit["number"] for commit in commits):
            commits.append({"version": len(commits), "number": number, "userMetadata": text})

    def table(self, table: str) -> Any:
        def options(txnAppId: str, txnVersion: str, userMetadata: str) -> Any:  # noqa: N803
            def append() -> None:
                if table in self.errors:
                    raise self.errors[table]
                self.commit(table, int(txnVersion), userMetadata)

            assert txnAppId == "kafka_clientinfo"
            return SimpleNamespace(append=append)

        nothing = SimpleNamespace(writeTo=lambda name: SimpleNamespace(options=options))
        return SimpleNamespace(where=lambda condition: {"false": nothing}[condition])

    def sql(self, statement: str) -> Any:
        words = statement.split()
        newest = self.commits[words[2]][::-1][: int(words[4]) if len(words) > 3 else None]
        return SimpleNamespace(collect=lambda: newest)

    def late_write(self, claim: Claims) -> int:
        """Write to both tables as a run does; return how many of these commits stand."""
        before = sum(map(len, self.commits.values()))
        for name in ("runs", "events"):
            given = claim.options(name)
            self.commit(f"delta.`/lake/{name}`", int(given["txnVersion"]), given["userMetadata"])
        return sum(map(len, self.commits.values())) - before


RUNS, EVENTS = "delta.`/lake/runs`", "delta.`/lake/events`"


def begun(delta: Delta, last: int = 0) -> Claims:
    claim = Claims(delta, Address("/lake"))  # type: ignore[arg-type]
    claim.begin(last, claim.newest()[0])
    return claim


def test_the_later_claim_stands_and_the_earlier_run_is_refused() -> None:
    delta = Delta()
    one, other = begun(delta), begun(delta)
    assert (one.number, other.number, one.has_unended) == (1, 1, False)
    one.claim(lambda: ["events"])
    with pytest.raises(WarehouseError, match=rf"^{OVERTAKEN} to /lake meanwhile; run again, one after the other$"):
        other.claim(lambda: ["events"])
    assert [len(commits) for commits in delta.commits.values()] == [2, 1]
    one.check()
    assert delta.late_write(one) == 2
    later = begun(delta)
    assert (later.number, later.has_unended) == (2, True)
    later.claim(lambda: ["events"])
    later.check()
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        one.check()
    assert (delta.late_write(one), delta.late_write(later), delta.late_write(one)) == (0, 2, 0)
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        later.check_ended()
    given = later.end()
    delta.commit(RUNS, int(given["txnVersion"]), given["userMetadata"])
    later.check_ended()
    assert (begun(delta, 2).number, begun(delta, 2).has_unended) == (3, False)


class ConcurrentTransactionException(Exception):
    """As Delta's; its text does not name it."""


@pytest.mark.parametrize(
    ("error", "is_overtaken"),
    [
        (ConcurrentTransactionException("set-transaction"), True),
        (RuntimeError("[DELTA_CONCURRENT_APPEND] x"), True),
        (RuntimeError("io.delta.exceptions.ConcurrentWriteException: x"), True),
        (RuntimeError("No space left on device"), False),
        (RuntimeError("No space left for the client io.delta.ConcurrentWriteException"), False),
    ],
)
@pytest.mark.parametrize("table", [RUNS, EVENTS])
def test_a_claim_that_another_commit_gets_ahead_of_is_refused(table: str, error: Exception, is_overtaken: bool) -> None:
    delta = Delta()
    begun(delta).claim(list)  # a run that does not end, so that all tables are claimed
    claim = begun(delta)
    delta.errors[table] = error
    expected = WarehouseError if is_overtaken else RuntimeError
    with pytest.raises(expected, match=OVERTAKEN if is_overtaken else "No space"):
        claim.claim(lambda: ["events"])


def test_commands_of_threads_are_numbered_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session has one conf: each would take the other's number, and Delta would pass over one of them."""
    claim, conf, seen = begun(Delta()), dict[str, str](), list[dict[str, str]]()
    began, go = Event(), Event()

    @contextmanager
    def set_for(spark: Any, entries: Mapping[str, str]) -> Iterator[None]:
        conf.update(entries)
        yield
        conf.clear()

    monkeypatch.setattr(claims, "set_for", set_for)
    monkeypatch.setattr(claims, "may_set", lambda *_: True)
    claim.is_named = True
    claim.claim(lambda: ["events"])

    def run_command() -> None:
        with claim.command("events"):
            began.set()
            assert go.wait(10)
            seen.append(dict(conf))

    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(run_command) for _ in range(2)]
        assert began.wait(10)
        wait(running, 0.05)
        go.set()
    assert [command.result() for command in running] == [None, None]
    prefix = "spark.databricks.delta.write"
    assert [entries[f"{prefix}.txnAppId"] for entries in seen] == ["kafka_clientinfo"] * 2
    assert [int(entries[f"{prefix}.txnVersion"]) for entries in seen] == [1_000_001, 1_000_002]
    assert conf == {}
