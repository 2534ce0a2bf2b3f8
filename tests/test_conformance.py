"""Every statement of the KIPs has a place and a test, and the page that says so is up to date."""

import pytest

from .conformance import PAGE, ROOT, Mark, markdown, marks, statements

MARKS = list(marks())
STATEMENTS = [(document, number) for document, found in statements().items() for number in found]


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


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == markdown(), "run `make docs`"
