"""What a run does around its writes, without a session: when it claims, who makes a table, and how rows are counted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import ddl, warehouse
from kafka_clientinfo.warehouse.migration import declared_by
from kafka_clientinfo.warehouse.state import State
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .delta_logs import TABLE, commit, named, save
from .tiny import AT, SPECS

SHORT = 0.05
"""Seconds in which a thread that does not wait for another would have gone on."""


class Session:
    """Notes statements, each of which affects three rows."""

    def __init__(self, done: list[Any]) -> None:
        self.done = done

    def sql(self, statement: str) -> Any:
        self.done.append(statement.split()[0])
        return SimpleNamespace(first=lambda: {"num_affected_rows": 3})


class Claim:
    """The claim of a run; a command is numbered as long as its block goes on."""

    def __init__(self, done: list[Any]) -> None:
        self.done, self.number = done, 1

    def check(self) -> None:
        self.done.append("checked")

    def options(self, name: str) -> dict[str, str]:
        return {"txnVersion": "7"}

    def note_version(self) -> None:
        self.done.append("noted")

    @contextmanager
    def command(self, name: str) -> Any:
        self.done.append(f"numbered {name}")
        yield
        self.done.append("over")


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a run does; a write counts two rows, and every table is large."""
    done: list[Any] = []

    def write(rows: Any, address: Any, name: str, mode: str, options: Any, where: str | None = None) -> None:
        done.append((mode, name, *options.values()))

    monkeypatch.setattr(warehouse, "write", write)
    monkeypatch.setattr(warehouse, "written_rows", lambda *_: 2)
    monkeypatch.setattr(warehouse.replacement, "shaped", lambda rows, spec: rows)
    monkeypatch.setattr(warehouse.replacement, "changes", lambda *_: "changes")
    monkeypatch.setattr(ddl, "SMALL_TABLE_BYTES", 0)
    monkeypatch.setattr(ddl, "is_small", lambda *_: False)
    monkeypatch.setattr(ddl, "named_view", lambda *_: nullcontext("view"))
    return done


def lake_of(root: Path, done: list[Any], locked: bool = False) -> Warehouse:
    """A warehouse with all its tables, opened by a run that has claimed it, or that holds a lock."""
    lake = Warehouse(Session(done), str(root), locked, SPECS)  # type: ignore[arg-type]
    lake._claims = Claim(done)  # type: ignore[assignment]
    lake._existing, lake._state = set(SPECS), State()
    lake.claim = lambda: done.append("claimed")  # type: ignore[method-assign]
    return lake


WRITES: dict[str, Callable[[Warehouse, str], object]] = {
    "append": lambda lake, name: lake.append(name, None, "b"),  # type: ignore[arg-type]
    "overwrite": lambda lake, name: lake.overwrite(name, None, "b"),  # type: ignore[arg-type]
    "upsert": lambda lake, name: lake.upsert(name, None, "b"),  # type: ignore[arg-type]
}
LEDGER = "ingested_files"


@pytest.mark.parametrize("name", [LEDGER, "events"])
@pytest.mark.parametrize("kind", WRITES)
def test_a_write_of_the_ledger_that_delta_passed_over_is_noticed(
    kind: str, name: str, done: list[Any], tmp_path: Path
) -> None:
    """Else an overtaken run would say that it has read files of which nothing is stored."""
    WRITES[kind](lake_of(tmp_path, done), name)
    written = [(kind, name, "b", "7")] if kind != "upsert" else [f"numbered {name}", "MERGE", "over"]
    assert done == ["claimed", *written, *["checked"] * (name == LEDGER)]


@pytest.mark.parametrize(
    ("locked", "known", "mode"),
    [(True, 0, "append"), (True, 5, "overwrite"), (True, None, "overwrite"), (False, 0, "overwrite")],
)
def test_rows_that_another_run_may_have_written_are_replaced(
    locked: bool, known: int | None, mode: str, done: list[Any], tmp_path: Path
) -> None:
    """A run that was overtaken may just have filled a table that this one has found empty."""
    rows: Any = "rows"
    for replace in (
        lambda lake: lake.overwrite("facts", rows, "b"),
        lambda lake: lake.replace_connections("facts", rows, None, lambda: None, "b"),
    ):
        lake = lake_of(tmp_path, done, locked)
        lake._rows["facts"] = known
        replace(lake)
        assert (done.pop()[0], lake._rows["facts"]) == (mode, 2)


def test_connections_of_a_large_table_are_replaced_by_a_numbered_command(done: list[Any], tmp_path: Path) -> None:
    lake, rows = lake_of(tmp_path, done), "rows"
    bounds: list[Any] = []
    lake.read = lambda name: "stored"  # type: ignore[method-assign,assignment,return-value]
    lake.replace_connections("facts", rows, rows, lambda: bounds.append(1), "b")  # type: ignore[arg-type,func-returns-value]
    assert done == ["claimed", "numbered facts", "MERGE", "over"]
    assert bounds == [1]
    done.clear()
    keys: Any = SimpleNamespace(columns=["names"])
    assert lake.delete("facts", "true") == lake.delete_rows("facts", keys) == 3
    assert done == [part for kind in ("DELETE", "MERGE") for part in ("claimed", "numbered facts", kind, "over")]
    done.clear()
    lake.exists = lambda name: False  # type: ignore[method-assign]
    assert lake.delete("facts", "true") == lake.delete_rows("facts", keys) == 0
    assert done == ["claimed", "claimed"]  # also where nothing is deleted now: another run may be about to write it


@pytest.mark.parametrize(
    ("known", "written", "count"), [({}, [2], 40), ({"facts": 0}, [2, 3], 5), ({"facts": 4}, [None, 3], 40)]
)
def test_a_number_of_rows_that_is_not_known_is_asked_for(
    known: dict[str, int], written: list[int | None], count: int, done: list[Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    lake, numbers = lake_of(tmp_path, done), iter(written)
    lake._rows.update(known)
    lake._state = State(rows={"facts": 77, "sums": 6, "events": 8, LEDGER: 9, "gone": 1})
    monkeypatch.setattr(warehouse, "written_rows", lambda *_: next(numbers))
    monkeypatch.setattr(lake, "count", lambda name: 40)
    for number in written:
        lake.append("facts", None, "b", expected=number or 5)  # type: ignore[arg-type]
    # what runs append to may have rows of a killed run; derived tables have what the last build has counted
    assert list(lake.rows().items()) == [(LEDGER, 40), ("events", 40), ("facts", count), ("sums", 6)]


def test_before_anything_is_read_the_newest_version_is_noted(
    done: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a claim fails if another run has committed after this one has read the state."""
    state = State(built_with="1")
    monkeypatch.setattr(warehouse, "refuse_damaged", lambda lake: done.append("damage"))
    monkeypatch.setattr(warehouse, "read_state", lambda *given, oldest: done.append("state") or state)
    monkeypatch.setattr(warehouse, "migrate", lambda lake: done.append("migrated"))
    monkeypatch.setattr(warehouse, "mend", lambda lake: done.append("mend"))
    lake = lake_of(tmp_path, done)
    monkeypatch.setattr(lake, "_make", lambda name: done.append(name))
    assert lake.open() == state
    assert done == ["damage", LEDGER, "noted", "state", "migrated", "mend"]
    done.clear()
    locked = lake_of(tmp_path, done, locked=True)
    monkeypatch.setattr(locked, "_make", None)
    assert locked.open() == State(declared=declared_by(locked.specs))
    assert done == ["damage", "noted"]
    save(tmp_path / LEDGER, {named(0): commit(*TABLE)})
    done.clear()
    assert locked.open() == state
    assert done == ["damage", "noted", "state", "migrated", "mend"]


def test_a_state_is_stored_only_by_the_run_that_holds_the_claim(
    done: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ddl, "set_properties", lambda spark, table, properties: done.append(properties))
    lake = lake_of(tmp_path, done)
    lake.update_state(built_until=AT)
    assert done == ["claimed", "checked", State(built_until=AT).properties]

    def refuse() -> None:
        raise WarehouseError("overtaken")

    lake._claims.check = refuse  # type: ignore[method-assign]
    with pytest.raises(WarehouseError, match="overtaken"):
        lake.update_state(built_until=None)
    assert (done[3:], lake.state) == (["claimed"], State(built_until=AT))


def test_who_does_not_say_that_it_holds_a_lock_counts_with_other_runs(tmp_path: Path) -> None:
    """Such as a command that reads: the newest version is then asked of Delta, not taken from names of files."""
    folders = [Warehouse(None, str(tmp_path), *given).folder("events") for given in ((), (True,))]  # type: ignore[arg-type]
    assert folders == [None, tmp_path / "events"]


def test_threads_that_write_claim_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, began, go, done = Warehouse(None, str(tmp_path), False, SPECS), Event(), Event(), list[Any]()  # type: ignore[arg-type]

    def claim(names: Any) -> None:
        began.set()
        assert go.wait(10)
        lake._claims.number = 1
        done.append(sorted(names))

    monkeypatch.setattr(lake, "create_missing", lambda names: done.append(sorted(names)))
    monkeypatch.setattr(lake._claims, "claim", claim)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lake.claim)
        assert began.wait(10)
        second = threads.submit(lake.claim)
        is_over = wait([second], SHORT).done
        go.set()
    assert (first.result(), second.result(), is_over) == (None, None, set())
    assert done == [["events", LEDGER, LEDGER, "sums"], ["events", "sums"]]


def test_the_batch_of_a_table_is_that_of_the_last_write_of_rows(
    done: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim commits too; taken for a batch, it would look like a run that has failed."""
    texts = [None, "claim 2", "second", "claim 1", "first"]
    monkeypatch.setattr(
        "kafka_clientinfo.warehouse.claims.commits", lambda *_: [{"userMetadata": text} for text in texts]
    )
    made_by: dict[str, str] = {}
    monkeypatch.setattr(warehouse.ddl, "properties", lambda *_: made_by)
    lake = lake_of(tmp_path, done)
    assert lake.last_batch("events") == "second"
    texts[2:] = ["claim 1"]
    assert lake.last_batch("events") is None
    made_by["kafka_clientinfo.first_batch"] = "first"
    assert lake.last_batch("events") == "first"
