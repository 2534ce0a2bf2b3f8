"""The tables in memory before anything is read."""

import duckdb
import pytest

from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.scan import MemoryTables
from kafka_clientinfo.tables.spec import table_spec


def test_tables_of_what_is_read_are_there_from_the_beginning() -> None:
    tables = MemoryTables(Settings())
    for name in ("requests", "failed_requests", "ingested_files"):
        rows = tables.query(f"SELECT * FROM {{{name}}}")
        assert (rows.names, rows.rows) == (tuple(table_spec(name).column_names), [])
    with pytest.raises(duckdb.CatalogException):
        tables.query("SELECT * FROM {connections}")
    assert tables.state() is None
