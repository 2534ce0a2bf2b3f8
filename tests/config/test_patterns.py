"""Patterns of a policy mean the same to Python, to Java (Spark) and to RE2 (DuckDB), or are refused."""

import re
import warnings
from typing import Any

import duckdb
import pytest

from kafka_clientinfo.config.patterns import check_pattern, without_ends
from kafka_clientinfo.errors import ConfigError
from kafka_clientinfo.scan.column import re2

ALLOWED = (
    "", "tool-.*", r"team-[a-z]+\..+", "([a-z0-9]|-)", "[a-z]+(-[a-z]+)?", "(-[a-z]){0,9}", r"[^-.]+(-[^-.])*", r"[\w_]+",
    r"[\w.-]+", "(?:[a-z][0-9])+", r"(\d|-|é|ж)?", "(a+|b?){0,1}", "(a*){1}", "([*+?|]b)*", "(ab)*|c+", "a{3}b{2,}", "[a^&b]", "a]b}", "[-a]", "[^-]", r"\x41\u00e9", "a&&b",
    r"[\[\]]", "a|", "()", "^app-.*$", r"a\$", r"\^a\{", r"\s+", r"[\s.]+", r"\S+", r"\W", r"[\D]", "a?b*?c", "^a|b$", r"[+\--]",
    "a{0}", "a{1,2}", "a{10,}", "[|]", "[~a]", "a{1000}",
    "(ab){1000}", "a{0,1000}",
)  # fmt: skip
REFUSED = (
    "[a[b]]", "[a&&b]", "[[:alpha:]]", "a*+", "a++", "a?+", "(?i)a", "(?s:.)", "(?=a)a", "(?!a).*", "(?<=a)b", "(?>a)", "(?#x)a",
    "a^b", "a$b", "(a$)", r"\bfoo", r"\Ba", r"\Aa", r"a\Z", r"\v", r"\a", r"\0", r"[\b]", r"(a)\1", r"\N{DIGIT ONE}", r"\h", r"\R",
    r"\p{L}", r"\Qa\E", r"\z", "[]a]", "[^]a]", "[a-c-e]", r"[\w-.]", "[^^]", "{a}", "a{,3}", "a{1001}", "(a{50}b){50}", r"\_",
    "a{01}", "a{1,02}", "[a||b]", "[a~~b]", "a{2,1001}", "a{1001,}",
)  # fmt: skip
COSTLY = {
    "(a+)+$": "(a+)", "(a?)+": "(a?)", "(a?){30}": "(a?)", "(a*){2,}": "(a*)", "(a{2}){0,2}": "(a{2})", "(a|a)*": "(a|a)",
    "(?:ab|c)+?": "(?:ab|c)", "x([a-z0-9]|-)+": "([a-z0-9]|-)", "[a-z]+(-[a-z]+)*": "(-[a-z]+)", "((a+)b)*": "((a+)b)",
    "((a|b))*": "((a|b))", "((a+)?)+": "((a+)?)", "(|a)*": "(|a)", r"(\(a+)+": r"(\(a+)",
}  # fmt: skip
"""Patterns that repeat a group with a repetition or an alternative in it, each with the group."""
TEXTS = (
    "", "a", "b", "ab", "abc", "-", "--", "tool-", "tool-x", "tool-\r", "tool-\n", "tool-\u2028", "team-a.b", "app-1", "app-\n", "a-b-c",
    "a1b2", "a$", "a\n", "a\\", "^a{", "]", "[", "&", "a&&b", "a]b}", "aaabb", "A\u00e9", "\u00e9", "ж-1", "\u0664", "\t \x0b\f\r\n", "\x0b",
    "\u00a0", "\u0085", "\U0001f600", "_", "+", "\\", "K", "\u212a", "a.b",
)  # fmt: skip


@pytest.mark.parametrize("pattern", REFUSED)
def test_it_refuses_what_they_read_differently(pattern: str) -> None:
    with pytest.raises(ConfigError, match=r"^policy.toml: client_id_patterns: "):
        check_pattern(pattern, "policy.toml: client_id_patterns")


def test_a_refusal_names_what_they_read_differently_and_where() -> None:
    with pytest.raises(ConfigError, match=r"^x: 'ab\[\[c\]\]defghij' has '\[\[c\]\]def' at character 3, which"):
        check_pattern("ab[[c]]defghij", "x")


@pytest.mark.parametrize("pattern", COSTLY)
def test_it_refuses_to_repeat_a_group_that_can_match_in_many_ways(pattern: str) -> None:
    named = re.escape(
        f"policy.toml: {pattern!r} repeats {COSTLY[pattern]!r}, which holds a repetition or an alternative"
    )
    with pytest.raises(ConfigError, match=f"^{named}.*write a class of characters"):
        check_pattern(pattern, "policy.toml")


def test_it_refuses_long_patterns() -> None:
    check_pattern("a" * 1000, "x")
    with pytest.raises(ConfigError, match=r"^x: 'a{40}'… has 1001 characters; give several patterns of at most 1000$"):
        check_pattern("a" * 1001, "x")


def test_a_refusal_is_all_that_is_said() -> None:
    with warnings.catch_warnings(action="error"), pytest.raises(ConfigError):
        check_pattern("[a&&b]", "x")


def expected(pattern: str, text: str) -> bool:
    """What Python says, which counts letters of other scripts as `\\w` unless it is asked for ASCII, and ends lines less."""
    java = re.sub(r"(?<!\\)\.(?![^\[]*\])", "[^\\\\n\\\\r\x85\u2028\u2029]", pattern)
    return re.fullmatch(java, text, re.ASCII) is not None


@pytest.mark.parametrize("pattern", ALLOWED)
def test_re2_reads_them_as_python_does(pattern: str) -> None:
    check_pattern(pattern, "x")
    inner = without_ends(pattern)
    query = "SELECT " + ", ".join("regexp_matches(?, ?)" for _ in TEXTS)
    whole = re2(rf"\A(?:{inner})\z")
    (found,) = duckdb.execute(query, [value for text in TEXTS for value in (text, whole)]).fetchall()
    assert dict(zip(TEXTS, found, strict=True)) == {text: expected(inner, text) for text in TEXTS}


@pytest.mark.long
def test_java_reads_them_as_python_does(spark: Any) -> None:
    from pyspark.sql import functions as F

    texts = spark.createDataFrame([(text,) for text in TEXTS], "text string")
    inner = [without_ends(pattern) for pattern in ALLOWED]
    rows = texts.select("text", *(F.col("text").rlike(rf"\A(?:{pattern})\z") for pattern in inner)).collect()
    for row in rows:
        assert dict(zip(inner, row[1:], strict=True)) == {pattern: expected(pattern, row[0]) for pattern in inner}, row[
            0
        ]


@pytest.mark.parametrize(
    ("pattern", "inner"),
    [("^a$", "a"), (r"a\$", r"a\$"), (r"a\\$", r"a\\"), ("$", ""), ("^", ""), ("a$$", "a$"), (r"\^", r"\^")],
)
def test_ends_are_left_out(pattern: str, inner: str) -> None:
    assert without_ends(pattern) == inner


@pytest.mark.parametrize(
    ("pattern", "advice"),
    [
        (
            "(a+)+",
            "a text that is made for it could hold up every run; write a class of characters in place of the group, such as "
            "[a-z-]* for (-[a-z]+)* and [ab]+ for (a|b)+, or give several patterns",
        ),
        (
            "a++",
            "which Python, Java and RE2 do not read alike; write it with characters, classes such as [a-z._-], \\d, \\w and "
            "\\s, groups (…) and (?:…), | and the repetitions ? * + {2,5}, up to 1000 times, with a backslash before a sign "
            "that means itself",
        ),
    ],
)
def test_a_refusal_says_what_to_write(pattern: str, advice: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_pattern(pattern, "x")
    assert str(caught.value).endswith(advice)
