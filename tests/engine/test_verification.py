"""Verification of an empty warehouse: every check is made, and nothing disagrees; damage of the layout ends it."""

from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.engine import sql
from kafka_clientinfo.engine.verification import verify
from kafka_clientinfo.engine.warehouse import Warehouse
from kafka_clientinfo.tables.spec import table_specs
from tests.commands.test_verify import NAMES


@pytest.mark.soak
def test_an_empty_warehouse_is_sound_until_its_layout_is_altered(spark: Any, tmp_path: Path) -> None:
    lake = Warehouse(spark, str(tmp_path), True)
    lake.create_missing(table_specs())
    lake.update_state(retained_from="2026-01-01T00:00:00.000000Z", deleted={"requests": 0})
    checks = verify(spark, lake.root)
    assert [check.name for check in checks] == NAMES
    assert [check for check in checks if not check.ok] == []
    sql.set_properties(spark, lake.table("api_usage"), {sql.DELETION_VECTORS: "true"})
    spark.sql(f"ALTER TABLE {lake.table('connections')} ADD COLUMNS (mine INT)")
    (layout, *_) = verify(spark, lake.root)
    findings = {(row["table"], row["finding"]) for row in layout.findings}
    assert ("connections", "column mine is not declared") in findings
    assert ("api_usage", f"property {sql.DELETION_VECTORS} is true, not false") in findings
