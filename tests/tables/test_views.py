"""The views: declared whole, and one answer from Spark and from DuckDB."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import duckdb
import pytest

from kafka_clientinfo.concerns.activity.client_activity_parts import BOUNDS, NAMES
from kafka_clientinfo.config.settings import Settings
from kafka_clientinfo.questions.duckdb_tables import LocalTables
from kafka_clientinfo.questions.filters import Filters, Scope
from kafka_clientinfo.questions.impact import doubts
from kafka_clientinfo.questions.losses import losses, lost_by_client
from kafka_clientinfo.questions.presenter import without_numbers
from kafka_clientinfo.questions.refused import refusals
from kafka_clientinfo.questions.spark_tables import SparkTables
from kafka_clientinfo.tables.dialects import spark_sql
from kafka_clientinfo.tables.spec import relation_specs, table_specs, view_specs
from kafka_clientinfo.tables.types import quoted_text
from kafka_clientinfo.tables.views import SPARK, ViewSettings, definition, definitions, views
from kafka_clientinfo.warehouse import creation
from kafka_clientinfo.warehouse.ddl import no_rows
from tests.questions.test_presenter import IDS

QUESTIONS = list(views())
Engines = tuple[SparkTables, LocalTables]
_QUICK = ("who_connects",)
_INTRICATE = {
    "broker_releases", "client_activity", "client_instances", "client_negotiations", "client_verdicts",
    "cluster_api_versions", "group_protocols", "group_rebalances", "known_topics", "refused_requests", "topic_usage", "upgrade_impact",
    "violations", "what_changed",
}  # fmt: skip
"""Views that take Spark long; their names and columns are found at a push all the same."""


def test_views_name_tables_only() -> None:
    """One may name another in its file; its query then stands there."""
    assert "a.latency.up_to_0_1" in views()["who_is_slow"].sql
    assert {name for view in views().values() for name in re.findall(r"{(\w+)}", view.sql)} <= set(relation_specs())


def test_derby_can_store_all_views_but_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/howto/catalog.md says so; Derby stores 32,700 characters."""
    texts: dict[str, str] = {}
    monkeypatch.setattr(
        creation, "_make_view", lambda spark, address, name, comment, query, _: texts.update({name: query})
    )
    schema = Mock(table=lambda name: f"spark_catalog.kafka_clientinfo.{name}")
    assert creation.make_views(Mock(), schema, ViewSettings.of(Settings()), ()) == {}
    assert {name for name, text in texts.items() if len(text) > 32_700} == {"violations", "group_rebalances"}


def test_the_bounds_of_latencies_are_those_of_the_table() -> None:
    """In the VALUES and in the CASE that takes each field."""
    sql = views()["client_latency"].sql
    bounds = {name: float(bound) for name, bound in re.findall(r"\('(\w+)', ([\d.]+)\)", sql)}
    assert bounds == dict(zip(NAMES, BOUNDS, strict=False))
    assert "('above', NULL)" in sql
    assert re.findall(r"WHEN '(\w+)' THEN a\.latency\.(\w+)\n", sql) == [(name, name) for name in NAMES]
    kind = f"struct<{','.join(f'{name}:bigint' for name in NAMES)}>"
    assert kind in {column.type for column in relation_specs()["client_activity"].columns}
    assert max(after / before for before, after in pairwise(BOUNDS)) == 1.8


def comparable(rows: Iterable[Sequence[Any]]) -> list[str]:
    """Rows as text in one order, and their maps too."""
    return sorted(repr([sorted(v.items()) if isinstance(v, dict) else v for v in row]) for row in rows)


COUNTED = (
    "SELECT cluster, broker, connection_id, opened_at, opened_seq, role, count(*) AS requests "
    f"FROM ({views()['requests_of_connections'].sql}) GROUP BY ALL"
)
"""Requests of each connection; their bodies are objects of each engine's own kind."""


@pytest.fixture(scope="module")
def local(sample_warehouse: Path) -> LocalTables:
    return LocalTables(sample_warehouse)


@pytest.fixture(scope="module")
def engines(spark: Any, sample_warehouse: Path, local: LocalTables) -> Engines:
    return SparkTables(spark, str(sample_warehouse)), local


def assert_the_same(engines: Engines, statement: str) -> None:
    by_spark, by_duckdb = (tables.query(statement) for tables in engines)
    assert by_duckdb.rows
    assert by_duckdb.names == by_spark.names
    assert comparable(by_duckdb) == comparable(by_spark)


@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.long][one in _QUICK :]) for one in QUESTIONS])
def test_spark_and_duckdb_answer_a_question_alike(engines: Engines, name: str) -> None:
    assert_the_same(engines, COUNTED if name == "requests_of_connections" else views()[name].sql)


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.long][one not in _INTRICATE :]) for one in view_specs()]
)
def test_a_declared_view_has_the_same_rows_on_both_engines(engines: Engines, name: str) -> None:
    # After one run nothing is new: what may be is compared.
    assert_the_same(engines, f"SELECT * FROM {{{'changes' if name == 'what_changed' else name}}}")


@pytest.mark.long
def test_what_breaks_and_what_is_refused_are_the_same_on_both_engines(engines: Engines) -> None:
    by_spark, by_duckdb = (Scope(tables) for tables in engines)
    assert losses(by_spark, "4.0.1") == losses(by_duckdb, "4.0.1")
    assert lost_by_client(by_spark, "4.0.1") == lost_by_client(by_duckdb, "4.0.1")
    for filters in (Filters(), Filters(client="oldprod")):
        of_spark, of_duckdb = (refusals(Scope(tables, filters)) for tables in engines)
        assert of_spark == of_duckdb
        assert doubts(by_spark, "4.0.1", of_spark) == doubts(by_duckdb, "4.0.1", of_duckdb)


def test_spark_finds_all_that_a_view_names(spark: Any) -> None:
    """What a view reads stands for it without rows, so that Spark analyses each view and each part once."""
    settings, names = ViewSettings.of(Settings()), [*table_specs(), *definitions()]
    for name in names:
        is_table = name in table_specs()
        query = no_rows(table_specs()[name]) if is_table else definition(name, SPARK, settings, "found_{}".format)
        rows = spark.sql(query)
        if name in view_specs():
            assert rows.columns == list(view_specs()[name].column_names), name
        spark.createDataFrame([], rows.schema).createOrReplaceTempView(f"found_{name}")
    for name in names:
        spark.catalog.dropTempView(f"found_{name}")


@pytest.mark.parametrize("name", view_specs())
def test_the_rows_of_a_view_are_as_declared(local: LocalTables, name: str) -> None:
    """The key is one, required columns have values, and the checks hold."""
    spec = view_specs()[name]
    key = ", ".join(f'"{column}"' for column in spec.key)
    broken = " OR ".join(f"NOT coalesce({check}, true)" for check in spec.constraints.values()) or "false"
    counted = f"SELECT {key}, count(*) AS rows_of_key, count_if({broken}) AS broken FROM {{{name}}} GROUP BY ALL"
    assert local.query(f"SELECT * FROM ({counted}) AS c WHERE rows_of_key > 1 OR broken > 0").rows == []


def test_duckdb_has_all_tables_and_views_by_the_file_that_a_run_writes(
    sample_warehouse: Path, local: LocalTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sample_warehouse)
    with duckdb.connect() as connection:
        connection.execute(Path("views.sql").read_text("utf-8"))
        for name in (*table_specs(), *_QUICK):
            (found,) = connection.execute(f"SELECT count(*) FROM {name}").fetchall()
            asked = views()[name].sql if name in views() else f"SELECT * FROM {{{name}}}"
            assert found == local.query(f"SELECT count(*) FROM ({asked}) AS asked").rows[0], name
        for name, spec in view_specs().items():
            found = connection.execute(f"SELECT column_name FROM (DESCRIBE {name})").fetchall()
            assert [column for (column,) in found] == list(spec.column_names), name


@pytest.mark.classic("its JVM shows the plan")
def test_an_hour_of_a_client_is_read_from_few_files(engines: Engines) -> None:
    """The filters come before the joins, so that Delta skips files by their statistics."""
    an_hour = "logged_at >= '2026-11-21 02:00:00' AND logged_at < '2026-11-21 03:00:00' AND client_id = 'x'"
    rows: Any = engines[0].relation("requests_of_connections").where(an_hour)
    plan = rows._jdf.queryExecution().optimizedPlan().toString()
    (of_requests,) = re.findall(r"Filter (.*client_id.*)\n.*Relation \[", plan)
    assert of_requests.count("logged_at") >= 2
    assert {"logged_at", "client_id", "cluster"} <= set(table_specs()["requests"].statistics)
    assert table_specs()["requests"].cluster_by[0] == "logged_at"


def test_each_request_has_the_connection_that_counts_it(local: LocalTables) -> None:
    """Also where a connection id is used again, and where a log has a request twice."""
    key = ("cluster", "broker", "connection_id", "opened_at", "opened_seq", "role", "requests")
    counted = local.query(f"SELECT {', '.join(key)} FROM ({COUNTED}) ORDER BY ALL").rows
    assert counted == local.query(f"SELECT {', '.join(key)} FROM {{connections}} ORDER BY ALL").rows
    assert len(counted) > 1000


def test_the_engines_and_python_know_alike_what_varies_in_client_ids(spark: Any, engines: Engines) -> None:
    ids = {one: without_numbers(one) for one in (*IDS, *(f"{one}-{other}" for one in IDS for other in IDS))}
    of_spark = spark.createDataFrame([(one,) for one in ids], "client_id string")
    by_spark = of_spark.selectExpr("client_id", spark_sql("without_numbers(client_id)", "UTC")).collect()
    assert dict(map(tuple, by_spark)) == ids
    listed = ", ".join(f"({quoted_text(one)})" for one in ids)
    by_duckdb = engines[1].query(f"SELECT client_id, without_numbers(client_id) FROM (VALUES {listed}) AS i(client_id)")
    assert dict(by_duckdb.rows) == ids


PROGRAMS = {
    "agent-x9k2m": "agent-#",
    "agent-zzkhq": "agent-#",
    "agent-bcd77": "agent-#",
    "agent-zzkhq-1": "agent-#-#",
    "agent-x9k2m-1": "agent-#-#",
    "other-zzkhq": "other-zzkhq",
    "order-https": "order-https",
    "order-24567": "order-#",
    "order-prd24": "order-prd#",
    None: None,
}
"""Client ids of one warehouse, and what is the same in all instances of the program."""


def test_names_of_pods_without_a_digit_are_known_by_others_of_their_set(spark: Any, engines: Engines) -> None:
    listed = ", ".join(f"({'NULL' if one is None else quoted_text(one)})" for one in PROGRAMS)
    text = Path("schemas/views/internal/programs.sql").read_text("utf-8")
    text = text.replace("{client_inventory}", f"(VALUES {listed}) AS i(client_id)")
    assert dict(engines[1].query(text).rows) == PROGRAMS
    assert dict(map(tuple, spark.sql(spark_sql(text, "UTC")).collect())) == PROGRAMS
