"""What leaves and what stays; and that deleted rows are counted once wherever a run is killed."""

import shutil
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.tables.spec import parse_spec
from kafka_clientinfo.warehouse import retention
from kafka_clientinfo.warehouse.retention import finish_deletion, retain
from kafka_clientinfo.warehouse.state import PROPERTY, State, time_text
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .tiny import AT

DAY = timedelta(days=1)
KEY = {"cluster": "string", "broker": "string", "connection_id": "string"}
PLACE = {"file_id": "string", "byte_offset": "bigint"}
COLUMNS = {
    "ingested_files": {
        "file_id": "string",
        "first_logged_at": "timestamp",
        "last_logged_at": "timestamp",
        "step_back_ms": "bigint",
        "ingested_at": "timestamp",
    },
    "requests": {**PLACE, **KEY, "logged_at": "timestamp"},
    "rejected_records": PLACE,
    "connections": {**PLACE, **KEY, "session_no": "int", "last_request_at": "timestamp"},
}


def spec(name: str) -> Any:
    columns = "".join(f'\n[[columns]]\nname = "{c}"\ntype = "{t}"\ncomment = "c"\n' for c, t in COLUMNS[name].items())
    mode = "part" if name == "connections" else "append"
    keys = 'key = ["file_id"]\ncluster_by = ["file_id"]'
    return parse_spec(f'name = "{name}"\ncomment = "c"\nwrite_mode = "{mode}"\n{keys}\n{columns}')


SPECS = {name: spec(name) for name in COLUMNS}


def at(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


REQUESTS = [
    ("ended before", 0),
    ("ended before", 999),
    ("later too", 0),
    ("later too", 500),
    ("later too", 1001),
    ("ended at it", 1000),
    ("used again", 1),
    ("used again", 990),
    ("used again", 1200),
    ("only logged twice", 3),  # a record of no connection: duplicates are counted in none
    ("twice, before", 4),
    ("twice, before", 4),
    ("twice, later", 5),
    ("twice, later", 5),
    ("twice, later", 1005),
    ("begun before, ended at it", 10),
    ("begun before, ended at it", 1000),
    ("only logged, at it", 1000),  # of no connection either
    ("set back", 1100),
    ("set back", 900),  # of the next connection: the clock was set back
]
CONNECTIONS = [
    ("ended before", 1, 0, 999),
    ("later too", 1, 2, 1001),
    ("ended at it", 1, 5, 1000),
    ("used again", 1, 6, 1),
    ("used again", 2, 7, 1200),
    ("twice, before", 1, 10, 4),
    ("twice, later", 1, 12, 1005),
    ("begun before, ended at it", 1, 15, 1000),
    ("set back", 1, 18, 1100),
    ("set back", 2, 19, 900),
]
LEFT = {
    "later too": 3, "ended at it": 1, "used again": 2, "twice, later": 3, "begun before, ended at it": 2,
    "only logged, at it": 1, "set back": 1,
}  # fmt: skip
DELETED = {"requests": 7, "rejected_records": 2}
FILES = {
    "e": (at(-900), at(-800), True),
    "f": (at(0), at(1200), False),
    "ended at it": (at(900), at(1000), False),
    "without times": (None, None, True),
}
"""Begin and end of each file, and whether its rejected records are deleted; all are ingested before the instant."""


@pytest.fixture(scope="module")
def built(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built warehouse: requests of one file around the instant AT + 1000 s; each connection id is a case."""
    root = tmp_path_factory.mktemp("retention") / "lake"
    made = Warehouse(spark, str(root), True, SPECS)
    rows = {
        "ingested_files": [(name, begin, end, 0, AT) for name, (begin, end, _) in FILES.items()],
        "requests": [("f", n, "c", "b", name, at(seconds)) for n, (name, seconds) in enumerate(REQUESTS)],
        "rejected_records": [(name, 1) for name in FILES],
        "connections": [("f", n, "c", "b", name, number, at(last)) for name, number, n, last in CONNECTIONS],
    }
    for name, values in rows.items():
        made.append(name, relation_of(spark, values, SPECS[name].ddl), "1")
    made.update_state(built_until=AT, rows=made.rows())
    return root


@pytest.fixture
def lake(spark: Any, built: Path, tmp_path: Path) -> Warehouse:
    """A copy of it that a test may change."""
    shutil.copytree(built, tmp_path / "lake")
    return Warehouse(spark, str(tmp_path / "lake"), True, SPECS)


def left(lake: Warehouse) -> dict[str, int]:
    return dict(Counter(row["connection_id"] for row in lake.read("requests").collect()))


def reopened(lake: Warehouse) -> Warehouse:
    other = Warehouse(lake.spark, lake.root, True, SPECS)
    other.open()
    finish_deletion(other)
    return other


def test_the_requests_of_a_connection_leave_together_or_not_at_all(
    lake: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten: list[datetime] = []
    monkeypatch.setattr(lake.judged, "forget", forgotten.append)
    assert retain(lake, 1, at(1000) + DAY) == DELETED
    assert forgotten == [at(1000)]  # see test_judged_table.py
    assert left(lake) == LEFT
    files = {row["file_id"] for row in lake.read("rejected_records").collect()}
    assert files == {name for name, (*_, is_deleted) in FILES.items() if not is_deleted}
    state = reopened(lake).state
    assert (state.deleted, state.deleting) == (DELETED, None)
    assert state.retained_from == at(1000)
    assert state.rows == lake.rows()


@pytest.mark.long
def test_the_instant_never_goes_back(lake: Warehouse) -> None:
    retain(lake, 1, at(1000) + DAY)
    assert retain(lake, 2, at(1000) + DAY) == dict.fromkeys(DELETED, 0)
    assert retain(lake, 1, at(1300) + DAY)["requests"] == sum(LEFT.values())
    assert lake.state.deleted["requests"] == len(REQUESTS)


def kill_at(lake: Warehouse, monkeypatch: pytest.MonkeyPatch, method: str, call: int) -> None:
    """Have a call of a method kill the run, before it does anything."""
    calls: list[int] = []
    works = getattr(lake, method)

    def killed(*arguments: Any, **changes: Any) -> Any:
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return works(*arguments, **changes)

    monkeypatch.setattr(lake, method, killed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "call", "is_begun"),
    [
        ("delete_rows", 2, True),
        pytest.param("update_state", 1, False, marks=pytest.mark.soak),
        pytest.param("delete_rows", 1, True, marks=pytest.mark.soak),
        pytest.param("update_state", 2, True, marks=pytest.mark.soak),
    ],
)
def test_a_killed_deletion_is_finished_and_counted_once(
    lake: Warehouse, monkeypatch: pytest.MonkeyPatch, method: str, call: int, is_begun: bool
) -> None:
    kill_at(lake, monkeypatch, method, call)
    with pytest.raises(KeyboardInterrupt):
        retain(lake, 1, at(1000) + DAY)
    assert (Warehouse(lake.spark, lake.root, True, SPECS).state.deleting is not None) == is_begun
    finished = reopened(lake)
    assert finished.state.deleted == (DELETED if is_begun else {})
    assert finished.state.deleting is None
    retain(finished, 1, at(1000) + DAY)
    assert left(finished) == LEFT
    assert finished.state.deleted == DELETED
    assert finished.state.rows == finished.rows()


def test_what_a_deletion_under_way_left_is_deleted_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    state = State(
        retained_from=at(1000),
        deleting={"requests": 5, "rejected_records": 2},
        deleted={"requests": 10, "failed_requests": 7},
        rows={"requests": 20, "rejected_records": 4, "connections": 3},
    )
    done: list[Any] = []
    lake: Any = SimpleNamespace(
        state=state,
        delete_rows=lambda *what: done.append(what),
        update_state=lambda **changes: done.append(changes),
    )
    keys = {"requests": "keys of requests", "rejected_records": "keys of records"}
    asked: list[Any] = []
    monkeypatch.setattr(retention, "_doomed", lambda *what: asked.append(what) or nullcontext(keys))
    finish_deletion(lake)
    assert asked == [(lake, at(1000), state.deleting)]
    assert done == [
        ("requests", "keys of requests", f"t.logged_at < timestamp '{time_text(at(1000))}'"),
        ("rejected_records", "keys of records", "true"),
        {
            "deleted": {"requests": 15, "failed_requests": 7, "rejected_records": 2},
            "deleting": None,
            "rows": {"requests": 15, "rejected_records": 2, "connections": 3},
        },
    ]
    for over in (replace(state, deleting=None), replace(state, retained_from=None)):
        lake.state = over
        finish_deletion(lake)
    assert (len(asked), len(done)) == (1, 3)


def test_rows_to_delete_are_found_after_a_claim_and_kept_until_they_are_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[Any] = []

    def kept(name: str, tables: Any, instant: datetime) -> Any:
        return SimpleNamespace(select=lambda *columns: (name, instant, columns))

    for name in ("requests", "rejected"):
        monkeypatch.setattr(retention, f"_old_{name}", partial(kept, name))
    monkeypatch.setattr(retention, "cache", lambda rows, staging: (*rows, staging))
    monkeypatch.setattr(retention, "release", lambda *rows: done.append(("released", *rows)))
    lake: Any = SimpleNamespace(claim=lambda: done.append("claimed"), staging="staging")
    keys = ("file_id", "byte_offset")
    doomed = {
        "requests": ("requests", AT, keys, "staging"),
        "rejected_records": ("rejected", AT, keys, "staging"),
    }
    with retention._doomed(lake, AT, doomed) as found:
        assert (found, done) == (doomed, ["claimed"])
    with suppress(KeyError), retention._doomed(lake, AT, ["requests"]):
        raise KeyError  # the run fails while it deletes
    released = [("released", *doomed.values()), ("released", doomed["requests"])]
    assert done == ["claimed", released[0], "claimed", released[1]]


def test_nothing_is_deleted_while_there_are_requests_that_no_build_has_seen(spark: Any, lake: Warehouse) -> None:
    row = ("g", at(1100), at(1500), 0, AT + timedelta(hours=1))
    lake.append("ingested_files", relation_of(spark, [row], SPECS["ingested_files"].ddl), "2")
    with pytest.raises(WarehouseError, match="no build has seen; run `kafka-clientinfo build` first"):
        retain(lake, 1, at(1000) + DAY)


@pytest.mark.soak
def test_without_a_lock_a_deletion_is_claimed_and_finished_too(
    lake: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Warehouse(lake.spark, lake.root, False, SPECS)
    slow.open()
    kill_at(slow, monkeypatch, "delete_rows", 2)
    with pytest.raises(KeyboardInterrupt):
        retain(slow, 1, at(1000) + DAY)
    quick = Warehouse(lake.spark, lake.root, False, SPECS)
    quick.open()
    finish_deletion(quick)
    assert quick.state.deleted == DELETED
    assert left(quick) == LEFT
    with pytest.raises(WarehouseError, match="another run has written"):
        slow.update_state(deleting=None)


def test_a_deletion_survives_as_text() -> None:
    state = State(deleting={"requests": 1})
    assert '"deleting": {"requests": 1}' in state.properties[PROPERTY]
