"""Workflows, hooks and pages for contributors: they run what the repository has, on what is supported."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

import kafka_clientinfo

from .supported import IN_THE_TESTS, PYTHONS, SPARKS

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS: dict[str, Any] = {
    path.stem: yaml.safe_load(path.read_text("utf-8")) for path in sorted((ROOT / ".github" / "workflows").iterdir())
}
WEEKLY = WORKFLOWS["weekly"]["jobs"]


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_the_pythons_are_those_of_the_package_and_of_the_week() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    classifiers = "\n".join(project["classifiers"])
    assert tuple(re.findall(r"^Programming Language :: Python :: (3\.\d+)$", classifiers, re.MULTILINE)) == PYTHONS
    assert project["requires-python"] == f">={PYTHONS[0]}"
    assert tuple(WEEKLY["tests"]["strategy"]["matrix"]["python"]) == PYTHONS


def test_the_sparks_are_those_of_the_package_and_of_the_week() -> None:
    local = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]["local"]
    oldest, newest = next(iter(SPARKS)), list(SPARKS)[-1]
    assert f"pyspark>={oldest},<{int(newest.split('.')[0]) + 1}" in local
    constraints = text("constraints.txt").replace("delta_spark", "delta-spark").splitlines()
    assert set(SPARKS[IN_THE_TESTS].packages) <= set(constraints)
    assert sorted([*WEEKLY["sparks"]["strategy"]["matrix"]["spark"], IN_THE_TESTS]) == sorted(SPARKS)
    rows = re.findall(r"^\| (\d\.\d)[^|]* \| `io\.delta:", text("docs/howto/platforms.md"), re.MULTILINE)
    assert rows == sorted(SPARKS)


def test_the_javas_are_those_that_spark_takes_and_of_the_week() -> None:
    assert tuple(map(int, WEEKLY["tests"]["strategy"]["matrix"]["java"])) == SPARKS[IN_THE_TESTS].javas
    (java_step,) = (step for step in WEEKLY["sparks"]["steps"] if step.get("uses", "").startswith("actions/setup-java"))
    installed = [int(one) for one in java_step["with"]["java-version"].split()]
    assert set(installed) == {major for release in SPARKS.values() for major in release.javas}
    assert installed[-1] in SPARKS[IN_THE_TESTS].javas  # the default, on which the tables to compare with are made
    assert "Java 17 or 21 (Spark 3.5 runs on 17 only, 4.2 and later also on 25;" in text("README.md")
    javas = {name: release.javas for name, release in SPARKS.items()}
    assert javas == {"3.5": (17,), "4.0": (17, 21), "4.1": (17, 21), "4.2": (17, 21, 25)}


def test_one_version_stands_everywhere() -> None:
    version = kafka_clientinfo.__version__
    headings = re.findall(r"^## \[([^\]]+)\] - (.+)$", text("CHANGELOG.md"), re.MULTILINE)
    assert headings[0][0] == version
    assert [date for _, date in headings[1:] if not re.fullmatch(r"\d{4}-\d{2}-\d{2}|not released", date)] == []
    assert f"at present that is {version.rpartition('.')[0]}.\n" in text("SECURITY.md")
    pages = [
        *ROOT.glob("*.md"),
        *(path for name in ("docs", "examples", ".github") for path in (ROOT / name).rglob("*.*")),
    ]
    named = {
        (page.name, found)
        for page in pages
        # the figures were measured with the releases that they name
        if page.suffix in (".md", ".yaml", ".yml", ".service", ".py")
        and page.name not in ("benchmarks.md", "CHANGELOG.md")
        for found in re.findall(r"kafka[_-]clientinfo[-: ]v?(\d+\.\d+\.\d+)", page.read_text("utf-8"))
    }
    assert len(named) > 3
    assert {found for _, found in named} == {version}
