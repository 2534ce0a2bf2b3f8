"""Every statement of the KIPs has a place, a test, and a change that breaks it; the page that says so is up to date."""

import ast
import json
import tomllib

import pytest

from lab.mutants.planted import planted

from .conformance import PAGE, ROOT, markdown, marks, statements

MARKS = list(marks())
STATEMENTS = [(document, number) for document, found in statements().items() for number in found]
PLANTED = planted()


def test_every_document_is_numbered_without_a_gap() -> None:
    counts = {document: len(found) for document, found in statements().items()}
    assert counts == {"KIP-1313": 53, "KIP-511": 30, "KIP-35": 29, "KIP-35 revision 30": 10, "KIP-559": 20}
    for found in statements().values():
        assert list(found) == list(range(1, len(found) + 1))


def test_every_statement_has_a_place_and_a_test() -> None:
    for document, number in STATEMENTS:
        entry, name = statements()[document][number], f"{document}, statement {number}"
        assert set(entry) - {"otherwise"} == {"says", "where"}, name
        folder = ROOT if entry["where"].startswith("schemas/") else ROOT / "kafka_clientinfo"
        assert (folder / entry["where"]).is_file(), name
        assert any(mark.document == document and number in mark.statements for mark in MARKS), name


def test_a_mark_names_statements_and_a_case_that_are_there() -> None:
    for mark in MARKS:
        assert mark.statements, mark
        assert set(mark.statements) <= set(statements()[mark.document]), mark
        assert mark.has_case, mark


def test_every_statement_is_broken_by_a_change_in_its_place() -> None:
    """`make mutants` looks whether its tests see that."""
    for document, number in STATEMENTS:
        where = statements()[document][number]["where"]
        files = [one.file.removeprefix("kafka_clientinfo/") for one in PLANTED if one[:2] == (document, number)]
        assert where in files, f"plant a change for {document} {number} in lab/mutants/planted.toml"


def test_a_planted_change_is_of_one_place_and_can_be_read() -> None:
    read = {".py": ast.parse, ".json": json.loads, ".toml": tomllib.loads, ".sql": str}
    for change in PLANTED:
        assert (change.document, change.number) in STATEMENTS, change.statement
        text, file = change.text(), ROOT / change.file
        assert text != file.read_text("utf-8"), change.statement
        read[file.suffix](text)


def test_a_planted_change_of_a_text_that_stands_twice_is_refused() -> None:
    one = PLANTED[0]._replace(before="import")
    with pytest.raises(SystemExit, match=r"planted.toml, KIP-1313, statement 1: .* has 'import' \d+ times"):
        one.text()


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == markdown(), "run `make docs`"
