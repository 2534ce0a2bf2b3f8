"""Maintenance of small tables: files become one, what is not held is deleted, and rows stay."""

from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_clientinfo.errors import WarehouseError
from kafka_clientinfo.warehouse import maintenance, retention
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


KEPT_FOR = "delta.deletedFileRetentionDuration"
END = {"operation": "VACUUM END", "operationMetrics": {"numDeletedFiles": "3"}}
START = {"operation": "VACUUM START", "operationMetrics": {"sizeOfDataToDelete": "99"}}
WRITE = {"operation": "WRITE", "operationMetrics": {"numDeletedFiles": "7", "sizeOfDataToDelete": "7"}}


class Catalog:
    """A table of no session: what it is, its history, and the statements and properties that it is given."""

    def __init__(self, detail: Mapping[str, Any] | None, commits: list[dict[str, Any]]) -> None:
        self.statements: list[str] = []
        self.spark = SimpleNamespace(sql=self.statements.append)
        self.address = SimpleNamespace(location="/lake/{}".format)
        self.table = str
        self.detail = lambda spark, table: detail
        self.history = lambda spark, table, limit: commits[:limit]

    def set_properties(self, spark: Any, table: str, properties: Mapping[str, str]) -> None:
        self.statements += [f"{key} = {value}" for key, value in properties.items()]


def tidied(catalog: Catalog, hours: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    monkeypatch.setattr(maintenance, "ddl", catalog)
    monkeypatch.setattr(maintenance, "set_where_allowed", lambda spark, conf: nullcontext())
    return maintenance._tidy(catalog, "facts", hours)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("files", "kept_for", "hours", "statements"),
    [
        (1, None, 168, []),
        (2, None, 168, ["OPTIMIZE facts"]),
        (1, None, 200, [f"{KEPT_FOR} = interval 200 hours"]),
        (1, "interval 200 hours", 168, [f"{KEPT_FOR} = interval 168 hours"]),
        (1, "interval 200 hours", 200, []),
        (3, "interval 168 hours", 24, ["OPTIMIZE facts", f"{KEPT_FOR} = interval 24 hours"]),
    ],
)
def test_files_become_one_and_delta_is_told_how_long_it_keeps_others(
    files: int, kept_for: str | None, hours: int, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = {} if kept_for is None else {KEPT_FOR: kept_for}
    catalog = Catalog({"numFiles": files, "properties": properties}, [END, START, WRITE])
    assert tidied(catalog, hours, monkeypatch) == {"vacuumed_files": 3, "vacuumed_bytes": 99}
    assert catalog.statements == [*statements, "VACUUM facts"]


@pytest.mark.parametrize("commits", [[END | {"operationMetrics": None}, START | {"operationMetrics": {}}], [WRITE], []])
def test_a_vacuum_that_says_nothing_has_deleted_nothing(
    commits: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = Catalog({"numFiles": 1, "properties": {}}, commits)
    assert tidied(catalog, 168, monkeypatch) == {"vacuumed_files": 0, "vacuumed_bytes": 0}


def test_a_table_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WarehouseError, match="/lake/facts is gone"):
        tidied(Catalog(None, []), 168, monkeypatch)
