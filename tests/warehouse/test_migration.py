"""Tables that an earlier release made are brought to the declarations of this one when a run opens them, or refused whole."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.tables.spec import Column, TableSpec
from kafka_clientinfo.warehouse import ddl
from kafka_clientinfo.warehouse.state import LEDGER, declared_by
from kafka_clientinfo.warehouse.table_layout import differences, layout_of
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.amounts import one_in

from .tiny import AT, SPECS, committed, fact, facts

Specs = dict[str, TableSpec]
NOTE = Column("note", "string", 'What was noted; it\'s "new"')
COUNT = Column("number", "bigint", "Counted", required=True)


def with_columns(name: str, *columns: Column, at: int = 1) -> Specs:
    known = SPECS[name].columns
    return {**SPECS, name: replace(SPECS[name], columns=(*known[:at], *columns, *known[at:]))}


REFUSED: dict[str, tuple[Specs, bool]] = {
    "events cannot become its table events: column number is missing": (with_columns("events", COUNT), False),
    "column run has type bigint, not int": (
        {
            **SPECS,
            "events": replace(SPECS["events"], columns=(*SPECS["events"].columns[:-1], Column("run", "int", "x"))),
        },
        False,
    ),
    "retention has deleted requests": ({name: spec for name, spec in SPECS.items() if name != "sums"}, True),
}


def of_release(spark: Any, root: str, specs: Specs) -> Warehouse:
    lake = Warehouse(spark, root, specs)
    lake.open()
    lake.mend()
    return committed(lake) if lake.has_written else lake


def filled(spark: Any, root: str) -> Warehouse:
    lake = Warehouse(spark, root, SPECS)
    lake.open()
    lake.create_missing([LEDGER])
    lake.append("facts", facts(spark, fact("x")))
    lake.append("events", spark.sql("SELECT 'f' AS file_id"))
    lake.append(
        "sums", spark.sql(f"SELECT 'a' AS name, 'l' AS label, 1L AS answers, timestamp'{AT:%Y-%m-%d}' AS last_seen")
    )
    return committed(lake, built_until=AT, rows={**lake.rows(), "ingested_files": 0})


@pytest.fixture
def root(spark: Any, tmp_path: Path) -> str:
    filled(spark, str(tmp_path))
    return str(tmp_path)


def unlike(spark: Any, lake: Warehouse) -> dict[str, list[str]]:
    found = {name: differences(spec, layout_of(spark, lake.address, name)) for name, spec in lake.specs.items()}
    return {name: texts for name, texts in found.items() if texts}


def test_what_may_be_null_is_added_and_what_can_be_derived_is_made_anew(spark: Any, root: str) -> None:
    before = Warehouse(spark, root, SPECS)
    spark.sql(f"ALTER TABLE {before.address.table('sums')} CLUSTER BY NONE")
    specs = with_columns("events", NOTE, at=0) | {"facts": with_columns("facts", COUNT)["facts"]}
    specs["events"] = replace(specs["events"], checks=(("named", "file_id <> ''"),))

    reading = Warehouse(spark, root, specs)
    assert [tuple(row) for row in reading.read("events").collect()] == [("f", 1, None)], "read as it is, before any run"
    lake = of_release(spark, root, specs)
    lake.create_missing(specs)
    assert unlike(spark, lake) == {}
    assert [tuple(row) for row in lake.read("events").collect()] == [(None, "f", 1)], "in the declared order"
    assert {field.name: field.metadata["comment"] for field in lake.read("events").schema}["note"] == NOTE.comment
    assert (lake.read("facts").count(), lake.read("sums").count()) == (0, 0)
    assert (lake.state.built_until, {"facts", "sums"} & lake.state.rows.keys()) == (None, set())
    versions = [ddl.history(spark, lake.address.table(name), 1)[0]["version"] for name in specs]
    of_release(spark, root, specs)
    assert [ddl.history(spark, lake.address.table(name), 1)[0]["version"] for name in specs] == versions, (
        "once per release"
    )


@pytest.mark.parametrize("why", one_in(3, REFUSED))
def test_what_cannot_be_is_refused_before_anything_is_written(spark: Any, root: str, why: str) -> None:
    specs, is_retained = REFUSED[why]
    before = Warehouse(spark, root, SPECS)
    if is_retained:
        before.open()
        committed(before, retained_from=AT)
    specs = {name: replace(spec, cluster_by=("file_id",)) if name == LEDGER else spec for name, spec in specs.items()}
    versions = [ddl.history(spark, before.address.table(name), 1)[0]["version"] for name in SPECS]
    with pytest.raises(WarehouseError, match=f"made by an earlier release, and .*{why}.*; read it with that release"):
        of_release(spark, root, specs)
    assert [ddl.history(spark, before.address.table(name), 1)[0]["version"] for name in SPECS] == versions


class KilledError(Exception):
    """The end of a process."""


@pytest.mark.long
@pytest.mark.parametrize("step", range(3))
def test_a_migration_that_was_killed_is_taken_up_again(
    spark: Any, root: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Warehouse(spark, root, SPECS)
    specs = with_columns("events", NOTE) | {"facts": with_columns("facts", COUNT)["facts"]}
    steps = count()

    def until_killed(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            is_step = bool(named) or str(given[-1]).startswith(("ALTER", "CREATE OR REPLACE"))
            if is_step and next(steps) == step:
                raise KilledError
            return call(*given, **named)

        return called

    lake = Warehouse(spark, root, specs)
    with monkeypatch.context() as killed:
        killed.setattr(type(spark), "sql", until_killed(type(spark).sql))
        killed.setattr(lake, "note", until_killed(lake.note))
        lake.open()
        with pytest.raises(KilledError), lake.claims.named():
            lake.mend()
    assert before.state.declared != declared_by(specs)
    again = of_release(spark, root, specs)
    again.create_missing(specs)
    assert (unlike(spark, again), again.state.built_until) == ({}, None)
