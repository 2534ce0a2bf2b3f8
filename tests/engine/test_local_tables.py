"""The tables of the samples, read without Spark, are those that Spark reads."""

import re
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.commands.run import _FINDINGS
from kafka_clientinfo.engine import LEDGER, Warehouse, local_tables, state_of
from kafka_clientinfo.ingestion.by_spark import with_instants


def test_rows_are_those_that_spark_collects(spark: Any, sample_warehouse: Path) -> None:
    tables = local_tables(str(sample_warehouse))
    assert tables is not None
    rows = {row["file_id"]: row for row in tables.rows(LEDGER)}
    lake = Warehouse(spark, str(sample_warehouse))
    assert rows == {row["file_id"]: with_instants(row) for row in lake.read(LEDGER).collect()}
    assert state_of(tables.properties(LEDGER), LEDGER) == lake.state


@pytest.mark.parametrize("statement", [statement for _, _, statement in _FINDINGS])
def test_a_query_has_one_answer(spark: Any, sample_warehouse: Path, statement: str) -> None:
    tables = local_tables(f"file:{sample_warehouse}")
    assert tables is not None
    answer = tables.query(statement)
    assert answer
    assert answer == Warehouse(spark, str(sample_warehouse)).query(statement)


def test_no_table_needs_a_reader_that_only_delta_has(sample_warehouse: Path) -> None:
    tables = local_tables(str(sample_warehouse))
    assert tables is not None
    names = sorted(path.name for path in sample_warehouse.iterdir() if (path / "_delta_log").is_dir())
    assert {name: tables.query(f"SELECT count(*) FROM {{{name}}}")[0][0] for name in names} == {
        name: number for name, number in state_of(tables.properties(LEDGER), LEDGER).rows.items() if name in names
    }


@pytest.mark.parametrize("root", ["s3://bucket/lake", "hdfs://host/lake", "/does/not/exist"])
def test_only_folders_of_this_machine_are_read(root: str) -> None:
    assert local_tables(root) is None


def test_a_table_is_named_in_braces(sample_warehouse: Path) -> None:
    tables = local_tables(str(sample_warehouse))
    assert tables is not None
    with pytest.raises(Exception, match=re.compile("violations", re.IGNORECASE)):
        tables.query("SELECT count(*) FROM violations")
