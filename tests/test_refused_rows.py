"""A row that a constraint refuses costs its table and what needs that: the error names it, and the next run tries again.

No logged value meets a constraint (tests/test_any_value.py), so the steps are made to make such rows here.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kafka_clientinfo import cli, derivation, pipeline, steps
from kafka_clientinfo.engine.reading import local_tables
from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.refused_rows import RefusedRowsError
from tests.builders import json_record
from tests.equality import assert_same_tables

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


def test_steps_that_need_a_refused_table_are_left_out_and_no_others() -> None:
    begun: list[str] = []

    def derive(step: steps.Step) -> None:
        begun.append(step.name)
        if step.name in ("connection_groups", "client_connections"):
            raise RefusedRowsError(step.name, f"a reason of {step.name}")

    with pytest.raises(WarehouseError) as raised:
        derivation._in_order_of_inputs(derive)
    needing = {"group_protocols", "client_inventory", "violations"}
    assert set(begun) == set(steps.steps()) - needing
    assert str(raised.value).startswith(
        "client_connections is not written: a reason of client_connections; connection_groups is not written: a reason of "
        "connection_groups; not written either, as they need it: client_inventory, group_protocols, violations; "
    )


def test_any_other_error_ends_the_build_at_once() -> None:
    def derive(step: steps.Step) -> None:
        raise ValueError(step.name)

    with pytest.raises(ValueError, match=r"broker_api_versions|judged_requests"):
        derivation._in_order_of_inputs(derive)


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
@pytest.mark.parametrize("table", ["connections", "connection_groups"])
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
