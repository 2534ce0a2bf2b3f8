"""Overlapping runs where the storage has no locks: one commits, the others are refused, nothing is doubled or lost."""

import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.spark.features import conf_value
from kafka_clientinfo.warehouse import claims, ddl
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.claims import Claims
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .tiny import SPECS, fact, facts, rows_of

OVERTAKEN = "another run has written"


@pytest.fixture(scope="module")
def empty(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("claims")
    Warehouse(spark, str(root), True, SPECS).create_missing(SPECS)
    return root


@pytest.fixture
def folder(empty: Path, tmp_path: Path) -> str:
    """Empty tables of its own."""
    shutil.copytree(empty, tmp_path, dirs_exist_ok=True)
    return str(tmp_path)


@pytest.fixture(params=["folder", pytest.param("schema", marks=pytest.mark.long)])
def root(request: pytest.FixtureRequest) -> str:
    """Empty tables of its own, at a path and by name."""
    return str(request.getfixturevalue(request.param))


def run(spark: Any, root: str) -> Warehouse:
    """A run that holds no lock, and has opened the warehouse."""
    lake = Warehouse(spark, root, False, SPECS)
    lake.open()
    return lake


@contextmanager
def refused_where_not_numbered() -> Iterator[None]:
    """A MERGE or DELETE of an overtaken run: Delta passes over it; on serverless compute the run itself refuses it."""
    with suppress(WarehouseError):
        yield


def event(spark: Any, name: str) -> Any:
    return rows_of(spark, "events", (name,))


def events(lake: Warehouse) -> list[str]:
    return sorted(row[0] for row in lake.read("events").collect())


def test_of_two_that_have_seen_the_same_one_claims(spark: Any, root: str) -> None:
    one, other = run(spark, root), run(spark, root)
    one.claim()
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        other.claim()
    one.append("events", event(spark, "one"), "1", expected=1)
    assert one.count("events") == 1
    one.update_state(built_with="one")
    assert events(one) == ["one"]


@pytest.mark.long
def test_a_new_warehouse_is_claimed_too(spark: Any, tmp_path: Path) -> None:
    one, other = run(spark, str(tmp_path)), run(spark, str(tmp_path))
    one.append("events", event(spark, "one"), "1")
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        other.append("events", event(spark, "other"), "2")
    assert events(one) == ["one"]


@pytest.mark.long
def test_who_claims_must_have_seen_the_last_commit(spark: Any, root: str) -> None:
    lake = run(spark, root)
    ddl.set_properties(spark, lake.table("ingested_files"), {"some.thing": "else"})
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        lake.claim()


@pytest.mark.long
def test_who_is_overtaken_commits_nothing_more(spark: Any, root: str) -> None:
    slow = run(spark, root)
    slow.append("events", event(spark, "kept"), "1")
    slow.update_state(built_with="slow")
    quick = run(spark, root)
    quick.claim()
    for write in (slow.append, slow.overwrite, slow.upsert):
        write("events", event(spark, "late"), "1")
    with refused_where_not_numbered():
        slow.delete("events", "file_id = 'kept'")
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        slow.upsert("ingested_files", rows_of(spark, "ingested_files", ("late", None)), "1")
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        slow.update_state(built_with="late")
    assert events(quick) == ["kept"]
    quick.append("events", event(spark, "next"), "2")
    quick.delete("events", "file_id = 'kept'")
    quick.upsert("ingested_files", rows_of(spark, "ingested_files", ("next", None)), "2")
    quick.update_state(built_with="quick")
    assert events(quick) == ["next"]
    assert run(spark, root).state.built_with == "quick"


@pytest.mark.long
def test_a_merge_is_numbered_too(spark: Any, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_clientinfo.warehouse.ddl.SMALL_TABLE_BYTES", 0)
    slow = run(spark, root)
    slow.upsert("events", event(spark, "first"), "1")
    slow.upsert("events", event(spark, "second"), "2")
    assert events(slow) == ["first", "second"]
    quick = run(spark, root)
    quick.claim()
    with refused_where_not_numbered():
        slow.upsert("events", event(spark, "late"), "1")
    assert events(quick) == ["first", "second"]
    assert conf_value(spark, "spark.databricks.delta.write.txnVersion") is None


@pytest.mark.long
def test_a_command_that_cannot_be_numbered_is_refused(spark: Any, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def refused(spark: Any, conf: Mapping[str, str]) -> Iterator[None]:
        raise RuntimeError("[CONFIG_NOT_AVAILABLE]")
        yield

    monkeypatch.setattr("kafka_clientinfo.warehouse.claims.set_for", refused)
    slow = run(spark, root)
    slow.append("events", event(spark, "kept"), "1")
    slow.delete("events", "file_id = 'other'")
    run(spark, root).claim()
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        slow.delete("events", "file_id = 'kept'")
    assert events(slow) == ["kept"]


def test_a_run_that_writes_nothing_commits_nothing(spark: Any, root: str) -> None:
    ledger = run(spark, root).table("ingested_files")
    before = len(ddl.history(spark, ledger))
    run(spark, root)
    assert len(ddl.history(spark, ledger)) == before


@pytest.mark.long
def test_with_a_lock_nothing_is_claimed(spark: Any, folder: str) -> None:
    lake = Warehouse(spark, folder, True, SPECS)
    lake.open()
    for number in range(2):
        lake.append("events", event(spark, str(number)), "1")
    lake.upsert("facts", facts(spark, fact("x")), "1")
    lake.update_state(built_with="1")
    assert events(lake) == ["0", "1"]
    for name in SPECS:
        texts = [row["userMetadata"] or "" for row in ddl.history(spark, lake.table(name))]
        assert not any(text.startswith("claim") for text in texts)


@pytest.mark.long
def test_an_old_claim_is_found_after_many_commits(spark: Any, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_clientinfo.warehouse.ddl.RECENT", 2)
    lake = run(spark, root)
    for number in range(3):
        lake.update_state(built_with=str(number))


@pytest.mark.long
def test_the_batch_is_found_after_a_claim(spark: Any, root: str) -> None:
    run(spark, root).append("events", event(spark, "x"), "first")
    lake = run(spark, root)
    lake.claim()
    assert lake.last_batch("events") == "first"


def test_a_claim_is_above_every_commit_of_an_earlier_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Claims, "_commit_nothing", lambda self, name, number: None)

    def claimed(version: int) -> Claims:
        claim, versions = Claims(None, Address("/lake"), False), iter((version, version + 1))  # type: ignore[arg-type]
        commit = {"userMetadata": claim._token}
        monkeypatch.setattr(claims, "history", lambda *_: [commit | {"version": next(versions)}])
        claim.claim([])
        return claim

    first, second = claimed(4), claimed(5)
    commits = [int(first.options("events")["txnVersion"]) for _ in range(1000)]
    assert first.number is not None
    assert second.number is not None
    assert [first.number, *commits, second.number] == sorted({first.number, *commits, second.number})
    assert int(first.options("facts")["txnVersion"]) == commits[0]


class Delta:
    """The logs of two tables, without a session: a commit with a number that is not higher than all before is passed over."""

    def __init__(self) -> None:
        self.commits: dict[str, list[dict[str, Any]]] = {LEDGER: [], EVENTS: []}
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
        for name in ("ingested_files", "events"):
            self.commit(f"delta.`/lake/{name}`", int(claim.options(name)["txnVersion"]), "batch")
        return sum(map(len, self.commits.values())) - before


LEDGER, EVENTS = "delta.`/lake/ingested_files`", "delta.`/lake/events`"


def noted(delta: Delta, locked: bool = False) -> Claims:
    claim = Claims(delta, Address("/lake"), locked)  # type: ignore[arg-type]
    claim.note_version()
    return claim


def test_the_later_claim_stands_and_the_earlier_run_is_refused() -> None:
    delta = Delta()
    one, other = noted(delta), noted(delta)
    one.check()
    assert one.options("events") == {}
    one.claim(["events"])
    with pytest.raises(WarehouseError, match=rf"^{OVERTAKEN} to /lake meanwhile; run again, one after the other$"):
        other.claim(["events"])
    assert (other.number, [len(commits) for commits in delta.commits.values()]) == (None, [2, 2])
    one.check()
    assert delta.late_write(one) == 2
    one.check()
    later = noted(delta)
    one.check()
    later.claim(["events"])
    later.check()
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        one.check()
    assert (delta.late_write(one), delta.late_write(later), delta.late_write(one)) == (0, 2, 0)


@pytest.mark.parametrize("text", [None, "batch", "claim of another"])
def test_a_run_that_missed_a_commit_claims_no_table(text: str | None) -> None:
    """Not even for an instant: a run that goes on would be kept from writing there."""
    delta = Delta()
    late = noted(delta)
    delta.commit(LEDGER, text=text)
    with pytest.raises(WarehouseError, match=OVERTAKEN):
        late.claim(["events"])
    assert (late.number, len(delta.commits[EVENTS])) == (None, 1)


class ConcurrentTransactionException(Exception):
    """As Delta's; its text does not name it."""


@pytest.mark.parametrize(
    ("error", "is_overtaken"),
    [
        (ConcurrentTransactionException("set-transaction"), True),
        (RuntimeError("[DELTA_CONCURRENT_APPEND] x"), True),
        (RuntimeError("io.delta.exceptions.ConcurrentWriteException: x"), True),
        (RuntimeError("No space left on device"), False),
    ],
)
@pytest.mark.parametrize("table", [LEDGER, EVENTS])
def test_a_claim_that_another_commit_gets_ahead_of_is_refused(table: str, error: Exception, is_overtaken: bool) -> None:
    delta = Delta()
    claim = noted(delta)
    delta.errors[table] = error
    with pytest.raises(
        WarehouseError if is_overtaken else RuntimeError, match=OVERTAKEN if is_overtaken else "No space"
    ):
        claim.claim(["events"])
    assert claim.number is None


def test_under_a_lock_no_table_is_asked() -> None:
    claim = Claims(None, Address("/lake"), True)  # type: ignore[arg-type]
    claim.note_version()
    claim.check()
    with claim.command("events"):
        assert claim.options("events") == {}


def test_commands_of_threads_are_numbered_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session has one conf: each would take the other's number, and Delta would pass over one of them."""
    claim, conf, seen = noted(Delta()), dict[str, str](), list[dict[str, str]]()
    began, go = Event(), Event()

    @contextmanager
    def set_for(spark: Any, entries: Mapping[str, str]) -> Iterator[None]:
        conf.update(entries)
        yield
        conf.clear()

    monkeypatch.setattr(claims, "set_for", set_for)
    claim.claim(["events"])

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


def test_where_a_command_cannot_be_numbered_the_claim_is_checked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("[CONFIG_NOT_AVAILABLE]")

    monkeypatch.setattr(claims, "set_for", refuse)
    delta, done = Delta(), list[str]()
    claim = noted(delta)
    claim.claim([])
    with claim.command("events"):
        done.append("deleted")
    noted(delta).claim([])
    with pytest.raises(WarehouseError, match=OVERTAKEN), claim.command("events"):
        done.append("deleted late")
    assert done == ["deleted"]
