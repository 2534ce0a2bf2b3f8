"""Regular expressions of Java's, in DuckDB's words, find what Java finds."""

import duckdb
import pytest

from kafka_clientinfo.connections import table, texts
from kafka_clientinfo.protocol import BROKER_PATTERN_SQL
from kafka_clientinfo.scan.column import re2


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
