"""Verification of an empty warehouse: every check is made, and nothing disagrees; damage of the layout ends it."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.questions import verification
from kafka_clientinfo.questions.checks import CHECKS, check
from kafka_clientinfo.questions.verification import verify
from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.warehouse import ddl
from kafka_clientinfo.warehouse.warehouse import Warehouse
from tests.commands.test_verify import NAMES


@pytest.mark.soak
def test_an_empty_warehouse_is_sound_until_its_layout_is_altered(spark: Any, tmp_path: Path) -> None:
    lake = Warehouse(spark, str(tmp_path), True)
    lake.create_missing(table_specs())
    lake.update_state(retained_from="2026-01-01T00:00:00.000000Z", deleted={"requests": 0})
    checks = verify(spark, lake.root)
    assert [check.name for check in checks] == NAMES
    assert [check for check in checks if not check.ok] == []
    ddl.set_properties(spark, lake.table("api_usage"), {ddl.DELETION_VECTORS: "true"})
    spark.sql(f"ALTER TABLE {lake.table('connections')} ADD COLUMNS (mine INT)")
    (layout, *_) = verify(spark, lake.root)
    findings = {(row["table"], row["finding"]) for row in layout.findings}
    assert ("connections", "column mine is not declared") in findings
    assert ("api_usage", f"property {ddl.DELETION_VECTORS} is true, not false") in findings


QUICK = ["layout", "records of files", "rows of files", "offsets in files", "build"]
OTHERS = {
    "_keys": ["keys"],
    "_connections": ["requests of connections", "first requests"],
    "_orphans": ["rows of connections"],
}


@pytest.mark.parametrize(("quick", "names"), [(["layout"], ["layout"]), (QUICK, list(CHECKS))])
def test_all_checks_come_in_their_order_or_that_of_the_layout_alone(
    quick: list[str], names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other can be made without the layout; the tables are made up here, so that no session is needed."""
    tables = SimpleNamespace(state=SimpleNamespace(rows={}))
    monkeypatch.setattr(verification, "Warehouse", lambda spark, warehouse: tables)
    monkeypatch.setattr(verification, "SparkTables", lambda spark, warehouse: tables)
    monkeypatch.setattr(verification, "sized", lambda spark, size: nullcontext())
    monkeypatch.setattr(verification, "quick_checks", lambda asked, warehouse: [check(name, []) for name in quick])
    monkeypatch.setattr(verification, "beside_a_run", lambda warehouse, make: make())
    for function, made in OTHERS.items():
        monkeypatch.setattr(verification, function, lambda asked, made=made: [check(name, []) for name in made])
    assert [one.name for one in verify(None, "./w")] == names  # type: ignore[arg-type]
