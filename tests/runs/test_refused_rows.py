"""A row that a constraint refuses costs its table and what needs that: the error names it, and the next run tries again.

No logged value meets a constraint (tests/test_any_value.py), so the steps are made to make such rows here.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafka_clientinfo import cli
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.runs import derivation, steps
from kafka_clientinfo.runs import run as pipeline
from kafka_clientinfo.runs.refused_rows import RefusedRowsError, describe, is_refusal
from kafka_clientinfo.tables.spec import CONNECTION_KEY, table_spec
from tests.amounts import one_in
from tests.builders import json_record
from tests.equality import assert_same_tables
from tests.frames import API_KEYS, at, frame, ledger

TABLES = {name for name, step in steps.steps().items() if step.write_mode}


def group_record(number: int) -> bytes:
    sent = {"groupId": f"g{number}", "memberId": "m", "protocolType": "consumer", "protocols": []}
    connection = f"10.0.0.1:9092-10.0.0.2:{40000 + number}-{number}"
    return json_record(
        at=number, api="JOIN_GROUP", version=7, client_id=f"app{number}", request=sent, response={"errorCode": 0},
        connection=connection, correlation_id=0,
    )  # fmt: skip


def altered(table: str, change: Callable[[DataFrame], DataFrame]) -> steps.Step:
    step = steps.steps()[table]
    return replace(step, make=lambda relations: change(step.make(relations)))


def of_group(group: str, column: str, value: Any) -> Callable[[DataFrame], DataFrame]:
    """Give a column another value in the rows of a group."""
    condition = F.col("group_id") == group
    return lambda rows: rows.withColumn(column, F.when(condition, F.lit(value)).otherwise(F.col(column)))


def written(warehouse: Path) -> set[str]:
    """The tables that have rows."""
    tables = local_tables(str(warehouse))
    assert tables is not None
    return {name for name in TABLES if tables.exists(name) and tables.size(name).rows}


def test_steps_that_need_a_refused_table_are_left_out_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation, "_AT_ONCE", 1)
    begun: list[str] = []

    def derive(step: steps.Step) -> None:
        begun.append(step.name)
        if step.name in ("connection_groups", "client_connections"):
            raise RefusedRowsError(step.name, f"a reason of {step.name}")

    with pytest.raises(WarehouseError) as raised:
        derivation._derive_all(derive)
    needing = {
        "group_protocols", "group_type_conflicts", "group_unoffered_protocols", "client_inventory", "violations",
    }  # fmt: skip
    assert set(begun) == set(steps.steps()) - needing
    assert str(raised.value).startswith(
        "client_connections is not written: a reason of client_connections; connection_groups is not written: a reason of "
        "connection_groups; not written either, as they need it: client_inventory, group_protocols, violations; "
    )
    first = next(name for name in begun if name in ("connection_groups", "client_connections"))
    assert str(raised.value.__cause__) == f"a reason of {first}"


def test_any_other_error_ends_the_build_at_once() -> None:
    begun: list[str] = []

    def derive(step: steps.Step) -> None:
        begun.append(step.name)
        raise ValueError(f"a reason of {step.name}")

    with pytest.raises(ValueError, match="a reason of"):
        derivation._derive_all(derive)
    assert not [name for name in begun if set(steps.steps()[name].needs) & steps.steps().keys()]


Key = dict[str, Any]


def connection(broker: str, number: int) -> Key:
    return dict(zip(CONNECTION_KEY, ("c", broker, f"{number}", at(number), 0), strict=True))


OPENED = (
    connection("b", 1) | {"file_id": "f1", "byte_offset": 10, "principal": "User:a", "client_id": "app"},
    connection("b", 2) | {"file_id": "f1", "byte_offset": 90, "principal": "User:a"},
    connection("other", 1) | {"file_id": "f2", "byte_offset": 0, "principal": "User:b", "client_id": "app"},
)
"""Connections with the place of their first request."""
JUDGED = (
    (connection("b", 1), "f1", 10, ("METADATA", 9, 1), None, None),
    (connection("b", 1), "f1", 20, ("METADATA", 9, 2), None, None),
    (connection("b", 1), "f1", 30, ("METADATA", 10, 2), None, None),
    (connection("b", 2), "f1", 90, ("METADATA", 9, 2), None, "{'groups':'g'}"),
    (connection("b", 2), "f1", 100, ("JOIN", 5, 1), '{"groupId":"another"}', None),
    (connection("b", 2), "f1", 110, ("JOIN", 5, 1), '{"groupId":"g"}', "{}"),
    (connection("b", 2), "f1", 120, ("DESCRIBE", 5, 1), None, '{"groups":[{"groupId":"told"}]}'),
    (connection("other", 1), "f2", 0, ("SYNC", 5, 1), '{"groupId":"g"}', None),
)
"""Requests: connection, place, API with its version and the header's, bodies."""


@pytest.fixture(scope="module")
def places(spark: Any) -> Callable[[str, Key], str]:
    """Give what is said of a row of a table that has its key and nothing else."""
    judged = [
        (*key.values(), file_id, offset, API_KEYS[api], version, header, *bodies)
        for key, file_id, offset, (api, version, header), *bodies in JUDGED
    ]
    columns = ", ".join(f"{column.name} {column.type}" for column in table_spec("connections").columns[:5])
    columns += ", file_id string, byte_offset bigint, api_key int, api_version int, header_version int"
    in_groups = [connection("b", 2) | {"group_id": name} for name in ("g", "told")]
    whole = {
        "connections": frame(spark, "connections", list(OPENED)),
        "connection_groups": frame(spark, "connection_groups", in_groups),
        "ingested_files": ledger(spark, {"file_id": "f1", "path": "/a"}, {"file_id": "f2", "path": "/b"}),
    }
    requests = spark.createDataFrame(judged, f"{columns}, request string, response string")

    def place(table: str, key: Key) -> str:
        said = describe(frame(spark, table, [key]), table_spec(table), whole.__getitem__, requests)
        return said.partition(", of the record at ")[2]

    return place


@pytest.mark.parametrize(
    ("table", "key", "place"),
    one_in(3, [
        ("connections", connection("b", 2), "byte 90 of /a"),
        ("api_usage", connection("b", 1) | {"api_key": 3, "api_version": 9, "header_version": 2}, "byte 20 of /a"),
        ("api_usage", connection("b", 1) | {"api_key": 3, "api_version": 10, "header_version": 2}, "byte 30 of /a"),
        ("connection_groups", connection("b", 2) | {"group_id": "g"}, "byte 110 of /a"),
        ("connection_groups", connection("b", 2) | {"group_id": "nobody's"}, "byte 90 of /a"),
        ("group_protocols", {"cluster": "c", "group_id": "g"}, "byte 110 of /a"),
        ("violations", {"rule": "r", "cluster": "c", "group_id": "told"}, "byte 120 of /a"),
        ("violations", {"rule": "r"} | connection("other", 1), "byte 0 of /b"),
        ("violations", {"rule": "r", "cluster": "c", "broker": "other"}, "byte 0 of /b"),
        ("violations", {"rule": "r", "cluster": "c"}, ""),
        ("client_inventory", {"cluster": "c", "principal": "User:a", "client_id": None}, "byte 90 of /a"),
        ("broker_api_versions", {"cluster": "c", "broker": "b", "api_key": API_KEYS["JOIN"]}, "byte 100 of /a"),
    ]),
)  # fmt: skip
def test_the_record_of_a_refused_row_is_the_first_that_its_key_leads_to(
    places: Callable[[str, Key], str], table: str, key: Key, place: str
) -> None:
    assert places(table, key) == place


def test_what_is_refused_is_named_with_the_rows_key(spark: Any) -> None:
    host = {"cluster": "c", "first_seen": at(1), "last_seen": at(1), "requests": 1, "ingested_at": at(2)}
    fine = {"host": "fine"} | host
    cases = [
        ([], "a constraint refuses a row"),
        ([{"host": "h" * 201} | host | {"requests": None}], f"column requests is null in the row of cluster 'c', host '{'h' * 200}'"),
        ([{"host": "h"} | host | {"last_seen": at(0)}], "CHECK order fails (first_seen <= last_seen) in the row of cluster 'c', host 'h'"),
    ]  # fmt: skip
    for wrong, said in cases:
        rows = frame(spark, "broker_hosts", [fine, *wrong])
        nothing = frame(spark, "connections", [])
        assert describe(rows, table_spec("broker_hosts"), {"connections": nothing}.__getitem__, nothing) == said


@pytest.mark.long
def test_deltas_refusals_are_told_from_its_other_errors(spark: Any, tmp_path: Path) -> None:
    table = f"delta.`{tmp_path}`"
    spark.sql(f"CREATE TABLE {table} (a INT NOT NULL) USING delta TBLPROPERTIES ('delta.constraints.c' = 'a > 0')")
    for value, refused in [("NULL", True), ("0", True), ("'x' DIV 0", False)]:
        with pytest.raises((PySparkException, Py4JJavaError)) as raised:
            spark.sql(f"INSERT INTO {table} SELECT {value}")
        assert is_refusal(raised.value) == refused, value


@pytest.mark.long
def test_a_refused_row_is_named_with_its_record_and_the_other_tables_are_written(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log, warehouse = tmp_path / "logs" / "kafka-request.log", tmp_path / "warehouse"
    log.parent.mkdir()
    log.write_bytes(group_record(1) + group_record(2))
    run = ["run", str(log.parent), "--warehouse", str(warehouse), "--json"]
    with monkeypatch.context() as patch:
        patch.setitem(
            steps.steps(), "group_protocols", altered("group_protocols", of_group("g2", "topics", None))
        )  # and nobody guards it
        assert cli.main(run, spark) == 1
    said = capsys.readouterr().err
    assert (
        "group_protocols is not written: column topics is null in the row of cluster 'default', group_id 'g2', of the record "
        f"at byte {len(group_record(1))} of {log}; not written either, as they need it: violations; all other tables"
        in said
    )
    assert {"connections", "client_inventory", "connection_groups", "api_usage", "upgrade_impact"} <= written(warehouse)
    assert not {"group_protocols", "violations"} & written(warehouse)
    tables = local_tables(str(warehouse))
    assert tables is not None
    assert tables.state().built_until is None  # type: ignore[union-attr]
    assert cli.main(run, spark) == 0
    assert "group_protocols" in written(warehouse)


@pytest.mark.long
@pytest.mark.parametrize("table", ["connections", "group_protocols"])
def test_the_run_after_one_that_refused_rows_makes_what_was_left_out(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    log, warehouse = tmp_path / "logs" / "kafka-request.log", tmp_path / "warehouse"
    log.parent.mkdir()
    log.write_bytes(b"".join(map(group_record, range(3))))
    pipeline.run(spark, [str(log.parent)], str(warehouse))
    before = local_tables(str(warehouse)).state()  # type: ignore[union-attr]
    last = log.stat().st_size
    with log.open("ab") as file:
        file.write(group_record(3))

    def refuse(rows: DataFrame) -> DataFrame:
        return rows.withColumn("requests", F.when(_is_last(rows), F.lit(0)).otherwise(F.col("requests")))

    with monkeypatch.context() as patch:
        patch.setitem(steps.steps(), table, altered(table, refuse))
        with pytest.raises(WarehouseError, match=rf"{table} is not written: .*at byte {last} of {log}"):
            pipeline.run(spark, [str(log.parent)], str(warehouse))
    after = local_tables(str(warehouse)).state()  # type: ignore[union-attr]
    assert after.built_until == before.built_until  # type: ignore[union-attr]
    pipeline.run(spark, [str(log.parent)], str(warehouse))
    pipeline.run(spark, [str(log.parent)], str(tmp_path / "fresh"))
    assert_same_tables(spark, warehouse, tmp_path / "fresh")


def _is_last(rows: DataFrame) -> Any:
    return F.col("group_id") == "g3" if "group_id" in rows.columns else F.col("client_id") == "app3"
