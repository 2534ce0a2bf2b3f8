"""The state of a warehouse: that of the newest row of `runs`; before format 4, a property of `ingested_files`."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import ddl, state
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.state import (
    _PROPERTY,
    FORMAT,
    State,
    declared_by,
    read_state,
    state_before_runs,
    state_of,
)
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .tiny import AT, SPECS, committed, run

FULL = State(
    built_until=datetime(2026, 11, 21, 2, 45, 9, 935001, tzinfo=UTC),
    built_with="0.2.0 'it\\'s'",
    view_settings={"bucket_minutes": 15},
    retained_from=datetime(2026, 1, 1, tzinfo=UTC),
    deleted={"requests": 7},
    rows={"requests": 12},
    changed=(("c", "b", "f", 7),),
)


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Warehouse:
    lake = Warehouse(spark, str(tmp_path / "lake"), SPECS)
    lake.open()
    return lake


def stored(text: str, run: int = 1) -> list[dict[str, Any]]:
    return [{"run": run, "state": text}]


def test_a_state_is_its_text_and_the_newest_run_counts() -> None:
    for whole in (FULL, State()):
        rows = [*stored(State(built_with="older").as_json, 6), *stored(whole.as_json, 7), *stored("{", 5)]
        assert state_of(rows, Address("/w")) == replace(whole, run=7)
    first, second = (State(rows=dict(rows)) for rows in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)]))
    assert first.as_json == second.as_json
    for text in (
        "2026-11-21 02:45:09.935",
        "2026-11-21T02:45:09.935000Z",
    ):  # as earlier releases wrote it, and this one
        of_ledger = {_PROPERTY: json.dumps({"format": 2, "built_until": text})}
        assert state_before_runs(of_ledger, Address("/w"), False) == State(format=2, built_until=AT)
    berlin = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))  # a program may give another zone
    assert state.time_text(berlin) == "2026-10-25T01:30:00.000000Z"
    read = state_of(stored(State(retained_from=berlin).as_json), Address("/w"))
    assert read.retained_from == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize("text", ["{}", "[]", '{"format": "x"}', "{"])
def test_a_text_that_is_no_state_is_unreadable(text: str) -> None:
    with pytest.raises(WarehouseError, match=r"^/w/runs: the state of the warehouse is unreadable"):
        state_of(stored(text), Address("/w"))


def test_a_run_reads_the_state_of_formats_before_and_others_say_what_a_run_does() -> None:
    of_ledger = {_PROPERTY: json.dumps({"format": FORMAT - 1, "rows": {"a": 1}, "bucket_minutes": 60})}
    for has_runs in (False, True):  # a run may have been killed that was bringing it to this format
        read = state_before_runs(of_ledger, Address("/w"), has_runs)
        assert read == State(format=FORMAT - 1, rows={"a": 1})
        with pytest.raises(
            WarehouseError, match="/w was made by an earlier release; `kafka-clientinfo run` with its logs"
        ):
            state.require_state(read, "/w")


def test_without_a_state_there_is_no_ended_run_or_no_warehouse_of_ours() -> None:
    assert state_before_runs({}, Address("/w"), has_runs=True) is None
    with pytest.raises(WarehouseError, match=r"has no table runs beside it, .* or build the warehouse elsewhere"):
        state_before_runs({}, Address("/w"), has_runs=False)


@pytest.mark.long
def test_a_state_is_stored_by_the_commit_of_a_run(spark: Any, lake: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is read in the table's log, and by Spark."""

    def states() -> list[State | None]:
        with monkeypatch.context() as on_a_store:
            on_a_store.setattr(ddl, "log_folder", lambda *_: None)
            by_spark = read_state(spark, lake.address)
        return [by_spark, read_state(spark, lake.address)]

    assert read_state(spark, lake.address) is None
    changes = {name: value for name, value in vars(FULL).items() if name not in ("run", "format", "declared")}
    committed(lake, **changes)
    assert lake.state == replace(FULL, run=1, declared=declared_by(SPECS))
    assert states() == [lake.state] * 2
    spark.sql(f"OPTIMIZE {lake.address.table('runs')}")
    later = committed(run(spark, lake.root), built_with="later")
    spark.sql(f"OPTIMIZE {lake.address.table('runs')}")
    assert states() == [later.state] * 2
    spark.sql(f"RESTORE TABLE {lake.address.table('runs')} TO VERSION AS OF 1")
    assert states() == [replace(FULL, run=1, declared=declared_by(SPECS))] * 2


@pytest.mark.parametrize("address", [Address("/w"), Address("main.k", ("main", "k"))])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f'{{"format": {FORMAT + 1}, "more": 1}}', " was made by a newer release; use that one, or build it anew elsewhere"),
        ('{"format": 1}', " was made by an earlier release; use that one, or build it anew elsewhere"),
        ('{"other": 1}', "is unreadable ('format'); restore the table, or build it anew elsewhere"),
    ],
)  # fmt: skip
def test_every_format_that_is_refused_is_named_with_what_to_do(text: str, says: str, address: Address) -> None:
    """Also a state with fields that this release does not know, if a newer one has written it."""
    for read in (lambda: state_of(stored(text), address), lambda: state_before_runs({_PROPERTY: text}, address, False)):
        with pytest.raises(WarehouseError) as refused:
            read()
        assert says in str(refused.value)
        assert str(refused.value).startswith(address.root)


@pytest.mark.parametrize(
    ("at_work", "says"),
    [
        (True, "/w holds no run that ended yet: a run is at work on it; ask again when that has ended"),
        (False, "/w holds no run that ended; fill it with `kafka-clientinfo run`, or name another"),
    ],
)
def test_where_there_is_no_warehouse_it_says_how_to_get_one(
    at_work: bool, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "is_at_work", lambda root: at_work if root == "/w" else None)
    with pytest.raises(WarehouseError) as refused:
        state.require_state(None, "/w")
    assert str(refused.value) == says
    assert state.require_state(FULL, "/w") is FULL
