"""Functions that DuckDB lacks, or has under another meaning, are those of Spark."""

import duckdb
import pytest

from kafka_clientinfo.scan import functions as F
from kafka_clientinfo.scan.column import Column

DEEP = "[" * 3000 + "]" * 3000


def value(column: Column, text: str | None) -> object:
    (found,) = duckdb.execute(f"SELECT {column.render(frozenset())} FROM (SELECT ? AS t)", [text]).fetchall()
    return found[0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a":1',
        '{"a":"x',
        '{"a":1}x',
        r'{"a":"\ud800"}',
        '{"a":"\x00"}',
        '{"a":"\n"}',
        '{"a":01}',
        None,
    ],
)
def test_what_is_no_json_is_null(text: str | None) -> None:
    assert value(F.from_json("t", "a string"), text) is None
    assert value(F.get_json_object("t", "$.a"), text) is None


@pytest.mark.parametrize(
    ("text", "read"),
    [('{"a":"x"}', "x"), ('{"b":1}', None), ('{"a":null}', None), (f'{{"b":{DEEP},"a":"x"}}', "x"), ("[1]", None),
     (f'{{"b":{"9" * 5000},"a":"x"}}', "x")],
)  # fmt: skip
def test_json_is_read(text: str, read: str | None) -> None:
    assert value(F.from_json("t", "a string"), text) == {"a": read}
    assert value(F.get_json_object("t", "$.a"), text) == read


def answer(column: Column, items: list[int | None] | None) -> object:
    found = duckdb.execute(f"SELECT {column.render(frozenset())} FROM (SELECT CAST(? AS INTEGER[]) AS items)", [items])
    return found.fetchall()[0][0]


@pytest.mark.parametrize(
    ("items", "expected"),
    [([1, 7], True), ([1, 2], False), ([], False), ([None, 7], True), ([None, 1], None), ([None], None), (None, None)],
)
def test_an_element_exists_as_in_spark(items: list[int | None] | None, expected: bool | None) -> None:
    assert answer(F.exists("items", lambda item: item > 5), items) is expected


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "2026-07-01 02:00:00,123"),
        ("Europe/Berlin", "2026-07-01 04:00:00,123"),
        ("America/New_York", "2026-06-30 22:00:00,123"),
    ],
)
def test_a_time_is_written_as_the_clocks_of_a_zone_show_it(zone: str, expected: str) -> None:
    at = F.from_utc_timestamp(F.col("t").cast("timestamp"), zone)
    assert value(F.date_format(at, "yyyy-MM-dd HH:mm:ss,SSS"), "2026-07-01 02:00:00.123") == expected


def test_times_of_utc_need_no_knowledge_of_zones() -> None:
    """DuckDB has that of an extension."""
    assert F.from_utc_timestamp("t", "UTC").render(frozenset()) == F.col("t").render(frozenset())


def test_a_column_is_no_condition_of_python() -> None:
    with pytest.raises(TypeError, match=r"^a column has no truth value; use &, \| and ~$"):
        bool(F.col("t"))


def test_what_is_no_plain_value_is_no_constant() -> None:
    with pytest.raises(TypeError, match=r"^bytes cannot be a constant$"):
        F.lit(b"x")


def test_the_first_place_in_a_list_is_0() -> None:
    assert answer(F.transform("items", lambda item, place: item + place), [5, 5, 5]) == [5, 6, 7]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (F.slice("items", 1, 2), [5, 6]),
        (F.slice("items", 2, 2), [6, 7]),
        (F.slice("items", 3, 9), [7, 8]),
        (F.get("items", F.lit(0)), 5),
        (F.get("items", F.lit(4)), None),
        (F.element_at("items", 1), 5),
        (F.element_at("items", -1), 8),
        (F.size("items").isin(3, 4), True),
        (F.size("items").isin(4), True),
        (F.size("items").isin([4]), True),
        (F.size("items").isin([3]), False),
        (F.size("items").isin([]), False),
        (9 - F.size("items"), 5),
        (F.struct(F.size("items").alias("n"), F.size("items") + 1), {"n": 4, "col2": 5}),
        (F.unix_seconds(F.lit("1970-01-01 00:00:01.9").cast("timestamp")), 1),
        (F.unix_seconds(F.lit("1969-12-31 23:59:58.9").cast("timestamp")), -2),
    ],
)
def test_a_function_answers_as_in_spark(column: Column, expected: object) -> None:
    assert answer(column, [5, 6, 7, 8]) == expected
