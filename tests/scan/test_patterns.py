"""Regular expressions of Java's, in DuckDB's words, find what Java finds."""

import duckdb
import pytest

from kafka_clientinfo.connections import facts, texts
from kafka_clientinfo.protocol import BROKER_PATTERN_SQL
from kafka_clientinfo.scan.column import re2


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a.c$", "abc", True),
        ("^a.c$", "abc\n", True),
        ("^a.c$", "abc\r\n", True),
        ("^a.c$", "abc\n\n", False),
        ("^a.c$", "a\u2028c", False),
        ("^a.c$", "a\x85c", False),
        ("^a[.$]c$", "a$c", True),
        ("^a[.$]c$", "abc", False),
        (r"^a\.c$", "abc", False),
        (r"\Aa\z", "a\n", False),
        (r"\Aa\Z", "a\n", True),
        (r"\u0061", "a", True),
        (facts.BROKER_CLIENT_ID, "broker-1-fetcher-0", True),
        (facts.BROKER_CLIENT_ID, "broker-1-\u2028", False),
        (facts.BROKER_CLIENT_ID, "ShareGroupDLQManager-client-12", True),
        (facts.BROKER_CLIENT_ID, "42", False),
        (facts.NODE_ID, "42", True),
        (facts.NODE_ID, "42\n", False),
        (facts.NODE_ID, "४२", False),
        (BROKER_PATTERN_SQL, "apache-kafka-java", True),
        (BROKER_PATTERN_SQL, "-java", False),
    ],
)
def test_a_pattern_finds_what_java_finds(pattern: str, text: str, found: bool) -> None:
    assert duckdb.execute("SELECT regexp_matches(?, ?)", [text, re2(pattern)]).fetchall() == [(found,)]


@pytest.mark.parametrize("character", ["\x1b", "\u200b", "\u2028", "\u2029", "\ue000", "\u0378", "\ufdd0"])
def test_characters_that_show_nothing_are_replaced(character: str) -> None:
    written = [f"a{character} é", re2(texts._UNSAFE)]
    assert duckdb.execute("SELECT regexp_replace(?, ?, '#', 'g')", written).fetchall() == [("a# é",)]


@pytest.mark.parametrize("character", ["\u00a0", "\u2003", "\u3000", "\u3164", "\ufe0f", "\U000e0101"])
def test_blanks_but_the_blank_are_replaced_in_messages(character: str) -> None:
    found = duckdb.execute("SELECT regexp_replace(?, ?, '#', 'g')", [f"a {character}", re2(texts._UNSAFE)]).fetchall()
    assert found == [("a #",)]
