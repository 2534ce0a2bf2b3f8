"""The report of a warehouse that Spark reads is that of one that DuckDB reads."""

from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.questions.filters import Filters, Scope
from kafka_clientinfo.questions.impact import impact
from kafka_clientinfo.report.contents import report
from tests.report.conftest import TARGET, at
from tests.report.pages import data_of, report_of
from tests.report.tables_on_disk import SparkTablesOnDisk


@pytest.mark.long
def test_spark_and_duckdb_make_the_same_page(spark: Any, hostile_warehouse: Path) -> None:
    scope = Scope(SparkTablesOnDisk(spark, str(hostile_warehouse)), Filters(since=at(4), cluster="orders"))
    found = report(scope, impact(scope, TARGET, True))
    wanted = data_of(report_of(hostile_warehouse, since=at(4), cluster="orders"))
    assert data_of(found) == wanted
    assert len(wanted["tables"]["clients"]["rows"]) > 25
