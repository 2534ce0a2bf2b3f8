"""The views: declared whole, and one answer from Spark and from DuckDB."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from kafka_clientinfo.config.rules import SEVERITY_ORDER
from kafka_clientinfo.questions.opening import local_tables
from kafka_clientinfo.tables.latency import BOUNDS, LATENCY_TYPE, NAMES
from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.tables.views import views
from tests.amounts import one_in

QUESTIONS = (
    "who_connects",
    "who_breaks",
    "how_clients_negotiate",
    "who_misbehaves",
    "why_unknown",
    "client_processes",
    "client_id_caching",
    "who_uses_topics",
    "who_is_slow",
    "who_floods",
    "why_rebalanced",
    "client_verdicts",
    "what_the_log_shows",
    "requests_of_connections",
    "error_codes",
    "client_latency",
)
"""In the README's order, the answers to its questions first."""


def test_there_is_a_view_for_each_question() -> None:
    assert sorted(views()) == sorted(QUESTIONS)
    assert not set(views()) & set(table_specs())


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_view_says_what_it_answers_in_one_sentence(name: str) -> None:
    assert re.fullmatch(r"[A-Z].*[^.]\.", views()[name].comment)


def test_violations_come_in_the_order_of_severities() -> None:
    assert SEVERITY_ORDER in views()["who_misbehaves"].sql


def test_views_name_tables_only() -> None:
    """One may name another in its file; its query then stands there."""
    assert "a.latency.up_to_0_1" in views()["who_is_slow"].sql
    assert {name for view in views().values() for name in re.findall(r"{(\w+)}", view.sql)} <= set(table_specs())


def test_the_bounds_of_latencies_are_those_of_the_table() -> None:
    """In the VALUES and in the CASE that takes each field."""
    sql = views()["client_latency"].sql
    bounds = {name: float(bound) for name, bound in re.findall(r"\('(\w+)', ([\d.]+)\)", sql)}
    assert bounds == dict(zip(NAMES, BOUNDS, strict=False))
    assert "('above', NULL)" in sql
    assert re.findall(r"WHEN '(\w+)' THEN a\.latency\.(\w+)\n", sql) == [(name, name) for name in NAMES]
    assert LATENCY_TYPE in {column.type for column in table_specs()["client_activity"].columns}
    assert max(after / before for before, after in pairwise(BOUNDS)) == 1.8


def comparable(rows: Iterable[Sequence[Any]]) -> list[str]:
    """Rows as text in one order, and their maps too."""
    return sorted(repr([sorted(v.items()) if isinstance(v, dict) else v for v in row]) for row in rows)


COUNTED = (
    "SELECT cluster, broker, connection_id, opened_at, opened_seq, role, count(*) AS requests "
    f"FROM ({views()['requests_of_connections'].sql}) GROUP BY ALL"
)
"""Requests of each connection; their bodies are objects of each engine's own kind."""


@pytest.mark.parametrize("name", one_in(3, reversed(QUESTIONS)))
def test_spark_and_duckdb_give_the_same_rows(spark: Any, sample_warehouse: Path, name: str) -> None:
    statement = COUNTED if name == "requests_of_connections" else views()[name].sql
    delta = statement.format_map({table: f"delta.`{sample_warehouse}/{table}`" for table in table_specs()})
    spark_rows = spark.sql(delta)
    needed = [table for table in table_specs() if f"{{{table}}}" in statement]
    with duckdb.connect() as connection:
        for table in needed:
            files = DeltaTable(str(sample_warehouse / table)).file_uris()
            connection.execute(f"CREATE VIEW {table} AS FROM read_parquet({files})")
        duck_rows = connection.execute(statement.format_map({table: table for table in needed}))
        assert [column[0] for column in duck_rows.description] == spark_rows.columns
        found = comparable(duck_rows.fetchall())
    assert found
    assert found == comparable(spark_rows.collect())


def test_each_request_has_the_connection_that_counts_it(sample_warehouse: Path) -> None:
    """Also where a connection id is used again, and where a log has a request twice."""
    tables = local_tables(str(sample_warehouse))
    assert tables is not None
    key = ("cluster", "broker", "connection_id", "opened_at", "opened_seq", "role", "requests")
    counted = tables.query(f"SELECT {', '.join(key)} FROM ({COUNTED}) ORDER BY ALL").rows
    assert counted == tables.query(f"SELECT {', '.join(key)} FROM {{connections}} ORDER BY ALL").rows
    assert len(counted) > 1000
