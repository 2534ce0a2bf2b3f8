"""Warehouses of older releases: migrated, or refused with what to do; never half, and never silently wrong."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.lake import BUILT_UNTIL, RETAINED_FROM, Warehouse, migration
from kafka_clientinfo.lake.layout import FoundColumn, Layout, unlike_checks
from kafka_clientinfo.lake.migration import RETAINED_TABLES, Step, step_for
from kafka_clientinfo.tables import Column, TableSpec, table_spec
from tests.frames import START, frame

A = Column("a", "string", True, "A")
B = Column("b", "map<string, bigint>", False, "It's \\ B", since=2)
OLD = TableSpec("t", "T", 1, ("a",), ("a",), (A,), (("a_short", "length(a) < 9"),), False, "whole")
NEW = replace(OLD, version=2, columns=(A, B))


def layout(**given: Any) -> Layout:
    as_old = {
        "path": "/w/t",
        "version": "1",
        "columns": {"a": FoundColumn("string", True, "A")},
        "checks": {"a_short": "length(a) < 9"},
        "cluster_by": ("a",),
        "comment": "T",
        "properties": {},
    }
    return Layout(**(as_old | given))


def test_a_table_as_declared_needs_nothing() -> None:
    assert step_for(OLD, layout()) is None


@pytest.mark.parametrize(
    ("spec", "found", "step"),
    [
        (OLD, None, Step(OLD, make=True)),
        (replace(NEW, remade_since=2), layout(), Step(replace(NEW, remade_since=2), make=True, replaces=True)),
    ],
    ids=["missing", "made anew"],
)
def test_a_table_that_is_missing_or_means_something_else_is_made(
    spec: TableSpec, found: Layout | None, step: Step
) -> None:
    assert step_for(spec, found) == step


@pytest.mark.parametrize(
    ("spec", "found", "says"),
    [
        (NEW, layout(), ["ADD COLUMNS (`b` map<string, bigint> COMMENT 'It\\'s \\\\ B')"]),
        (replace(OLD, version=2, checks=()), layout(), ["DROP CONSTRAINT IF EXISTS `a_short`"]),
        (
            replace(OLD, version=2, checks=(("a_short", "length(a) < 7"),)),
            layout(),
            ["DROP CONSTRAINT IF EXISTS `a_short`", "ADD CONSTRAINT `a_short` CHECK (length(a) < 7)"],
        ),
        (replace(OLD, version=2, comment="U"), layout(), ["COMMENT ON TABLE delta.`/w/t` IS 'U'"]),
        (
            replace(OLD, version=2, columns=(replace(A, comment="Z"),)),
            layout(),
            ["ALTER COLUMN `a` COMMENT 'Z'"],
        ),
        (replace(NEW, cluster_by=("b",)), layout(), ["ADD COLUMNS", "CLUSTER BY (b)"]),
        # Somebody took a constraint away, or a run was killed: the version is there already.
        (OLD, layout(checks={}), ["ADD CONSTRAINT `a_short`"]),
        # Killed after the column was added: it is not added again.
        (
            NEW,
            layout(columns={"a": FoundColumn("string", True, "A"), "b": FoundColumn("map<string,bigint>", False, "")}),
            ["ALTER COLUMN `b` COMMENT"],
        ),
    ],
    ids=["column", "check gone", "check changed", "comment", "column comment", "clustering", "check lost", "killed"],
)
def test_an_older_table_is_altered_and_its_version_comes_last(spec: TableSpec, found: Layout, says: list[str]) -> None:
    step = step_for(spec, found)
    assert step is not None
    assert not step.make
    wanted = [*says, f"'kafka_clientinfo.version' = '{spec.version}'"] if spec.version > 1 else says
    assert len(step.statements) == len(wanted)
    assert all(part in statement for part, statement in zip(wanted, step.statements, strict=True))


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (layout(version="3"), "table version 3, this release knows versions up to 2; use the release that wrote it"),
        (layout(version=None), "a table that this package did not make"),
        (layout(version="x"), "give another folder"),
        (layout(version="2"), "column b is missing; somebody altered the table; undo that with RESTORE TABLE"),
        (layout(columns={}), "column a is missing; use the release that wrote it"),
        (layout(columns={"a": FoundColumn("int", True, "")}), "column a has type int, not string"),
        (layout(columns={"a": FoundColumn("string", False, "")}), "column a has no NOT NULL"),
        (layout(columns={"a": FoundColumn("string", True, ""), "z": A}), "column z is not declared"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_to_do(found: Layout, says: str) -> None:
    with pytest.raises(WarehouseError) as caught:
        step_for(NEW, found)
    assert says in str(caught.value)
    assert str(caught.value).startswith("/w/t")


Declare = Callable[[TableSpec], None]


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Declare:
    """Let a test declare what the next release would."""
    changed: dict[str, TableSpec] = {}
    monkeypatch.setattr(migration, "table_spec", lambda name: changed.get(name) or table_spec(name))
    return lambda spec: changed.__setitem__(spec.name, spec)


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Warehouse:
    """Two tables of this release: files that are built, and a derived table with a row."""
    found = Warehouse(spark, str(tmp_path / "it's a lake"))
    found.ensure(["ingested_files", "client_id_cache"])
    found.set_properties("ingested_files", {BUILT_UNTIL: "2026-11-21"})
    counts = dict.fromkeys(("opened_seq", "requests_same", "requests_null", "requests_other", "redundant_bytes"), 0)
    texts = {"cluster": "c", "broker": "b", "connection_id": "x", "verdict": "unchanged", "rule": "r"}
    row = {"opened_at": START, "instance_id_bytes": 0, "other_client_ids": [], **counts, **texts}
    found.append("client_id_cache", frame(spark, "client_id_cache", [row]), "1")
    return found


def next_release(**given: Any) -> TableSpec:
    spec = table_spec("client_id_cache")
    mood = Column("mood", "string", False, "It's the client's", since=spec.version + 1)
    return replace(spec, version=spec.version + 1, columns=(*spec.columns, mood), **given)


def test_the_next_run_migrates_and_has_everything_derived_anew(lake: Warehouse, declare: Declare) -> None:
    checks = (*table_spec("client_id_cache").checks[1:], ("mood_known", "mood IS NULL OR mood IN ('good')"))
    declare(next_release(checks=checks))
    names = ["ingested_files", "client_id_cache"]
    lake.ensure(names)
    found = lake.layout("client_id_cache")
    assert found is not None
    assert found.columns["mood"] == FoundColumn("string", False, "It's the client's")
    assert unlike_checks(migration.table_spec("client_id_cache"), found) == []
    assert "mood_known" in found.checks
    assert found.version == str(table_spec("client_id_cache").version + 1)
    assert [(row["connection_id"], row["mood"]) for row in lake.read("client_id_cache").collect()] == [("x", None)]
    assert lake.properties("ingested_files").get(BUILT_UNTIL) is None
    commits = [lake._detail(name)["lastModified"] for name in names]
    lake.ensure(names)
    assert [lake._detail(name)["lastModified"] for name in names] == commits


def test_a_migration_that_is_killed_is_ended_by_the_next_run(
    lake: Warehouse, declare: Declare, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(next_release(comment="Another"))
    taken: list[str] = []

    def killed(spark: Any, step: Step, path: str, make: Any) -> None:
        spark.sql(step.statements[0])
        taken.append(step.statements[0])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(migration, "_take", killed)
        with pytest.raises(KeyboardInterrupt):
            lake.ensure(["client_id_cache"])
    assert "ADD COLUMNS" in taken[0]
    assert lake.properties("ingested_files").get(BUILT_UNTIL) is None
    lake.ensure(["client_id_cache"])
    found = lake.layout("client_id_cache")
    assert found is not None
    assert (found.comment, found.version) == ("Another", str(next_release().version))
    assert "mood" in found.columns


def test_a_changed_meaning_makes_a_derived_table_anew(lake: Warehouse, declare: Declare) -> None:
    spec = next_release(remade_since=2)
    required = replace(spec, columns=(*spec.columns[:-1], replace(spec.columns[-1], type="int", required=True)))
    declare(required)
    lake.ensure(["client_id_cache"])
    assert lake.count("client_id_cache") == 0
    found = lake.layout("client_id_cache")
    assert found is not None
    assert (found.columns["mood"].type, found.columns["mood"].required) == ("int", True)


def test_where_one_table_does_not_fit_none_is_changed(spark: Any, lake: Warehouse, declare: Declare) -> None:
    declare(next_release())
    lake.set_properties("ingested_files", {"kafka_clientinfo.version": "99"})
    with pytest.raises(WarehouseError, match="version 99"):
        lake.ensure(["ingested_files", "client_id_cache"])
    assert "mood" not in lake.read("client_id_cache").columns


def test_rows_that_break_a_new_check_are_told_of(lake: Warehouse, declare: Declare) -> None:
    declare(next_release(checks=(("never", "requests_same > 5"),)))
    with pytest.raises(WarehouseError, match="rows break a check of version 2"):
        lake.ensure(["client_id_cache"])


def test_a_derived_table_that_was_deleted_is_derived_again(lake: Warehouse) -> None:
    lake.ensure(["violations"])
    assert lake.properties("ingested_files").get(BUILT_UNTIL) is None


def test_a_table_whose_source_retention_deleted_is_not_made_anew(lake: Warehouse, declare: Declare) -> None:
    lake.set_properties("ingested_files", {RETAINED_FROM: "2026-11-20", RETAINED_TABLES: "client_id_cache"})
    declare(next_release(remade_since=2))
    with pytest.raises(WarehouseError, match="retention has deleted requests from before 2026-11-20"):
        lake.ensure(["client_id_cache"])
    assert lake.count("client_id_cache") == 1


def test_a_lost_table_of_requests_is_not_replaced_by_an_empty_one(spark: Any, tmp_path: Path) -> None:
    lake = Warehouse(spark, str(tmp_path / "lake"))
    lake.ensure(["ingested_files"])
    row = {column.name: "x" for column in table_spec("ingested_files").columns if column.type == "string"}
    numbers = dict.fromkeys(("size_on_disk", "bytes_ingested", "pending_bytes", "rejected"), 0)
    times = {"ingested_at": START}
    flags = {"compressed": False, "covers_broker_start": False}
    rows = [row | numbers | times | flags | {"records": 7, "requests": 7, "ignored": {}}]
    lake.append("ingested_files", frame(spark, "ingested_files", rows), "1")
    with pytest.raises(WarehouseError, match="requests is missing, and ingested_files tells of 7 rows"):
        lake.ensure(["requests", "rejected_records"])
    assert not lake.exists("rejected_records")
