"""Every module of the package has tests that the index names, and the index is up to date."""

from tests.index import PAGE, markdown, modules, tests_of


def test_every_module_has_tests() -> None:
    assert [module for module in modules() if not tests_of(module)] == [], "name a file in tests/index.py"


def test_the_index_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == markdown(), "run `make docs`"
