"""Every statement of the KIPs has a place, a test, and a change that breaks it; the page that says so is up to date."""

import ast
import json
import tomllib

from lab.mutants.planted import planted

from .conformance import PAGE, ROOT, markdown, marks, statements

MARKS = list(marks())
STATEMENTS = {(document, number): entry for document, of in statements().items() for number, entry in of.items()}
PLANTED = planted()


def test_every_document_is_numbered_without_a_gap() -> None:
    counts = {document: len(found) for document, found in statements().items()}
    assert counts == {"KIP-1313": 53, "KIP-511": 30, "KIP-35": 29, "KIP-35 revision 30": 10, "KIP-559": 20}
    for found in statements().values():
        assert list(found) == list(range(1, len(found) + 1))


def test_every_statement_has_a_place_a_test_and_a_change_that_breaks_it() -> None:
    """`make mutants` looks whether its tests see that."""
    for (document, number), entry in STATEMENTS.items():
        name, where = f"{document}, statement {number}", entry["where"]
        assert set(entry) - {"otherwise"} == {"says", "where"}, name
        assert ((ROOT if where.startswith("schemas/") else ROOT / "kafka_clientinfo") / where).is_file(), name
        assert any(mark.document == document and number in mark.statements for mark in MARKS), name
        files = [one.file.removeprefix("kafka_clientinfo/") for one in PLANTED if one[:2] == (document, number)]
        assert where in files, f"plant a change for {name} in lab/mutants/planted.toml"


def test_a_mark_names_statements_and_a_case_that_are_there() -> None:
    for mark in MARKS:
        assert mark.statements, mark
        assert set(mark.statements) <= set(statements()[mark.document]), mark
        assert mark.has_case, mark


def test_a_planted_change_is_of_one_place_and_can_be_read() -> None:
    read = {".py": ast.parse, ".json": json.loads, ".toml": tomllib.loads, ".sql": str}
    for change in PLANTED:
        assert (change.document, change.number) in STATEMENTS, change.statement
        text, file = change.text(), ROOT / change.file
        assert text != file.read_text("utf-8"), change.statement
        read[file.suffix](text)


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == markdown(), "run `make docs`"
