"""Functions that DuckDB lacks, or has under another meaning, and regular expressions of Java's are those of Spark."""

import duckdb
import pytest

from kafka_clientinfo.connections import table, texts
from kafka_clientinfo.protocol import BROKER_PATTERN_SQL
from kafka_clientinfo.scan import functions as F
from kafka_clientinfo.scan.column import Column, Window, re2

lit = F.lit
DEEP = "[" * 3000 + "]" * 3000


def value(column: Column, text: str | None) -> object:
    (found,) = duckdb.execute(f"SELECT {column.render(frozenset())} FROM (SELECT ? AS t)", [text]).fetchall()
    return found[0]


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a":1', '{"a":"x', '{"a":1}x', r'{"a":"\ud800"}', '{"a":"\x00"}', '{"a":"\n"}', '{"a":01}', None],
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


ZONES = {"UTC": "07-01 02:00:00,123", "Europe/Berlin": "07-01 04:00:00,123", "America/New_York": "06-30 22:00:00,123"}


@pytest.mark.parametrize("zone", ZONES)
def test_a_time_is_written_as_the_clocks_of_a_zone_show_it(zone: str) -> None:
    at = F.from_utc_timestamp(F.col("t").cast("timestamp"), zone)
    found = value(F.date_format(at, "yyyy-MM-dd HH:mm:ss,SSS"), "2026-07-01 02:00:00.123")
    assert found == f"2026-{ZONES[zone]}"
    in_utc = F.from_utc_timestamp("t", "UTC")  # needs no knowledge of zones, which DuckDB has of an extension
    assert in_utc.render(frozenset()) == F.col("t").render(frozenset())


def test_what_is_no_plain_value_is_no_constant_and_a_column_no_condition() -> None:
    with pytest.raises(TypeError, match=r"^a column has no truth value; use &, \| and ~$"):
        bool(F.col("t"))
    with pytest.raises(TypeError, match=r"^bytes cannot be a constant$"):
        lit(b"x")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (F.transform("items", lambda item, place: item + place), [5, 7, 9, 11]), (F.slice("items", 1, 2), [5, 6]), (F.slice("items", 2, 2), [6, 7]), (F.slice("items", 3, 9), [7, 8]),
        (F.get("items", lit(0)), 5), (F.get("items", lit(4)), None), (F.element_at("items", 1), 5),
        (F.element_at("items", -1), 8), (F.size("items").isin(3, 4), True), (F.size("items").isin(4), True),
        (F.size("items").isin([4]), True), (F.size("items").isin([3]), False), (F.size("items").isin([]), False),
        (9 - F.size("items"), 5), (F.struct(F.size("items").alias("n"), F.size("items") + 1), {"n": 4, "col2": 5}),
        (F.unix_seconds(lit("1970-01-01 00:00:01.9").cast("timestamp")), 1),
        (F.unix_seconds(lit("1969-12-31 23:59:58.9").cast("timestamp")), -2),
    ],
)  # fmt: skip
def test_a_function_answers_as_in_spark(column: Column, expected: object) -> None:
    assert answer(column, [5, 6, 7, 8]) == expected


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (F.call_function("array_position", "items", lit(1)), 4),
        (F.call_function("array_position", "items", lit(7)), 0), (F.array_sort("items"), [1, 2, 2, None]),
        (F.sort_array("items"), [None, 1, 2, 2]), (F.array_sort(F.array_distinct(F.array_compact("items"))), [1, 2]),
        (F.flatten(F.array(F.array(lit(1)), F.array(lit(2), lit(3)))), [1, 2, 3]),
        (F.array_join(F.array(lit("a"), lit("b")), ", "), "a, b"),
        (F.aggregate(F.array(lit(2), lit(3)), lit(10), lambda total, item: total * 2 - item), 33),
        (F.filter("items", lambda item: item > 1), [2, 2]), (F.octet_length(lit("äb")), 3), (F.rtrim(lit(" a ")), " a"),
        (F.floor(lit(-1.5)), -2), (F.substring(lit("abcd"), 2, 2), "bc"), (F.translate(lit("abca"), "ab", "x"), "xcx"),
        (F.split(lit("a1b22c"), "[0-9]+"), ["a", "b", "c"]), (F.concat(lit("a"), lit(None)), None),
        (F.concat_ws("-", lit("a"), lit(None), lit("b")), "a-b"),
        (F.regexp_replace(lit("a.b.c"), r"[.]", "-"), "a-b-c"), (F.regexp_replace(lit("ab"), "[ab]", "<$0>"), "<a><b>"),
        (F.regexp_replace(lit("ab"), "b", r"\\0"), r"a\0"),
        (F.regexp_extract(lit("x=1,y=2"), "([a-z])=([0-9])", 0), "x=1"),
        (F.regexp_extract(lit("x=1,y=2"), "([a-z])=([0-9])", 2), "1"), (F.regexp_extract(lit("x"), "([0-9])", 1), ""),
        (F.map_keys(F.create_map(lit("a"), lit(1), lit("b"), lit(2))), ["a", "b"]),
        (F.map_values(F.create_map(lit("a"), lit(1), lit("b"), lit(2))), [1, 2]),
        (F.try_element_at(F.create_map(lit("a"), lit(1)), lit("a")), 1),
        (F.try_element_at(F.create_map(lit("a"), lit(1)), lit("b")), None),
        (F.create_map(lit("a"), lit(1))[lit("a")], 1), (F.struct(lit(1).alias("n"))["n"], 1),
        (F.unix_micros(lit("1970-01-01 00:00:01.5").cast("timestamp")), 1_500_000),
        (F.unix_micros(F.timestamp_seconds(lit(2))), 2_000_000),
        (F.when(lit(False), 1).when(lit(True), 2).otherwise(3), 2), (F.when(lit(False), 1), None),
        (lit(None).isin(1), None), (lit(1).isin((1, 2)) & lit(1).isin({1}), True),
        (lit(2).between(1, 2) & ~lit(3).between(1, 2), True), (lit(None).eqNullSafe(None), True),
        (lit(1).eqNullSafe(None), False),
        (lit("ab").rlike("b$") & lit("ab").startswith("a") & lit("ab").contains("b"), True),
        (-lit(3) + 2 * lit(4) - lit(1.5), 3.5), (F.broadcast(lit(1)), 1), (F.reflect(lit("java.lang.Math")), None),
    ],
)  # fmt: skip
def test_a_function_of_any_values_answers_as_in_spark(column: Column, expected: object) -> None:
    assert answer(column, [2, 2, None, 1]) == expected


ROWS = "(VALUES (1, 'a', 2), (2, 'b', NULL), (3, 'b', 4), (4, NULL, 4)) AS rows(place, who, number)"


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (F.count("who"), 3), (F.count_if(F.col("place") > 1), 3),
        (F.min_by("number", "place"), 2),
        (F.min_by("who", -F.col("place")), None), (F.max_by("who", "place"), None),
        (F.bool_or(F.col("place") > 3), True), (F.bool_and(F.col("place") > 3), False),
        (F.array_sort(F.collect_list("number")), [2, 4, 4]), (F.array_sort(F.collect_set("number")), [2, 4]),
        (F.collect_list(F.when(F.col("place") > 9, F.col("place"))), [])],
)  # fmt: skip
def test_an_aggregate_answers_as_in_spark(column: Column, expected: object) -> None:
    assert duckdb.execute(f"SELECT {column.render(frozenset())} FROM {ROWS}").fetchall() == [(expected,)]


@pytest.mark.parametrize(
    "column", [F.sum("number"), F.sum("number").over(Window.partitionBy("who")), F.floor("number"), F.count("*")]
)
def test_a_whole_number_has_the_type_of_spark(column: Column) -> None:
    found = duckdb.execute(f"SELECT DISTINCT typeof({column.render(frozenset())}) FROM {ROWS}").fetchall()
    assert found == [("BIGINT",)]


BY_TIME = Window.partitionBy(lit(1)).orderBy("place")
UNTIL_HERE = BY_TIME.rowsBetween(Window.unboundedPreceding, Window.currentRow)
BEFORE = BY_TIME.rowsBetween(Window.unboundedPreceding, -1)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (F.lag("place").over(BY_TIME), [None, 1, 2, 3]), (F.lag("place", 2).over(BY_TIME), [None, None, 1, 2]),
        (F.lead("place").over(BY_TIME), [2, 3, 4, None]), (F.first("who").over(UNTIL_HERE), ["a", "a", "a", "a"]),
        (F.last("number").over(UNTIL_HERE), [2, None, 4, 4]),
        (F.last("number", ignorenulls=True).over(UNTIL_HERE), [2, 2, 4, 4]),
        (F.last("number", ignorenulls=True).over(BEFORE), [None, 2, 2, 4]),
        (F.sum("place").over(UNTIL_HERE), [1, 3, 6, 10]),
        (F.sum("place").over(BY_TIME.rowsBetween(-2, 0)), [1, 3, 6, 9]),
        (F.sum("place").over(Window.partitionBy(lit(1)).rowsBetween(-1, 0).orderBy("place")), [1, 3, 5, 7]),
        (F.sum("place").over(Window.partitionBy(lit(1)).orderBy(-F.col("place")).rowsBetween(-1, 0)), [3, 5, 7, 4]),
        (F.collect_list("number").over(BEFORE), [[], [2], [2], [2, 4]]), (F.row_number().over(BY_TIME), [1, 2, 3, 4]),
        (F.count("*").over(Window.partitionBy("who")), [1, 2, 2, 1]),
    ],
)  # fmt: skip
def test_a_window_is_read_as_in_spark(column: Column, expected: list[object]) -> None:
    found = duckdb.execute(f"SELECT {column.render(frozenset())} FROM {ROWS} ORDER BY place").fetchall()
    assert [row[0] for row in found] == expected


@pytest.mark.parametrize(
    ("name", "scope", "expected"),
    [("r", "r", '"r"'), ("r.a", "r", '"r"."a"'), ("r.a", "s", """struct_extract("r", 'a')"""),
     ("r.a.b", "r", """struct_extract("r"."a", 'b')"""), ("a", "r", '"a"')],
)  # fmt: skip
def test_a_path_begins_with_a_relation_or_a_column(name: str, scope: str, expected: str) -> None:
    column = F.col(name)
    assert (column.render(frozenset({scope})), column.name) == (expected, name[-1])


def test_a_field_and_a_cast_column_keep_their_names_and_two_functions_answer_to_what_rules_ask_alone() -> None:
    assert (F.col("s")["n"].name, F.col("n").cast("int").name, F.col("n").alias("m").name) == ("n", "n", "m")
    for name, ask in (
        ("array_size", lambda: F.call_function("array_size", "items")),
        ("yyyy", lambda: F.date_format("t", "yyyy")),
    ):
        with pytest.raises(AssertionError, match=f"^{name}$"):
            ask()


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a.c$", "abc", True), ("^a.c$", "abc\n", True), ("^a.c$", "abc\r\n", True), ("^a.c$", "abc\n\n", False),
        ("^a.c$", "a\u2028c", False), ("^a.c$", "a\x85c", False), ("^a[.$]c$", "a$c", True), ("^a[.$]c$", "abc", False),
        (r"^a\.c$", "abc", False), ("^a\nb$", "a\nb", True), ("^a\nb$", "ab", False), ("^a].$", "a]c", True),
        ("^a].$", "a]\u2028", False), (r"^\[.$", "[\u2028", False), (r"\Aa\z", "a\n", False), (r"\Aa\Z", "a\n", True),
        (r"\u0061", "a", True), (table.BROKER_CLIENT_ID, "broker-1-fetcher-0", True),
        (table.BROKER_CLIENT_ID, "broker-1-\u2028", False),
        (table.BROKER_CLIENT_ID, "ShareGroupDLQManager-client-12", True), (table.BROKER_CLIENT_ID, "42", False),
        (table.NODE_ID, "42", True), (table.NODE_ID, "42\n", False), (table.NODE_ID, "४२", False),
        (BROKER_PATTERN_SQL, "apache-kafka-java", True), (BROKER_PATTERN_SQL, "-java", False)],
)  # fmt: skip
def test_a_pattern_finds_what_java_finds(pattern: str, text: str, found: bool) -> None:
    assert duckdb.execute("SELECT regexp_matches(?, ?)", [text, re2(pattern)]).fetchall() == [(found,)]


def finds(pattern: str, text: str) -> bool:
    return bool(duckdb.execute("SELECT regexp_matches(?, ?)", [text, re2(pattern)]).fetchall()[0][0])


@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028", "\u2029"])
def test_each_of_javas_line_ends_may_stand_after_the_end_and_is_no_character(end: str) -> None:
    found = {pattern: finds(pattern, f"a{end}") for pattern in ("^a.", "^a$", r"^a\Z", r"^a\z", "^a[.]", "^a[$]")}
    assert found == {"^a.": False, "^a$": True, r"^a\Z": True, r"^a\z": False, "^a[.]": False, "^a[$]": False}
    assert not finds("^a$", f"a{end}{end}")


@pytest.mark.parametrize("character", ["\t", "\n", "\x0b", "\f", "\r", " ", "\x85", "\xa0", "\u2028", "a", "s", "\\"])
def test_six_characters_are_blanks(character: str) -> None:
    is_blank = character in "\t\n\x0b\f\r "
    assert (finds(r"\A\s\z", character), finds(r"\A\S\z", character)) == (is_blank, not is_blank)
    assert (finds(r"\A[\s]\z", character), finds(r"\A[^\s]\z", character)) == (is_blank, not is_blank)


@pytest.mark.parametrize(
    "character", "\x1b\u200b\u2028\u2029\ue000\u0378\ufdd0\u00a0\u2003\u3000\u3164\ufe0f\U000e0101"
)
def test_characters_that_show_nothing_and_blanks_but_the_blank_are_replaced_in_messages(character: str) -> None:
    written = [f"a{character} é", re2(texts.UNSAFE)]
    assert duckdb.execute("SELECT regexp_replace(?, ?, '#', 'g')", written).fetchall() == [("a# é",)]
