"""README and docs name what there is: pages, exports, the version, and the releases that are supported."""

import re
import tomllib
from pathlib import Path

import kafka_clientinfo

from .supported import IN_THE_TESTS, PYTHONS, SPARKS

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text("utf-8")


def test_links_of_the_readme_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT)
    assert len(targets) > 20
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_page_on_python_documents_all_that_the_package_exports() -> None:
    """Each by its own docstring."""
    page = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    block = page.partition("::: kafka_clientinfo\n")[2].partition("\n## ")[0]
    documented = re.findall(r"^ +- (\w+)$", block, re.MULTILINE)
    assert sorted(documented) == sorted(kafka_clientinfo.__all__)
    assert [name for name in documented if not getattr(kafka_clientinfo, name).__doc__] == []


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_the_pythons_sparks_and_javas_that_are_promised_are_those_that_are_tested() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    assert project["requires-python"] == f">={PYTHONS[0]}"
    oldest, newest = next(iter(SPARKS)), list(SPARKS)[-1]
    assert f"pyspark>={oldest},<{int(newest.split('.')[0]) + 1}" in project["optional-dependencies"]["local"]
    constraints = text("constraints.txt").replace("delta_spark", "delta-spark").splitlines()
    assert set(SPARKS[IN_THE_TESTS].packages) <= set(constraints)
    rows = re.findall(r"^\| (\d\.\d)[^|]* \| `io\.delta:", text("docs/howto/platforms.md"), re.MULTILINE)
    assert rows == sorted(SPARKS)
    assert "Java 17 or 21 (Spark 3.5 runs on 17 only, 4.2 and later also on 25;" in TEXT
    javas = {name: release.javas for name, release in SPARKS.items()}
    assert javas == {"3.5": (17,), "4.0": (17, 21), "4.1": (17, 21), "4.2": (17, 21, 25)}


def test_one_version_stands_everywhere() -> None:
    version = kafka_clientinfo.__version__
    assert re.findall(r"^## \[([^\]]+)\] - ", text("CHANGELOG.md"), re.MULTILINE)[0] == version
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
