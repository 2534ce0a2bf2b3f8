"""The report of a warehouse that Spark reads is that of one that DuckDB reads."""

from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.engine.spark_tables import SparkTables
from kafka_clientinfo.filters import Filters
from kafka_clientinfo.impact import impact
from kafka_clientinfo.report import Scope, report
from tests.report.conftest import TARGET, at
from tests.report.test_report import data_of, report_of


@pytest.mark.long
def test_spark_and_duckdb_make_the_same_page(spark: Any, hostile_warehouse: Path) -> None:
    filters = Filters(since=at(4), cluster="orders")
    tables = SparkTables(spark, str(hostile_warehouse))
    found = report(Scope(tables, filters), impact(tables, TARGET, True, filters))
    wanted = data_of(report_of(hostile_warehouse, since=at(4), cluster="orders"))
    assert data_of(found) == wanted
    assert len(wanted["tables"]["clients"]["rows"]) > 25
