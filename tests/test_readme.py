"""The README names what there is: every question with its view, and pages that exist."""

import re
from pathlib import Path

import pytest

import kafka_clientinfo
from kafka_clientinfo.tables.views import views

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text("utf-8")


def test_the_readme_asks_five_questions_and_names_every_view() -> None:
    rows = re.findall(r"^\| \*\*Who .+ \| \[`(\w+)`\]\(schemas/views/\w+\.sql\)", TEXT, re.MULTILINE)
    assert len(rows) == len(set(rows)) == 5
    linked = {name for name, file in re.findall(r"\[`(\w+)`\]\(schemas/views/(\w+)\.sql\)", TEXT) if name == file}
    assert set(rows) <= linked == set(views())


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


PAGES = [
    "README.md",
    "databricks.yml",
    "kafka_clientinfo/__init__.py",
    *(
        str(path.relative_to(ROOT))
        for folder in ("docs", "examples", "jobs")
        for path in (ROOT / folder).rglob("*.[mp][dy]")
    ),
]


@pytest.mark.parametrize("page", PAGES)
def test_paths_of_volumes_are_as_databricks_has_them(page: str) -> None:
    """`/Volumes/catalog/schema/volume/…`; `/Volumes/…` stands for any."""
    text = (ROOT / page).read_text("utf-8")
    paths = re.findall(r"/Volumes((?:/[\w${}.]+)+)", text)
    assert [path for path in paths if len(path.strip("/.").split("/")) < 3] == []
