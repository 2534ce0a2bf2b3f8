"""Rows of files against what the ledger counts of them, where retention has deleted some."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.engine.checks import quick_checks
from kafka_clientinfo.engine.reading import local_tables

ALL_FILES, NO_FILE = "2100-01-01T00:00:00.000000Z", "1970-01-01T00:00:00.000000Z"
"""An instant after every file begins, and one before."""


class Altered:
    """The tables of a warehouse with another state, and a file of which the ledger counts one row more."""

    def __init__(self, root: Path, column: str, retained_from: str | None, deleted: Mapping[str, int]) -> None:
        tables = local_tables(str(root))
        assert tables is not None
        self._tables, self._retained = tables, {"retained_from": retained_from, "deleted": deleted}
        self.file = tables.query("SELECT max(file_id) FROM {ingested_files}").rows[0][0]
        self._column = f"* REPLACE (CASE WHEN file_id = '{self.file}' THEN {column} + 1 ELSE {column} END AS {column})"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tables, name)

    def state(self) -> Any:
        return replace(self._tables.state(), **self._retained)  # type: ignore[type-var]

    def query(self, statement: str, parameters: Any = None) -> Any:
        return self._tables.query(statement.replace("SELECT * FROM", f"SELECT {self._column} FROM"), parameters)


@pytest.mark.parametrize(
    ("column", "retained_from", "deleted", "names"),
    [
        ("requests", None, {}, ["the file"]),
        ("requests", ALL_FILES, {"requests": 1}, []),
        ("requests", ALL_FILES, {"requests": 2}, ["no file"]),
        ("requests", ALL_FILES, {"requests": 0}, ["the file"]),
        ("rejected", ALL_FILES, {"requests": 0}, ["the file"]),
        ("rejected", ALL_FILES, {"rejected_records": 1}, []),
        ("requests", NO_FILE, {"requests": 1}, ["the file"]),
    ],
)
def test_a_row_that_is_not_there_was_deleted_or_lost(
    sample_warehouse: Path, column: str, retained_from: str | None, deleted: Mapping[str, int], names: list[str]
) -> None:
    tables = Altered(sample_warehouse, column, retained_from, deleted)
    found = {check.name: check for check in quick_checks(tables, str(sample_warehouse))}["rows of files"]
    assert found.ok == (names == [])
    shown = {tables.file: "the file", None: "no file"}
    assert [shown[row["file_id"]] for row in found.findings] == names
