"""The dashboard and the alerts of the bundle for Databricks: every query runs on the sample."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo.tables.spec import relation_specs, view_specs
from kafka_clientinfo.tables.views import ViewSettings
from kafka_clientinfo.warehouse.address import Address
from kafka_clientinfo.warehouse.creation import make_views
from tests.test_databricks import BUNDLE, DATABRICKS, filled

DASHBOARD = json.loads((DATABRICKS / "clients.lvdash.json").read_text("utf-8"))
DATASETS = {one["name"]: "".join(one["queryLines"]) for one in DASHBOARD["datasets"]}
ITEMS = {item["widget"]["name"]: item for page in DASHBOARD["pages"] for item in page["layout"]}
WIDGETS = {name: one for name, one in ITEMS.items() if not one["widget"]["spec"]["widgetType"].startswith("filter-")}
EMPTY = {"unused_topics"}
"""Datasets of which the sample has no row: somebody uses each of its topics."""
CATALOG, SCHEMA = "spark_catalog", "clientinfo_sample"


def test_the_filter_on_the_cluster_is_one_for_all_pages_and_all_datasets() -> None:
    """It names each of its queries."""
    (page,) = (page for page in DASHBOARD["pages"] if page["pageType"] == "PAGE_TYPE_GLOBAL_FILTERS")
    (widget,) = (item["widget"] for item in page["layout"])
    encoded = widget["spec"]["encodings"]["fields"]
    assert [(one["fieldName"], one["queryName"]) for one in encoded] == [
        ("cluster", q["name"]) for q in widget["queries"]
    ]
    asked = [query["query"] for query in widget["queries"]]
    assert [query["fields"] for query in asked] == [[{"name": "cluster", "expression": "`cluster`"}]] * len(asked)
    assert {query["datasetName"] for query in asked} == set(DATASETS)
    assert not any("LIMIT" in sql for sql in DATASETS.values())  # it would be applied before the filter


@pytest.fixture(scope="module")
def tables(spark: Any, stored_answers: Path) -> Iterator[Any]:
    """A session that has the sample's tables in a schema of its catalog, the current one; declared views are stored."""
    spark.sql(f"CREATE SCHEMA {CATALOG}.{SCHEMA}")
    for name in relation_specs():
        spark.sql(f"CREATE TABLE {CATALOG}.{SCHEMA}.{name} USING DELTA LOCATION '{stored_answers / name}'")
        spark.catalog.dropTempView(name)  # it would stand before the table
    spark.sql(f"USE {CATALOG}.{SCHEMA}")
    address = Address(f"{CATALOG}.{SCHEMA}", (CATALOG, SCHEMA))
    assert make_views(spark, address, ViewSettings(), list(view_specs())) == {}
    yield spark
    spark.sql(f"USE {CATALOG}.default")
    spark.sql(f"DROP SCHEMA {CATALOG}.{SCHEMA} CASCADE")


@pytest.mark.parametrize("is_asked", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", WIDGETS)
def test_the_query_of_a_widget_answers(tables: Any, name: str, is_asked: bool) -> None:
    """As a dashboard puts it together: the dataset's query, and the widget's fields of it; Spark finds all columns at once."""
    query = WIDGETS[name]["widget"]["queries"][0]["query"]
    fields = ", ".join(f"{one['expression']} AS `{one['name']}`" for one in query["fields"])
    grouped = "" if query["disaggregated"] else " GROUP BY ALL"
    found = tables.sql(f"SELECT {fields} FROM ({DATASETS[query['datasetName']]}){grouped}")
    assert found.columns == [one["name"] for one in query["fields"]]
    assert ("cluster", "string") in tables.sql(DATASETS[query["datasetName"]]).dtypes  # for the filter
    if is_asked:
        assert found.limit(1).count() == (0 if query["datasetName"] in EMPTY else 1)


def alerted(tables: Any, target: str, days: int, now: datetime | None = None) -> list[int]:
    """What the query of the alert answers, now or at another time."""
    alert = BUNDLE["resources"]["alerts"]["client_would_break"]
    given = {"catalog": CATALOG, "schema": SCHEMA, "target_release": target, "alert_days": str(days)}
    query = filled(alert["query_text"], **given)
    if now is not None:
        assert query.count("current_timestamp()") == 1
        query = query.replace("current_timestamp()", f"timestamp '{now.isoformat()}'")
    column = alert["evaluation"]["source"]["name"]
    return [row[column] for row in tables.sql(query).collect()]


@pytest.mark.parametrize(("target", "clients"), [("4.0.1", 45), ("3.9.1", 1), ("4.0", None), ("9.9", None)])
def test_the_alert_counts_the_clients_that_would_break(tables: Any, target: str, clients: int | None) -> None:
    """A release that nobody measured has no number, so that the alert fails."""
    assert alerted(tables, target, 100_000) == ([] if clients is None else [clients])
    evaluation = BUNDLE["resources"]["alerts"]["client_would_break"]["evaluation"]
    assert evaluation["threshold"] == {"value": {"double_value": 0}}
    assert evaluation["empty_result_state"] == "ERROR"


def test_the_alert_recovers_when_no_such_client_was_seen_for_days(tables: Any) -> None:
    """Between the last request of any client and that of one that would break; before, logs have stopped coming."""
    columns = "verdict, max(last_seen) AS last"
    seen = tables.sql(f"SELECT {columns} FROM client_verdicts WHERE release = '3.9.1' GROUP BY verdict")
    last = {row["verdict"]: row["last"].replace(tzinfo=UTC) for row in seen.collect()}
    day, moment = timedelta(days=1), timedelta(minutes=1)
    assert last["refused"] + moment < max(last.values())
    now = last["refused"] + day + moment
    assert [alerted(tables, "3.9.1", days, now) for days in (2, 1)] == [[1], [0]]
    assert alerted(tables, "3.9.1", 1, max(last.values()) + day + moment) == []


def test_the_alert_on_changes_counts_what_the_newest_run_brought(tables: Any) -> None:
    """After one run nothing is new."""
    alert = BUNDLE["resources"]["alerts"]["something_changed"]
    query = filled(alert["query_text"], catalog=CATALOG, schema=SCHEMA, target_release="4.0.1")
    rows = tables.sql(query)
    assert alert["evaluation"]["source"]["name"] in rows.columns
    assert [tuple(row) for row in rows.collect()] == [(0, "")]
