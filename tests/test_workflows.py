"""Workflows, hooks and templates: they run what the repository has, on what is supported, with few rights."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from .supported import IN_THE_TESTS, PYTHONS, SPARKS, java_home

ROOT = Path(__file__).resolve().parent.parent
GITHUB = ROOT / ".github"
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
# `on` is a truth value in YAML 1.1, which PyYAML reads.
WORKFLOWS: dict[str, Any] = {
    path.stem: {"on" if key is True else key: value for key, value in yaml.safe_load(path.read_text("utf-8")).items()}
    for path in sorted((GITHUB / "workflows").iterdir())
}
JOBS = [(file, name) for file, workflow in WORKFLOWS.items() for name in workflow["jobs"]]
ACTIONS = {
    "actions/attest-build-provenance",
    "actions/checkout",
    "actions/deploy-pages",
    "actions/download-artifact",
    "actions/setup-java",
    "actions/setup-python",
    "actions/upload-artifact",
    "actions/upload-pages-artifact",
    "pypa/gh-action-pypi-publish",
}
WRITES = {
    ("release", "provenance"): {"id-token", "attestations"},
    ("release", "pypi"): {"id-token"},
    ("release", "github"): {"contents"},
    ("release", "pages"): {"id-token", "pages"},
}
"""What a job may write besides its logs and artifacts."""


def steps(file: str, job: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = WORKFLOWS[file]["jobs"][job]["steps"]
    return steps


def setup(file: str, job: str, action: str) -> dict[str, Any]:
    (step,) = (step for step in steps(file, job) if step.get("uses", "").startswith(f"actions/{action}@"))
    settings: dict[str, Any] = step["with"]
    return settings


def test_there_are_tests_at_each_push_every_week_and_at_a_release() -> None:
    assert {name: set(workflow["on"]) for name, workflow in WORKFLOWS.items()} == {
        "tests": {"push", "pull_request"},
        "weekly": {"schedule", "workflow_dispatch"},
        "release": {"push"},
    }
    assert WORKFLOWS["tests"]["on"] == {"push": {"branches": ["**"]}, "pull_request": None}
    assert WORKFLOWS["release"]["on"]["push"] == {"tags": ["v*"]}
    assert [step["run"] for step in steps("tests", "tests") if "run" in step] == [".ci/run"]


@pytest.mark.parametrize(("file", "job"), JOBS)
def test_each_command_is_a_target_or_a_script_of_the_repository(file: str, job: str) -> None:
    for step in steps(file, job):
        command = step.get("run")
        if command is None:
            assert "uses" in step
        elif command.startswith("make "):
            assert re.search(rf"^{re.escape(command.removeprefix('make '))}:.* ## ", MAKEFILE, re.MULTILINE), command
        else:
            assert re.fullmatch(r"\.ci/\w+", command)
            assert os.access(ROOT / command, os.X_OK)


@pytest.mark.parametrize(("file", "job"), JOBS)
def test_actions_are_few_and_of_a_major_version(file: str, job: str) -> None:
    for step in steps(file, job):
        if "uses" in step:
            name, _, version = step["uses"].partition("@")
            assert name in ACTIONS
            assert re.fullmatch(r"v\d+|release/v1", version)


@pytest.mark.parametrize(("file", "job"), JOBS)
def test_a_job_writes_only_what_it_must(file: str, job: str) -> None:
    assert WORKFLOWS[file]["permissions"] == {"contents": "read"}
    given = WORKFLOWS[file]["jobs"][job].get("permissions", {})
    assert {name for name, right in given.items() if right == "write"} == WRITES.get((file, job), set())
    assert set(given.values()) <= {"read", "write"}
    for step in steps(file, job):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"] == {"persist-credentials": False}


@pytest.mark.parametrize(("file", "job"), JOBS)
def test_a_job_ends_and_does_not_pile_up(file: str, job: str) -> None:
    assert 10 <= WORKFLOWS[file]["jobs"][job]["timeout-minutes"] <= 90
    assert "group" in WORKFLOWS[file]["concurrency"]


@pytest.mark.parametrize(("file", "job"), JOBS)
def test_no_expression_is_part_of_a_command(file: str, job: str) -> None:
    assert [step["run"] for step in steps(file, job) if "${{" in step.get("run", "")] == []


def test_only_the_trusted_jobs_have_an_environment() -> None:
    named = {(file, job): WORKFLOWS[file]["jobs"][job].get("environment") for file, job in JOBS}
    assert {job for job, environment in named.items() if environment} == {("release", "pypi"), ("release", "pages")}


def test_nothing_is_published_before_the_build_has_passed() -> None:
    jobs = WORKFLOWS["release"]["jobs"]
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "build": None,
        "provenance": "build",
        "pypi": "provenance",
        "github": "pypi",
        "pages": "pypi",
    }
    assert [step["run"] for step in steps("release", "build") if "run" in step] == [
        ".ci/run",
        "make release",
        "make docs",
    ]


def test_the_pythons_are_those_of_the_package_and_of_the_week() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    classifiers = "\n".join(project["classifiers"])
    assert tuple(re.findall(r"^Programming Language :: Python :: (3\.\d+)$", classifiers, re.MULTILINE)) == PYTHONS
    assert project["requires-python"] == f">={PYTHONS[0]}"
    assert tuple(WORKFLOWS["weekly"]["jobs"]["tests"]["strategy"]["matrix"]["python"]) == PYTHONS
    beside = re.search(r"^PYTHONS \?= (.+)$", MAKEFILE, re.MULTILINE)
    assert beside is not None
    assert set(beside[1].split()) <= set(PYTHONS)


def test_the_sparks_are_those_of_the_package_and_of_the_week() -> None:
    local = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]["local"]
    oldest, newest = next(iter(SPARKS)), list(SPARKS)[-1]
    assert f"pyspark>={oldest},<{int(newest.split('.')[0]) + 1}" in local
    constraints = (ROOT / "constraints.txt").read_text("utf-8").replace("delta_spark", "delta-spark").splitlines()
    assert set(SPARKS[IN_THE_TESTS].packages) <= set(constraints)
    matrix = WORKFLOWS["weekly"]["jobs"]["sparks"]["strategy"]["matrix"]
    assert sorted([*matrix["spark"], IN_THE_TESTS]) == sorted(SPARKS)


def test_each_spark_is_named_where_jars_are_chosen() -> None:
    page = (ROOT / "docs" / "howto" / "platforms.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d\.\d)[^|]* \| `io\.delta:", page, re.MULTILINE)
    assert rows == sorted(SPARKS)


def test_the_javas_are_those_that_spark_takes_and_of_the_week() -> None:
    weekly = WORKFLOWS["weekly"]["jobs"]["tests"]["strategy"]["matrix"]["java"]
    assert tuple(map(int, weekly)) == SPARKS[IN_THE_TESTS].javas
    installed = [int(one) for one in setup("weekly", "sparks", "setup-java")["java-version"].split()]
    assert set(installed) == {major for release in SPARKS.values() for major in release.javas}
    assert installed[-1] in SPARKS[IN_THE_TESTS].javas  # the default, on which the tables to compare with are made


def test_the_readme_names_the_javas() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "Java 17 or 21 (Spark 3.5 runs on 17 only, 4.2 and later also on 25;" in readme
    javas = {name: release.javas for name, release in SPARKS.items()}
    assert javas == {"3.5": (17,), "4.0": (17, 21), "4.1": (17, 21), "4.2": (17, 21, 25)}


def test_a_java_is_found_as_runners_name_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME_21_ARM64", str(tmp_path))
    assert java_home(21) == tmp_path
    monkeypatch.delenv("JAVA_HOME_1_X64", raising=False)
    assert java_home(1) is None


def test_one_spark_can_be_chosen() -> None:
    shown = subprocess.run(
        ["make", "--no-print-directory", "-n", "sparks", "VENV=/nowhere", f"PYTHON={sys.executable}"],
        cwd=ROOT, env={**os.environ, "SPARK": "4.2"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert shown.stdout.rstrip().endswith("tests/test_other_sparks.py -k spark4.2-")


def recipe(target: str) -> list[str]:
    """The commands of a target, with the folder of programs as `make` writes it."""
    lines = MAKEFILE.partition(f"\n{target}: ")[2].splitlines()[1:]
    commands = lines[: next(number for number, line in enumerate(lines) if not line.startswith("\t"))]
    return [command.strip().replace("$(BIN)", ".venv/bin") for command in commands]


def test_the_hooks_run_what_make_runs_before_the_tests() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    assert repository["repo"] == "local"
    assert [hook["entry"] for hook in repository["hooks"]] == recipe("lint") + recipe("types")
    assert all((hook["language"], hook["pass_filenames"]) == ("system", False) for hook in repository["hooks"])


def test_a_bug_report_asks_for_what_is_needed_to_see_the_bug() -> None:
    body = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / "bug.yml").read_text("utf-8"))["body"]
    required = {field["id"] for field in body if field.get("validations", {}).get("required")}
    assert required == {"what", "version", "spark", "java", "broker"}
    fields = {field["id"]: field["attributes"] for field in body if "id" in field}
    assert "kafka-clientinfo --version" in fields["version"]["label"]
    assert "remove what is secret" in fields["record"]["description"]
    assert fields["secrets"]["options"][0]["required"]


@pytest.mark.parametrize(
    "page", [GITHUB / "PULL_REQUEST_TEMPLATE.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name
)
def test_pages_for_contributors_name_targets_that_exist(page: Path) -> None:
    named = set(re.findall(r"`make (\w+)", page.read_text("utf-8")))
    assert named
    assert {target for target in named if not re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)} == set()
