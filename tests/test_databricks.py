"""What is deployed to Databricks: the bundle's files fit together; tests/test_dashboard.py runs the queries."""

import json
import re
import subprocess
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_clientinfo import cli
from kafka_clientinfo.commands import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
DATABRICKS = ROOT / "databricks"


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


def filled(text: str, target: str = "prod", **given: str) -> str:
    """A text with the values of the bundle's variables, as given, of a target, or by default."""
    values = {name: str(one.get("default", "")) for name, one in BUNDLE["variables"].items()}
    values |= {name: str(one) for name, one in BUNDLE["targets"][target]["variables"].items()} | given
    while "${var." in text:
        text = re.sub(r"\$\{var\.(\w+)\}", lambda found: values[found[1]], text)
    return text


def tasks(job: str) -> list[dict[str, Any]]:
    """The tasks of a job; of one for each input, the one that is done for it."""
    return [task.get("for_each_task", {}).get("task", task) for task in JOBS[job]["tasks"]]


NOTEBOOK_TASKS = {
    task["task_key"]: task["notebook_task"] for job in JOBS for task in tasks(job) if "notebook_task" in task
}


@pytest.mark.parametrize(
    ("target", "schema"), [("dev", "main.kafka_clientinfo_dev"), ("prod", "main.kafka_clientinfo")]
)
def test_jobs_and_notebooks_share_one_schema(target: str, schema: str) -> None:
    """Catalog and schema are named by variables alone, but for the defaults of these."""
    of_python = [task["spark_python_task"] for job in JOBS for task in tasks(job) if "spark_python_task" in task]
    given = [task["parameters"] for task in of_python]
    found = {filled(parameters[parameters.index("--warehouse") + 1], target) for parameters in given}
    found |= {filled(task["base_parameters"]["warehouse"], target) for task in NOTEBOOK_TASKS.values()}
    assert found == {schema}
    assert filled(BUNDLE["variables"]["logs"]["default"], target) == f"/Volumes/{schema.replace('.', '/')}/logs/"
    assert filled(NOTEBOOK_TASKS["set_up"]["base_parameters"]["volume"], target) == f"{schema}.logs"
    (dashboard,) = BUNDLE["resources"]["dashboards"].values()
    assert filled(f"{dashboard['dataset_catalog']}.{dashboard['dataset_schema']}", target) == schema
    assert re.search(r"kafka_clientinfo\.|main\.", json.dumps(BUNDLE["resources"])) is None


def test_a_job_of_the_bundle_calls_a_command_with_arguments_that_it_takes() -> None:
    for name, task in [(job, task) for job in JOBS for task in tasks(job)]:
        assert task["environment_key"] in [one["environment_key"] for one in JOBS[name]["environments"]]
        if "notebook_task" in task:
            continue
        script = DATABRICKS / "resources" / task["spark_python_task"]["python_file"]
        (command,) = re.findall(r'job\("(\w+)"\)', script.resolve().read_text("utf-8"))
        parameters = [filled(text).replace("{{input}}", "orders") for text in task["spark_python_task"]["parameters"]]
        parsed = cli.command_line().parse_args([command, *parameters])
        assert parsed.command in COMMANDS
        assert parsed.warehouse == "main.kafka_clientinfo"


def test_a_task_gives_a_notebook_inputs_that_it_has() -> None:
    """Those that it does not give have a default that means all, none or the settings."""
    for name, task in NOTEBOOK_TASKS.items():
        path, given = DATABRICKS / "resources" / task["notebook_path"], task["base_parameters"]
        widgets = dict(re.findall(r'widgets\.text\("(\w+)", ["\'](.*?)["\'], "', path.resolve().read_text("utf-8")))
        assert set(given) <= set(widgets)
        expected = {"clients": "20"} if name == "client_id_caching" else {}
        assert {widget: default for widget, default in widgets.items() if widget not in given and default} == expected
        defaults = {widget: default for widget, default in widgets.items() if widget in given and default}
        assert {widget: filled(given[widget]) for widget in defaults} == defaults


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
