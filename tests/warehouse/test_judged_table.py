"""The table of judged requests: made by its first write, replaced by connection id, and forgotten."""

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from pyspark.sql import functions as F

from kafka_clientinfo.spark.arrow_rows import relation_of
from kafka_clientinfo.tables.types import sql_time
from kafka_clientinfo.warehouse import ddl, judged_table
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.judged_table import JUDGED, Build, JudgedTable
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.amounts import one_in

from .tiny import AT, SPECS

COLUMNS = (
    "cluster string, broker string, connection_id string, opened_at timestamp, opened_seq int, seq bigint, "
    "requests bigint, state struct<heard_until:timestamp>"
)
FIRST, SECOND, THIRD = Build("1.0 a", "2026-11-26 01:00"), Build("1.0 a", "2026-11-26 02:00"), Build("1.1 b", "x")
Row = tuple[str, int, int, int, int | None]
"""Of a row: connection_id, and the hours after AT when the connection opened, seq, requests, and the hours of a state."""


def rows(spark: Any, *given: Row) -> Any:
    return relation_of(
        spark,
        [
            ("c", "b", name, AT + timedelta(hours=hours), 0, seq, requests, until and {"heard_until": at(until)})
            for name, hours, seq, requests, until in given
        ],
        COLUMNS,
    )


def at(hours: int) -> Any:
    return AT + timedelta(hours=hours)


def held(table: JudgedTable) -> list[tuple[str, int, int]]:
    stored = table.read()
    assert stored is not None
    return sorted((row["connection_id"], row["seq"], row["requests"]) for row in stored.collect())


@pytest.fixture(params=["a folder", pytest.param("a schema", marks=pytest.mark.long)])
def lake(spark: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Warehouse]:
    if request.param == "a folder":
        yield Warehouse(spark, str(tmp_path / "lake"), True, SPECS)
        return
    schema = request.getfixturevalue("schema")
    lake = Warehouse(spark, schema, False, SPECS)
    lake.open()
    yield lake


@pytest.fixture(
    params=[0, pytest.param(1 << 40, marks=pytest.mark.long)],
    ids=["merged into", "written anew"],
)
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The bytes below which a table is written whole."""
    monkeypatch.setattr(ddl, "SMALL_TABLE_BYTES", request.param)
    return int(request.param)


def test_rows_are_replaced_by_connection_id(
    spark: Any, lake: Warehouse, small: int, pytestconfig: pytest.Config
) -> None:
    # Serverless compute lets no MERGE record its build.
    is_merged = small == 0 and pytestconfig.getoption("--spark") != "serverless"
    table = lake.judged
    assert (table.read(), table.last_build()) == (None, None)
    table.overwrite(rows(spark, ("x", 1, 0, 1, 9), ("x", 1, 1, 5, None), ("y", 1, 0, 2, 8)), FIRST)
    before = table.read()
    assert table.last_build() == FIRST
    table.replace(rows(spark, ("x", 1, 0, 3, None), ("x", 2, 0, 4, 9), ("z", 1, 0, 6, 9)), SECOND)
    assert held(table) == [("x", 0, 3), ("x", 0, 4), ("y", 0, 2), ("z", 0, 6)]
    assert table.last_build() == SECOND
    name = lake.address.table(JUDGED)
    newest, stored_as, properties = ddl.history(spark, name)[0], ddl.detail(spark, name), ddl.properties(spark, name)
    assert (newest["userMetadata"], newest["operation"] == "MERGE") == ("1.0 a, until 2026-11-26 02:00", is_merged)
    assert stored_as is not None
    assert is_merged or stored_as["numFiles"] == 1
    assert properties is not None
    assert properties[ddl.DELETION_VECTORS] == "false"
    assert properties[ddl.STATISTICS] == "cluster,broker,connection_id,opened_at,opened_seq,seq"
    assert before is not None
    assert before.count() == 3, "what was read does not change"
    table.overwrite(rows(spark, ("w", 1, 0, 1, 1)).withColumnRenamed("requests", "number"), THIRD)
    stored = table.read()
    assert stored is not None
    assert ([row["number"] for row in stored.collect()], table.last_build()) == ([1], THIRD)


def test_a_table_that_is_missing_on_a_store_is_no_table(spark: Any, tmp_path: Path) -> None:
    lake = Warehouse(spark, str(tmp_path), False, SPECS)  # as on a store, where no lock shows that nobody writes
    assert (lake.judged.read(), lake.judged.last_build()) == (None, None)


@pytest.mark.long
def test_a_build_that_judges_nothing_has_written_the_table_too(spark: Any, lake: Warehouse, small: int) -> None:
    table = lake.judged
    table.overwrite(rows(spark, ("x", 1, 0, 1, 9)), FIRST)
    table.replace(rows(spark), SECOND)
    assert (held(table), table.last_build()) == ([("x", 0, 1)], SECOND)


@pytest.mark.parametrize(
    ("statement", "is_known"),
    one_in(
        3,
        [
            ("OPTIMIZE {table}", True),
            ("ALTER TABLE {table} SET TBLPROPERTIES (a = 'b')", True),
            ("RESTORE TABLE {table} TO VERSION AS OF 0", False),
            ("DELETE FROM {table} WHERE seq = 1", False),
            ("UPDATE {table} SET requests = 7", False),
        ],
    ),
)
def test_rows_that_somebody_else_has_changed_are_of_no_build(
    spark: Any, lake: Warehouse, statement: str, is_known: bool
) -> None:
    table = lake.judged
    table.overwrite(rows(spark, ("x", 1, 0, 1, 9)), FIRST)
    table.replace(rows(spark, ("x", 1, 0, 2, None), ("x", 1, 1, 3, 9)), SECOND)
    spark.sql(statement.format(table=lake.address.table(JUDGED))).collect()
    assert table.last_build() == (SECOND if is_known else None)
    table.forget(at(20))
    assert table.last_build() == (SECOND if is_known else None)


@pytest.mark.long
def test_connections_that_ended_before_an_instant_are_forgotten(spark: Any, lake: Warehouse, small: int) -> None:
    table = lake.judged
    table.forget(AT)
    table.overwrite(rows(spark, ("x", 1, 0, 1, None), ("x", 1, 1, 5, 2), ("y", 1, 0, 2, 3), ("z", 1, 0, 2, 4)), FIRST)
    table.forget(at(3))
    assert held(table) == [("y", 0, 2), ("z", 0, 2)]
    assert table.last_build() == FIRST, "nothing was built meanwhile"


@pytest.mark.parametrize(
    ("made_until", "before", "after", "until"),
    [
        (at(5), at(5), at(3), at(3)),
        (at(5), at(5), at(5), at(5)),
        (at(3), at(5), at(3), at(3)),
        (at(4), at(5), at(3), at(4)),
        (at(5), None, at(3), at(5)),
        (at(5), at(5), None, at(5)),
    ],
    ids=[
        "it was read last",
        "another was read last",
        "a killed removal has written this",
        "a build was interrupted",
        "nothing was built",
        "nothing is left",
    ],
)
def test_the_build_goes_back_with_a_cluster_that_is_forgotten(
    spark: Any, lake: Warehouse, made_until: Any, before: Any, after: Any, until: Any
) -> None:
    table = lake.judged
    table.forget_cluster("c", before, after)  # there is no table yet
    kept = rows(spark, ("x", 1, 0, 1, 9)).withColumn("cluster", F.lit("C"))
    table.overwrite(
        rows(spark, ("x", 1, 0, 2, 9), ("y", 1, 0, 2, 9)).unionByName(kept), Build("1.0 a", sql_time(made_until))
    )
    table.forget_cluster("c", before, after)
    assert held(table) == [("x", 0, 1)]
    assert table.last_build() == Build("1.0 a", sql_time(until))


def test_what_a_killed_run_left_is_no_table(spark: Any, tmp_path: Path) -> None:
    table = Warehouse(spark, str(tmp_path / "lake"), True, SPECS).judged
    (tmp_path / "lake" / JUDGED / "_delta_log").mkdir(parents=True)
    assert table.read() is None
    table.overwrite(rows(spark, ("x", 1, 0, 1, 9)), FIRST)
    assert held(table) == [("x", 0, 1)]


OTHERS = (
    "WRITE",
    "MERGE",
    "DELETE",
    "UPDATE",
    "RESTORE",
    "TRUNCATE",
    "CREATE OR REPLACE TABLE",
    "an unknown one",
    None,
)
TIDY = (
    "OPTIMIZE",
    "VACUUM START",
    "VACUUM END",
    "SET TBLPROPERTIES",
    "UNSET TBLPROPERTIES",
    "UPGRADE PROTOCOL",
    "REORG",
)
BUILT = {"operation": "WRITE", "userMetadata": ", until ".join(SECOND)}


def without_session(monkeypatch: pytest.MonkeyPatch, done: list[Any], **ddls: Any) -> JudgedTable:
    """A table of which this module's calls are noted, and its MERGEs affect as many rows as `affected` says."""
    session = SimpleNamespace(
        sql=lambda statement: done.append(statement.split()[0]) or SimpleNamespace(first=lambda: ddls["affected"]),
        read=SimpleNamespace(table=lambda name: MagicMock()),
    )
    claims = SimpleNamespace(command=lambda name: nullcontext(done.append(f"numbered {name}")))
    functions = MagicMock()
    functions.col.return_value.__lt__.return_value = "old"
    monkeypatch.setattr(judged_table, "F", functions)
    monkeypatch.setattr(ddl, "named_view", lambda *_: nullcontext("view"))
    monkeypatch.setattr(ddl, "is_small", lambda *_: ddls.get("is_small", False))
    monkeypatch.setattr(ddl, "commits", lambda *_: ddls.get("commits", [BUILT]))
    monkeypatch.setattr(ddl, "set_properties", lambda spark, table, properties: done.append(properties))
    monkeypatch.setattr(judged_table, "may_set", lambda *_: ddls.get("may_set", True))
    monkeypatch.setattr(judged_table, "set_for", lambda spark, conf: nullcontext(done.append(conf)))
    for name in ("of_other_keys", "of_same_keys", "with_tombstones"):
        monkeypatch.setattr(judged_table, name, lambda *_: MagicMock())
    table = JudgedTable(session, Address("/lake"), claims, None)  # type: ignore[arg-type]
    monkeypatch.setattr(table, "read", lambda: None if ddls.get("is_missing") else "rows")
    monkeypatch.setattr(table, "overwrite", lambda rows, build: done.append(("whole", build)))
    return table


@pytest.mark.parametrize(
    ("commits", "build"),
    [
        ([BUILT], SECOND),
        ([], None),
        *(([{"operation": name, "userMetadata": None}, BUILT], None) for name in OTHERS),
        *(([{"operation": name, "userMetadata": ""}, BUILT], SECOND) for name in TIDY),
        ([*({"operation": name, "userMetadata": "theirs"} for name in TIDY), BUILT], SECOND),
        ([{"operation": "WRITE", "userMetadata": "from 1, until 2, until 3"}, BUILT], Build("from 1, until 2", "3")),
    ],
)
def test_rows_are_of_a_build_if_nothing_has_changed_them_since(
    commits: list[dict[str, Any]], build: Build | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert without_session(monkeypatch, [], commits=commits).last_build() == build
    assert without_session(monkeypatch, [], commits=commits, is_missing=True).last_build() is None


METADATA = {"spark.databricks.delta.commitInfo.userMetadata": "1.0 a, until 2026-11-26 02:00"}
NUMBERED = ["numbered judged_requests", METADATA, "MERGE"]
NOTED = {"kafka_clientinfo.last_build": "1.0 a, until 2026-11-26 02:00"}


@pytest.mark.parametrize(
    ("facts", "done"),
    [
        ({"affected": {"num_affected_rows": 3}}, NUMBERED),
        ({"affected": {"num_affected_rows": 0}}, [*NUMBERED, NOTED]),
        ({"affected": None}, [*NUMBERED, NOTED]),
        ({"affected": None, "is_small": True}, [("whole", SECOND)]),
        ({"affected": None, "may_set": False}, [("whole", SECOND)]),
    ],
    ids=["merged", "nothing to merge", "nothing said", "small", "no conf"],
)
def test_a_commit_says_of_which_build_the_rows_are(
    facts: dict[str, Any], done: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if no row is to be changed, as Delta makes no commit of that."""
    for change in (
        lambda table: table.replace(MagicMock(columns=["seq"]), SECOND),
        lambda table: table.forget(AT),
    ):
        found: list[Any] = []
        change(without_session(monkeypatch, found, **facts))
        assert found == done
    found = []
    without_session(monkeypatch, found, is_missing=True).forget(AT)
    without_session(monkeypatch, found, commits=[]).forget(AT)
    assert found == []
