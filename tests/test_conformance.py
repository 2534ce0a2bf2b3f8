"""Every statement of the KIPs has a place, a test, and a change that breaks it; the page that says so is up to date."""

import json
import tomllib
from pathlib import Path

import pytest

from lab.mutants.planted import Planted, planted

from .conformance import PAGE, ROOT, Mark, markdown, marks, statements

MARKS = list(marks())
STATEMENTS = [(document, number) for document, found in statements().items() for number in found]
PLANTED = planted()


def test_every_document_is_numbered_without_a_gap() -> None:
    counts = {document: len(found) for document, found in statements().items()}
    assert counts == {"KIP-1313": 53, "KIP-511": 30, "KIP-35": 29, "KIP-35 revision 30": 10, "KIP-559": 20}
    for found in statements().values():
        assert list(found) == list(range(1, len(found) + 1))


@pytest.mark.parametrize(("document", "number"), STATEMENTS)
def test_every_statement_has_a_place_and_a_test(document: str, number: int) -> None:
    entry = statements()[document][number]
    assert set(entry) - {"otherwise"} == {"says", "where"}
    folder = ROOT if entry["where"].startswith("schemas/") else ROOT / "kafka_clientinfo"
    assert (folder / entry["where"]).is_file()
    assert any(mark.document == document and number in mark.statements for mark in MARKS)


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: f"{mark.file} {mark.test} {mark.case or ''}")
def test_a_mark_names_statements_and_a_case_that_are_there(mark: Mark) -> None:
    assert mark.statements
    assert set(mark.statements) <= set(statements()[mark.document])
    assert mark.has_case


@pytest.mark.parametrize(("document", "number"), STATEMENTS)
def test_every_statement_is_broken_by_a_change_in_its_place(document: str, number: int) -> None:
    """`make mutants` looks whether its tests see that."""
    where = statements()[document][number]["where"]
    files = [one.file.removeprefix("kafka_clientinfo/") for one in PLANTED if one[:2] == (document, number)]
    assert where in files, "plant a change of that file in lab/mutants/planted.toml"


@pytest.mark.parametrize("change", PLANTED, ids=lambda one: one.statement)
def test_a_planted_change_is_of_one_place_and_can_be_read(change: Planted) -> None:
    assert (change.document, change.number) in STATEMENTS
    text, file = change.text(), ROOT / change.file
    assert text != file.read_text("utf-8")
    read = {
        ".py": lambda text: compile(text, str(file), "exec"),
        ".json": json.loads,
        ".toml": tomllib.loads,
        ".sql": str,
    }
    read[file.suffix](text)


def test_a_change_of_a_schema_is_read_in_the_place_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.mutants.planted.scratch", lambda: tmp_path)
    one = next(one for one in PLANTED if one.file.startswith("schemas/messages/R"))
    change = one.change()
    namespace = {"__name__": change.module, "__file__": str(ROOT / change.file)}
    exec(compile(change.text, change.file, "exec"), namespace)
    folder = namespace["schemas"]()
    assert (folder.parent / one.file).read_text("utf-8") == one.text()
    assert (folder / "tables.md").read_text("utf-8") == (ROOT / "schemas" / "tables.md").read_text("utf-8")


def test_a_planted_change_of_a_text_that_stands_twice_is_refused() -> None:
    one = PLANTED[0]._replace(before="import")
    with pytest.raises(SystemExit, match=r"planted.toml, KIP-1313, statement 1: .* has 'import' \d+ times"):
        one.text()


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == markdown(), "run `make docs`"
