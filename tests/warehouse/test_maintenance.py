"""Maintenance of small tables: files become one, what is not held is deleted, and rows stay."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.warehouse import retention
from kafka_clientinfo.warehouse.maintenance import maintain
from kafka_clientinfo.warehouse.warehouse import Warehouse

from .tiny import SPECS, fact, facts


@pytest.mark.long
def test_it_compacts_and_tells_what_it_did(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Warehouse(spark, str(tmp_path), True, SPECS)
    lake.create_missing(SPECS)
    for batch in ("a", "b", "c"):
        lake.append("facts", facts(spark, fact(batch)), batch)
    monkeypatch.setattr(retention, "Warehouse", partial(Warehouse, specs=SPECS))
    stages: list[str] = []
    report = maintain(spark, str(tmp_path), progress=stages.append)
    assert stages == ["prepare", *SPECS]
    assert (report.retained_from, report.deleted) == (None, {})
    tables = {table["name"]: table for table in report.tables}
    assert tables.keys() == SPECS.keys()
    assert (tables["facts"]["files_before"], tables["facts"]["files_after"]) == (3, 1)
    assert sorted(row["connection_id"] for row in lake.read("facts").collect()) == ["a", "b", "c"]
