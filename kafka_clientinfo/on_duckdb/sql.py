"""Spark's SQL in DuckDB's words, as far as expressions of this package use it."""

import re

MACROS = (
    "CREATE MACRO get(l, i) AS l[CAST(i AS BIGINT) + 1]",
    "CREATE MACRO unix_micros(t) AS epoch_us(t)",
    "CREATE MACRO size(l) AS len(l)",
    "CREATE MACRO make_dt_interval(d, h, m, s) AS to_microseconds(CAST(((d * 24 + h) * 60 + m) * 60000000 + s * 1000000 AS BIGINT))",
)
"""Functions that DuckDB lacks and text expressions name."""
_WORDS = (
    (re.compile(r"<=>"), "IS NOT DISTINCT FROM"),
    (re.compile(r"\barray_m(in|ax)\("), r"list_m\1("),
    (re.compile(r"\b(transform|filter)\("), r"list_\1("),
    (re.compile(r"\barray\(\)"), "[]"),
    (re.compile(r"\b(\w+) -> "), r"lambda \1: "),
)


def from_spark(text: str) -> str:
    """Write an expression for DuckDB; where both have a function of a name, it means the same."""
    for pattern, word in _WORDS:
        text = pattern.sub(word, text)
    return text
