"""Functions that DuckDB has under another meaning are those of Spark."""

import duckdb
import pytest

from kafka_clientinfo.on_duckdb import functions as F
from kafka_clientinfo.on_duckdb.column import Column


def answer(column: Column, items: list[int | None] | None) -> object:
    found = duckdb.execute(f"SELECT {column.render(frozenset())} FROM (SELECT CAST(? AS INTEGER[]) AS items)", [items])
    return found.fetchall()[0][0]


@pytest.mark.parametrize(
    ("items", "expected"),
    [([1, 7], True), ([1, 2], False), ([], False), ([None, 7], True), ([None, 1], None), ([None], None), (None, None)],
)
def test_an_element_exists_as_in_spark(items: list[int | None] | None, expected: bool | None) -> None:
    assert answer(F.exists("items", lambda item: item > 5), items) is expected


def test_the_first_place_in_a_list_is_0() -> None:
    assert answer(F.transform("items", lambda item, place: item + place), [5, 5, 5]) == [5, 6, 7]
