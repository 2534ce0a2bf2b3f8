"""What is deployed to Databricks: the bundle's files fit together, and every query runs on the sample."""

import json
import re
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_clientinfo import cli
from kafka_clientinfo.commands import COMMANDS
from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.tables.views import views
from tests.amounts import one_in

ROOT = Path(__file__).resolve().parent.parent
DATABRICKS = ROOT / "databricks"
DASHBOARD = json.loads((DATABRICKS / "clients.lvdash.json").read_text("utf-8"))
DATASETS = {one["name"]: "".join(one["queryLines"]) for one in DASHBOARD["datasets"]}
WIDGETS = {item["widget"]["name"]: item for page in DASHBOARD["pages"] for item in page["layout"]}
CATALOG, SCHEMA = "spark_catalog", "clientinfo_sample"


def bundle() -> dict[str, Any]:
    """databricks.yml with the resources of the files that it includes."""
    found = yaml.safe_load((ROOT / "databricks.yml").read_text("utf-8"))
    found["resources"] = {}
    for pattern in found["include"]:
        for path in sorted(ROOT.glob(pattern)):
            included = yaml.safe_load(path.read_text("utf-8"))
            assert list(included) == ["resources"], path
            for kind, resources in included["resources"].items():
                found["resources"].setdefault(kind, {}).update(resources)
    return found


BUNDLE = bundle()
JOBS = BUNDLE["resources"]["jobs"]


def texts(value: Any) -> Iterator[str]:
    """All texts in what a YAML file holds."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, str):
        yield value


def filled(text: str, **given: str) -> str:
    """A text with the values of the bundle's variables, as given or by default."""
    values = {name: str(one.get("default", "")) for name, one in BUNDLE["variables"].items()} | given
    while "${var." in text:
        text = re.sub(r"\$\{var\.(\w+)\}", lambda found: values[found[1]], text)
    return text


def test_every_variable_that_the_bundle_uses_is_declared_and_every_declared_one_is_used() -> None:
    used = {name for text in texts(BUNDLE) for name in re.findall(r"\$\{var\.(\w+)\}", text)}
    assert used == set(BUNDLE["variables"])
    assert {"catalog", "schema"} <= used
    assert set(BUNDLE["targets"]) == {"dev", "prod"}


@pytest.mark.parametrize("job", JOBS)
def test_a_job_of_the_bundle_calls_a_command_with_arguments_that_it_takes(job: str) -> None:
    for task in JOBS[job]["tasks"]:
        script = DATABRICKS / "resources" / task["spark_python_task"]["python_file"]
        (command,) = re.findall(r'job\("(\w+)"\)', script.resolve().read_text("utf-8"))
        parameters = [filled(text) for text in task["spark_python_task"]["parameters"]]
        parsed = cli.command_line().parse_args([command, *parameters])
        assert parsed.command in COMMANDS
        assert parsed.warehouse == "main.kafka_clientinfo"
        assert task["environment_key"] in [one["environment_key"] for one in JOBS[job]["environments"]]


def test_one_of_the_jobs_that_read_logs_is_paused() -> None:
    assert "pause_status" not in JOBS["clientinfo_hourly"]["schedule"]
    assert JOBS["clientinfo_on_arrival"]["trigger"]["pause_status"] == "PAUSED"
    assert JOBS["clientinfo_on_arrival"]["tasks"] == JOBS["clientinfo_hourly"]["tasks"]


def test_the_dashboard_is_the_file_that_the_bundle_names() -> None:
    (dashboard,) = BUNDLE["resources"]["dashboards"].values()
    assert (DATABRICKS / "resources" / dashboard["file_path"]).resolve() == DATABRICKS / "clients.lvdash.json"


@pytest.mark.parametrize("name", WIDGETS)
def test_a_widget_shows_fields_of_its_own_query(name: str) -> None:
    widget = WIDGETS[name]["widget"]
    (query,) = widget["queries"]
    assert query["query"]["datasetName"] in DATASETS
    fields = {one["name"] for one in query["query"]["fields"]}
    shown = re.findall(r'"fieldName": "([^"]+)"', json.dumps(widget["spec"]))
    assert set(shown) == fields


def test_every_dataset_is_shown_and_no_widgets_overlap() -> None:
    assert {item["widget"]["queries"][0]["query"]["datasetName"] for item in WIDGETS.values()} == set(DATASETS)
    for page in DASHBOARD["pages"]:
        places = [item["position"] for item in page["layout"]]
        taken = [
            (x, y)
            for place in places
            for x in range(place["x"], place["x"] + place["width"])
            for y in range(place["y"], place["y"] + place["height"])
        ]
        assert len(taken) == len(set(taken))
        assert all(x < 6 for x, _ in taken)


@pytest.fixture(scope="module")
def tables(spark: Any, sample_warehouse: Path) -> Iterator[Any]:
    """A session whose catalog has the sample's tables in a schema, which is the current one."""
    spark.sql(f"CREATE SCHEMA {CATALOG}.{SCHEMA}")
    for name in table_specs():
        spark.sql(f"CREATE TABLE {CATALOG}.{SCHEMA}.{name} USING DELTA LOCATION '{sample_warehouse / name}'")
        spark.catalog.dropTempView(name)  # it would stand before the table
    spark.sql(f"USE {CATALOG}.{SCHEMA}")
    verdicts = views()["client_verdicts"].sql
    spark.sql(f"CREATE VIEW client_verdicts AS {verdicts.format_map({name: name for name in table_specs()})}")
    yield spark
    spark.sql(f"USE {CATALOG}.default")
    spark.sql(f"DROP SCHEMA {CATALOG}.{SCHEMA} CASCADE")


@pytest.mark.parametrize("name", one_in(3, WIDGETS))
def test_the_query_of_a_widget_answers(tables: Any, name: str) -> None:
    """As a dashboard puts it together: the dataset's query, and the widget's fields of it."""
    query = WIDGETS[name]["widget"]["queries"][0]["query"]
    fields = ", ".join(f"{one['expression']} AS `{one['name']}`" for one in query["fields"])
    grouped = "" if query["disaggregated"] else " GROUP BY ALL"
    found = tables.sql(f"SELECT {fields} FROM ({DATASETS[query['datasetName']]}){grouped}")
    assert found.limit(1).count() == 1


@pytest.mark.parametrize(("target", "clients"), [("4.0.1", 46), ("3.9.1", 1), ("4.0", None), ("9.9", None)])
def test_the_alert_counts_the_clients_that_would_break(tables: Any, target: str, clients: int | None) -> None:
    """A release that nobody measured has no number, so that the alert fails."""
    (alert,) = BUNDLE["resources"]["alerts"].values()
    query = filled(alert["query_text"], catalog=CATALOG, schema=SCHEMA, target_release=target)
    column = alert["evaluation"]["source"]["name"]
    assert [row[column] for row in tables.sql(query).collect()] == ([] if clients is None else [clients])
    assert (alert["evaluation"]["threshold"]["value"]["double_value"], alert["evaluation"]["empty_result_state"]) == (
        0,
        "ERROR",
    )


CHECK = """
import json, sys
from databricks.bundles.alerts import Alert
from databricks.bundles.dashboards import Dashboard
from databricks.bundles.jobs import Job

for kind, resources in json.load(sys.stdin).items():
    for resource in resources.values():
        {"jobs": Job, "alerts": Alert, "dashboards": Dashboard}[kind].from_dict(resource)
"""


@pytest.mark.oracle
def test_the_vendor_reads_every_resource(tmp_path: Path) -> None:
    """By the classes that Databricks generates of the bundles' schema."""
    venv.create(tmp_path / "machine", with_pip=True)
    python = tmp_path / "machine" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "databricks-bundles>=1.0"], check=True)

    def accepted(resources: Any) -> bool:
        done = subprocess.run([python, "-c", CHECK], input=json.dumps(resources), text=True, check=False)
        return done.returncode == 0

    assert accepted(BUNDLE["resources"])
    broken = json.loads(json.dumps(BUNDLE["resources"]))
    broken["jobs"]["clientinfo_hourly"]["schedule"] = {"every": "hour"}
    assert not accepted(broken)
