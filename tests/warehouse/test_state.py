"""The state of a warehouse: one property, read at once and written at once."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import ddl, state
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.migration import declared_by
from kafka_clientinfo.warehouse.state import (
    FORMAT,
    PROPERTY,
    EarlierReleaseError,
    State,
    counted_rows,
    read_state,
    state_of,
)
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.amounts import one_in

from .tiny import AT, SPECS, rows_of

FULL = State(
    built_until=datetime(2026, 11, 21, 2, 45, 9, 935001, tzinfo=UTC),
    built_with="0.2.0 'it\\'s'",
    view_settings={"bucket_minutes": 15},
    retained_from=datetime(2026, 1, 1, tzinfo=UTC),
    deleting={"requests": 3},
    deleted={"requests": 7},
    rows={"requests": 12},
)


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Warehouse:
    return Warehouse(spark, str(tmp_path / "lake"), True, SPECS)


def test_a_state_is_its_text() -> None:
    for whole in (FULL, State()):
        assert state_of(whole.properties, Address("/w")) == whole
    first, second = (State(rows=dict(rows)) for rows in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)]))
    assert first.properties == second.properties


@pytest.mark.parametrize("text", ["{}", "[]", '{"format": "2"}'])
def test_a_text_that_is_no_state_is_unreadable(text: str) -> None:
    with pytest.raises(WarehouseError, match=r"the table property kafka_clientinfo\.state is unreadable"):
        state_of({PROPERTY: text}, Address("/w"))


@pytest.mark.parametrize(
    "text", ["2026-11-21 02:45:09.935", "2026-11-21 02:45:09.935000", "2026-11-21T02:45:09.935000Z"]
)
def test_times_are_read_as_earlier_releases_wrote_them(text: str) -> None:
    stored = {PROPERTY: json.dumps({"format": FORMAT, "built_until": text})}
    assert state_of(stored, Address("/w")).built_until == AT


def test_a_run_reads_the_state_of_the_format_before_and_others_say_what_a_run_does() -> None:
    stored = {PROPERTY: json.dumps({"format": FORMAT - 1, "rows": {"a": 1}, "bucket_minutes": 60})}
    assert state_of(stored, Address("/w"), FORMAT - 1) == State(format=FORMAT - 1, rows={"a": 1})
    with pytest.raises(
        EarlierReleaseError, match="/w was made by an earlier release; `kafka-clientinfo run` with its logs"
    ):
        state_of(stored, Address("/w"))


@pytest.mark.parametrize(("ignored", "failed"), [(None, 0), ({"server_log": 5}, 0), ({"failed_request": 3}, 3)])
def test_failed_requests_are_counted_among_what_is_ignored(ignored: dict[str, int] | None, failed: int) -> None:
    counts = counted_rows({"requests": 1, "rejected": 2, "ignored": ignored})
    assert counts == {"requests": 1, "rejected_records": 2, "failed_requests": failed}


def test_a_state_is_stored_with_one_commit_and_read_back(spark: Any, lake: Warehouse) -> None:
    assert read_state(spark, lake.address) is None
    lake.update_state(built_with="a")
    lake.create_missing(["ingested_files"])
    lake.update_state(built_with="a")
    lake.update_state(
        **{name: getattr(FULL, name) for name in ("built_until", "built_with", "view_settings", "deleting", "deleted")}
    )
    lake.update_state(rows=FULL.rows, retained_from=FULL.retained_from)
    assert lake.state == replace(FULL, declared=declared_by(SPECS))
    assert Warehouse(spark, lake.root, True, SPECS).state == lake.state
    operations = [row["operation"] for row in ddl.history(spark, lake.table("ingested_files"))]
    assert operations == ["SET TBLPROPERTIES", "SET TBLPROPERTIES", "CREATE TABLE"]


@pytest.mark.long
def test_writes_of_the_table_keep_it(spark: Any, lake: Warehouse) -> None:
    lake.update_state(built_with="a")
    lake.upsert("ingested_files", rows_of(spark, "ingested_files", ("f", None)), "1")
    lake.overwrite("ingested_files", rows_of(spark, "ingested_files", ("g", None)), "2")
    assert Warehouse(spark, lake.root, True, SPECS).state.built_with == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    one_in(
        2,
        [
            (None, "has no property kafka_clientinfo.state, so that this package"),
            (f'{{"format": {FORMAT + 1}, "more": 1}}', "made by a newer release"),
            ("{", "unreadable"),
            (f'{{"format": {FORMAT}, "other": 1}}', "unreadable"),
            (f'{{"format": {FORMAT - 2}}}', "made by an earlier release"),
        ],
    ),
)
def test_a_warehouse_of_another_format_is_refused(spark: Any, lake: Warehouse, text: str | None, message: str) -> None:
    lake.create_missing(["ingested_files"])
    table = lake.table("ingested_files")
    if text is None:
        spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('{PROPERTY}')")
    else:
        ddl.set_properties(spark, table, {PROPERTY: text})
    with pytest.raises(WarehouseError, match=message):
        Warehouse(spark, lake.root, True, SPECS).open()


@pytest.mark.parametrize(
    ("address", "another"), [(Address("/w"), "folder"), (Address("main.k", ("main", "k")), "schema")]
)
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "has no property kafka_clientinfo.state, so that this package, or this release of it, did not make it; name {}, "),
        (f'{{"format": {FORMAT + 1}, "more": 1}}', " was made by a newer release; use that one, or build it anew into {}"),
        (f'{{"format": {FORMAT - 2}}}', " was made by an earlier release; use that one, or build it anew into {}"),
        ('{"other": 1}', "state is unreadable ('format'); restore the table, or build it anew into {}"),
    ],
)  # fmt: skip
def test_every_format_that_is_refused_is_named_with_what_to_do(
    text: str | None, says: str, address: Address, another: str
) -> None:
    """Also a state with fields that this release does not know, if a newer one has written it."""
    with pytest.raises(WarehouseError) as refused:
        state_of({} if text is None else {PROPERTY: text}, address)
    assert says.format(f"another {another}") in str(refused.value)
    assert str(refused.value).startswith(address.root)


@pytest.mark.parametrize(
    ("at_work", "says"),
    [
        (True, "/w has no table ingested_files yet: a run is at work on it; ask again when that has ended"),
        (
            False,
            "/w has no table ingested_files; make it with `kafka-clientinfo run`, or name another: there is no folder /w",
        ),
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


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.mkdir(), "run`"),
        (lambda path: path.write_text(""), "run`, or name another: {path} is a file"),
        (lambda path: (path / "_delta_log").mkdir(parents=True), "run`, or name its parent: {path} is one table"),
    ],
    ids=["empty folder", "file", "table"],
)
def test_what_is_no_warehouse_is_called_by_what_it_is(
    make: Callable[[Path], object], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "w"
    make(path)
    with pytest.raises(WarehouseError) as refused:
        state.require_state(None, str(path))
    assert str(refused.value).endswith(says.format(path=path))


def test_nothing_is_said_of_what_is_not_on_this_machine() -> None:
    with pytest.raises(WarehouseError) as refused:
        state.require_state(None, "s3://lake/w")
    assert str(refused.value) == "s3://lake/w has no table ingested_files; make it with `kafka-clientinfo run`"


def test_times_are_stored_in_utc() -> None:
    """A program may give a time of another zone; the text has none of it."""
    berlin = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))
    assert state.time_text(berlin) == "2026-10-25T01:30:00.000000Z"
    stored = state_of(State(retained_from=berlin).properties, Address("/w"))
    assert stored.retained_from == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
