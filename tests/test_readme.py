"""The README names what there is: every table, every question with its view, and pages that exist."""

import re
from pathlib import Path

from kafka_clientinfo.tables.spec import table_specs
from kafka_clientinfo.tables.views import views

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text("utf-8")


def test_the_readme_names_every_table_once() -> None:
    assert [name for name in table_specs() if TEXT.count(f"\n| `{name}` |") != 1] == []


def test_the_readme_asks_eleven_questions_and_names_every_view() -> None:
    rows = re.findall(r"^\| \d+\. .+ \| \[`(\w+)`\]\(schemas/views/\w+\.sql\) \|$", TEXT, re.MULTILINE)
    assert len(rows) == len(set(rows)) == 11
    linked = {name for name, file in re.findall(r"\[`(\w+)`\]\(schemas/views/(\w+)\.sql\)", TEXT) if name == file}
    assert set(rows) <= linked == set(views())


def test_links_of_the_readme_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT)
    assert len(targets) > 20
    assert [target for target in targets if not (ROOT / target).exists()] == []
